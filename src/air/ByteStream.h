// SPDX-License-Identifier: Apache-2.0
//
// ByteWriter and ByteReader: little-endian integers and strings in a byte buffer. A reader never
// runs past its end: the first read that would sets `failed()`, and every read after it gives zero.
// Check once, after a record. Not thread safe.
//
//   ByteReader in(bytes);
//   uint32_t count = in.get<uint32_t>();
//   if (in.failed()) return fail(...);
#pragma once
#include "base/Bytes.h"
#include <bit>
#include <cstring>
#include <string>
#include <type_traits>

namespace pewter::air {

static_assert(std::endian::native == std::endian::little);

class ByteWriter {
public:
  template <class T> void put(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto *from = reinterpret_cast<const std::byte *>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof(T));
  }
  void putBytes(ByteView bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  /// A u32 length and the characters.
  void putString(std::string_view text) {
    put(static_cast<uint32_t>(text.size()));
    putBytes(viewOf(text));
  }
  /// Overwrites what was put at `offset`.
  template <class T> void patch(size_t offset, T value) {
    std::memcpy(bytes_.data() + offset, &value, sizeof(T));
  }
  size_t size() const { return bytes_.size(); }
  Bytes take() { return std::move(bytes_); }
  ByteView view() const { return bytes_; }

private:
  Bytes bytes_;
};

class ByteReader {
public:
  explicit ByteReader(ByteView bytes) : bytes_(bytes) {}

  template <class T> T get() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    const ByteView from = getBytes(sizeof(T));
    if (!failed_)
      std::memcpy(&value, from.data(), sizeof(T));
    return value;
  }
  ByteView getBytes(uint64_t count) {
    if (failed_ || count > bytes_.size() - at_) {
      failed_ = true;
      return {};
    }
    const ByteView found = bytes_.subspan(at_, count);
    at_ += count;
    return found;
  }
  std::string getString() { return std::string(textOf(getBytes(get<uint32_t>()))); }
  /// Up to and past a NUL; without one, fails.
  std::string_view getTerminated() {
    if (failed_)
      return {};
    const std::string_view rest = textOf(bytes_.subspan(at_));
    const size_t end = rest.find('\0');
    if (end == std::string_view::npos) {
      failed_ = true;
      return {};
    }
    at_ += end + 1;
    return rest.substr(0, end);
  }
  size_t at() const { return at_; }
  size_t left() const { return failed_ ? 0 : bytes_.size() - at_; }
  bool failed() const { return failed_; }

private:
  ByteView bytes_;
  size_t at_ = 0;
  bool failed_ = false;
};

} // namespace pewter::air
