// SPDX-License-Identifier: Apache-2.0
//
// Allocation: whatever occupies device memory: buffers, textures, heaps.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"

namespace MTL {

/// Base of everything that a residency set can hold.
class _MTL_EXPORT Allocation : public NS::Referencing<Allocation> {
public:
  NS::UInteger allocatedSize() const;
};

} // namespace MTL
