// SPDX-License-Identifier: Apache-2.0
//
// FunctionHandle: declared so that programs compile; no call makes one.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"
#include "MTLLibrary.hpp"
#include "MTLTypes.hpp"

namespace MTL {

class Device;

/// Not made by this version.
class _MTL_EXPORT FunctionHandle : public NS::Referencing<FunctionHandle> {
public:
  Device *device() const;
  FunctionType functionType() const;
  ResourceID gpuResourceID() const;
  NS::String *name() const;
};

} // namespace MTL
