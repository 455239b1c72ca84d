// SPDX-License-Identifier: Apache-2.0
#include "pewter/LibraryInput.h"
#include "device/CompilerLibrary.h"
#include <cstdio>
#include <filesystem>

namespace pewter::tools {

Result<compiler::MathMode> mathModeNamed(const std::string &name) {
  if (name == "fast")
    return compiler::MathMode::Fast;
  if (name == "relaxed")
    return compiler::MathMode::Relaxed;
  if (name == "safe" || name == "strict")
    return compiler::MathMode::Safe;
  return fail(ErrorKind::Validation, "Math mode \"{}\" is not one of fast, relaxed, safe.", name);
}

Result<Bytes> loadLibrary(const InputOptions &options) {
  std::filesystem::path path(options.path);
  std::string extension = path.extension().string();
  PEWTER_TRY(Bytes file, readFile(path));
  if (extension == ".metallib")
    return file;
  if (extension != ".metal" && extension != ".air" && extension != ".bc")
    return fail(ErrorKind::Validation,
                "Input \"{}\" is none of .metal, .air, .bc, .metallib by its name.", options.path);

  PEWTER_TRY(const compiler::EntryPoints *entry, device::compilerLibrary());
  Result<compiler::LibraryImage> image = [&]() -> Result<compiler::LibraryImage> {
    if (extension != ".metal")
      return entry->linkAir({file});
    compiler::SourceRequest request;
    request.source = std::string(textOf(file));
    request.fileName = options.path;
    PEWTER_TRY(request.mathMode, mathModeNamed(options.mathMode));
    for (const std::string &macro : options.macros) {
      size_t equals = macro.find('=');
      request.macros[macro.substr(0, equals)] =
          equals == std::string::npos ? "1" : macro.substr(equals + 1);
    }
    request.includeDirectories = options.includeDirectories;
    request.includeDirectories.push_back(path.has_parent_path() ? path.parent_path().string() : ".");
    return entry->compileSource(request);
  }();
  if (!image)
    return std::unexpected(std::move(image).error().whileDoing("compiling \"" + options.path + "\""));
  if (!image->diagnostics.empty())
    std::fprintf(stderr, "%s", image->diagnostics.c_str());
  return std::move(image->metallib);
}

} // namespace pewter::tools
