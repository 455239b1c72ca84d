// SPDX-License-Identifier: Apache-2.0
//
// How clang is set up for MSL: its command line, language options, macros and the in-memory files
// (the precompiled library, empty standard headers, the request's include files).
#pragma once
#include "msl/frontend/Session.h"
#include <clang/Frontend/CompilerInstance.h>

namespace pewter::msl {

inline constexpr char kPreludePath[] = "/pewter/prelude.metal";

/// Prepares diagnostics, file system, language and target. False when the options are refused.
bool configure(clang::CompilerInstance &instance, const compiler::SourceRequest &request,
               const Prelude &prelude, Diagnostics &diagnostics);

/// The text of the macro definitions that a request asks for, and MSL's own.
std::string predefinesOf(const compiler::SourceRequest &request);

} // namespace pewter::msl
