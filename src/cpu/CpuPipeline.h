// SPDX-License-Identifier: Apache-2.0
//
// CpuPipeline: a kernel in as many compiled forms as its dispatches need. The form for threadgroups
// whose width is a multiple of the SIMD width is made with the pipeline; others by prepare(), while
// commands are recorded: one for any shape, when a dispatch has other widths or ragged edges, and
// ones for an exact size, when the image says that they pay. Forms are published in a list that only
// grows, so a player reads it without a lock.
#pragma once
#include "cpu/KernelVariant.h"
#include "device/Device.h"
#include <mutex>
#include <vector>

namespace pewter::cpu {

class CpuPipeline final : public device::Pipeline {
public:
  static Result<std::shared_ptr<CpuPipeline>> create(const device::PipelineRequest &request,
                                                     compiler::TargetKind target);
  /// From entries that exist already, for tests; prepare() then only looks.
  CpuPipeline(air::KernelReflection reflection, std::vector<std::unique_ptr<KernelVariant>> variants);
  ~CpuPipeline() override;

  Result<void> prepare(const device::Size3 &threadsPerThreadgroup, bool hasPartialGroups) override;

  /// The form for whole threadgroups of this size; null when prepare() was not called for it.
  const KernelVariant *variantFor(const device::Size3 &threadsPerThreadgroup) const;
  /// The form for the smaller threadgroups at the end of a grid, when the last in x are `lastWidth`
  /// wide; null when prepare() was not called for partial groups and they are.
  const KernelVariant *edgeVariantFor(const device::Size3 &threadsPerThreadgroup,
                                      uint64_t lastWidth) const;

private:
  static constexpr unsigned kMaxExactShapes = 16;

  explicit CpuPipeline(const device::PipelineRequest &request, compiler::TargetKind target);
  Result<void> addVariant(const compiler::ThreadgroupShape &shape);
  void publish(std::unique_ptr<KernelVariant> variant);
  const KernelVariant *find(compiler::ThreadgroupShape::Kind kind) const;

  const device::PipelineRequest request_;
  const compiler::TargetKind target_;
  bool prefersExactShape_ = false;
  bool fixed_ = false; ///< No request to make more from.
  std::atomic<KernelVariant *> first_{nullptr};
  std::atomic<unsigned> exactShapes_{0};
  std::mutex compileMutex_;
};

} // namespace pewter::cpu
