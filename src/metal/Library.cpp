// SPDX-License-Identifier: Apache-2.0
//
// Libraries come from three places: a .metallib (file, URL or data), loose AIR (which the compiler
// packs first), and MSL source (which the compiler compiles first, through the disk cache).
// Tested by tests/api/Library_test.cpp.
#include "metal/Library.h"
#include "air/Metallib.h"
#include "device/CompilerLibrary.h"
#include "foundation/Collections.h"
#include "foundation/Dispatch.h"
#include "foundation/Files.h"
#include "foundation/Number.h"
#include "metal/Argument.h"
#include "metal/Background.h"
#include "metal/Device.h"
#include "metal/DynamicLibrary.h"
#include "metal/ErrorDomain.h"
#include "metal/FunctionConstantValues.h"
#include "metal/Property.h"
#include "metal/Validation.h"
#include <Foundation/NSBundle.hpp>
#include <algorithm>

namespace pewter::metal {
namespace {

/// The edit distance of two names, for "did you mean".
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

MTL::FunctionType typeOf(air::MetallibFunctionKind kind) {
  switch (kind) {
  case air::MetallibFunctionKind::Vertex:
    return MTL::FunctionTypeVertex;
  case air::MetallibFunctionKind::Fragment:
    return MTL::FunctionTypeFragment;
  case air::MetallibFunctionKind::Visible:
    return MTL::FunctionTypeVisible;
  case air::MetallibFunctionKind::Intersection:
    return MTL::FunctionTypeIntersection;
  default:
    return MTL::FunctionTypeKernel;
  }
}

std::string textOfMacro(const NS::Object *value) {
  if (auto *string = dynamic_cast<const NS::String *>(value))
    return foundation::copyText(string);
  return foundation::copyText(value->description());
}

compiler::SourceRequest requestOf(std::string source, const CompileOptions::Values &options) {
  compiler::SourceRequest request;
  request.source = std::move(source);
  if (auto *macros = options.preprocessorMacros.get())
    for (auto &[name, value] : static_cast<foundation::Dictionary *>(macros)->entries)
      request.macros[textOfMacro(name.get())] = textOfMacro(value.get());
  request.languageVersion = static_cast<uint32_t>(options.languageVersion);
  request.enableLogging = options.enableLogging;
  request.isDynamic = options.libraryType == MTL::LibraryTypeDynamic;
  request.installName = foundation::copyText(options.installName.get());
  request.allowUndefined = options.allowReferencingUndefinedSymbols;
  request.linkedSymbols = symbolsOf(options.libraries.get());
  request.preciseFunctions =
      options.mathFloatingPointFunctions == MTL::MathFloatingPointFunctionsPrecise;
  switch (options.mathMode) {
  case MTL::MathModeSafe:
    request.mathMode = compiler::MathMode::Safe;
    break;
  case MTL::MathModeRelaxed:
    request.mathMode = compiler::MathMode::Relaxed;
    break;
  default:
    request.mathMode = compiler::MathMode::Fast;
  }
  return request;
}

Result<Library *> loadLibrary(MTL::Device *device, ByteView bytes) {
  auto library = NS::TransferPtr(new Library(device));
  PEWTER_TRY_VOID(library->load(bytes));
  Library *made = library.get();
  library.detach();
  return made;
}

Result<Library *> openLibrary(MTL::Device *device, const std::string &path) {
  auto file = MappedFile::open(path);
  if (!file)
    return std::unexpected(std::move(file.error()).whileDoing("loading library \"" + path + "\""));
  auto library = loadLibrary(device, (*file)->bytes());
  if (!library)
    return std::unexpected(
        std::move(library.error()).whileDoing("loading library \"" + path + "\""));
  return library;
}

Result<Library *> compileLibrary(MTL::Device *device, const compiler::SourceRequest &request) {
  PEWTER_TRY(auto image, device::compileSource(request));
  if (!image.diagnostics.empty())
    std::fprintf(stderr, "%s", image.diagnostics.c_str());
  return loadLibrary(device, image.metallib);
}

MTL::Library *deliver(Result<Library *> library, NS::Error **error) {
  if (library)
    return *library;
  setError(error, ErrorDomain::Library, library.error());
  return nullptr;
}

/// Refuses options that contradict each other.
Result<void> checkOptions(const CompileOptions::Values &options) {
  if (options.libraryType == MTL::LibraryTypeDynamic &&
      (!options.installName || options.installName->length() == 0))
    return fail(ErrorKind::Compile,
                "CompileOptions::installName is empty; a dynamic library (libraryType) needs one.");
  return {};
}

} // namespace

NS::detail::Root *CompileOptions::makeCopy() const {
  auto *copy = new CompileOptions();
  copy->values = values;
  return copy;
}

Library::Library(MTL::Device *device) : device(device) {}
Library::~Library() = default;

Result<void> Library::load(ByteView bytes) {
  Bytes packed;
  if (!air::isMetallib(bytes)) {
    PEWTER_TRY(auto *entries, device::compilerLibrary());
    PEWTER_TRY(auto image, entries->linkAir({Bytes(bytes.begin(), bytes.end())}));
    packed = std::move(image.metallib);
    bytes = packed;
  }
  PEWTER_TRY(auto container, air::readMetallib(bytes));
  if (container.fileType == air::MetallibFileType::Dynamic) {
    type = MTL::LibraryTypeDynamic;
    installName = container.installName;
    this->container.assign(bytes.begin(), bytes.end());
  }
  for (auto &entry : container.functions) {
    const bool isExport = entry.kind == air::MetallibFunctionKind::Unqualified;
    LibraryFunction &function = (isExport ? exports : functions).emplace_back();
    function.name = entry.name;
    function.type = typeOf(entry.kind);
    function.module = std::make_shared<const Bytes>(entry.module.begin(), entry.module.end());
    for (auto &constant : entry.constants)
      function.constants.push_back({.name = constant.name,
                                    .type = constant.type,
                                    .index = constant.index,
                                    .required = constant.active});
    function.moduleHash = hashOf(*function.module);
    function.contentHash = entry.hash;
    if (!isExport)
      byName.emplace(function.name, &function);
  }
  return {};
}

Result<Function *> Library::makeFunction(std::string_view name,
                                         const MTL::FunctionConstantValues *values) {
  auto found = byName.find(name);
  if (found == byName.end()) {
    std::string_view nearest;
    size_t least = name.size() / 3 + 1;
    for (auto &function : functions)
      if (size_t d = distance(name, function.name); d <= least) {
        least = d;
        nearest = function.name;
      }
    return fail(ErrorKind::Validation, "Function \"{}\" is not in the library ({} functions{}).",
                name, functions.size(), nearest.empty() ? "" : fmt::format("; \"{}\" is", nearest));
  }
  PEWTER_TRY_VOID(
      air::checkContent(name, *found->second->module, found->second->contentHash));
  std::vector<compiler::ConstantValue> constants;
  if (values) {
    PEWTER_TRY(constants, implOf(values)->valuesFor(name, found->second->constants));
  }
  return new Function(this, *found->second, std::move(constants));
}

} // namespace pewter::metal

