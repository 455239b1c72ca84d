// SPDX-License-Identifier: Apache-2.0
//
// Sizes, positions and regions of grids and textures. Plain values.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"
#include <cstdint>

namespace MTL {

/// A position, in threads or texels.
struct Origin {
  Origin() = default;
  Origin(NS::UInteger x, NS::UInteger y, NS::UInteger z) : x(x), y(y), z(z) {}
  static Origin Make(NS::UInteger x, NS::UInteger y, NS::UInteger z) { return {x, y, z}; }

  NS::UInteger x;
  NS::UInteger y;
  NS::UInteger z;
} _MTL_PACKED;

/// An extent, in threads, threadgroups or texels.
struct Size {
  Size() = default;
  Size(NS::UInteger width, NS::UInteger height, NS::UInteger depth)
      : width(width), height(height), depth(depth) {}
  static Size Make(NS::UInteger width, NS::UInteger height, NS::UInteger depth) {
    return {width, height, depth};
  }

  NS::UInteger width;
  NS::UInteger height;
  NS::UInteger depth;
} _MTL_PACKED;

/// An origin and a size.
struct Region {
  Region() = default;
  Region(NS::UInteger x, NS::UInteger width) : origin(x, 0, 0), size(width, 1, 1) {}
  Region(NS::UInteger x, NS::UInteger y, NS::UInteger width, NS::UInteger height)
      : origin(x, y, 0), size(width, height, 1) {}
  Region(NS::UInteger x, NS::UInteger y, NS::UInteger z, NS::UInteger width, NS::UInteger height,
         NS::UInteger depth)
      : origin(x, y, z), size(width, height, depth) {}
  static Region Make1D(NS::UInteger x, NS::UInteger width) { return {x, width}; }
  static Region Make2D(NS::UInteger x, NS::UInteger y, NS::UInteger width, NS::UInteger height) {
    return {x, y, width, height};
  }
  static Region Make3D(NS::UInteger x, NS::UInteger y, NS::UInteger z, NS::UInteger width,
                       NS::UInteger height, NS::UInteger depth) {
    return {x, y, z, width, height, depth};
  }

  Origin origin;
  Size size;
} _MTL_PACKED;

/// A texture, sampler or pipeline as an argument buffer holds it.
struct ResourceID {
  uint64_t _impl;
} _MTL_PACKED;

} // namespace MTL
