// SPDX-License-Identifier: Apache-2.0
#include "cpu/KernelRunner.h"
#include "HandMadeKernel.h"
#include <csignal>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>

namespace pewter::cpu {
namespace {

using pewter::testing::HandMadeOptions;
using pewter::testing::variantOf;
using ::testing::HasSubstr;

Job jobOf(const KernelVariant &variant, void *const *arguments, std::array<uint32_t, 3> groups,
          std::array<uint32_t, 3> threads, std::array<uint32_t, 3> size) {
  Job job;
  job.variant = &variant;
  job.arguments = arguments;
  job.groups = uint64_t(groups[0]) * groups[1] * groups[2];
  for (int d = 0; d < 3; ++d) {
    job.context.threadgroupsPerGrid[d] = groups[d];
    job.context.threadsPerGrid[d] = threads[d];
    job.context.threadsPerThreadgroup[d] = size[d];
  }
  job.context.simdgroupsPerThreadgroup = (size[0] * size[1] * size[2] + 31) / 32;
  return job;
}

/// Each SIMD group adds its index into a slot of threadgroup memory; after a barrier every group reads
/// the sum of all slots; after another they clear their slots.
void reduceSimdgroup(void *const *arguments, KernelContext *c) {
  auto *out = static_cast<uint32_t *>(arguments[0]);
  auto *slots = reinterpret_cast<volatile uint32_t *>(
      static_cast<std::byte *>(c->threadgroupMemory) + reinterpret_cast<size_t>(arguments[1]));
  uint32_t group = c->position[0] + c->threadgroupsPerGrid[0] * c->position[1];
  uint64_t left = c->threadsPerGrid[0] - uint64_t(c->position[0]) * c->threadsPerThreadgroup[0];
  auto count = static_cast<uint32_t>(
      (std::min<uint64_t>(left, c->threadsPerThreadgroup[0]) + 31) / 32);
  for (int round = 0; round < 3; ++round) {
    slots[c->simdgroupIndex] = c->simdgroupIndex + group + 1;
    c->runtime->barrier(c);
    uint32_t sum = 0;
    for (uint32_t i = 0; i < count; ++i)
      sum += slots[i];
    c->runtime->barrier(c);
    slots[c->simdgroupIndex] = 0xdead;
    out[(group * 32 + c->simdgroupIndex) * 3 + round] = sum;
  }
}

TEST(KernelRunner, RingOfSimdgroupsReduces) {
  for (uint32_t width : {32u, 64u, 256u, 1024u}) {
    auto variant = variantOf({.simdgroup = reduceSimdgroup, .barrier = true});
    std::vector<uint32_t> out(6 * 32 * 3, 0);
    void *arguments[] = {out.data(), reinterpret_cast<void *>(64)};
    auto runner = KernelRunner::obtain();
    // The last group of each row is ragged: fewer SIMD groups take part.
    Job job = jobOf(*variant, arguments, {3, 2, 1}, {2 * width + width / 2, 2, 1}, {width, 1, 1});
    EXPECT_FALSE(runner->run(job, 0, 2));
    EXPECT_FALSE(runner->run(job, 2, 6));
    for (uint32_t group = 0; group < 6; ++group) {
      uint32_t count = group % 3 == 2 ? (width / 2 + 31) / 32 : width / 32;
      uint32_t sum = count * (count - 1) / 2 + count * (group + 1);
      for (uint32_t i = 0; i < 32 * 3; ++i)
        ASSERT_EQ(out[group * 96 + i], i / 3 < count ? sum : 0) << width << " " << group << " " << i;
    }
    KernelRunner::recycle(std::move(runner));
  }
}

void countRange(void *const *arguments, KernelContext *, uint64_t begin, uint64_t end) {
  auto *out = static_cast<uint32_t *>(arguments[0]);
  for (uint64_t i = begin; i < end; ++i)
    ++out[i];
}
void countEdge(void *const *arguments, KernelContext *, uint64_t begin, uint64_t end) {
  auto *out = static_cast<uint32_t *>(arguments[0]);
  for (uint64_t i = begin; i < end; ++i)
    out[i] += 100;
}

TEST(KernelRunner, EdgesGoToTheirOwnVariant) {
  auto whole = variantOf({.range = countRange}), edge = variantOf({.range = countEdge});
  struct Case {
    std::array<uint32_t, 3> groups, threads;
  };
  for (Case c : {Case{{4, 3, 2}, {4 * 32, 3, 2}}, Case{{4, 3, 2}, {4 * 32 - 1, 3, 2}},
                 Case{{1, 1, 5}, {7, 1, 5}}, Case{{5, 1, 1}, {5 * 32 - 8, 1, 1}}}) {
    std::array<uint32_t, 3> size{32, 1, 1};
    uint32_t total = c.groups[0] * c.groups[1] * c.groups[2];
    for (uint32_t cut = 0; cut <= total; ++cut) {
      std::vector<uint32_t> out(total, 0);
      void *arguments[] = {out.data()};
      Job job = jobOf(*whole, arguments, c.groups, c.threads, size);
      job.hasEdge = true;
      job.edge = edge.get();
      auto runner = KernelRunner::obtain();
      EXPECT_FALSE(runner->run(job, 0, cut));
      EXPECT_FALSE(runner->run(job, cut, total));
      for (uint32_t i = 0; i < total; ++i) {
        bool ragged = i % c.groups[0] + 1 == c.groups[0] && c.threads[0] % 32 != 0;
        EXPECT_EQ(out[i], ragged ? 100u : 1u) << i;
      }
    }
  }
}

// Ragged in y and z: whole rows and layers are edges.
TEST(KernelRunner, EdgesInOtherDimensions) {
  auto whole = variantOf({.range = countRange}), edge = variantOf({.range = countEdge});
  std::vector<uint32_t> out(2 * 3 * 2, 0);
  void *arguments[] = {out.data()};
  Job job = jobOf(*whole, arguments, {2, 3, 2}, {64, 3 * 4 - 1, 2 * 2 - 1}, {32, 4, 2});
  job.hasEdge = true;
  job.edge = edge.get();
  auto runner = KernelRunner::obtain();
  EXPECT_FALSE(runner->run(job, 0, 12));
  for (uint32_t i = 0; i < 12; ++i)
    EXPECT_EQ(out[i], i / 6 == 1 || i / 2 % 3 == 2 ? 100u : 1u) << i;
}

void barrierUnlessLast(void *const *, KernelContext *c) {
  if (c->simdgroupIndex + 1 != c->simdgroupsPerThreadgroup)
    c->runtime->barrier(c);
}
void oneBarrierMore(void *const *, KernelContext *c) {
  c->runtime->barrier(c);
  if (c->simdgroupIndex == 2)
    c->runtime->barrier(c);
}

TEST(KernelRunner, BarrierThatNotAllReachIsAnError) {
  auto runner = KernelRunner::obtain();
  auto good = variantOf({.simdgroup = reduceSimdgroup, .barrier = true});
  std::vector<uint32_t> out(32 * 3, 0);
  void *arguments[] = {out.data(), nullptr};
  for (SimdgroupEntry entry : {barrierUnlessLast, oneBarrierMore}) {
    auto variant = variantOf({.name = "split", .simdgroup = entry, .barrier = true});
    Job job = jobOf(*variant, arguments, {2, 1, 1}, {256, 1, 1}, {128, 1, 1});
    auto fault = runner->run(job, 0, 2);
    ASSERT_TRUE(fault);
    EXPECT_THAT(*fault, HasSubstr("\"split\""));
    EXPECT_THAT(*fault, HasSubstr("barrier"));
    // The runner is as good as new.
    Job next = jobOf(*good, arguments, {1, 1, 1}, {128, 1, 1}, {128, 1, 1});
    EXPECT_FALSE(runner->run(next, 0, 1));
    EXPECT_EQ(out[0], 10u);
  }
}

#ifndef PEWTER_NO_FAULT_TESTS
void readNothing(void *const *arguments, KernelContext *, uint64_t, uint64_t) {
  *static_cast<volatile int *>(arguments[0]) = 1;
}
void readNothingInRing(void *const *arguments, KernelContext *c) {
  c->runtime->barrier(c);
  if (c->simdgroupIndex == 1)
    *static_cast<volatile int *>(arguments[0]) = 1;
  c->runtime->barrier(c);
}
void illegal(void *const *, KernelContext *, uint64_t, uint64_t) { std::raise(SIGILL); }
[[clang::noinline]] int deepen(volatile char *before, int depth) {
  volatile char frame[4096];
  frame[0] = before ? before[0] : 1;
  return depth == 0 ? frame[0] : deepen(frame, depth - 1) + frame[0];
}
void runsOver(void *const *, KernelContext *, uint64_t, uint64_t) { deepen(nullptr, 1 << 20); }

TEST(KernelRunner, HardwareFaultsAreErrors) {
  auto runner = KernelRunner::obtain();
  std::vector<uint32_t> out(32 * 3, 0);
  void *arguments[] = {nullptr, nullptr};
  void *goodArguments[] = {out.data(), nullptr};
  auto good = variantOf({.simdgroup = reduceSimdgroup, .barrier = true});
  struct Case {
    HandMadeOptions options;
    const char *text;
  };
  for (const Case &c :
       {Case{{.name = "bad", .range = readNothing}, "SIGSEGV"},
        Case{{.name = "bad", .range = readNothing, .stackBytes = 200'000}, "SIGSEGV"},
        Case{{.name = "bad", .simdgroup = readNothingInRing, .barrier = true}, "SIGSEGV"},
        Case{{.name = "bad", .range = illegal}, "SIGILL"},
        Case{{.name = "bad", .range = runsOver, .stackBytes = 200'000}, "stack"}}) {
    auto variant = variantOf(c.options);
    Job job = jobOf(*variant, arguments, {2, 1, 1}, {256, 1, 1}, {128, 1, 1});
    for (int again = 0; again < 2; ++again) {
      auto fault = runner->run(job, 0, 2);
      ASSERT_TRUE(fault);
      EXPECT_THAT(*fault, HasSubstr("\"bad\""));
      EXPECT_THAT(*fault, HasSubstr(c.text));
    }
    Job next = jobOf(*good, goodArguments, {1, 1, 1}, {128, 1, 1}, {128, 1, 1});
    EXPECT_FALSE(runner->run(next, 0, 1));
    EXPECT_EQ(out[0], 10u);
  }
}
#endif

void giveUp(void *const *, KernelContext *c, uint64_t, uint64_t) {
  c->runtime->fault(c, KernelFault::Unreachable);
}

TEST(KernelRunner, KernelsMayGiveUp) {
  auto variant = variantOf({.name = "gives_up", .range = giveUp});
  auto runner = KernelRunner::obtain();
  Job job = jobOf(*variant, nullptr, {1, 1, 1}, {32, 1, 1}, {32, 1, 1});
  auto fault = runner->run(job, 0, 1);
  ASSERT_TRUE(fault);
  EXPECT_THAT(*fault, HasSubstr("\"gives_up\""));
}

} // namespace
} // namespace pewter::cpu
