// SPDX-License-Identifier: Apache-2.0
//
// The door between libpewter and libpewter-compiler: plain data in, plain data out. libpewter opens
// the other library with dlopen at the first compile (compiler/ itself is on the far side) and asks
// for the one symbol below. Both sides come from one build: `buildId` must match, else the library
// is refused. Every entry point may be called from any thread; calls do not share state.
//
// Pipelines found in the disk cache or in a binary archive never come here.
#pragma once
#include "air/Reflection.h"
#include "base/Bytes.h"
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pewter::compiler {

enum class MathMode : uint8_t {
  Safe,    ///< IEEE: no reassociation; a*b+c within one expression may fuse (Metal's "safe").
  Relaxed, ///< Fast, but NaN and infinity are respected.
  Fast,    ///< Metal's default.
};

/// newLibrary(source): one translation unit of MSL.
struct SourceRequest {
  std::string source;
  std::string fileName = "program_source"; ///< Used in diagnostics, as Metal's is.
  std::map<std::string, std::string> macros;
  std::vector<std::string> includeDirectories;
  std::map<std::string, std::string> includeFiles; ///< Path as written in #include -> text.
  MathMode mathMode = MathMode::Fast;
  uint32_t languageVersion = 0x30002;      ///< major << 16 | minor; MSL 3.2 by default.
  bool warningsAsErrors = false;
  bool preciseFunctions = false; ///< The precise forms of math functions in every math mode.
  bool enableLogging = false;    ///< Else os_log does nothing.
  /// A library for other libraries to link against: every function with external linkage is exported.
  bool isDynamic = false;
  std::string installName; ///< Of a dynamic library.
  bool allowUndefined = false; ///< Functions that are declared only are looked for by each pipeline.
  std::vector<std::string> linkedSymbols; ///< What the libraries to link against export, sorted.
};
struct LibraryImage {
  Bytes metallib;          ///< A complete .metallib container.
  std::string diagnostics; ///< Warnings; "" when there are none.
  std::vector<std::string> dependencies; ///< Files that the source included, once each.
};

/// A function constant's value, by index: `bytes` holds it as it stands in memory.
struct ConstantValue {
  uint32_t index = 0;
  air::DataType type = air::DataType::None;
  std::array<std::byte, 32> bytes{};
};

/// What code to make. Each names a family of machine code; a device says which one it wants.
enum class TargetKind : uint8_t {
  CpuAvx512Vnni, ///< x86-64-v4 and AVX-512 VNNI.
  CpuAvx512,   ///< x86-64-v4.
  CpuAvx2,     ///< x86-64-v3: AVX2, FMA, F16C.
  CpuBaseline, ///< x86-64-v2: no FMA; the portable form.
  CpuNeon,     ///< AArch64 with NEON; made, not run, on x86-64.
  CpuOracle,   ///< One lane at a time, for tests: slow and plain.
  Ptx,         ///< NVPTX; `ptxArchitecture` says which.
};

/// What the code may assume about the threadgroups it will run.
struct ThreadgroupShape {
  enum class Kind : uint8_t {
    RowMultiple, ///< width % 32 == 0: each SIMD group is full and lies in one row. The default.
    Any,         ///< Any size: the last SIMD group may be partial.
    Exact,       ///< Exactly `size`; lets SIMD groups be merged and loops be unrolled.
  };
  Kind kind = Kind::RowMultiple;
  std::array<uint32_t, 3> size{0, 0, 0};
};

/// A function of another module that a kernel may call: by its symbol, or through a table.
struct LinkedFunction {
  ByteView module;
  std::string name; ///< As the library lists it.
  std::vector<ConstantValue> constants;
  bool isInTables = false; ///< Its table entry is its position among those that are, from 1.
};

struct KernelRequest {
  ByteView module;        ///< Bitcode (with or without wrapper) that holds the function.
  std::string function;
  std::vector<ConstantValue> constants; ///< Those that are set, in index order.
  TargetKind target = TargetKind::CpuAvx2;
  uint32_t ptxArchitecture = 90;        ///< 80, 90, 100: compute capability without the point.
  ThreadgroupShape shape;
  std::vector<LinkedFunction> linkedFunctions;
  uint32_t maxCallStackDepth = 1; ///< How often a function may call itself through a table.
};

/// A compiled kernel: for the CPU an image as in cpu/abi/KernelImage.h, for CUDA PTX text in the
/// image of cuda/KernelImage.h. Both carry their reflection.
struct KernelImage {
  Bytes image;
};

enum class EmitKind : uint8_t { Air, CanonicalAir, VectorIr, Assembly, Object, ShapeReport };

/// A function that others call: visible in tables, or exported by a dynamic library.
struct CalleeDescription {
  std::string name;      ///< As the library lists it.
  std::string symbol;    ///< As callers in other modules know it.
  std::string signature; ///< MSL spelling: "float (float, device int*)".
};

struct ModuleDescription {
  std::vector<air::KernelReflection> kernels;
  std::vector<CalleeDescription> callees;
};

struct EntryPoints {
  const char *buildId; ///< PEWTER_BUILD_ID of the generated PewterBuildId.h.
  Result<LibraryImage> (*compileSource)(const SourceRequest &request);
  /// Packs loose AIR (.air or .bc: wrapped or raw bitcode, any number of kernels) into a .metallib.
  Result<LibraryImage> (*linkAir)(const std::vector<Bytes> &modules);
  Result<ModuleDescription> (*describeModule)(ByteView module);
  Result<KernelImage> (*compileKernel)(const KernelRequest &request);
  /// Text (or object bytes) of one stage of compileKernel, for people.
  Result<Bytes> (*emit)(const KernelRequest &request, EmitKind kind);
};

} // namespace pewter::compiler

extern "C" const pewter::compiler::EntryPoints *pewterCompilerEntryPoints();
