// SPDX-License-Identifier: Apache-2.0
// Tested by Bytes_test.cpp.
#include "base/Bytes.h"
#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

namespace pewter {
namespace {

/// Closes a file descriptor at the end of a scope.
struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0)
      ::close(value);
  }
};

Result<size_t> sizeOfRegularFile(const Descriptor &file, const std::filesystem::path &path) {
  struct stat info;
  if (::fstat(file.value, &info) != 0)
    return fail(ErrorKind::Io, "Cannot stat \"{}\": {}.", path.string(), std::strerror(errno));
  if (!S_ISREG(info.st_mode))
    return fail(ErrorKind::Io, "\"{}\" is not a regular file.", path.string());
  return static_cast<size_t>(info.st_size);
}

/// As much as a pipe or a terminal may give.
constexpr size_t kMostFromStream = size_t(1) << 30;

Result<Bytes> readStream(const Descriptor &file, const std::filesystem::path &path) {
  Bytes bytes;
  size_t done = 0;
  for (;;) {
    bytes.resize(done + (size_t(64) << 10));
    ssize_t got = ::read(file.value, bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno != EINTR)
      return fail(ErrorKind::Io, "Cannot read \"{}\": {}.", path.string(), std::strerror(errno));
    if (got == 0)
      break;
    done += got < 0 ? 0 : static_cast<size_t>(got);
    if (done > kMostFromStream)
      return fail(ErrorKind::Io, "\"{}\" gives more than {} bytes.", path.string(), kMostFromStream);
  }
  bytes.resize(done);
  return bytes;
}

bool writeAll(const Descriptor &file, ByteView bytes) {
  while (!bytes.empty()) {
    ssize_t put = ::write(file.value, bytes.data(), bytes.size());
    if (put < 0 && errno != EINTR)
      return false;
    bytes = bytes.subspan(put < 0 ? 0 : static_cast<size_t>(put));
  }
  return true;
}

} // namespace

Result<Bytes> readFile(const std::filesystem::path &path) {
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.value < 0)
    return fail(ErrorKind::Io, "Cannot open \"{}\": {}.", path.string(), std::strerror(errno));
  struct stat info;
  if (::fstat(file.value, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
    return readStream(file, path);
  PEWTER_TRY(size_t size, sizeOfRegularFile(file, path));
  Bytes bytes(size);
  size_t done = 0;
  while (done < size) {
    ssize_t got = ::read(file.value, bytes.data() + done, size - done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return fail(ErrorKind::Io, "Cannot read \"{}\": {}.", path.string(), std::strerror(errno));
    if (got == 0)
      break;
    done += static_cast<size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

Result<void> writeFileAtomically(const std::filesystem::path &path, ByteView bytes) {
  auto failed = [&](const char *what) {
    return fail(ErrorKind::Io, "Cannot {} \"{}\": {}.", what, path.string(), std::strerror(errno));
  };
  struct stat info;
  const bool device =
      ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
  if (device) { // A terminal, a pipe or /dev/null: written to, never replaced by a file.
    Descriptor file{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
    return file.value >= 0 && writeAll(file, bytes) ? Result<void>{} : failed("write");
  }
  std::error_code code;
  const auto behindLinks = std::filesystem::canonical(path, code);
  const std::filesystem::path &target = code ? path : behindLinks;
  std::string temporary = target.string() + ".XXXXXX";
  Descriptor file{::mkstemp(temporary.data())};
  if (file.value < 0)
    return failed("create a file beside");
  const char *what = !writeAll(file, bytes)                             ? "write"
                     : ::fchmod(file.value, 0644) != 0                  ? "set the mode of"
                     : ::rename(temporary.c_str(), target.c_str()) != 0 ? "rename onto"
                                                                        : nullptr;
  if (!what)
    return {};
  auto failure = failed(what);
  ::unlink(temporary.c_str());
  return failure;
}

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::filesystem::path &path) {
  // Not blocking: a pipe is refused below instead of waited for.
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.value < 0)
    return fail(ErrorKind::Io, "Cannot open \"{}\": {}.", path.string(), std::strerror(errno));
  PEWTER_TRY(size_t size, sizeOfRegularFile(file, path));
  if (size == 0)
    return std::shared_ptr<const MappedFile>(new MappedFile(nullptr, 0));
  void *address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.value, 0);
  if (address == MAP_FAILED)
    return fail(ErrorKind::Io, "Cannot map \"{}\" ({} bytes): {}.", path.string(), size,
                std::strerror(errno));
  // Models are read from end to end for every token: large pages cost fewer look-ups. A kernel or file
  // system without them says no, which is fine; pages that are cached already stay as they are.
  constexpr size_t kLargePage = size_t(2) << 20;
  if (size >= kLargePage)
    ::madvise(address, size, MADV_HUGEPAGE);
  return std::shared_ptr<const MappedFile>(
      new MappedFile(static_cast<const std::byte *>(address), size));
}

MappedFile::~MappedFile() {
  if (data_)
    ::munmap(const_cast<std::byte *>(data_), size_);
}

std::string Hash128::hex() const { return fmt::format("{:016x}{:016x}", high, low); }

Hash128 hashOf(ByteView bytes) {
  XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

std::array<std::byte, 32> sha256(ByteView bytes) {
  // The round constants are the first 32 bits of the fractional parts of the cube roots of the
  // first 64 primes (FIPS 180-4, section 4.2.2).
  static constexpr uint32_t kRound[64] = {
      0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
      0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
      0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
      0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
      0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
      0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
      0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
      0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
      0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
      0xc67178f2};
  uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  auto block = [&](const uint8_t *in) {
    uint32_t w[64];
    for (int i = 0; i < 16; ++i)
      w[i] = uint32_t(in[4 * i]) << 24 | uint32_t(in[4 * i + 1]) << 16 |
             uint32_t(in[4 * i + 2]) << 8 | in[4 * i + 3];
    for (int i = 16; i < 64; ++i) {
      uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
      uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    auto [a, b, c, d, e, f, g, h] = std::to_array(state);
    for (int i = 0; i < 64; ++i) {
      uint32_t t1 = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                    ((e & f) ^ (~e & g)) + kRound[i] + w[i];
      uint32_t t2 =
          (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    const uint32_t out[8] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; ++i)
      state[i] += out[i];
  };
  const auto *in = reinterpret_cast<const uint8_t *>(bytes.data());
  size_t whole = bytes.size() / 64;
  for (size_t i = 0; i < whole; ++i)
    block(in + 64 * i);
  uint8_t tail[128] = {};
  size_t rest = bytes.size() % 64;
  if (rest)
    std::memcpy(tail, in + 64 * whole, rest);
  tail[rest] = 0x80;
  size_t tailBlocks = rest < 56 ? 1 : 2;
  uint64_t bits = uint64_t(bytes.size()) * 8;
  for (int i = 0; i < 8; ++i)
    tail[64 * tailBlocks - 1 - i] = uint8_t(bits >> (8 * i));
  for (size_t i = 0; i < tailBlocks; ++i)
    block(tail + 64 * i);
  std::array<std::byte, 32> digest;
  for (int i = 0; i < 32; ++i)
    digest[i] = std::byte(state[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

} // namespace pewter
