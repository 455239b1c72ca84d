// SPDX-License-Identifier: Apache-2.0
//
// What a pipeline's kernel may call of other libraries. A FunctionSet lists, in order, the functions that
// tables of the pipeline may hold; a table's entry is a position in it, from 1. Sets are values that never
// change: a pipeline with more functions has a longer set, and what was made for the shorter one fits it.
#pragma once
#include "device/Device.h"
#include "foundation/Object.h"
#include "metal/Function.h"
#include <Metal/MTLLinkedFunctions.hpp>
#include <memory>

namespace pewter::metal {

class ComputePipelineDescriptor;

class LinkedFunctions final : public MTL::LinkedFunctions {
public:
  const char *className() const override { return "MTLLinkedFunctions"; }
  Root *makeCopy() const override;
  foundation::Ref<NS::Array> functions, binaryFunctions, privateFunctions;
  foundation::Ref<NS::Dictionary> groups;
};

inline LinkedFunctions *implOf(const MTL::LinkedFunctions *linked) {
  return static_cast<LinkedFunctions *>(const_cast<MTL::LinkedFunctions *>(linked));
}

struct FunctionSet {
  std::vector<foundation::Ref<Function>> functions;
  /// Whether entries made for `other` mean the same functions here.
  bool contains(const FunctionSet &other) const;
};

/// Fills in the request's linked functions: the descriptor's, and what its dynamic libraries and those of
/// the functions' libraries export. `more` are added to the functions of tables.
Result<std::shared_ptr<const FunctionSet>> linkInto(device::PipelineRequest &request,
                                                    const ComputePipelineDescriptor &descriptor,
                                                    const NS::Array *more);

} // namespace pewter::metal
