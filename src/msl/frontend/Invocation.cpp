// SPDX-License-Identifier: Apache-2.0
//
// Macros do not go through the command line: a precompiled header fixes the command line's macros, so
// Session.cpp puts ours in front of the source instead. That is also why one precompiled library
// serves every math mode and language version: nothing in it depends on them.
//
// Tested by: Compile_test.cpp (modes, macros, include files).
#include "msl/frontend/Invocation.h"
#include "msl/frontend/AirTarget.h"
#include <clang/Basic/DiagnosticOptions.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <fmt/format.h>
#include <llvm/ADT/IntrusiveRefCntPtr.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/VirtualFileSystem.h>

namespace pewter::msl {

using namespace clang;

namespace {

constexpr char kPrecompiledPath[] = "/pewter/prelude.pch";
constexpr char kHeaderFolder[] = "/pewter/headers";
constexpr char kMemoryFolder[] = "/pewter/memory";

// The whole library is always there, so the headers are empty files.
constexpr const char *kHeaders[] = {
    "metal_stdlib", "metal_array", "metal_assert", "metal_atomic", "metal_cmath", "metal_command_buffer",
    "metal_common", "metal_compute", "metal_config", "metal_curves", "metal_extended_vector",
    "metal_geometric", "metal_graphics", "metal_imageblocks", "metal_integer", "metal_interpolate",
    "metal_limits", "metal_logging", "metal_math", "metal_matrix", "metal_mesh", "metal_numeric",
    "metal_object", "metal_pack", "metal_packed", "metal_pull_model_interpolation",
    "metal_quadgroup", "metal_raytracing", "metal_relational", "metal_simdgroup",
    "metal_simdgroup_future", "metal_simdgroup_matrix", "metal_stddef", "metal_tessellation",
    "metal_texture", "metal_texture_gradient", "metal_tuple", "metal_type_traits", "metal_types",
    "metal_uniform", "metal_utility", "metal_visible_function_table"};

// What headers shared with a host program include: the same types under the names used there.
constexpr const char *kSimdHeaders[] = {"simd/simd.h", "simd/types.h", "simd/vector_types.h",
                                        "simd/matrix_types.h"};
constexpr char kSimdText[] = R"(#ifndef PEWTER_SIMD_TYPES
#define PEWTER_SIMD_TYPES
namespace simd { using namespace metal; }
#define PEWTER_SIMD(t)                                                                             \
  typedef t##2 vector_##t##2; typedef t##3 vector_##t##3; typedef t##4 vector_##t##4;              \
  typedef t##2 simd_##t##2; typedef t##3 simd_##t##3; typedef t##4 simd_##t##4;                    \
  typedef packed_##t##2 simd_packed_##t##2; typedef packed_##t##4 simd_packed_##t##4;
PEWTER_SIMD(char) PEWTER_SIMD(uchar) PEWTER_SIMD(short) PEWTER_SIMD(ushort) PEWTER_SIMD(int)
PEWTER_SIMD(uint) PEWTER_SIMD(long) PEWTER_SIMD(ulong) PEWTER_SIMD(half) PEWTER_SIMD(float)
#undef PEWTER_SIMD
#define PEWTER_SIMD(c)                                                                             \
  typedef float##c##x2 matrix_float##c##x2; typedef float##c##x3 matrix_float##c##x3;              \
  typedef float##c##x4 matrix_float##c##x4; typedef float##c##x2 simd_float##c##x2;                \
  typedef float##c##x3 simd_float##c##x3; typedef float##c##x4 simd_float##c##x4;
PEWTER_SIMD(2) PEWTER_SIMD(3) PEWTER_SIMD(4)
#undef PEWTER_SIMD
#endif
)";

// What the triple says, for headers that programs for several systems share.
constexpr char kTargetConditionals[] = R"(#pragma once
#define TARGET_OS_MAC 1
#define TARGET_OS_OSX 1
#define TARGET_OS_IPHONE 0
#define TARGET_OS_IOS 0
#define TARGET_OS_TV 0
#define TARGET_OS_WATCH 0
#define TARGET_OS_VISION 0
#define TARGET_OS_MACCATALYST 0
#define TARGET_OS_SIMULATOR 0
#define TARGET_IPHONE_SIMULATOR 0
#define TARGET_OS_EMBEDDED 0
#define TARGET_OS_UNIX 0
#define TARGET_OS_LINUX 0
#define TARGET_OS_WIN32 0
)";

