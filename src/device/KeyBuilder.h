// SPDX-License-Identifier: Apache-2.0
//
// KeyBuilder: makes a cache key of several parts. Each part is preceded by its length, so that
// ("ab", "c") and ("a", "bc") differ. Long parts go in by their own hash. A value; no locks.
//
//   Hash128 key = KeyBuilder().add(source).add(uint64_t(mode)).hash();
#pragma once
#include "base/Bytes.h"
#include <cstring>

namespace pewter::device {

class KeyBuilder {
public:
  KeyBuilder &add(ByteView part) {
    if (part.size() > 256)
      return add(uint64_t(part.size())).add(hashOf(part));
    add(uint64_t(part.size()));
    text_.insert(text_.end(), part.begin(), part.end());
    return *this;
  }
  KeyBuilder &add(std::string_view part) { return add(viewOf(part)); }
  KeyBuilder &add(const Hash128 &part) { return add(part.low).add(part.high); }
  KeyBuilder &add(uint64_t part) {
    auto bytes = std::as_bytes(std::span(&part, 1));
    text_.insert(text_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  Hash128 hash() const { return hashOf(text_); }

private:
  Bytes text_;
};

} // namespace pewter::device
