// SPDX-License-Identifier: Apache-2.0
//
// VisibleFunctionTable: functions that a kernel calls by their index.
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

/// Made by ComputePipelineState::newVisibleFunctionTable, all entries empty. A call of an empty entry, or past
/// the end, does nothing and gives zero. Entries must not change while a kernel uses the table.
class _MTL_EXPORT VisibleFunctionTable : public NS::Referencing<VisibleFunctionTable, Resource> {
public:
  void setFunction(const FunctionHandle *function, NS::UInteger index);
  void setFunctions(const FunctionHandle *const functions[], NS::Range range);
  ResourceID gpuResourceID() const;
};

} // namespace MTL
