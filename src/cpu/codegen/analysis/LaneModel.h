// SPDX-License-Identifier: Apache-2.0
//
// LaneModel: what the lanes of one vector call are: how many, how they lie in the threadgroup, and
// what is known about the threadgroup's size. Everything that follows is generic in it. A value.
#pragma once
#include <array>
#include <cstdint>
#include <optional>

namespace pewter::cpu::codegen {

struct LaneModel {
  enum class Body : uint8_t {
    Full,    ///< Every lane is live; lanes lie as `layout` says.
    General, ///< Any lanes are live, anywhere in the threadgroup: edges and odd sizes.
  };
  enum class Layout : uint8_t {
    Row,       ///< Consecutive x, one y and z.
    Rows,      ///< Several whole rows of one z: x is a constant of the lane.
    Whole,     ///< The whole threadgroup is one call: every position is a constant of the lane.
    Scattered, ///< Nothing known.
  };

  unsigned lanes = 32; ///< A multiple of 32; more than 32 when SIMD groups are merged.
  Body body = Body::Full;
  Layout layout = Layout::Row;
  bool alignedRows = true; ///< x of lane 0 and the threadgroup's first x are multiples of 32.
  std::optional<std::array<uint32_t, 3>> size; ///< The threadgroup's size, when it is fixed.

  unsigned segments() const { return lanes / 32; }
  bool isMerged() const { return lanes > 32; }
  uint32_t threads() const { return size ? (*size)[0] * (*size)[1] * (*size)[2] : 0; }
};

} // namespace pewter::cpu::codegen
