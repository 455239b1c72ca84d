// SPDX-License-Identifier: Apache-2.0
//
// CodeMemory: machine code that can be called. Pages are writable while the bytes are copied in and
// readable and executable afterwards, never both at once. Movable; freed with the object.
#pragma once
#include "base/Bytes.h"

namespace pewter::cpu {

class CodeMemory {
public:
  CodeMemory() = default;
  static Result<CodeMemory> load(ByteView code);
  ~CodeMemory();
  CodeMemory(CodeMemory &&other) noexcept;
  CodeMemory &operator=(CodeMemory &&other) noexcept;

  const std::byte *address() const { return address_; } ///< Page aligned.
  size_t size() const { return size_; }
  template <class Function> Function at(uint64_t offset) const {
    return reinterpret_cast<Function>(const_cast<std::byte *>(address_ + offset));
  }

private:
  std::byte *address_ = nullptr;
  size_t size_ = 0;
};

} // namespace pewter::cpu
