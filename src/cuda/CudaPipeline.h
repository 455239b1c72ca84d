// SPDX-License-Identifier: Apache-2.0
//
// CudaPipeline: one kernel loaded into the driver. Its PTX comes from an archive, the disk cache or
// the compiler. One form serves every threadgroup size that its registers allow; for larger ones the
// driver compiles it again with fewer registers, when the first such size is prepared.
#pragma once
#include "cuda/CudaDevice.h"
#include <atomic>
#include <mutex>

namespace pewter::cuda {

class CudaPipeline final : public device::Pipeline {
public:
  static Result<std::shared_ptr<CudaPipeline>> create(std::shared_ptr<Gpu> gpu,
                                                      const device::PipelineRequest &request);
  ~CudaPipeline() override;
  Result<void> prepare(const device::Size3 &threadsPerThreadgroup, bool hasPartialGroups) override;

  /// For threadgroups of this many threads, which was prepared.
  CuFunction function(uint64_t threads) const {
    return threads <= plain_.most ? plain_.function : crowded_.function;
  }

private:
  explicit CudaPipeline(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}
  std::shared_ptr<Gpu> gpu_;
  struct Loaded {
    CuModule module = nullptr;
    CuFunction function = nullptr;
    uint32_t most = 0; ///< Threads in a threadgroup.
  };
  /// `registers` 0 leaves their number to the driver.
  Result<Loaded> load(uint32_t registers) const;

  std::string entry_, ptx_;
  Loaded plain_, crowded_;
  std::mutex mutex_; ///< For loading `crowded_`.
  std::atomic<bool> hasCrowded_ = false;
};

} // namespace pewter::cuda
