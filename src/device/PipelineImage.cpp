// SPDX-License-Identifier: Apache-2.0
//
// Tested by PipelineImage_test.cpp.
#include "device/PipelineImage.h"
#include "device/CompilerLibrary.h"
#include "device/DiskCache.h"
#include "device/KeyBuilder.h"

namespace pewter::device {

Hash128 functionIdentity(const Hash128 &module, const std::string &function,
                         const std::vector<compiler::ConstantValue> &constants) {
  KeyBuilder key;
  key.add(module).add(function);
  for (const compiler::ConstantValue &constant : constants)
    key.add(uint64_t(constant.index))
        .add(uint64_t(constant.type))
        .add(std::as_bytes(std::span(constant.bytes)));
  return key.hash();
}

Hash128 imageKey(const ImageRequest &request) {
  KeyBuilder key;
  key.add(compilerBuildId()).add(request.pipeline.identity).add(uint64_t(request.abiVersion));
  key.add(uint64_t(request.target)).add(uint64_t(request.ptxArchitecture));
  key.add(uint64_t(request.shape.kind));
  for (uint32_t size : request.shape.size)
    key.add(uint64_t(size));
  return key.hash();
}

Result<Bytes> obtainImage(const ImageRequest &request,
                          const std::function<Result<void>(ByteView)> &check) {
  const PipelineRequest &pipeline = request.pipeline;
  Hash128 key = imageKey(request);
  if (pipeline.lookUp)
    if (auto image = pipeline.lookUp(key); image && check(*image))
      return std::move(*image);
  auto cache = DiskCache::standard();
  if (!pipeline.failOnMiss) {
    if (auto image = cache->load(CacheKind::Image, key); image && check(*image)) {
      if (pipeline.store)
        pipeline.store(key, *image);
      return std::move(*image);
    }
  } else {
    return fail(ErrorKind::Compile,
                "No binary archive holds function \"{}\" for this device, and the request forbids "
                "compiling it.",
                pipeline.function);
  }
  if (!pipeline.module)
    return fail(ErrorKind::Validation, "The request for function \"{}\" holds no module.",
                pipeline.function);
  PEWTER_TRY(auto *points, compilerLibrary());
  compiler::KernelRequest compile;
  compile.module = *pipeline.module;
  compile.function = pipeline.function;
  compile.constants = pipeline.constants;
  compile.target = request.target;
  compile.ptxArchitecture = request.ptxArchitecture;
  compile.shape = request.shape;
  compile.maxCallStackDepth = pipeline.maxCallStackDepth;
  for (const LinkedFunction &linked : pipeline.linkedFunctions)
    compile.linkedFunctions.push_back(
        {*linked.module, linked.name, linked.constants, linked.isInTables});
  PEWTER_TRY(compiler::KernelImage image, points->compileKernel(compile));
  if (auto good = check(image.image); !good)
    return std::unexpected(std::move(good).error().whileDoing(
        fmt::format("checking the compiled image of function \"{}\"", pipeline.function)));
  cache->store(CacheKind::Image, key, image.image);
  if (pipeline.store)
    pipeline.store(key, image.image);
  return std::move(image.image);
}

} // namespace pewter::device
