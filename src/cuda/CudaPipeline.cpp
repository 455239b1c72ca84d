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
  std::shared_ptr<CudaPipeline> pipeline(new CudaPipeline(gpu));
  pipeline->entry_ = std::move(image.entry);
  pipeline->ptx_ = std::move(image.ptx);
  pipeline->reflection_ = std::move(image.reflection);
  PEWTER_TRY(pipeline->plain_, pipeline->load(0));
  pipeline->maxTotalThreads_ = pipeline->reflection_.maxTotalThreadsPerThreadgroup;
  if (uint32_t wish = request.maxTotalThreadsPerThreadgroup)
    pipeline->maxTotalThreads_ = std::min(pipeline->maxTotalThreads_, wish);
  return pipeline;
}

Result<CudaPipeline::Loaded> CudaPipeline::load(uint32_t registers) const {
  const Driver &driver = gpu_->driver;
  Loaded loaded;
  std::string log(8192, '\0');
  int options[] = {kJitErrorLog, kJitErrorLogBytes, kJitMaxRegisters};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size()),
                    reinterpret_cast<void *>(uintptr_t(registers))};
  CuResult result = driver.loadModule(&loaded.module, ptx_.c_str(), registers ? 3 : 2, options, values);
  if (result != 0)
    return fail(ErrorKind::Compile, "The driver refuses the PTX of kernel \"{}\" ({}): {}", reflection_.name,
                check(driver, result, "cuModuleLoadDataEx").error().message(), log.c_str());
  auto prepare = [&]() -> Result<void> {
    PEWTER_TRY_VOID(check(driver, driver.getFunction(&loaded.function, loaded.module, entry_.c_str()),
                          "cuModuleGetFunction"));
    PEWTER_TRY_VOID(check(driver, driver.setFunctionAttribute(loaded.function, kFunctionMaxDynamicShared, 32768),
                          "cuFuncSetAttribute"));
    int most = 0;
    PEWTER_TRY_VOID(check(driver, driver.functionAttribute(&most, kFunctionMaxThreads, loaded.function),
                          "cuFuncGetAttribute"));
    loaded.most = uint32_t(most);
    return {};
  };
  if (Result<void> prepared = prepare(); !prepared) {
    driver.unloadModule(loaded.module);
    return std::unexpected(std::move(prepared).error());
  }
  return loaded;
}

CudaPipeline::~CudaPipeline() {
  for (const Loaded &loaded : {plain_, crowded_})
    if (loaded.module && gpu_->enter())
      gpu_->driver.unloadModule(loaded.module);
}

Result<void> CudaPipeline::prepare(const device::Size3 &size, bool) {
  if (size.x == 0 || size.y == 0 || size.z == 0 || size.z > 64 || size.product() > maxTotalThreads_)
    return fail(ErrorKind::Validation,
                "Threadgroups of ({} x {} x {}) threads do not fit pipeline \"{}\", which takes 1 to {} "
                "threads, at most 64 of them deep.",
                size.x, size.y, size.z, reflection_.name, maxTotalThreads_);
  if (size.product() <= plain_.most || hasCrowded_.load(std::memory_order_acquire))
    return {};
  std::lock_guard lock(mutex_);
  if (hasCrowded_.load(std::memory_order_relaxed))
    return {};
  PEWTER_TRY_VOID(gpu_->enter());
  // A multiprocessor has 65,536 registers, given out by 8 for each thread.
  PEWTER_TRY(Loaded crowded, load(65536 / maxTotalThreads_ / 8 * 8));
  if (crowded.most < maxTotalThreads_) {
    gpu_->driver.unloadModule(crowded.module);
    return fail(ErrorKind::Unsupported, "Kernel \"{}\" does not fit {} threads of this GPU, only {}.",
                reflection_.name, maxTotalThreads_, crowded.most);
  }
  crowded_ = crowded;
  hasCrowded_.store(true, std::memory_order_release);
  return {};
}

} // namespace pewter::cuda
