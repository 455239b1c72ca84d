// SPDX-License-Identifier: Apache-2.0
//
// The calling convention of cpu/abi/KernelAbi.h in its plainest form: one thread, threadgroups in
// order, a fiber for each call of the SIMD-group entry.
#include "runner/Fibers.h"
#include "runner/Launch.h"

namespace pewter::testing {
namespace {

struct Call {
  cpu::KernelContext context;
  Fiber fiber;
  bool isAtBarrier = false;
};

thread_local cpu::KernelFault lastFault = cpu::KernelFault::None;

void waitAtBarrier(cpu::KernelContext *context) {
  auto *call = static_cast<Call *>(context->scheduler);
  call->isAtBarrier = true;
  call->fiber.wait();
}
void ignoreLog(cpu::KernelContext *, uint32_t, const char *, const char *, const char *, const uint64_t *,
           uint32_t) {}
void recordFault(cpu::KernelContext *, cpu::KernelFault fault) { lastFault = fault; }

constexpr cpu::RuntimeTable kRuntime{waitAtBarrier, ignoreLog, recordFault};

Result<void> runThreadgroup(std::vector<Call> &calls, StackPool &stacks, cpu::SimdgroupEntry entry,
                            void *const *arguments, const std::string &name) {
  for (Call &call : calls)
    call.fiber.start(stacks, [&call, entry, arguments] { entry(arguments, &call.context); });
  for (;;) {
    size_t waiting = 0;
    for (Call &call : calls)
      if (!call.fiber.isDone()) {
        call.isAtBarrier = false;
        call.fiber.resume();
        waiting += call.isAtBarrier;
      }
    if (waiting == 0)
      return {};
    if (waiting != calls.size())
      return fail(
          ErrorKind::DeviceLost,
          "A threadgroup barrier of kernel \"{}\" is reached by [{}] of {} SIMD-group calls.", name,
          waiting, calls.size());
  }
}

} // namespace

Result<void> runVectorImage(const LoadedImage &loaded, const Launch &launch) {
  const cpu::KernelImage &image = loaded.image();
  BoundArguments bound = bindArguments(image, launch);
  ThreadgroupBlock block(bound.threadgroupBytes);
  lastFault = cpu::KernelFault::None;
  cpu::KernelContext context = contextOf(launch, &kRuntime, block.data());
  if (image.rangeEntry != cpu::KernelImage::kNoEntry) {
    // Two calls, so that a range that does not start at 0 is among what is tested.
    auto entry = reinterpret_cast<cpu::RangeEntry>(loaded.at(image.rangeEntry));
    uint64_t all = launch.threadgroups(), half = all / 2;
    entry(bound.values.data(), &context, 0, half);
    entry(bound.values.data(), &context, half, all);
  } else {
    auto entry = reinterpret_cast<cpu::SimdgroupEntry>(loaded.at(image.simdgroupEntry));
    StackPool stacks(image.stackBytes + 65536);
    for (uint64_t group = 0; group < launch.threadgroups(); ++group) {
      Size position = launch.positionOf(group);
      uint32_t threads = product(launch.sizeAt(position));
      std::vector<Call> calls((threads + image.lanesPerCall - 1) / image.lanesPerCall);
      for (size_t i = 0; i < calls.size(); ++i) {
        calls[i].context = context;
        for (int k = 0; k < 3; ++k)
          calls[i].context.position[k] = position[k];
        calls[i].context.simdgroupIndex = uint32_t(i * image.lanesPerCall / air::kSimdWidth);
        calls[i].context.scheduler = &calls[i];
      }
      block.poison();
      PEWTER_TRY_VOID(
          runThreadgroup(calls, stacks, entry, bound.values.data(), image.reflection.name));
    }
  }
  if (lastFault != cpu::KernelFault::None)
    return fail(ErrorKind::DeviceLost, "Kernel \"{}\" reports fault [{}].", image.reflection.name,
                uint32_t(lastFault));
  return {};
}

} // namespace pewter::testing
