// SPDX-License-Identifier: Apache-2.0
#include "runner/Launch.h"
#include "air/Reflection.h"
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

namespace pewter::testing {

Size Launch::threadgroupsPerGrid() const {
  Size result;
  for (int i = 0; i < 3; ++i)
    result[i] = (threadsPerGrid[i] + threadsPerThreadgroup[i] - 1) / threadsPerThreadgroup[i];
  return result;
}

Size Launch::sizeAt(const Size &position) const {
  Size result;
  for (int i = 0; i < 3; ++i)
    result[i] = std::min(threadsPerThreadgroup[i],
                         threadsPerGrid[i] - position[i] * threadsPerThreadgroup[i]);
  return result;
}

uint64_t Launch::threadgroups() const {
  Size groups = threadgroupsPerGrid();
  return uint64_t(groups[0]) * groups[1] * groups[2];
}

Size Launch::positionOf(uint64_t threadgroup) const {
  Size groups = threadgroupsPerGrid();
  return {uint32_t(threadgroup % groups[0]), uint32_t(threadgroup / groups[0] % groups[1]),
          uint32_t(threadgroup / groups[0] / groups[1])};
}

Result<std::unique_ptr<LoadedImage>> LoadedImage::load(cpu::KernelImage image) {
  std::unique_ptr<LoadedImage> loaded(new LoadedImage(std::move(image)));
  const Bytes &code = loaded->image_.code;
  void *memory =
      mmap(nullptr, code.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return fail(ErrorKind::OutOfMemory, "Code of [{}] bytes cannot be mapped.", code.size());
  loaded->code_ = static_cast<std::byte *>(memory);
  std::memcpy(memory, code.data(), code.size());
  mprotect(memory, code.size(), PROT_READ | PROT_EXEC);
  return loaded;
}

LoadedImage::~LoadedImage() {
  if (code_)
    munmap(code_, image_.code.size());
}

BoundArguments bindArguments(const cpu::KernelImage &image, const Launch &launch) {
  auto roundUp = [](uint32_t bytes) { return (bytes + 127) / 128 * 128; };
  BoundArguments bound;
  uint32_t end = roundUp(image.reflection.staticThreadgroupBytes);
  std::map<uint32_t, uint32_t> blocks;
  for (const auto &[slot, bytes] : launch.threadgroupMemory) {
    blocks[slot] = end;
    end += roundUp(bytes);
  }
  bound.threadgroupBytes = end;
  for (const air::Argument &argument : image.reflection.arguments) {
    if (bound.values.size() <= argument.parameter)
      bound.values.resize(argument.parameter + 1);
    void *&value = bound.values[argument.parameter];
    if (argument.kind == air::ArgumentKind::Buffer) {
      auto buffer = launch.buffers.find(argument.slot);
      value = buffer == launch.buffers.end() ? nullptr : buffer->second;
    } else if (argument.kind == air::ArgumentKind::ThreadgroupMemory) {
      value = reinterpret_cast<void *>(uintptr_t(blocks[argument.slot]));
    }
  }
  return bound;
}

cpu::KernelContext contextOf(const Launch &launch, const cpu::RuntimeTable *runtime,
                             void *threadgroupMemory) {
  cpu::KernelContext context{};
  context.runtime = runtime;
  context.threadgroupMemory = threadgroupMemory;
  Size groups = launch.threadgroupsPerGrid();
  for (int i = 0; i < 3; ++i) {
    context.threadgroupsPerGrid[i] = groups[i];
    context.threadsPerGrid[i] = launch.threadsPerGrid[i];
    context.threadsPerThreadgroup[i] = launch.threadsPerThreadgroup[i];
  }
  context.simdgroupsPerThreadgroup =
      (product(launch.threadsPerThreadgroup) + air::kSimdWidth - 1) / air::kSimdWidth;
  return context;
}

// With some room behind, as devices have it: ggml's attention over 96-wide heads writes 256 bytes past
// what its host asks for.
ThreadgroupBlock::ThreadgroupBlock(uint32_t bytes) : bytes_((bytes + 4096 + 127) / 128 * 128) {
  storage_.reset(std::aligned_alloc(128, bytes_));
  poison();
}

void ThreadgroupBlock::poison() { std::memset(storage_.get(), 0xff, bytes_); }

void ThreadgroupBlock::Free::operator()(void *p) const { std::free(p); }

} // namespace pewter::testing
