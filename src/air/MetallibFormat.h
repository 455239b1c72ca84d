// SPDX-License-Identifier: Apache-2.0
//
// The numbers of the .metallib format, shared by its reader and its writer. Everything is
// little-endian and unaligned. A tag is four characters, a length of 16 bits (32 for a few), and a
// payload; ENDT ends a list and has no length.
//
//   header (88 bytes) | function list | header extension | public | private | modules
#pragma once
#include <cstddef>
#include <cstdint>

namespace pewter::air::metallib {

inline constexpr size_t kHeaderSize = 88;
inline constexpr char kMagic[4] = {'M', 'T', 'L', 'B'};

/// Where the four sections of the header stand: each is a u64 offset and a u64 size.
inline constexpr size_t kFileSizeAt = 0x10, kSectionsAt = 0x18;

constexpr uint32_t tag(const char (&text)[5]) {
  return uint32_t(uint8_t(text[0])) | uint32_t(uint8_t(text[1])) << 8 |
         uint32_t(uint8_t(text[2])) << 16 | uint32_t(uint8_t(text[3])) << 24;
}

inline constexpr uint32_t kEnd = tag("ENDT");
inline constexpr uint32_t kName = tag("NAME"), kType = tag("TYPE"), kHash = tag("HASH"),
                          kModuleSize = tag("MDSZ"), kOffsets = tag("OFFT"),
                          kVersions = tag("VERS");
inline constexpr uint32_t kConstants = tag("CNST"), kUuid = tag("UUID");
/// Our own mark, in the header extension: a u16 with the version of the mark, then the install name.
inline constexpr uint32_t kPewter = tag("PWTR");

/// Tags whose length has 32 bits.
constexpr bool hasWideLength(uint32_t value) {
  return value == tag("RBUF") || value == tag("SBUF") || value == tag("SARC");
}

inline constexpr uint32_t kWrapperMagic = 0x0B17C0DE, kRawMagic = 0xDEC04342;
inline constexpr uint32_t kWrapperSize = 20;

} // namespace pewter::air::metallib
