// SPDX-License-Identifier: Apache-2.0
// Tested by tests/api/FunctionPointers_test.cpp.
#include "metal/VisibleFunctionTable.h"
#include "device/CompilerLibrary.h"
#include "metal/Device.h"
#include "metal/Library.h"
#include "metal/Property.h"
#include "metal/Validation.h"
#include <algorithm>
#include <cstring>

namespace pewter::metal {

class VisibleFunctionTableDescriptor final : public MTL::VisibleFunctionTableDescriptor {
public:
  const char *className() const override { return "MTLVisibleFunctionTableDescriptor"; }
  Root *makeCopy() const override {
    auto *copy = new VisibleFunctionTableDescriptor();
    copy->functionCount = functionCount;
    return copy;
  }
  NS::UInteger functionCount = 0;
};

namespace {

VisibleFunctionTableDescriptor *implOf(const MTL::VisibleFunctionTableDescriptor *descriptor) {
  return static_cast<VisibleFunctionTableDescriptor *>(
      const_cast<MTL::VisibleFunctionTableDescriptor *>(descriptor));
}

/// "" where neither the compiler nor the disk cache is there to say.
std::string signatureOf(const Function &function) {
  auto description = device::describeModule(*function.source.module);
  if (!description)
    return "";
  for (const compiler::CalleeDescription &callee : description->callees)
    if (callee.name == function.source.name)
      return callee.signature;
  return "";
}

} // namespace

void VisibleFunctionTable::set(const char *call, const MTL::FunctionHandle *handle,
                               NS::UInteger index) {
  if (index >= entries.size())
    return misuse("VisibleFunctionTable::{}: index ({}) is not below the number of entries ({}) of {}.",
                  call, index, entries.size(), describe());
  FunctionHandle *made = implOf(handle);
  if (made && !functionSet->contains(*made->set))
    return misuse("VisibleFunctionTable::{}: the handle of function \"{}\" is of another pipeline than {}.",
                  call, made->function().name, describe());
  entries[index] = foundation::share(made);
  words()[index + 1] = made ? made->index + 1 : 0;
}

std::string VisibleFunctionTable::mismatch(std::string_view argumentType) const {
  const size_t open = argumentType.find('<');
  if (open == std::string_view::npos)
    return "";
  const std::string_view wanted = argumentType.substr(open + 1, argumentType.size() - open - 2);
  for (size_t i = 0; i < entries.size(); ++i)
    if (entries[i] && !entries[i]->signature.empty() && entries[i]->signature != wanted)
      return fmt::format("entry {} of {} is function \"{}\" of type \"{}\"", i, describe(),
                         entries[i]->function().name, entries[i]->signature);
  return "";
}

MTL::FunctionHandle *makeHandle(MTL::Device *device, const std::shared_ptr<const FunctionSet> &set,
                                const std::function<bool(const Function &)> &isWanted) {
  for (size_t i = 0; i < set->functions.size(); ++i)
    if (isWanted(*set->functions[i].get())) {
      auto *handle = new FunctionHandle();
      handle->device = device;
      handle->set = set;
      handle->index = i;
      handle->signature = signatureOf(*set->functions[i].get());
      return foundation::autoreleased(handle);
    }
  return nullptr;
}

MTL::VisibleFunctionTable *newTable(Device *device, std::shared_ptr<const FunctionSet> set,
                                    const MTL::VisibleFunctionTableDescriptor *descriptor) {
  constexpr NS::UInteger kMostEntries = NS::UInteger(1) << 24;
  const NS::UInteger count = descriptor ? implOf(descriptor)->functionCount : 0;
  if (count == 0 || count > kMostEntries) {
    misuse("ComputePipelineState::newVisibleFunctionTable: functionCount ({}) is not between 1 and the "
           "limit ({}).",
           count, kMostEntries);
    return nullptr;
  }
  auto memory = allocateFor(*device, (count + 1) * sizeof(uint64_t), MTL::ResourceStorageModeShared);
  if (!memory) {
    reportMisuse(
        std::move(memory.error()).whileDoing("ComputePipelineState::newVisibleFunctionTable"));
    return nullptr;
  }
  auto *table = new VisibleFunctionTable();
  table->ResourceBase::device = device;
  table->memory = std::move(*memory);
  table->length = (count + 1) * sizeof(uint64_t);
  table->functionSet = std::move(set);
  table->entries.resize(count);
  std::memset(table->contents(), 0, table->length);
  *reinterpret_cast<uint64_t *>(table->contents()) = count;
  return table;
}

} // namespace pewter::metal

using namespace pewter::metal;
using pewter::metal::implOf;

PEWTER_ALLOC(VisibleFunctionTableDescriptor)
PEWTER_PLAIN(VisibleFunctionTableDescriptor, NS::UInteger, functionCount, setFunctionCount)

namespace MTL {

VisibleFunctionTableDescriptor *VisibleFunctionTableDescriptor::visibleFunctionTableDescriptor() {
  return pewter::foundation::autoreleased(alloc());
}

ResourceID VisibleFunctionTable::gpuResourceID() const { return {implOf(this)->address()}; }
void VisibleFunctionTable::setFunction(const FunctionHandle *function, NS::UInteger index) {
  implOf(this)->set("setFunction", function, index);
}
void VisibleFunctionTable::setFunctions(const FunctionHandle *const functions[], NS::Range range) {
  for (NS::UInteger i = 0; i < range.length; ++i)
    implOf(this)->set("setFunctions", functions[i], range.location + i);
}

Device *FunctionHandle::device() const { return implOf(this)->device; }
FunctionType FunctionHandle::functionType() const { return implOf(this)->function().source.type; }
ResourceID FunctionHandle::gpuResourceID() const { return {implOf(this)->index + 1}; }
NS::String *FunctionHandle::name() const {
  return pewter::foundation::makeString(implOf(this)->function().name);
}

} // namespace MTL