std::unique_ptr<llvm::MemoryBuffer> bufferOf(std::string_view text, llvm::StringRef name) {
  return llvm::MemoryBuffer::getMemBuffer(llvm::StringRef(text.data(), text.size()), name,
                                          /*RequiresNullTerminator=*/false);
}

/// The two files of the library. LLVM's own file system in memory hashes every file, which would read
/// the whole precompiled library; a small kernel needs a few pages of it.
class PreludeFiles final : public llvm::vfs::FileSystem {
public:
  explicit PreludeFiles(const Prelude &prelude) : prelude_(prelude) {}

  llvm::ErrorOr<llvm::vfs::Status> status(const llvm::Twine &path) override {
    const std::optional<std::string_view> contents = find(path);
    if (!contents)
      return std::make_error_code(std::errc::no_such_file_or_directory);
    return statusOf(path, *contents);
  }
  llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>>
  openFileForRead(const llvm::Twine &path) override {
    const std::optional<std::string_view> contents = find(path);
    if (!contents)
      return std::make_error_code(std::errc::no_such_file_or_directory);
    return std::make_unique<OpenFile>(statusOf(path, *contents), *contents);
  }
  llvm::vfs::directory_iterator dir_begin(const llvm::Twine &, std::error_code &error) override {
    error = std::make_error_code(std::errc::no_such_file_or_directory);
    return {};
  }
  llvm::ErrorOr<std::string> getCurrentWorkingDirectory() const override { return std::string("/"); }
  std::error_code setCurrentWorkingDirectory(const llvm::Twine &) override { return {}; }

private:
  class OpenFile final : public llvm::vfs::File {
  public:
    OpenFile(llvm::vfs::Status status, std::string_view contents)
        : status_(std::move(status)), contents_(contents) {}
    llvm::ErrorOr<llvm::vfs::Status> status() override { return status_; }
    llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>>
    getBuffer(const llvm::Twine &name, int64_t, bool, bool) override {
      return bufferOf(contents_, name.str());
    }
    std::error_code close() override { return {}; }

  private:
    llvm::vfs::Status status_;
    std::string_view contents_;
  };

  std::optional<std::string_view> find(const llvm::Twine &path) const {
    llvm::SmallString<64> storage;
    const llvm::StringRef name = path.toStringRef(storage);
    if (name == kPreludePath)
      return prelude_.text;
    if (name == kPrecompiledPath && !prelude_.precompiled.empty())
      return prelude_.precompiled;
    return std::nullopt;
  }
  static llvm::vfs::Status statusOf(const llvm::Twine &path, std::string_view contents) {
    constexpr uint64_t kOwnFiles = uint64_t(-2); // No device of the system has this number.
    return {path, llvm::sys::fs::UniqueID(kOwnFiles, uint64_t(reinterpret_cast<uintptr_t>(contents.data()))),
            llvm::sys::TimePoint<>(), 0, 0, contents.size(),
            llvm::sys::fs::file_type::regular_file, llvm::sys::fs::perms::all_read};
  }

  Prelude prelude_;
};

IntrusiveRefCntPtr<llvm::vfs::FileSystem> fileSystemFor(const compiler::SourceRequest &request,
                                                        const Prelude &prelude) {
  auto memory = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  for (const char *header : kHeaders)
    memory->addFile(fmt::format("{}/{}", kHeaderFolder, header), 0, bufferOf("", header));
  for (const char *header : kSimdHeaders)
    memory->addFile(fmt::format("{}/{}", kHeaderFolder, header), 0, bufferOf(kSimdText, header));
  memory->addFile(fmt::format("{}/TargetConditionals.h", kHeaderFolder), 0,
                  bufferOf(kTargetConditionals, "TargetConditionals.h"));
  for (const auto &[path, text] : request.includeFiles)
    memory->addFile(fmt::format("{}/{}", kMemoryFolder, path), 0,
                    llvm::MemoryBuffer::getMemBufferCopy(text, path));
  auto overlay = llvm::makeIntrusiveRefCnt<llvm::vfs::OverlayFileSystem>(
      llvm::vfs::createPhysicalFileSystem());
  overlay->pushOverlay(memory);
  overlay->pushOverlay(llvm::makeIntrusiveRefCnt<PreludeFiles>(prelude));
  return overlay;
}

