// SPDX-License-Identifier: Apache-2.0
//
// Fence: orders encoders on untracked resources.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"

namespace MTL {

class Device;

/// Updated by one encoder, waited for by a later one.
class _MTL_EXPORT Fence : public NS::Referencing<Fence> {
public:
  Device *device() const;
  NS::String *label() const;
  void setLabel(const NS::String *label);
};

} // namespace MTL
