// SPDX-License-Identifier: Apache-2.0
//
// PipelineRegistry: every kernel the engine dispatches, found by name and compiled once, when the
// registry is made. Afterwards libraries are never touched. Asking for a name that was not registered
// ends the process with the name in the message: it is a fault of the engine, never of a user.
//
// Immutable after create; any thread.
#pragma once
#include "muse/Context.h"
#include <functional>
#include <span>
#include <string>
#include <unordered_map>

namespace pewter::muse {

struct Kernel {
  std::string name;
  NS::SharedPtr<MTL::ComputePipelineState> pipeline;
};

class PipelineRegistry {
public:
  /// Builds on all cores. `progress` (may be empty) is told the fraction done, on this thread. An error
  /// names the kernel that is missing or cannot be built, and the compiler's reason.
  static Result<PipelineRegistry> create(Context &context, MathMode mode, std::span<const std::string> names,
                                         const std::function<void(double)> &progress = {});
  const Kernel &get(std::string_view name) const;
  bool has(std::string_view name) const { return pipelines_.contains(std::string(name)); }
  size_t size() const { return pipelines_.size(); }

private:
  std::unordered_map<std::string, Kernel> pipelines_; ///< Its nodes do not move.
};

} // namespace pewter::muse
