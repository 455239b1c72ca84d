// SPDX-License-Identifier: Apache-2.0
// Tested by tests/api/Library_test.cpp.
#include "metal/FunctionConstantValues.h"
#include "air/DataType.h"
#include "metal/Property.h"
#include "metal/Validation.h"
#include <cstring>

namespace pewter::metal {
namespace {

/// Fills `out`; false, and a message, for a type that no constant can have.
bool makeValue(compiler::ConstantValue &out, const void *value, MTL::DataType type) {
  auto airType = static_cast<air::DataType>(type);
  uint32_t size = air::sizeOf(airType);
  if (!value || size == 0 || size > out.bytes.size()) {
    misuse(
        "FunctionConstantValues::setConstantValue: type ({}) is not a scalar or vector, or value "
        "({}) is null.",
        static_cast<NS::UInteger>(type), value);
    return false;
  }
  out.type = airType;
  // The program's three-component value may end after its third component.
  air::Components parts = air::componentsOf(airType);
  std::memcpy(out.bytes.data(), value, parts.count * air::sizeOf(parts.scalar));
  return true;
}

} // namespace

NS::detail::Root *FunctionConstantValues::makeCopy() const {
  auto *copy = new FunctionConstantValues();
  copy->byIndex = byIndex;
  copy->byName = byName;
  return copy;
}

Result<std::vector<compiler::ConstantValue>>
FunctionConstantValues::valuesFor(std::string_view function,
                                  std::span<const air::FunctionConstant> declared) const {
  std::vector<compiler::ConstantValue> values;
  for (const air::FunctionConstant &constant : declared) {
    const compiler::ConstantValue *found = nullptr;
    if (auto at = byName.find(constant.name); at != byName.end())
      found = &at->second;
    else if (auto at = byIndex.find(constant.index); at != byIndex.end())
      found = &at->second;
    if (!found)
      continue;
    if (found->type != constant.type)
      return fail(
          ErrorKind::Validation,
          "The value of function constant \"{}\" (index {}) of function \"{}\" has type {}, "
          "and its declaration has type {}.",
          constant.name, constant.index, function, air::nameOf(found->type),
          air::nameOf(constant.type));
    values.push_back(*found);
    values.back().index = constant.index;
  }
  return values;
}

} // namespace pewter::metal

using namespace pewter::metal;

PEWTER_ALLOC(FunctionConstantValues)

namespace MTL {

void FunctionConstantValues::reset() {
  implOf(this)->byIndex.clear();
  implOf(this)->byName.clear();
}
void FunctionConstantValues::setConstantValue(const void *value, DataType type,
                                              NS::UInteger index) {
  pewter::compiler::ConstantValue made;
  made.index = static_cast<uint32_t>(index);
  if (makeValue(made, value, type))
    implOf(this)->byIndex[made.index] = made;
}
void FunctionConstantValues::setConstantValue(const void *value, DataType type,
                                              const NS::String *name) {
  pewter::compiler::ConstantValue made;
  if (makeValue(made, value, type))
    implOf(this)->byName[pewter::foundation::copyText(name)] = made;
}
void FunctionConstantValues::setConstantValues(const void *values, DataType type, NS::Range range) {
  uint32_t size = pewter::air::sizeOf(static_cast<pewter::air::DataType>(type));
  for (NS::UInteger i = 0; i < range.length; ++i)
    setConstantValue(static_cast<const std::byte *>(values) + i * size, type, range.location + i);
}

} // namespace MTL
