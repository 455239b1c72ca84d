// SPDX-License-Identifier: Apache-2.0
//
// CudaMemory: one allocation on the GPU, in pinned host memory, or of the caller's and registered.
#pragma once
#include "cuda/CudaDevice.h"

namespace pewter::cuda {

class CudaMemory final : public device::Memory {
public:
  static Result<std::shared_ptr<CudaMemory>> allocate(std::shared_ptr<Gpu> gpu, uint64_t length,
                                                      device::StorageMode mode);
  /// Registers the pages of the caller's memory; `release` is called at the end.
  static Result<std::shared_ptr<CudaMemory>> wrap(std::shared_ptr<Gpu> gpu, void *address,
                                                  uint64_t length, std::function<void()> release);
  ~CudaMemory() override;

private:
  enum class Kind { Device, Pinned, Registered };
  CudaMemory(std::shared_ptr<Gpu> gpu, Kind kind, uint64_t length);
  std::shared_ptr<Gpu> gpu_;
  Kind kind_;
  std::function<void()> release_;
};

} // namespace pewter::cuda
