// SPDX-License-Identifier: Apache-2.0
#include "pewter/LibraryInput.h"
#include "air/Metallib.h"
#include "device/CompilerLibrary.h"
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <iterator>

namespace pewter::tools {

namespace {

Result<Bytes> readStandardInput() {
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  ByteView view = viewOf(text);
  return Bytes(view.begin(), view.end());
}

} // namespace

Result<compiler::MathMode> mathModeNamed(const std::string &name) {
  if (name == "fast")
    return compiler::MathMode::Fast;
  if (name == "relaxed")
    return compiler::MathMode::Relaxed;
  if (name == "safe" || name == "strict")
    return compiler::MathMode::Safe;
  return fail(ErrorKind::Validation, "Math mode \"{}\" is not one of fast, relaxed, safe.", name);
}

Result<Bytes> loadLibrary(const InputOptions &options, std::vector<std::string> *dependencies) {
  std::filesystem::path path(options.path);
  std::string extension = path.extension().string();
  PEWTER_TRY(Bytes file, options.path == "-" ? readStandardInput() : readFile(path));
  const bool isSource = options.isSource || extension == ".metal" ||
                        (options.path == "-" && !air::isMetallib(file));
  if (dependencies)
    *dependencies = {options.path};
  if (!isSource && air::isMetallib(file)) // A .metallib, or an .air of `pewter metal -c`.
    return file;
  if (!isSource && extension != ".air" && extension != ".bc" && extension != ".metallib")
    return fail(ErrorKind::Validation,
                "Input \"{}\" is none of .metal, .air, .bc, .metallib by its name.", options.path);

  PEWTER_TRY(const compiler::EntryPoints *entry, device::compilerLibrary());
  Result<compiler::LibraryImage> image = [&]() -> Result<compiler::LibraryImage> {
    if (!isSource)
      return entry->linkAir({file});
    compiler::SourceRequest request;
    request.source = options.prologue + std::string(textOf(file));
    request.fileName = options.path;
    PEWTER_TRY(request.mathMode, mathModeNamed(options.mathMode));
    for (const std::string &macro : options.macros) {
      size_t equals = macro.find('=');
      request.macros[macro.substr(0, equals)] =
          equals == std::string::npos ? "1" : macro.substr(equals + 1);
    }
    if (options.languageVersion)
      request.languageVersion = options.languageVersion;
    request.warningsAsErrors = options.warningsAsErrors;
    request.enableLogging = options.enableLogging;
    request.preciseFunctions = options.preciseFunctions;
    request.isDynamic = options.isDynamic;
    request.installName = options.installName;
    request.linkedSymbols = options.linkedSymbols;
    request.includeDirectories = options.includeDirectories;
    request.includeDirectories.push_back(path.has_parent_path() ? path.parent_path().string() : ".");
    return entry->compileSource(request);
  }();
  if (!image)
    return std::unexpected(std::move(image).error().whileDoing("compiling \"" + options.path + "\""));
  if (dependencies)
    dependencies->insert(dependencies->end(), image->dependencies.begin(), image->dependencies.end());
  if (!image->diagnostics.empty() && !options.silent)
    std::fprintf(stderr, "%s", image->diagnostics.c_str());
  return std::move(image->metallib);
}

} // namespace pewter::tools
