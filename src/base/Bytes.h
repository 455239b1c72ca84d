// SPDX-License-Identifier: Apache-2.0
//
// Byte buffers, whole files, and content hashes. A MappedFile is a read-only private mapping that
// lives as long as the object; readFile and writeFileAtomically are for small files (the latter
// writes beside the target and renames, so a reader sees the old bytes or the new ones).
#pragma once
#include "base/Error.h"
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace pewter {

using Bytes = std::vector<std::byte>;
using ByteView = std::span<const std::byte>;

inline ByteView viewOf(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
inline std::string_view textOf(ByteView bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

Result<Bytes> readFile(const std::filesystem::path &path);
Result<void> writeFileAtomically(const std::filesystem::path &path, ByteView bytes);

class MappedFile {
public:
  static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path &path);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  /// Exactly the file's bytes; the mapping itself is rounded up to a page.
  ByteView bytes() const { return {data_, size_}; }

private:
  MappedFile(const std::byte *data, size_t size) : data_(data), size_(size) {}
  const std::byte *data_;
  size_t size_;
};

/// 128-bit XXH3 of some bytes; for cache keys, not for security.
struct Hash128 {
  uint64_t low = 0, high = 0;
  bool operator==(const Hash128 &) const = default;
  std::string hex() const; ///< 32 lower-case hexadecimal digits.
};
Hash128 hashOf(ByteView bytes);

/// SHA-256 (FIPS 180-4), as the .metallib HASH tag carries it.
std::array<std::byte, 32> sha256(ByteView bytes);

} // namespace pewter
