// SPDX-License-Identifier: Apache-2.0
//
// Where a compiled image of a pipeline comes from: the archives that the request names, then the
// disk cache, then the compiler. What was compiled is put into both. Shared by the CPU and the CUDA
// device, which know how an image looks (`check`); any thread.
#pragma once
#include "device/Device.h"

namespace pewter::device {

struct ImageRequest {
  const PipelineRequest &pipeline;
  compiler::TargetKind target;
  compiler::ThreadgroupShape shape;
  uint32_t ptxArchitecture = 0; ///< Ptx only.
  uint32_t abiVersion = 0;      ///< Of the calling convention between image and device.
};

/// Names a function with its constants (PipelineRequest::identity); `module` is the hash of its bitcode.
Hash128 functionIdentity(const Hash128 &module, const std::string &function,
                         const std::vector<compiler::ConstantValue> &constants);

/// Names an image by everything that decides its bytes: the function with its constants, target,
/// shape, calling convention and compiler build.
Hash128 imageKey(const ImageRequest &request);

/// `check` is asked of every image that was found or made; one that it refuses counts as not found.
Result<Bytes> obtainImage(const ImageRequest &request,
                          const std::function<Result<void>(ByteView)> &check);

} // namespace pewter::device