std::vector<std::string> argumentsFor(const compiler::SourceRequest &request,
                                      const Prelude &prelude) {
  std::vector<std::string> arguments{
      "-triple", "spir64-unknown-unknown", // Only to satisfy the parser; replaced below.
      "-x", "c++", "-std=c++17", "-ffreestanding", "-nostdsysteminc", "-nobuiltininc", "-fdeclspec",
      "-fnative-half-type", "-fnative-half-arguments-and-returns", "-fno-threadsafe-statics",
      "-fno-rtti", "-fno-elide-type", "-fconvergent-functions", "-fgnuc-version=4.2.1", "-ferror-limit", "100",
      "-ftemplate-depth=1024", "-O2", "-disable-llvm-passes", "-disable-O0-optnone",
      "-relaxed-aliasing", // Kernels read bytes as whatever they hold; AIR is consumed without TBAA.
      // What the rewritten tokens provoke.
      "-Wno-gcc-compat", "-Wno-duplicate-decl-specifier", "-Wno-c++11-narrowing",
      "-Wno-ignored-attributes", "-Wno-unknown-pragmas", "-Wno-pass-failed",
      "-Wno-c99-designator", "-Wno-vla-cxx-extension", "-Wno-undefined-internal", "-Wno-undefined-inline", "-Wno-undefined-var-template",
      // `typedef enum E : T E; enum E : T {...}`, as NS_ENUM in headers shared with Objective-C does.
      "-Wno-elaborated-enum-base",
      // A misspelt attribute would silently change what a kernel is.
      "-Werror=unknown-attributes"};
  if (request.mathMode == compiler::MathMode::Safe) {
    arguments.push_back("-ffp-contract=on");
  } else {
    for (const char *flag :
         {"-ffast-math", "-ffp-contract=fast", "-funsafe-math-optimizations", "-fno-signed-zeros",
          "-mreassociate", "-freciprocal-math", "-fapprox-func"})
      arguments.push_back(flag);
  }
  if (request.warningsAsErrors)
    arguments.push_back("-Werror");
  for (const std::string &folder : request.includeDirectories)
    arguments.insert(arguments.end(), {"-I", folder});
  arguments.insert(arguments.end(), {"-I", kMemoryFolder, "-isystem", kHeaderFolder});
  if (!prelude.precompiled.empty())
    arguments.insert(arguments.end(), {"-include-pch", kPrecompiledPath});
  arguments.push_back(kPreludePath); // The main file is set by hand.
  return arguments;
}

} // namespace

bool configure(CompilerInstance &instance, const compiler::SourceRequest &request,
               const Prelude &prelude, Diagnostics &diagnostics) {
  instance.createVirtualFileSystem(fileSystemFor(request, prelude));
  instance.createDiagnostics(&diagnostics, /*ShouldOwnClient=*/false);
  const std::vector<std::string> arguments = argumentsFor(request, prelude);
  std::vector<const char *> pointers;
  for (const std::string &argument : arguments)
    pointers.push_back(argument.c_str());
  if (!CompilerInvocation::CreateFromArgs(instance.getInvocation(), pointers,
                                          instance.getDiagnostics()))
    return false;
  // The engine was made before the options were known.
  instance.createDiagnostics(&diagnostics, /*ShouldOwnClient=*/false);

  LangOptions &language = instance.getLangOpts();
  // Metal's fast mode promises that there is no infinity or NaN, but its programs use both; with the
  // promise LLVM deletes their tests. Keeping them is a legal refinement.
  language.NoHonorNaNs = 0;
  language.NoHonorInfs = 0;
  instance.setTarget(makeAirTarget(instance.getTargetOpts()));
  instance.getTarget().adjust(instance.getDiagnostics(), language, nullptr);
  return true;
}

std::string predefinesOf(const compiler::SourceRequest &request) {
  const unsigned major = request.languageVersion >> 16;
  const unsigned minor = request.languageVersion & 0xffff;
  std::string text = fmt::format("#define __METAL_VERSION__ {}\n", major * 100 + minor * 10);
  text += "#define __METAL_MACOS__ 1\n#define __HAVE_BFLOAT__ 1\n";
  if (request.mathMode == compiler::MathMode::Safe)
    text += "#define __METAL_MAYBE_FAST_MATH__ false\n";
  else
    text += "#define __FAST_MATH__ 1\n#define __METAL_MAYBE_FAST_MATH__ true\n";
  for (const auto &[name, value] : request.macros)
    text += fmt::format("#define {} {}\n", name, value);
  return text;
}

} // namespace pewter::msl
