// SPDX-License-Identifier: Apache-2.0
//
// Costs: a range entry is called directly, so a piece of work costs a copy of the context and one
// sigsetjmp beyond the kernel itself; a barrier costs one fiber switch for each SIMD group.
// Threadgroup memory and stacks are mapped with a trap page at their end, so the commonest overruns
// become errors.
//
// Tested by KernelRunner_test.cpp.
#include "cpu/KernelRunner.h"
#include "base/Check.h"
#include "cpu/KernelLog.h"
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <sys/mman.h>

namespace pewter::cpu {
namespace {

/// Kernels that need no more than this run on the thread's own stack.
constexpr size_t kDirectStackBytes = size_t(48) << 10;
/// What a call needs beyond the kernel's own frames: calls out, and a margin.
constexpr size_t kStackMargin = size_t(64) << 10;
constexpr size_t kTrapBytes = 4096;

uint32_t divideUp(uint64_t value, uint32_t divisor) {
  return static_cast<uint32_t>((value + divisor - 1) / divisor);
}

std::mutex &freeMutex() {
  static auto &mutex = *new std::mutex;
  return mutex;
}
std::vector<std::unique_ptr<KernelRunner>> &freeRunners() {
  static auto &runners = *new std::vector<std::unique_ptr<KernelRunner>>;
  return runners;
}

} // namespace

struct KernelRunner::Member {
  KernelContext context{}; ///< First: a context's address is its member's.
  Fiber fiber;
  KernelRunner *runner = nullptr;
  uint32_t index = 0;
};

const RuntimeTable KernelRunner::kRuntime = {&onBarrier, &onLog, &onFault};

std::unique_ptr<KernelRunner> KernelRunner::obtain() {
  std::unique_ptr<KernelRunner> runner;
  {
    std::lock_guard lock(freeMutex());
    if (!freeRunners().empty()) {
      runner = std::move(freeRunners().back());
      freeRunners().pop_back();
    }
  }
  if (!runner)
    runner = std::make_unique<KernelRunner>();
  ensureSignalStack();
  runner->main_.adopt();
  return runner;
}

void KernelRunner::recycle(std::unique_ptr<KernelRunner> runner) {
  std::lock_guard lock(freeMutex());
  freeRunners().push_back(std::move(runner));
}

KernelRunner::KernelRunner() {
  installFaultHandlers();
  PEWTER_CHECK(ensureThreadgroupMemory(64 << 10));
}

KernelRunner::~KernelRunner() {
  if (threadgroupMemory_)
    ::munmap(threadgroupMemory_, threadgroupBytes_ + kTrapBytes);
}

std::optional<std::string> KernelRunner::run(const Job &job, uint64_t begin, uint64_t end) {
  if (begin >= end)
    return std::nullopt;
  FaultTrap *before = armFaultTrap(nullptr);
  if (sigsetjmp(trap_.resume, 0) == 0) {
    armFaultTrap(&trap_);
    runGuarded(job, begin, end);
  } else {
    // Out of the kernel by a long jump: whatever its fibers were doing is over.
    bool ranOver = stacks_.isTrap(trap_.address) || ownStack_.isTrap(trap_.address);
    if (running_)
      Fiber::abandoned(running_->fiber, main_);
    started_ = 0;
    own_.reset();
    fault_ = ranOver && trap_.signal == SIGSEGV
                 ? "needs more stack than it was given"
                 : describeFault(trap_);
  }
  armFaultTrap(before);
  running_ = nullptr;
  active_ = 0;
  if (fault_.empty()) [[likely]]
    return std::nullopt;
  std::string text = job.kind == Job::Kind::Kernel
                         ? fmt::format("Kernel \"{}\" {}.", job.variant->name, fault_)
                         : fmt::format("A buffer {} {}.",
                                       job.kind == Job::Kind::Copy ? "copy" : "fill", fault_);
  fault_.clear();
  return text;
}

void KernelRunner::runGuarded(const Job &job, uint64_t begin, uint64_t end) {
  if (job.kind != Job::Kind::Kernel)
    return runBlit(job, begin, end);
  if (job.threadgroupBytes > threadgroupBytes_ && !ensureThreadgroupMemory(job.threadgroupBytes)) {
    fault_ = fmt::format("cannot have {} bytes of threadgroup memory", job.threadgroupBytes);
    return;
  }
  arguments_ = job.arguments;
  log_ = job.log;
  context_ = job.context;
  context_.runtime = &kRuntime;
  context_.threadgroupMemory = threadgroupMemory_;
  context_.scheduler = this;
  if (job.hasEdge) [[unlikely]]
    runWithEdges(job, begin, end);
  else
    runKernel(*job.variant, job, begin, end);
}

/// Groups at a ragged edge go to the edge variant, runs of whole ones to the other.
void KernelRunner::runWithEdges(const Job &job, uint64_t begin, uint64_t end) {
  const KernelContext &c = job.context;
  uint64_t countX = c.threadgroupsPerGrid[0], countY = c.threadgroupsPerGrid[1];
  auto ragged = [&](int d) { return c.threadsPerGrid[d] % c.threadsPerThreadgroup[d] != 0; };
  bool raggedX = ragged(0), raggedY = ragged(1), raggedZ = ragged(2);
  while (begin < end && fault_.empty()) {
    uint64_t x = begin % countX, y = begin / countX % countY, z = begin / countX / countY;
    uint64_t rowEnd = std::min(end, begin - x + countX);
    bool rowIsEdge = (raggedY && y + 1 == countY) || (raggedZ && z + 1 == c.threadgroupsPerGrid[2]);
    if (rowIsEdge) {
      runKernel(*job.edge, job, begin, rowEnd);
    } else {
      uint64_t wholeEnd = raggedX ? std::min(end, begin - x + countX - 1) : rowEnd;
      if (begin < wholeEnd)
        runKernel(*job.variant, job, begin, wholeEnd);
      if (wholeEnd < rowEnd && fault_.empty())
        runKernel(*job.edge, job, wholeEnd, rowEnd);
    }
    begin = rowEnd;
  }
}

void KernelRunner::runKernel(const KernelVariant &variant, const Job &job, uint64_t begin,
                             uint64_t end) {
  variant_ = &variant;
  uint64_t threads = uint64_t(context_.threadsPerThreadgroup[0]) *
                     context_.threadsPerThreadgroup[1] * context_.threadsPerThreadgroup[2];
  bool ring = !variant.rangeEntry && variant.usesThreadgroupBarrier &&
              threads > variant.lanesPerCall;
  if (ring)
    runRing(begin, end);
  else if (variant.stackBytes > kDirectStackBytes)
    runOnOwnStack(begin, end);
  else
    runCalls(begin, end);
}

/// Sets the position of a threadgroup, and says how many calls it takes.
uint32_t KernelRunner::placeGroup(uint64_t group) {
  uint64_t countX = context_.threadgroupsPerGrid[0], countY = context_.threadgroupsPerGrid[1];
  const uint64_t position[3] = {group % countX, group / countX % countY, group / countX / countY};
  uint64_t threads = 1;
  for (int d = 0; d < 3; ++d) {
    context_.position[d] = static_cast<uint32_t>(position[d]);
    uint64_t size = context_.threadsPerThreadgroup[d];
    threads *= std::min(size, context_.threadsPerGrid[d] - position[d] * size);
  }
  return divideUp(threads, variant_->lanesPerCall);
}

void KernelRunner::runCalls(uint64_t begin, uint64_t end) {
  if (variant_->rangeEntry)
    return variant_->rangeEntry(arguments_, &context_, begin, end);
  uint32_t simdgroupsPerCall = std::max(1u, variant_->lanesPerCall / air::kSimdWidth);
  for (uint64_t group = begin; group < end; ++group) {
    uint32_t calls = placeGroup(group);
    for (uint32_t i = 0; i < calls; ++i) {
      context_.simdgroupIndex = i * simdgroupsPerCall;
      variant_->simdgroupEntry(arguments_, &context_);
    }
  }
}

void KernelRunner::runOnOwnStack(uint64_t begin, uint64_t end) {
  size_t bytes = variant_->stackBytes + kStackMargin;
  if (ownStack_.bytesEach() < bytes) {
    own_.reset();
    auto stack = FiberStacks::create(1, bytes);
    if (!stack) {
      fault_ = fmt::format("cannot have {} bytes of stack", bytes);
      return;
    }
    ownStack_ = std::move(*stack);
  }
  if (!own_) {
    own_ = std::make_unique<Member>();
    own_->runner = this;
    own_->fiber.user = own_.get();
    own_->fiber.start(ownStack_.bottom(0), ownStack_.bytesEach(), &stackBody);
  }
  group_ = begin;
  groupsEnd_ = end;
  running_ = own_.get();
  Fiber::change(main_, own_->fiber);
  running_ = nullptr;
}

void KernelRunner::stackBody(Fiber &self) {
  KernelRunner &runner = *static_cast<Member *>(self.user)->runner;
  while (true) {
    runner.runCalls(runner.group_, runner.groupsEnd_);
    Fiber::change(self, runner.main_);
  }
}

bool KernelRunner::ensureStacks(uint32_t count, size_t bytes) {
  if (stacks_.count() >= count && stacks_.bytesEach() >= bytes)
    return true;
  count = std::max<uint32_t>(count, static_cast<uint32_t>(stacks_.count()));
  auto stacks = FiberStacks::create(std::max(count, 32u), std::max(bytes, stacks_.bytesEach()));
  if (!stacks)
    return false;
  stacks_ = std::move(*stacks);
  started_ = 0;
  return true;
}

bool KernelRunner::ensureThreadgroupMemory(size_t bytes) {
  bytes = (bytes + kTrapBytes - 1) / kTrapBytes * kTrapBytes;
  void *memory = ::mmap(nullptr, bytes + kTrapBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return false;
  ::mprotect(static_cast<std::byte *>(memory) + bytes, kTrapBytes, PROT_NONE);
  if (threadgroupMemory_)
    ::munmap(threadgroupMemory_, threadgroupBytes_ + kTrapBytes);
  threadgroupMemory_ = static_cast<std::byte *>(memory);
  threadgroupBytes_ = bytes;
  return true;
}

void KernelRunner::runRing(uint64_t begin, uint64_t end) {
  uint64_t threads = uint64_t(context_.threadsPerThreadgroup[0]) *
                     context_.threadsPerThreadgroup[1] * context_.threadsPerThreadgroup[2];
  maxActive_ = divideUp(threads, variant_->lanesPerCall);
  if (!ensureStacks(maxActive_, variant_->stackBytes + kStackMargin)) {
    fault_ = fmt::format("cannot have {} stacks of {} bytes", maxActive_,
                         variant_->stackBytes + kStackMargin);
    return;
  }
  while (ring_.size() < maxActive_) {
    auto member = std::make_unique<Member>();
    member->runner = this;
    member->index = static_cast<uint32_t>(ring_.size());
    member->fiber.user = member.get();
    ring_.push_back(std::move(member));
  }
  for (; started_ < maxActive_; ++started_)
    ring_[started_]->fiber.start(stacks_.bottom(started_), stacks_.bytesEach(), &ringBody);
  uint32_t simdgroupsPerCall = std::max(1u, variant_->lanesPerCall / air::kSimdWidth);
  for (uint32_t i = 0; i < maxActive_; ++i) {
    ring_[i]->context = context_;
    ring_[i]->context.simdgroupIndex = i * simdgroupsPerCall;
  }
  group_ = begin;
  groupsEnd_ = end;
  active_ = placeGroup(begin);
  running_ = ring_[0].get();
  Fiber::change(main_, ring_[0]->fiber);
  running_ = nullptr;
  active_ = 0;
}

void KernelRunner::ringBody(Fiber &self) {
  Member &member = *static_cast<Member *>(self.user);
  KernelRunner &runner = *member.runner;
  while (true) {
    std::copy_n(runner.context_.position, 3, member.context.position);
    runner.variant_->simdgroupEntry(runner.arguments_, &member.context);
    runner.handOver(member, Stop::Finished);
  }
}

/// Called by a member that stands at a barrier or at its end: the next one goes on. Returns when the
/// ring comes round to this member again.
void KernelRunner::handOver(Member &member, Stop stop) {
  if (member.index == 0) {
    roundStop_ = stop;
  } else if (stop != roundStop_) {
    fault_ = fmt::format(
        "has a threadgroup barrier that not all SIMD groups reach: in threadgroup ({}, {}, {}) SIMD "
        "group {} {} and SIMD group 0 {}",
        context_.position[0], context_.position[1], context_.position[2],
        member.context.simdgroupIndex,
        stop == Stop::Barrier ? "waits" : "has ended",
        roundStop_ == Stop::Barrier ? "waits" : "has ended");
    started_ = 0; // They stand anywhere: begin anew next time.
    Fiber::change(member.fiber, main_);
    PEWTER_UNREACHABLE();
  }
  if (member.index + 1 < active_) {
    running_ = ring_[member.index + 1].get();
    Fiber::change(member.fiber, running_->fiber);
    return;
  }
  if (stop == Stop::Finished) {
    if (++group_ == groupsEnd_) {
      running_ = nullptr;
      Fiber::change(member.fiber, main_);
      return;
    }
    active_ = placeGroup(group_);
  }
  if (member.index == 0)
    return;
  running_ = ring_[0].get();
  Fiber::change(member.fiber, running_->fiber);
}

void KernelRunner::onBarrier(KernelContext *context) {
  auto &runner = *static_cast<KernelRunner *>(context->scheduler);
  if (runner.active_ > 1)
    runner.handOver(*reinterpret_cast<Member *>(context), Stop::Barrier);
}

void KernelRunner::onLog(KernelContext *context, uint32_t level, const char *subsystem,
                         const char *category, const char *format, const uint64_t *arguments,
                         uint32_t count) {
  auto &runner = *static_cast<KernelRunner *>(context->scheduler);
  std::string text = formatKernelLog(format, arguments, count);
  if (!runner.log_) {
    std::fprintf(stderr, "pewter: kernel \"%s\": %s\n", runner.variant_->name.c_str(),
                 text.c_str());
    return;
  }
  auto textOf = [](const char *given) { return std::string(given ? given : ""); };
  (*runner.log_)({level, textOf(subsystem), textOf(category), std::move(text),
                  runner.variant_->name});
}

void KernelRunner::onFault(KernelContext *context, KernelFault fault) {
  auto &runner = *static_cast<KernelRunner *>(context->scheduler);
  if (!runner.fault_.empty())
    return;
  switch (fault) {
  case KernelFault::None:
    return;
  case KernelFault::Unreachable:
    runner.fault_ = "reaches code that its source declares unreachable";
    return;
  case KernelFault::StackOverflow:
    runner.fault_ = "needs more stack than it was given";
    return;
  }
  runner.fault_ = fmt::format("reports fault {}", static_cast<uint32_t>(fault));
}

void KernelRunner::runBlit(const Job &job, uint64_t begin, uint64_t end) {
  uint64_t first = begin * job.pieceBytes;
  uint64_t last = std::min(job.length, end * job.pieceBytes);
  if (job.kind == Job::Kind::Copy)
    std::memmove(job.destination + first, job.source + first, last - first);
  else
    std::memset(job.destination + first, job.fillValue, last - first);
}

} // namespace pewter::cpu