using namespace pewter::metal;
using pewter::foundation::copyText;
using pewter::foundation::makeString;
using pewter::foundation::share;

PEWTER_LABEL(Library)
PEWTER_ALLOC(CompileOptions)

#define implOf(object) (&implOf(object)->values)
PEWTER_OBJECT(CompileOptions, NS::Dictionary, preprocessorMacros, setPreprocessorMacros)
PEWTER_VALUE(CompileOptions, LanguageVersion, languageVersion, setLanguageVersion)
PEWTER_VALUE(CompileOptions, LibraryType, libraryType, setLibraryType)
PEWTER_OBJECT(CompileOptions, NS::String, installName, setInstallName)
PEWTER_OBJECT(CompileOptions, NS::Array, libraries, setLibraries)
PEWTER_PLAIN(CompileOptions, bool, preserveInvariance, setPreserveInvariance)
PEWTER_VALUE(CompileOptions, LibraryOptimizationLevel, optimizationLevel, setOptimizationLevel)
PEWTER_VALUE(CompileOptions, CompileSymbolVisibility, compileSymbolVisibility,
             setCompileSymbolVisibility)
PEWTER_PLAIN(CompileOptions, bool, allowReferencingUndefinedSymbols,
             setAllowReferencingUndefinedSymbols)
PEWTER_PLAIN(CompileOptions, bool, enableLogging, setEnableLogging)
PEWTER_PLAIN(CompileOptions, NS::UInteger, maxTotalThreadsPerThreadgroup,
             setMaxTotalThreadsPerThreadgroup)
PEWTER_VALUE(CompileOptions, Size, requiredThreadsPerThreadgroup, setRequiredThreadsPerThreadgroup)
PEWTER_VALUE(CompileOptions, MathMode, mathMode, setMathMode)
PEWTER_VALUE(CompileOptions, MathFloatingPointFunctions, mathFloatingPointFunctions,
             setMathFloatingPointFunctions)
#undef implOf

