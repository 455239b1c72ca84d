// SPDX-License-Identifier: Apache-2.0
//
// The INPUT of `compile` and `run`: MSL source (.metal), loose AIR (.air, .bc) or a library
// (.metallib), brought to one form: the bytes of a .metallib.
#pragma once
#include "base/Bytes.h"
#include "compiler/Compiler.h"
#include <string>
#include <vector>

namespace pewter::tools {

struct InputOptions {
  std::string path;
  std::string mathMode = "fast";               ///< fast, relaxed or safe; for .metal.
  std::vector<std::string> macros;             ///< NAME or NAME=VALUE; for .metal.
  std::vector<std::string> includeDirectories; ///< For .metal.
  uint32_t languageVersion = 0;                ///< major << 16 | minor; 0: the compiler's default.
  bool isSource = false;                       ///< Whatever its name says, or "-": standard input.
  bool warningsAsErrors = false;
  bool enableLogging = true;
  bool preciseFunctions = false; ///< Of math, whatever the mode.
  bool silent = false;  ///< Prints no warnings.
  bool isDynamic = false; ///< A dynamic library, by the name `installName`.
  std::string installName;
  std::vector<std::string> linkedSymbols; ///< What the libraries to link against export, sorted.
  std::string prologue; ///< In front of the source.
};

/// Warnings go to stderr; errors name the file. `dependencies` gets the files that were read.
Result<Bytes> loadLibrary(const InputOptions &options,
                          std::vector<std::string> *dependencies = nullptr);

Result<compiler::MathMode> mathModeNamed(const std::string &name);

} // namespace pewter::tools
