// SPDX-License-Identifier: Apache-2.0
//
// Function: a name in a library, and the values of its constants.
#pragma once
#include "air/Reflection.h"
#include "compiler/Compiler.h"
#include "foundation/Object.h"
#include <Metal/MTLFunctionDescriptor.hpp>
#include <Metal/MTLLibrary.hpp>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace pewter::metal {

class Device;
class Library;

/// What a library holds of one function.
struct LibraryFunction {
  std::string name;
  MTL::FunctionType type = MTL::FunctionTypeKernel;
  std::shared_ptr<const Bytes> module; ///< Bitcode.
  std::vector<air::FunctionConstant> constants;
  Hash128 moduleHash;
  std::array<std::byte, 32> contentHash{}; ///< As the container states it; all zero: not stated.
};

class Function final : public MTL::Function {
public:
  Function(Library *library, const LibraryFunction &source,
           std::vector<compiler::ConstantValue> constants);
  const char *className() const override { return "MTLFunction"; }

  /// The kernel's reflection without its constants settled, from the compiler or the disk cache.
  Result<air::KernelReflection> reflect() const;

  foundation::Ref<Library> library;
  const LibraryFunction &source; ///< In the library.
  std::vector<compiler::ConstantValue> constants;
  Hash128 identity; ///< Of module, name and constants.
  std::string name; ///< The specialised one, if the descriptor gave one.
  std::string label;
  MTL::FunctionOptions options = MTL::FunctionOptionNone;
};

class FunctionDescriptor final : public MTL::FunctionDescriptor {
public:
  const char *className() const override { return "MTLFunctionDescriptor"; }
  Root *makeCopy() const override;
  foundation::Ref<NS::String> name, specializedName;
  foundation::Ref<MTL::FunctionConstantValues> constantValues;
  foundation::Ref<NS::Array> binaryArchives;
  MTL::FunctionOptions options = MTL::FunctionOptionNone;
};

inline Function *implOf(const MTL::Function *function) {
  return static_cast<Function *>(const_cast<MTL::Function *>(function));
}
inline FunctionDescriptor *implOf(const MTL::FunctionDescriptor *descriptor) {
  return static_cast<FunctionDescriptor *>(const_cast<MTL::FunctionDescriptor *>(descriptor));
}

} // namespace pewter::metal
