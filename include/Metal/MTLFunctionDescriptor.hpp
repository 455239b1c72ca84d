// SPDX-License-Identifier: Apache-2.0
//
// FunctionDescriptor: which function to take out of a library, and how.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "MTLDefines.hpp"

namespace MTL {

class FunctionConstantValues;
class FunctionDescriptor;

using FunctionOptions = NS::UInteger;
enum : FunctionOptions {
  FunctionOptionNone = 0,
  FunctionOptionCompileToBinary = 1,
  FunctionOptionStoreFunctionInMetalPipelinesScript = 1 << 1,
  FunctionOptionStoreFunctionInMetalScript = 1 << 1,
  FunctionOptionFailOnBinaryArchiveMiss = 1 << 2,
  FunctionOptionPipelineIndependent = 1 << 3,
};

/// A name, an optional second name, and constant values.
class _MTL_EXPORT FunctionDescriptor : public NS::Copying<FunctionDescriptor> {
public:
  static FunctionDescriptor *alloc();
  static FunctionDescriptor *functionDescriptor();
  FunctionDescriptor *init();
  NS::Array *binaryArchives() const;
  void setBinaryArchives(const NS::Array *binaryArchives);
  FunctionConstantValues *constantValues() const;
  void setConstantValues(const FunctionConstantValues *constantValues);
  NS::String *name() const;
  void setName(const NS::String *name);
  FunctionOptions options() const;
  void setOptions(FunctionOptions options);
  NS::String *specializedName() const;
  void setSpecializedName(const NS::String *specializedName);
};

} // namespace MTL
