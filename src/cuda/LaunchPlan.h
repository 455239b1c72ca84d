// SPDX-License-Identifier: Apache-2.0
//
// LaunchPlan: the kernels between two points where the host has to act, as plain data: launches with
// their arguments, and which launch must wait for which. Made from commands without calling the driver,
// so tests can look at it. Inline constants (setBytes) are gathered in one block that is uploaded
// before the launches; an argument that points to them is given by its offset there, so two plans
// that differ only in constants are the same plan.
#pragma once
#include "cuda/CudaPipeline.h"
#include "cuda/abi/KernelImage.h"
#include "device/CommandStream.h"
#include <vector>

namespace pewter::cuda {

struct Launch {
  CuFunction function;
  uint32_t grid[3], block[3];
  uint32_t dynamicSharedBytes;
  LaunchGrid position;
  uint32_t firstArgument, argumentCount; ///< In LaunchPlan::arguments.
  uint32_t firstDependency, dependencyCount; ///< In LaunchPlan::dependencies: earlier launches.
  /// Whether the kernel may begin while the one before it ends: all that it reads as constant is inline. (A
  /// constant buffer may be written by the kernel before, and constants are read before the wait.)
  bool mayOverlap;
};

struct LaunchPlan {
  std::vector<Launch> launches;
  std::vector<uint64_t> arguments;
  std::vector<uint8_t> isConstant; ///< Beside `arguments`: 1 = offset in `constants`.
  std::vector<uint32_t> dependencies;
  Bytes constants;

  void clear();
  bool empty() const { return launches.empty(); }
  /// Names the plan by everything but sizes, argument values and constants: which graph can play it.
  Hash128 shape() const;
};

/// Adds dispatches and barriers to a plan.
class LaunchPlanner {
public:
  explicit LaunchPlanner(LaunchPlan &plan) : plan_(plan) {}

  void beginEncoder(bool concurrent);
  /// Everything added later waits for everything added before.
  void barrier();
  /// `grid` as in the command, or the counts read for an indirect dispatch. An error names the kernel.
  Result<void> dispatch(const device::DispatchCommand &command, const device::Size3 &grid);
  /// Forgets dependencies: the plan was played and cleared.
  void restart();

private:
  void add(const device::DispatchCommand &command, const CudaPipeline &pipeline, Launch launch);
  /// The same as several launches when the grid is larger than CUDA's.
  void addInPieces(const device::DispatchCommand &command, const CudaPipeline &pipeline,
                   const Launch &launch);

  LaunchPlan &plan_;
  bool concurrent_ = false;
  std::vector<uint32_t> before_;  ///< Launches that the current interval waits for.
  std::vector<uint32_t> current_; ///< Launches of the current interval.
};

} // namespace pewter::cuda
