// SPDX-License-Identifier: Apache-2.0
#include "air/BuiltinNames.h"
#include <utility>

namespace pewter::air {

static constexpr std::pair<std::string_view, Builtin> kNames[] = {
    {"air.thread_position_in_grid", Builtin::ThreadPositionInGrid},
    {"air.thread_position_in_threadgroup", Builtin::ThreadPositionInThreadgroup},
    {"air.thread_index_in_threadgroup", Builtin::ThreadIndexInThreadgroup},
    {"air.threadgroup_position_in_grid", Builtin::ThreadgroupPositionInGrid},
    {"air.threads_per_grid", Builtin::ThreadsPerGrid},
    {"air.threads_per_threadgroup", Builtin::ThreadsPerThreadgroup},
    {"air.threadgroups_per_grid", Builtin::ThreadgroupsPerGrid},
    {"air.dispatch_threads_per_threadgroup", Builtin::DispatchThreadsPerThreadgroup},
    {"air.thread_index_in_simdgroup", Builtin::ThreadIndexInSimdgroup},
    {"air.simdgroup_index_in_threadgroup", Builtin::SimdgroupIndexInThreadgroup},
    {"air.simdgroups_per_threadgroup", Builtin::SimdgroupsPerThreadgroup},
    {"air.dispatch_simdgroups_per_threadgroup", Builtin::DispatchSimdgroupsPerThreadgroup},
    {"air.threads_per_simdgroup", Builtin::ThreadsPerSimdgroup},
    {"air.thread_execution_width", Builtin::ThreadsPerSimdgroup},
    {"air.thread_index_in_quadgroup", Builtin::ThreadIndexInQuadgroup},
    {"air.quadgroup_index_in_threadgroup", Builtin::QuadgroupIndexInThreadgroup},
    {"air.quadgroups_per_threadgroup", Builtin::QuadgroupsPerThreadgroup},
    {"air.dispatch_quadgroups_per_threadgroup", Builtin::DispatchQuadgroupsPerThreadgroup},
    {"air.grid_origin", Builtin::GridOrigin},
    {"air.grid_size", Builtin::GridSize},
};

Builtin builtinNamed(std::string_view airName) {
  for (const auto &[name, builtin] : kNames)
    if (name == airName)
      return builtin;
  return Builtin::None;
}

std::string_view airNameOf(Builtin builtin) {
  for (const auto &[name, value] : kNames)
    if (value == builtin)
      return name;
  return {};
}

} // namespace pewter::air
