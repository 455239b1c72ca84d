// SPDX-License-Identifier: Apache-2.0
//
// Library: the functions of one .metallib, by name; and the options source is compiled with.
#pragma once
#include "base/Bytes.h"
#include "compiler/Compiler.h"
#include "foundation/Object.h"
#include "metal/Function.h"
#include <Metal/MTLLibrary.hpp>
#include <deque>
#include <map>
#include <string>

namespace pewter::metal {

class Device;
class DynamicLibrary;

class CompileOptions final : public MTL::CompileOptions {
public:
  const char *className() const override { return "MTLCompileOptions"; }
  Root *makeCopy() const override;

  struct Values {
    foundation::Ref<NS::Dictionary> preprocessorMacros;
    MTL::LanguageVersion languageVersion = MTL::LanguageVersion3_2;
    MTL::LibraryType libraryType = MTL::LibraryTypeExecutable;
    foundation::Ref<NS::String> installName;
    foundation::Ref<NS::Array> libraries;
    bool preserveInvariance = false;
    MTL::LibraryOptimizationLevel optimizationLevel = MTL::LibraryOptimizationLevelDefault;
    MTL::CompileSymbolVisibility compileSymbolVisibility = MTL::CompileSymbolVisibilityDefault;
    bool allowReferencingUndefinedSymbols = false;
    bool enableLogging = false;
    NS::UInteger maxTotalThreadsPerThreadgroup = 0;
    MTL::Size requiredThreadsPerThreadgroup{0, 0, 0};
    MTL::MathMode mathMode = MTL::MathModeFast;
    MTL::MathFloatingPointFunctions mathFloatingPointFunctions =
        MTL::MathFloatingPointFunctionsFast;
  } values;
};

class Library final : public MTL::Library {
public:
  explicit Library(MTL::Device *device);
  ~Library() override;
  const char *className() const override { return "MTLLibrary"; }

  /// Reads a container and takes its functions.
  Result<void> load(ByteView metallib);
  Result<Function *> makeFunction(std::string_view name, const MTL::FunctionConstantValues *values);

  MTL::Device *device;
  std::string label;
  MTL::LibraryType type = MTL::LibraryTypeExecutable;
  std::string installName;
  std::deque<LibraryFunction> exports; ///< Of a dynamic library, by symbol.
  Bytes container;                     ///< Of a dynamic library: it can be written to a file.
  /// What this was compiled against.
  std::vector<foundation::Ref<DynamicLibrary>> linked;
  /// From the compile options, for pipelines whose descriptor says nothing; 0: no wish.
  NS::UInteger maxTotalThreadsPerThreadgroup = 0;
  MTL::Size requiredThreadsPerThreadgroup{0, 0, 0};
  std::deque<LibraryFunction> functions; ///< In the container's order; addresses stay.
  std::map<std::string, const LibraryFunction *, std::less<>> byName;
};

inline Library *implOf(const MTL::Library *library) {
  return static_cast<Library *>(const_cast<MTL::Library *>(library));
}
inline CompileOptions *implOf(const MTL::CompileOptions *options) {
  return static_cast<CompileOptions *>(const_cast<MTL::CompileOptions *>(options));
}

} // namespace pewter::metal
