// SPDX-License-Identifier: Apache-2.0
//
// Metallib: the .metallib container, read and written. One entry per function: its name, kind,
// content hash, versions, function constants, and one bitcode module. The bitcode is opaque here:
// nothing of LLVM is needed, and nothing but the container is checked. Reading fails closed: every
// offset, size and count comes from outside. A Metallib is a value; its modules are views into the
// bytes that were read, which the caller keeps alive (writeMetallib only borrows them too).
//
//   PEWTER_TRY(Metallib library, readMetallib(bytes));
//   for (const MetallibFunction &function : library.functions)
//     use(function.name, function.module);
#pragma once
#include "air/DataType.h"
#include "base/Bytes.h"
#include <array>
#include <string>
#include <vector>

namespace pewter::air {

enum class MetallibFunctionKind : uint8_t {
  Vertex = 0,
  Fragment = 1,
  Kernel = 2,
  Unqualified = 3,
  Visible = 4,
  Extern = 5,
  Intersection = 6,
};

enum class MetallibFileType : uint8_t { Executable = 0, CoreImage = 1, Dynamic = 2, Symbols = 3 };

/// An entry of the CNST list: a function constant that the function depends on.
struct MetallibConstant {
  std::string name;
  DataType type = DataType::None;
  uint16_t index = 0;
  bool active = true;
  bool operator==(const MetallibConstant &) const = default;
};

struct MetallibFunction {
  std::string name;
  MetallibFunctionKind kind = MetallibFunctionKind::Kernel;
  std::array<std::byte, 32> hash{}; ///< SHA-256 of `module`; filled in by the writer.
  std::array<uint16_t, 2> airVersion{2, 7};
  std::array<uint16_t, 2> languageVersion{3, 2};
  std::vector<MetallibConstant> constants;
  ByteView module; ///< A bitcode wrapper with its padding, as it stands in the file.
};

struct MetallibVersion {
  bool isMac = true; ///< Bit 15 of the major number.
  uint16_t major = 1, minor = 2, patch = 8;
};

struct Metallib {
  MetallibVersion version;
  MetallibFileType fileType = MetallibFileType::Executable;
  bool isStub = false;
  uint8_t platform = 0x81; ///< Bit 7: 64-bit; then 1 macOS, 2 iOS, 7 iOS simulator, ...
  std::array<uint16_t, 3> system{15, 0, 0}; ///< The OS version that the library was made for.
  std::array<std::byte, 16> uuid{};         ///< All zero when the file has none.
  bool madeByPewter = false; ///< Carries our tag: modules may be of any LLVM version.
  std::string installName;   ///< Of a dynamic library made by Pewter; kept in our tag.
  std::vector<MetallibFunction> functions;
};

/// True for bytes that begin as a container does; says nothing about the rest.
bool isMetallib(ByteView bytes);

/// Views into `bytes`. Errors name the field, its value and its limit.
Result<Metallib> readMetallib(ByteView bytes);

/// An error that names the function, where `module` does not have the hash that its container states.
/// A container need not state one (all zero).
Result<void> checkContent(std::string_view function, ByteView module,
                          const std::array<std::byte, 32> &stated);
/// Recomputes each function's hash; false where it differs from the one in the file.
bool hashMatches(const MetallibFunction &function);

/// A complete file: header, function list, header extension, metadata, modules. Wraps and pads a
/// module that is raw bitcode, sets hashes, and derives the UUID from the content, so that the same
/// input gives the same bytes. With `madeByPewter` the extension also carries our tag, which
/// readers that skip unknown tags ignore.
Result<Bytes> writeMetallib(const Metallib &library);

/// Raw bitcode in a wrapper, padded to a multiple of 16; wrapped bitcode only padded.
Bytes wrapBitcode(ByteView bitcode);
/// What is inside the wrapper, or `bytes` when there is none.
Result<ByteView> unwrapBitcode(ByteView bytes);

} // namespace pewter::air
