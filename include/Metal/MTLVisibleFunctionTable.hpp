// SPDX-License-Identifier: Apache-2.0
//
// VisibleFunctionTable: declared so that programs compile; no call makes one.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"
#include "MTLResource.hpp"
#include "MTLTypes.hpp"

namespace MTL {

class FunctionHandle;
class VisibleFunctionTable;
class VisibleFunctionTableDescriptor;

/// How a table is made.
class _MTL_EXPORT VisibleFunctionTableDescriptor
    : public NS::Copying<VisibleFunctionTableDescriptor> {
public:
  static VisibleFunctionTableDescriptor *alloc();
  static VisibleFunctionTableDescriptor *visibleFunctionTableDescriptor();
  VisibleFunctionTableDescriptor *init();
  NS::UInteger functionCount() const;
  void setFunctionCount(NS::UInteger functionCount);
};

/// Not made by this version.
class _MTL_EXPORT VisibleFunctionTable : public NS::Referencing<VisibleFunctionTable, Resource> {
public:
  void setFunction(const FunctionHandle *function, NS::UInteger index);
  void setFunctions(const FunctionHandle *const functions[], NS::Range range);
  ResourceID gpuResourceID() const;
};

} // namespace MTL
