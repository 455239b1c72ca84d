// SPDX-License-Identifier: Apache-2.0
//
// Tested by CodeMemory_test.cpp.
#include "cpu/CodeMemory.h"
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <utility>

namespace pewter::cpu {

Result<CodeMemory> CodeMemory::load(ByteView code) {
  CodeMemory memory;
  if (code.empty())
    return memory;
  void *address = ::mmap(nullptr, code.size(), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED)
    return fail(ErrorKind::OutOfMemory, "Cannot map {} bytes for machine code: {}.", code.size(),
                std::strerror(errno));
  memory.address_ = static_cast<std::byte *>(address);
  memory.size_ = code.size();
  std::memcpy(address, code.data(), code.size());
  if (::mprotect(address, code.size(), PROT_READ | PROT_EXEC) != 0)
    return fail(ErrorKind::Unsupported,
                "Cannot make {} bytes of machine code executable: {}. A security policy may forbid "
                "it.",
                code.size(), std::strerror(errno));
  __builtin___clear_cache(static_cast<char *>(address),
                          static_cast<char *>(address) + code.size());
  return memory;
}

CodeMemory::~CodeMemory() {
  if (address_)
    ::munmap(address_, size_);
}

CodeMemory::CodeMemory(CodeMemory &&other) noexcept
    : address_(std::exchange(other.address_, nullptr)), size_(std::exchange(other.size_, 0)) {}

CodeMemory &CodeMemory::operator=(CodeMemory &&other) noexcept {
  std::swap(address_, other.address_);
  std::swap(size_, other.size_);
  return *this;
}

} // namespace pewter::cpu
