// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "air/Reflection.h"
#include "base/Error.h"
#include "compiler/Compiler.h"
#include "foundation/Object.h"
#include <Metal/MTLFunctionConstantValues.hpp>
#include <map>
#include <span>
#include <string>

namespace pewter::metal {

class FunctionConstantValues final : public MTL::FunctionConstantValues {
public:
  const char *className() const override { return "MTLFunctionConstantValues"; }
  Root *makeCopy() const override;

  /// The values for a function that declares these constants, in index order. A value for a
  /// constant that the function does not declare is left out; one of the wrong type is an error.
  Result<std::vector<compiler::ConstantValue>>
  valuesFor(std::string_view function, std::span<const air::FunctionConstant> declared) const;

  std::map<uint32_t, compiler::ConstantValue> byIndex;
  std::map<std::string, compiler::ConstantValue> byName;
};

inline FunctionConstantValues *implOf(const MTL::FunctionConstantValues *values) {
  return static_cast<FunctionConstantValues *>(const_cast<MTL::FunctionConstantValues *>(values));
}

} // namespace pewter::metal
