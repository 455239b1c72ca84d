// SPDX-License-Identifier: Apache-2.0
//
// Library and Function: compiled MSL, before it is made ready for a device.
#pragma once
#include "../Foundation/Foundation.hpp"
#include "MTLDataType.hpp"
#include "MTLDefines.hpp"
#include "MTLFunctionDescriptor.hpp"
#include "MTLTypes.hpp"
#include <functional>

namespace MTL {

class Argument;
class ArgumentEncoder;
class Attribute;
class CompileOptions;
class Device;
class Function;
class FunctionConstant;
class FunctionConstantValues;
class FunctionDescriptor;
class FunctionReflection;
class Library;

enum FunctionType : NS::UInteger {
  FunctionTypeVertex = 1,
  FunctionTypeFragment = 2,
  FunctionTypeKernel = 3,
  FunctionTypeVisible = 5,
  FunctionTypeIntersection = 6,
  FunctionTypeMesh = 7,
  FunctionTypeObject = 8,
};

enum LanguageVersion : NS::UInteger {
  LanguageVersion1_0 = 65536,
  LanguageVersion1_1 = 65537,
  LanguageVersion1_2 = 65538,
  LanguageVersion2_0 = 131072,
  LanguageVersion2_1 = 131073,
  LanguageVersion2_2 = 131074,
  LanguageVersion2_3 = 131075,
  LanguageVersion2_4 = 131076,
  LanguageVersion3_0 = 196608,
  LanguageVersion3_1 = 196609,
  LanguageVersion3_2 = 196610,
  LanguageVersion4_0 = 262144,
};

enum LibraryType : NS::Integer {
  LibraryTypeExecutable = 0,
  LibraryTypeDynamic = 1,
};

enum LibraryOptimizationLevel : NS::Integer {
  LibraryOptimizationLevelDefault = 0,
  LibraryOptimizationLevelSize = 1,
};

enum CompileSymbolVisibility : NS::Integer {
  CompileSymbolVisibilityDefault = 0,
  CompileSymbolVisibilityHidden = 1,
};

enum MathMode : NS::Integer {
  MathModeSafe = 0,
  MathModeRelaxed = 1,
  MathModeFast = 2,
};

enum MathFloatingPointFunctions : NS::Integer {
  MathFloatingPointFunctionsFast = 0,
  MathFloatingPointFunctionsPrecise = 1,
};

enum LibraryError : NS::UInteger {
  LibraryErrorUnsupported = 1,
  LibraryErrorInternal = 2,
  LibraryErrorCompileFailure = 3,
  LibraryErrorCompileWarning = 4,
  LibraryErrorFunctionNotFound = 5,
  LibraryErrorFileNotFound = 6,
};

class Function;
class Argument;
using AutoreleasedArgument = Argument *;
using FunctionCompletionHandlerFunction =
    std::function<void(Function *pFunction, NS::Error *pError)>;
_MTL_CONST(NS::ErrorDomain, LibraryErrorDomain);

/// A [[function_constant(n)]] declaration.
class _MTL_EXPORT FunctionConstant : public NS::Referencing<FunctionConstant> {
public:
  static FunctionConstant *alloc();
  FunctionConstant *init();
  NS::UInteger index() const;
  NS::String *name() const;
  bool required() const;
  DataType type() const;
};

/// A stage-in attribute. Compute functions here have none.
class _MTL_EXPORT Attribute : public NS::Referencing<Attribute> {
public:
  static Attribute *alloc();
  Attribute *init();
  bool active() const;
  bool isActive() const;
  NS::UInteger attributeIndex() const;
  DataType attributeType() const;
  NS::String *name() const;
};

/// A function taken out of a library, its constants settled.
class _MTL_EXPORT Function : public NS::Referencing<Function> {
public:
  Device *device() const;
  NS::Dictionary *functionConstantsDictionary() const;
  FunctionType functionType() const;
  NS::String *label() const;
  void setLabel(const NS::String *label);
  NS::String *name() const;
  ArgumentEncoder *newArgumentEncoder(NS::UInteger bufferIndex);
  ArgumentEncoder *newArgumentEncoder(NS::UInteger bufferIndex,
                                      const AutoreleasedArgument *reflection);
  FunctionOptions options() const;
  NS::Array *vertexAttributes() const;
};

/// How newLibrary(source) compiles.
class _MTL_EXPORT CompileOptions : public NS::Copying<CompileOptions> {
public:
  static CompileOptions *alloc();
  CompileOptions *init();
  bool allowReferencingUndefinedSymbols() const;
  void setAllowReferencingUndefinedSymbols(bool allowReferencingUndefinedSymbols);
  CompileSymbolVisibility compileSymbolVisibility() const;
  void setCompileSymbolVisibility(CompileSymbolVisibility compileSymbolVisibility);
  bool enableLogging() const;
  void setEnableLogging(bool enableLogging);
  bool fastMathEnabled() const;
  void setFastMathEnabled(bool fastMathEnabled);
  NS::String *installName() const;
  void setInstallName(const NS::String *installName);
  LanguageVersion languageVersion() const;
  void setLanguageVersion(LanguageVersion languageVersion);
  NS::Array *libraries() const;
  void setLibraries(const NS::Array *libraries);
  LibraryType libraryType() const;
  void setLibraryType(LibraryType libraryType);
  MathFloatingPointFunctions mathFloatingPointFunctions() const;
  void setMathFloatingPointFunctions(MathFloatingPointFunctions mathFloatingPointFunctions);
  MathMode mathMode() const;
  void setMathMode(MathMode mathMode);
  NS::UInteger maxTotalThreadsPerThreadgroup() const;
  void setMaxTotalThreadsPerThreadgroup(NS::UInteger maxTotalThreadsPerThreadgroup);
  LibraryOptimizationLevel optimizationLevel() const;
  void setOptimizationLevel(LibraryOptimizationLevel optimizationLevel);
  NS::Dictionary *preprocessorMacros() const;
  void setPreprocessorMacros(const NS::Dictionary *preprocessorMacros);
  bool preserveInvariance() const;
  void setPreserveInvariance(bool preserveInvariance);
  Size requiredThreadsPerThreadgroup() const;
  void setRequiredThreadsPerThreadgroup(Size requiredThreadsPerThreadgroup);
};

/// The bindings of a function.
class _MTL_EXPORT FunctionReflection : public NS::Referencing<FunctionReflection> {
public:
  static FunctionReflection *alloc();
  FunctionReflection *init();
  NS::Array *bindings() const;
};

/// Functions by name. Immutable; any thread.
class _MTL_EXPORT Library : public NS::Referencing<Library> {
public:
  Device *device() const;
  NS::Array *functionNames() const;
  NS::String *installName() const;
  NS::String *label() const;
  void setLabel(const NS::String *label);
  Function *newFunction(const NS::String *functionName);
  Function *newFunction(const FunctionDescriptor *descriptor, NS::Error **error);
  Function *newFunction(const NS::String *name, const FunctionConstantValues *constantValues,
                        NS::Error **error);
  void newFunction(const FunctionDescriptor *pDescriptor,
                   const FunctionCompletionHandlerFunction &completionHandler);
  void newFunction(const NS::String *pFunctionName, const FunctionConstantValues *pConstantValues,
                   const FunctionCompletionHandlerFunction &completionHandler);
  FunctionReflection *reflectionForFunction(const NS::String *functionName);
  LibraryType type() const;

#ifdef __BLOCKS__
  void newFunction(const NS::String *name, const FunctionConstantValues *constantValues,
                   void (^completionHandler)(Function *, NS::Error *)) {
    newFunction(name, constantValues,
                FunctionCompletionHandlerFunction(
                    NS::detail::CopiedBlock<void(Function *, NS::Error *)>(completionHandler)));
  }
  void newFunction(const FunctionDescriptor *descriptor,
                   void (^completionHandler)(Function *, NS::Error *)) {
    newFunction(descriptor,
                FunctionCompletionHandlerFunction(
                    NS::detail::CopiedBlock<void(Function *, NS::Error *)>(completionHandler)));
  }
#endif
};

} // namespace MTL
