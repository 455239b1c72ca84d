// SPDX-License-Identifier: Apache-2.0
//
// KernelRunner: what one thread needs to run threadgroups: the threadgroup memory block, fibers for
// SIMD groups that wait for each other, and the trap for faults. A runner serves one thread at a time
// and is reused; nothing is allocated once it has seen the largest kernel.
//
// How SIMD groups run. A range entry runs whole threadgroups by itself. A SIMD-group entry is called
// for each SIMD group in turn; when its kernel has threadgroup barriers and the threadgroup more than
// one call, the calls are fibers in a ring: at a barrier, and at its end, each hands over to the next.
// So one round of the ring takes all of them from one barrier to the next, and it shows at once when
// they do not all stand at the same kind of stop: that is reported, never waited for.
#pragma once
#include "device/LogSink.h"
#include "cpu/Fiber.h"
#include "cpu/KernelFaults.h"
#include "cpu/KernelVariant.h"
#include <memory>
#include <optional>
#include <vector>

namespace pewter::cpu {

/// A dispatch, a copy or a fill, ready to run: `groups` pieces that may run in any order.
struct Job {
  enum class Kind : uint8_t { Kernel, Copy, Fill };
  Kind kind = Kind::Kernel;
  bool hasEdge = false; ///< The last groups of some dimension are smaller: `edge` runs them.
  uint8_t fillValue = 0;
  const KernelVariant *variant = nullptr;
  const KernelVariant *edge = nullptr;
  void *const *arguments = nullptr;
  const device::LogSink *log = nullptr;
  KernelContext context{}; ///< All but threadgroupMemory, position, simdgroupIndex and scheduler.
  uint32_t threadgroupBytes = 0;
  uint64_t groups = 0;
  uint64_t done = 0; ///< Groups that ran before the job was shared out.
  std::byte *destination = nullptr;
  const std::byte *source = nullptr;
  uint64_t length = 0;
  uint64_t pieceBytes = 0; ///< Of a copy or fill.
  // Units of work in its interval (IntervalWork).
  uint32_t firstUnit = 0, unitCount = 0;
  uint64_t groupsPerUnit = 1;
};

/// Copies and fills are usually cut into pieces of this many bytes.
inline constexpr uint64_t kBlitPieceBytes = uint64_t(256) << 10;

class KernelRunner {
public:
  /// A runner for the calling thread, from the free ones or new; give it back with recycle().
  static std::unique_ptr<KernelRunner> obtain();
  static void recycle(std::unique_ptr<KernelRunner> runner);

  KernelRunner();
  ~KernelRunner();
  KernelRunner(const KernelRunner &) = delete;
  KernelRunner &operator=(const KernelRunner &) = delete;

  /// Runs pieces [begin, end) of the job. On a fault the rest is left out and the text says which
  /// kernel did what.
  std::optional<std::string> run(const Job &job, uint64_t begin, uint64_t end);

private:
  struct Member; ///< A fiber of the ring with its context.
  enum class Stop : uint8_t { Barrier, Finished };

  static void onBarrier(KernelContext *context);
  static void onLog(KernelContext *context, uint32_t level, const char *subsystem,
                    const char *category, const char *format, const uint64_t *arguments,
                    uint32_t count);
  static void onFault(KernelContext *context, KernelFault fault);
  static const RuntimeTable kRuntime;

  void runGuarded(const Job &job, uint64_t begin, uint64_t end);
  void runKernel(const KernelVariant &variant, const Job &job, uint64_t begin, uint64_t end);
  void runWithEdges(const Job &job, uint64_t begin, uint64_t end);
  void runCalls(uint64_t begin, uint64_t end);
  void runRing(uint64_t begin, uint64_t end);
  void runOnOwnStack(uint64_t begin, uint64_t end);
  static void runBlit(const Job &job, uint64_t begin, uint64_t end);

  void prepareRing(uint32_t count);
  static void ringBody(Fiber &self);
  static void stackBody(Fiber &self);
  void handOver(Member &member, Stop stop);
  uint32_t placeGroup(uint64_t group);
  bool ensureStacks(uint32_t count, size_t bytes);
  bool ensureThreadgroupMemory(size_t bytes);

  KernelContext context_{};
  const KernelVariant *variant_ = nullptr;
  void *const *arguments_ = nullptr;
  const device::LogSink *log_ = nullptr;
  std::byte *threadgroupMemory_ = nullptr;
  size_t threadgroupBytes_ = 0;

  Fiber main_;
  FiberStacks stacks_;
  std::vector<std::unique_ptr<Member>> ring_;
  uint32_t started_ = 0;   ///< Members whose fiber stands in ringBody.
  uint32_t active_ = 0;    ///< Members of the present threadgroup; 0: no ring runs.
  uint32_t maxActive_ = 0;
  uint64_t group_ = 0, groupsEnd_ = 0;
  Stop roundStop_ = Stop::Barrier;
  std::unique_ptr<Member> own_; ///< For one call on a stack of its own.
  FiberStacks ownStack_;
  Member *running_ = nullptr;   ///< Null on the thread's own stack.

  FaultTrap trap_;
  std::string fault_;
};

} // namespace pewter::cpu
