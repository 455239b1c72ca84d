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
};

/// Warnings go to stderr; errors name the file.
Result<Bytes> loadLibrary(const InputOptions &options);

Result<compiler::MathMode> mathModeNamed(const std::string &name);

} // namespace pewter::tools
