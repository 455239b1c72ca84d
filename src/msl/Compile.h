// SPDX-License-Identifier: Apache-2.0
//
// MSL source to a .metallib: Metal's newLibrary(source). The library holds one AIR module per kernel,
// in AIR's shape but not optimised: that belongs to the pipeline, when function constants are known.
// Any thread; calls do not share state.
//
//   compiler::SourceRequest request;
//   request.source = text;
//   PEWTER_TRY(compiler::LibraryImage image, msl::compileSource(request));
#pragma once
#include "compiler/Compiler.h"

namespace pewter::msl {

/// The error of a program that is wrong is ErrorKind::Compile; its message is the diagnostics.
Result<compiler::LibraryImage> compileSource(const compiler::SourceRequest &request);

} // namespace pewter::msl
