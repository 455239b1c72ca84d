// SPDX-License-Identifier: Apache-2.0
//
// CudaPipeline: one kernel loaded into the driver. Its PTX comes from an archive, the disk cache or
// the compiler. One form serves every threadgroup size.
#pragma once
#include "cuda/CudaDevice.h"

namespace pewter::cuda {

class CudaPipeline final : public device::Pipeline {
public:
  static Result<std::shared_ptr<CudaPipeline>> create(std::shared_ptr<Gpu> gpu,
                                                      const device::PipelineRequest &request);
  ~CudaPipeline() override;
  Result<void> prepare(const device::Size3 &threadsPerThreadgroup, bool hasPartialGroups) override;

  CuFunction function() const { return function_; }

private:
  explicit CudaPipeline(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}
  std::shared_ptr<Gpu> gpu_;
  CuModule module_ = nullptr;
  CuFunction function_ = nullptr;
};

} // namespace pewter::cuda
