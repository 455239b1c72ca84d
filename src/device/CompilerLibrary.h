// SPDX-License-Identifier: Apache-2.0
//
// Opens libpewter-compiler, and keeps what it made. The functions below look in the disk cache
// first and load the compiler only for what is not there, so a warm start never loads it.
//
// The library is searched at the path in PEWTER_COMPILER, else beside libpewter, else where the
// loader looks. One of another build (compiler/Compiler.h: `buildId`) is refused. It is never
// unloaded. A failed search is tried again at the next call. Any thread.
#pragma once
#include "compiler/Compiler.h"
#include <string_view>

namespace pewter::device {

/// The compiler, loaded if it was not.
Result<const compiler::EntryPoints *> compilerLibrary();
bool compilerLibraryIsLoaded();
/// The build that this libpewter belongs to.
std::string_view compilerBuildId();

/// Opens the library at `path` and checks it, without making it the one in use.
Result<const compiler::EntryPoints *> openCompilerLibrary(const std::string &path);
/// For tests: makes these the entry points in use and returns those before; null unloads.
const compiler::EntryPoints *replaceCompiler(const compiler::EntryPoints *points);

/// newLibrary(source) through the disk cache. Requests that name include directories are always
/// compiled: what stands in those files is not part of the request.
Result<compiler::LibraryImage> compileSource(const compiler::SourceRequest &request);
/// Reflection of every kernel of a module, through the disk cache.
Result<compiler::ModuleDescription> describeModule(ByteView module);

} // namespace pewter::device
