// SPDX-License-Identifier: Apache-2.0
//
// FunctionConstantValues: values for [[function_constant(n)]] declarations.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "MTLDataType.hpp"
#include "MTLDefines.hpp"

namespace MTL {

/// Values by index or by name. A value set by name wins when both name one constant.
class _MTL_EXPORT FunctionConstantValues : public NS::Copying<FunctionConstantValues> {
public:
  static FunctionConstantValues *alloc();
  FunctionConstantValues *init();
  void setConstantValue(const void *value, DataType type, NS::UInteger index);
  void setConstantValue(const void *value, DataType type, const NS::String *name);
  void setConstantValues(const void *values, DataType type, NS::Range range);
  void reset();
};

} // namespace MTL