namespace MTL {

bool CompileOptions::fastMathEnabled() const { return mathMode() == MathModeFast; }
void CompileOptions::setFastMathEnabled(bool fastMathEnabled) {
  setMathMode(fastMathEnabled ? MathModeFast : MathModeSafe);
}

Library *Device::newLibrary(const NS::String *filepath, NS::Error **error) {
  return deliver(openLibrary(this, copyText(filepath)), error);
}
Library *Device::newLibrary(const NS::URL *url, NS::Error **error) {
  return deliver(openLibrary(this, pewter::foundation::pathOf(url)), error);
}
Library *Device::newLibrary(const dispatch_data_t data, NS::Error **error) {
  return deliver(loadLibrary(this, pewter::foundation::bytesOf(data)), error);
}
Library *Device::newLibrary(const NS::String *source, const CompileOptions *options,
                            NS::Error **error) {
  pewter::metal::CompileOptions::Values values;
  if (options)
    values = implOf(options)->values;
  if (auto checked = checkOptions(values); !checked)
    return deliver(std::unexpected(std::move(checked.error())), error);
  auto library = compileLibrary(this, requestOf(copyText(source), values));
  if (library) {
    (*library)->maxTotalThreadsPerThreadgroup = values.maxTotalThreadsPerThreadgroup;
    (*library)->requiredThreadsPerThreadgroup = values.requiredThreadsPerThreadgroup;
    for (auto &object : pewter::foundation::objectsOf(values.libraries.get()))
      (*library)->linked.push_back(
          share(implOf(reinterpret_cast<DynamicLibrary *>(object.get()))));
  }
  return deliver(std::move(library), error);
}
void Device::newLibrary(const NS::String *source, const CompileOptions *options,
                        const NewLibraryCompletionHandlerFunction &completionHandler) {
  auto kept = NS::TransferPtr(options ? options->copy() : CompileOptions::alloc()->init());
  background().run([this, source = share(source), kept, completionHandler] {
    NS::Error *error = nullptr;
    Library *library = newLibrary(source.get(), kept.get(), &error);
    if (completionHandler)
      completionHandler(library, error);
    if (library)
      library->release(); // A handler that keeps it retains it.
  });
}

Library *Device::newDefaultLibrary() { return newDefaultLibrary(nullptr, nullptr); }
Library *Device::newDefaultLibrary(const NS::Bundle *bundle, NS::Error **error) {
  if (!bundle)
    bundle = NS::Bundle::mainBundle();
  return deliver(openLibrary(this, copyText(bundle->resourcePath()) + "/default.metallib"), error);
}

Device *Library::device() const { return implOf(this)->device; }
NS::String *Library::installName() const {
  auto &name = implOf(this)->installName;
  return name.empty() ? nullptr : makeString(name);
}
LibraryType Library::type() const { return implOf(this)->type; }
NS::Array *Library::functionNames() const {
  std::vector<pewter::foundation::Ref<NS::String>> names;
  for (auto &function : implOf(this)->functions)
    names.push_back(NS::TransferPtr(pewter::foundation::newString(function.name)));
  return pewter::foundation::makeArray(std::move(names));
}

Function *Library::newFunction(const NS::String *functionName) {
  auto made = implOf(this)->makeFunction(pewter::foundation::textOf(functionName), nullptr);
  return made ? *made : nullptr;
}
Function *Library::newFunction(const NS::String *name, const FunctionConstantValues *constantValues,
                               NS::Error **error) {
  auto made = implOf(this)->makeFunction(pewter::foundation::textOf(name), constantValues);
  if (made)
    return *made;
  setError(error, ErrorDomain::Library, made.error());
  return nullptr;
}
Function *Library::newFunction(const FunctionDescriptor *descriptor, NS::Error **error) {
  auto *d = implOf(descriptor);
  Function *function = newFunction(d->name.get(), d->constantValues.get(), error);
  if (function) {
    implOf(function)->options = d->options;
    if (d->specializedName)
      implOf(function)->name = pewter::foundation::textOf(d->specializedName.get());
  }
  return function;
}
void Library::newFunction(const NS::String *pFunctionName,
                          const FunctionConstantValues *pConstantValues,
                          const FunctionCompletionHandlerFunction &completionHandler) {
  NS::SharedPtr<FunctionConstantValues> values;
  if (pConstantValues)
    values = NS::TransferPtr(pConstantValues->copy());
  background().run([library = share(this), name = share(pFunctionName), values, completionHandler] {
    NS::Error *error = nullptr;
    auto function = NS::TransferPtr(library->newFunction(name.get(), values.get(), &error));
    if (completionHandler)
      completionHandler(function.get(), error);
  });
}
void Library::newFunction(const FunctionDescriptor *pDescriptor,
                          const FunctionCompletionHandlerFunction &completionHandler) {
  background().run([library = share(this), descriptor = NS::TransferPtr(pDescriptor->copy()),
                    completionHandler] {
    NS::Error *error = nullptr;
    auto function = NS::TransferPtr(library->newFunction(descriptor.get(), &error));
    if (completionHandler)
      completionHandler(function.get(), error);
  });
}
FunctionReflection *Library::reflectionForFunction(const NS::String *functionName) {
  auto function = NS::TransferPtr(newFunction(functionName));
  if (!function)
    return nullptr;
  auto kernel = implOf(function.get())->reflect();
  if (!kernel) {
    reportMisuse(std::move(kernel.error()).whileDoing("Library::reflectionForFunction"));
    return nullptr;
  }
  return makeFunctionReflection(*kernel);
}

} // namespace MTL
