// SPDX-License-Identifier: Apache-2.0
//
// FunctionHandle: a visible function as one pipeline state knows it, for that pipeline's tables.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"
#include "MTLLibrary.hpp"
#include "MTLTypes.hpp"

namespace MTL {

class Device;

/// Made by ComputePipelineState::functionHandle. Immutable; any thread.
class _MTL_EXPORT FunctionHandle : public NS::Referencing<FunctionHandle> {
public:
  Device *device() const;
  FunctionType functionType() const;
  ResourceID gpuResourceID() const;
  NS::String *name() const;
};

} // namespace MTL
