// SPDX-License-Identifier: Apache-2.0
// Tested by CudaDevice_test.cpp.
#include "cuda/CudaPipeline.h"
#include "cuda/abi/KernelImage.h"
#include "device/PipelineImage.h"
#include <algorithm>

namespace pewter::cuda {

Result<std::shared_ptr<CudaPipeline>> CudaPipeline::create(std::shared_ptr<Gpu> gpu,
                                                           const device::PipelineRequest &request) {
  KernelImage image;
  auto accept = [&](ByteView bytes) -> Result<void> {
    PEWTER_TRY(image, parseKernelImage(bytes));
    if (image.reflection.name != request.function)
      return fail(ErrorKind::Validation, "The kernel image holds function \"{}\"; expected \"{}\".",
                  image.reflection.name, request.function);
    return {};
  };
  device::ImageRequest wanted{request, compiler::TargetKind::Ptx, {}, gpu->architecture, kImageVersion};
  PEWTER_TRY_VOID(device::obtainImage(wanted, accept));

  PEWTER_TRY_VOID(gpu->enter());
  const Driver &driver = gpu->driver;
  std::shared_ptr<CudaPipeline> pipeline(new CudaPipeline(gpu));
  std::string log(8192, '\0');
  int options[] = {kJitErrorLog, kJitErrorLogBytes};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
  CuResult loaded = driver.loadModule(&pipeline->module_, image.ptx.c_str(), 2, options, values);
  if (loaded != 0)
    return fail(ErrorKind::Compile, "The driver refuses the PTX of kernel \"{}\" ({}): {}", request.function,
                check(driver, loaded, "cuModuleLoadDataEx").error().message(), log.c_str());
  PEWTER_TRY_VOID(check(driver, driver.getFunction(&pipeline->function_, pipeline->module_, image.entry.c_str()),
                        "cuModuleGetFunction"));
  PEWTER_TRY_VOID(check(driver, driver.setFunctionAttribute(pipeline->function_, kFunctionMaxDynamicShared, 32768),
                        "cuFuncSetAttribute"));
  int most = 0;
  PEWTER_TRY_VOID(check(driver, driver.functionAttribute(&most, kFunctionMaxThreads, pipeline->function_),
                        "cuFuncGetAttribute"));
  // Whole SIMD groups, so that a host that rounds down to the SIMD width gets what it asks for.
  pipeline->maxTotalThreads_ = std::min(image.reflection.maxTotalThreadsPerThreadgroup,
                                        uint32_t(most) / air::kSimdWidth * air::kSimdWidth);
  if (uint32_t wish = request.maxTotalThreadsPerThreadgroup)
    pipeline->maxTotalThreads_ = std::min(pipeline->maxTotalThreads_, wish);
  pipeline->reflection_ = std::move(image.reflection);
  return pipeline;
}

CudaPipeline::~CudaPipeline() {
  if (module_ && gpu_->enter())
    gpu_->driver.unloadModule(module_);
}

Result<void> CudaPipeline::prepare(const device::Size3 &size, bool) {
  if (size.x == 0 || size.y == 0 || size.z == 0 || size.z > 64 || size.product() > maxTotalThreads_)
    return fail(ErrorKind::Validation,
                "Threadgroups of ({} x {} x {}) threads do not fit pipeline \"{}\", which takes 1 to {} "
                "threads, at most 64 of them deep.",
                size.x, size.y, size.z, reflection_.name, maxTotalThreads_);
  return {};
}

} // namespace pewter::cuda
