// SPDX-License-Identifier: Apache-2.0
//
// FunctionHandle: a function as one pipeline knows it. VisibleFunctionTable: memory that kernels see, a
// count and a word for each entry, and what the entries are, for checks when a dispatch is recorded.
#pragma once
#include "metal/LinkedFunctions.h"
#include "metal/Resource.h"
#include <Metal/MTLFunctionHandle.hpp>
#include <Metal/MTLVisibleFunctionTable.hpp>

namespace pewter::metal {

class FunctionHandle final : public MTL::FunctionHandle {
public:
  const char *className() const override { return "MTLFunctionHandle"; }
  MTL::Device *device = nullptr;
  std::shared_ptr<const FunctionSet> set;
  size_t index = 0;      ///< In the set.
  std::string signature; ///< MSL spelling; "" where it is not known.
  const Function &function() const { return *set->functions[index].get(); }
};

class VisibleFunctionTable final : public MTL::VisibleFunctionTable, public ResourceBase {
public:
  VisibleFunctionTable() { kindName = "visible function table"; }
  const char *className() const override { return "MTLVisibleFunctionTable"; }
  void *facet() override { return static_cast<ResourceBase *>(this); }

  void set(const char *call, const MTL::FunctionHandle *handle, NS::UInteger index);
  /// "" when every entry has the type that an argument of a kernel asks for, else what is wrong.
  std::string mismatch(std::string_view argumentType) const;

  std::shared_ptr<const FunctionSet> functionSet;
  std::vector<foundation::Ref<FunctionHandle>> entries;

private:
  uint64_t *words() { return reinterpret_cast<uint64_t *>(ResourceBase::contents()); }
};

inline FunctionHandle *implOf(const MTL::FunctionHandle *handle) {
  return static_cast<FunctionHandle *>(const_cast<MTL::FunctionHandle *>(handle));
}
inline VisibleFunctionTable *implOf(const MTL::VisibleFunctionTable *table) {
  return static_cast<VisibleFunctionTable *>(const_cast<MTL::VisibleFunctionTable *>(table));
}

/// Null when the set has no such function.
MTL::FunctionHandle *makeHandle(MTL::Device *device, const std::shared_ptr<const FunctionSet> &set,
                                const std::function<bool(const Function &)> &isWanted);
MTL::VisibleFunctionTable *newTable(Device *device, std::shared_ptr<const FunctionSet> set,
                                    const MTL::VisibleFunctionTableDescriptor *descriptor);

} // namespace pewter::metal
