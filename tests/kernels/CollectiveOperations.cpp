// SPDX-License-Identifier: Apache-2.0
//
// What lanes do together, on every executor against results written out here: SIMD-group operations
// in uniform and divergent code, barriers, matrices, built-in values, atomics.
#include "runner/AirText.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pewter::testing {
namespace {

using ::testing::HasSubstr;

/// Runs everywhere and compares buffer 0 with what `expected` gives for each word.
template <class Expected> void expectWords(const KernelCase &test, Expected expected) {
  for (Executor executor : kAllExecutors) {
    if (!isAvailable(executor))
      continue;
    for (const auto &shape : shapesOf(test.launch)) {
      auto result = runOn(test, executor, shape);
      ASSERT_TRUE(result.has_value()) << nameOf(executor) << ": " << result.error().describe();
      auto words = valuesOf<uint32_t>(result->at(0));
      for (uint32_t i = 0; i < words.size(); ++i)
        ASSERT_EQ(words[i], uint32_t(expected(i))) << nameOf(executor) << ", word " << i;
      if (executor == Executor::Oracle)
        break;
    }
  }
}

AirParameter lane() { return builtin("lane", "i32", "thread_index_in_simdgroup"); }
AirParameter index() { return builtin("index", "i32", "thread_index_in_threadgroup"); }

constexpr const char *kStore = R"(
  %wide = zext i32 %index to i64
  %at = getelementptr i32, ptr addrspace(1) %out, i64 %wide
  store i32 %result, ptr addrspace(1) %at, align 4
  ret void)";

KernelCase oneGroup(const std::string &body, const std::string &globals, uint32_t threads = 32) {
  KernelCase test = airKernel({device("out", 0), lane(), index()}, body + kStore, globals);
  test.launch.threadsPerThreadgroup = test.launch.threadsPerGrid = {threads, 1, 1};
  test.buffers[0] = poison(threads * 4);
  return test;
}

TEST(CollectiveOperations, SumUnderADivergentBranchIsOfItsLanes) {
  expectWords(oneGroup(R"(
  %low = icmp ult i32 %lane, 10
  br i1 %low, label %a, label %b
a:
  %x = call i32 @air.simd_sum.u.i32(i32 %lane) #0
  br label %join
b:
  %y = call i32 @air.simd_sum.u.i32(i32 %lane) #0
  br label %join
join:
  %result = phi i32 [ %x, %a ], [ %y, %b ])",
                       "declare i32 @air.simd_sum.u.i32(i32) #0"),
              [](uint32_t i) { return i < 10 ? 45 : 496 - 45; });
}

TEST(CollectiveOperations, LanesLeaveALoopAndMeetBehindIt) {
  // Lane l goes round l % 4 + 1 times; round k is made by the lanes with l % 4 >= k.
  expectWords(oneGroup(R"(
  %trips = and i32 %lane, 3
  br label %loop
loop:
  %k = phi i32 [ 0, %0 ], [ %next, %loop ]
  %sum = phi i32 [ 0, %0 ], [ %more, %loop ]
  %here = call i32 @air.simd_sum.u.i32(i32 1) #0
  %shifted = mul i32 %sum, 100
  %more = add i32 %shifted, %here
  %next = add i32 %k, 1
  %again = icmp ule i32 %next, %trips
  br i1 %again, label %loop, label %done
done:
  %all = call i32 @air.simd_sum.u.i32(i32 1) #0
  %scaled = mul i32 %all, 100000000
  %result = add i32 %scaled, %more)",
                       "declare i32 @air.simd_sum.u.i32(i32) #0"),
              [](uint32_t i) {
                uint32_t value = 0;
                for (uint32_t k = 0; k <= i % 4; ++k)
                  value = value * 100 + (32 - 8 * k);
                return 32u * 100000000u + value;
              });
}

TEST(CollectiveOperations, PartialGroupsHaveOnlyTheirLanes) {
  expectWords(
      oneGroup(R"(
  %sum = call i32 @air.simd_sum.u.i32(i32 1) #0
  %mask = call i64 @air.simd_ballot.i64(i1 true) #0
  %low = trunc i64 %mask to i32
  %shifted = shl i32 %low, 8
  %result = add i32 %shifted, %sum)",
               "declare i32 @air.simd_sum.u.i32(i32) #0\ndeclare i64 @air.simd_ballot.i64(i1) #0",
               45),
      [](uint32_t i) { return i < 32 ? 0xffffff00u + 32 : (0x1fffu << 8) + 13; });
}

TEST(CollectiveOperations, Shuffles) {
  struct Row {
    const char *operation;
    uint32_t amount;
    uint32_t (*expected)(uint32_t);
  };
  const Row rows[] = {
      {"simd_shuffle_up", 3, [](uint32_t i) { return i < 3 ? i : i - 3; }},
      {"simd_shuffle_down", 5, [](uint32_t i) { return i + 5 > 31 ? i : i + 5; }},
      {"simd_shuffle_xor", 6, [](uint32_t i) { return i ^ 6; }},
      {"simd_shuffle", 17, [](uint32_t) { return 17u; }},
      {"simd_broadcast", 9, [](uint32_t) { return 9u; }},
      {"simd_shuffle_rotate_up", 4, [](uint32_t i) { return (i + 28) % 32; }},
      {"simd_shuffle_rotate_down", 4, [](uint32_t i) { return (i + 4) % 32; }},
      {"quad_shuffle_xor", 1, [](uint32_t i) { return i ^ 1; }},
      {"quad_broadcast", 2, [](uint32_t i) { return i / 4 * 4 + 2; }},
      {"quad_shuffle_down", 1, [](uint32_t i) { return i % 4 == 3 ? i : i + 1; }},
  };
  for (const Row &row : rows) {
    SCOPED_TRACE(row.operation);
    expectWords(oneGroup(fmt::format("%result = call i32 @air.{}.u.i32(i32 %lane, i16 {}) #0",
                                     row.operation, row.amount),
                         fmt::format("declare i32 @air.{}.u.i32(i32, i16) #0", row.operation)),
                row.expected);
  }
}

TEST(CollectiveOperations, ShuffleAndFill) {
  auto text = [](const char *direction) {
    return oneGroup(
        fmt::format("%fill = add i32 %lane, 100\n%result = call i32 "
                    "@air.simd_shuffle_and_fill_{}.u.i32(i32 %lane, i32 %fill, i16 3, i16 8) #0",
                    direction),
        fmt::format("declare i32 @air.simd_shuffle_and_fill_{}.u.i32(i32, i32, i16, i16) #0",
                    direction));
  };
  expectWords(text("up"), [](uint32_t i) { return i % 8 >= 3 ? i - 3 : i - 3 + 8 + 100; });
  expectWords(text("down"), [](uint32_t i) { return i % 8 < 5 ? i + 3 : i + 3 - 8 + 100; });
}

TEST(CollectiveOperations, PrefixesAndVotes) {
  expectWords(oneGroup("%result = call i32 @air.simd_prefix_exclusive_sum.u.i32(i32 %lane) #0",
                       "declare i32 @air.simd_prefix_exclusive_sum.u.i32(i32) #0"),
              [](uint32_t i) { return i * (i - 1) / 2; });
  expectWords(oneGroup("%result = call i32 @air.simd_prefix_inclusive_sum.u.i32(i32 %lane) #0",
                       "declare i32 @air.simd_prefix_inclusive_sum.u.i32(i32) #0"),
              [](uint32_t i) { return i * (i + 1) / 2; });
  expectWords(oneGroup(R"(
  %odd = trunc i32 %lane to i1
  %any = call i1 @air.simd_any(i1 %odd) #0
  %all = call i1 @air.simd_all(i1 %odd) #0
  %quad = call i16 @air.quad_ballot(i1 %odd) #0
  %first = call i1 @air.simd_is_first() #0
  %a = zext i1 %any to i32
  %b = zext i1 %all to i32
  %c = zext i16 %quad to i32
  %d = zext i1 %first to i32
  %b2 = shl i32 %b, 1
  %c2 = shl i32 %c, 4
  %d2 = shl i32 %d, 2
  %ab = or i32 %a, %b2
  %cd = or i32 %c2, %d2
  %result = or i32 %ab, %cd)",
                       "declare i1 @air.simd_any(i1) #0\ndeclare i1 @air.simd_all(i1) #0\n"
                       "declare i16 @air.quad_ballot(i1) #0\ndeclare i1 @air.simd_is_first() #0"),
              [](uint32_t i) { return 1 | (i == 0 ? 4 : 0) | 0xa0; });
}

TEST(CollectiveOperations, ExclusiveSumsOfFloatsStartFromZero) {
  // Odd lanes alone sum -0.0: the lane before the first of them takes no part, and none may see -0.0.
  for (const char *operation : {"simd_prefix_exclusive_sum", "quad_prefix_exclusive_sum"})
    expectWords(oneGroup(fmt::format(R"(
  %odd = trunc i32 %lane to i1
  br i1 %odd, label %sum, label %join
sum:
  %total = call float @air.{}.f32(float -0.0) #0
  %bits = bitcast float %total to i32
  br label %join
join:
  %result = phi i32 [ 7, %0 ], [ %bits, %sum ])",
                                     operation),
                         fmt::format("declare float @air.{}.f32(float) #0", operation)),
                [](uint32_t i) { return i % 2 ? 0 : 7; });
}

TEST(CollectiveOperations, ThreadgroupMemoryAndBarrier) {
  expectWords(oneGroup(R"(
  %i = zext i32 %index to i64
  %mine = getelementptr [96 x i32], ptr addrspace(3) @shared, i64 0, i64 %i
  store i32 %index, ptr addrspace(3) %mine, align 4
  call void @air.wg.barrier(i32 2, i32 1) #0
  %mirror = sub i32 95, %index
  %j = zext i32 %mirror to i64
  %other = getelementptr [96 x i32], ptr addrspace(3) @shared, i64 0, i64 %j
  %result = load i32, ptr addrspace(3) %other, align 4)",
                       "@shared = internal addrspace(3) global [96 x i32] undef, align 4\n"
                       "declare void @air.wg.barrier(i32, i32) #0",
                       96),
              [](uint32_t i) { return 95 - i; });
}

/// Literal conditions leave the first lane of each SIMD group, of which a loaded value takes some, and the
/// first SIMD group.
TEST(CollectiveOperations, FewLanesStore) {
  expectWords(oneGroup(R"(
  %i = zext i32 %index to i64
  %mine = getelementptr [128 x i32], ptr addrspace(3) @shared, i64 0, i64 %i
  store i32 %index, ptr addrspace(3) %mine, align 4
  call void @air.wg.barrier(i32 2, i32 1) #0
  %own = and i32 %index, 31
  %simd = lshr i32 %index, 5
  %n = zext i32 %simd to i64
  %l = zext i32 %own to i64
  %slot = getelementptr [4 x i32], ptr addrspace(3) @slots, i64 0, i64 %n
  %copy = getelementptr [32 x i32], ptr addrspace(3) @copies, i64 0, i64 %l
  %isFirst = icmp eq i32 %own, 0
  br i1 %isFirst, label %first, label %others
first:
  store i32 5, ptr addrspace(3) %slot, align 4
  %loaded = load i32, ptr addrspace(3) %mine, align 4
  %isWanted = icmp ne i32 %loaded, 64
  br i1 %isWanted, label %wanted, label %others
wanted:
  %thousands = mul i32 %loaded, 1000
  store i32 %thousands, ptr addrspace(3) %slot, align 4
  br label %others
others:
  %isFront = icmp ult i32 %index, 32
  br i1 %isFront, label %front, label %meet
front:
  %seven = mul i32 %index, 7
  store i32 %seven, ptr addrspace(3) %copy, align 4
  br label %meet
meet:
  call void @air.wg.barrier(i32 2, i32 1) #0
  %a = load i32, ptr addrspace(3) %slot, align 4
  %b = load i32, ptr addrspace(3) %copy, align 4
  %result = add i32 %a, %b)",
                       "@shared = internal addrspace(3) global [128 x i32] undef, align 4\n"
                       "@slots = internal addrspace(3) global [4 x i32] undef, align 4\n"
                       "@copies = internal addrspace(3) global [32 x i32] undef, align 4\n"
                       "declare void @air.wg.barrier(i32, i32) #0",
                       128),
              [](uint32_t i) {
                uint32_t first = i & ~31u;
                return (first == 64 ? 5 : first * 1000) + (i & 31) * 7;
              });
}

TEST(CollectiveOperations, BarrierNotReachedByAllIsAnError) {
  KernelCase test = oneGroup(R"(
  %first = icmp ult i32 %index, 32
  br i1 %first, label %meet, label %join
meet:
  call void @air.wg.barrier(i32 2, i32 1) #0
  br label %join
join:
  %result = add i32 %index, 0)",
                             "declare void @air.wg.barrier(i32, i32) #0", 64);
  for (Executor executor : kAllExecutors) {
    // A GPU's barrier counts threads that have ended: nothing stops there, and nothing can be told.
    if (!isAvailable(executor) || executor == Executor::Cuda)
      continue;
    auto result = runOn(test, executor, shapesOf(test.launch)[0]);
    ASSERT_FALSE(result.has_value()) << nameOf(executor);
    EXPECT_THAT(result.error().message(), HasSubstr("kernel_under_test"));
    EXPECT_THAT(result.error().message(), HasSubstr("[1] of 2"));
  }
}

TEST(CollectiveOperations, MatrixMultiply) {
  KernelCase test =
      airKernel({device("out", 0), device("in", 1), lane()}, R"(
  %b.at = getelementptr float, ptr addrspace(1) %in, i64 64
  %c.at = getelementptr float, ptr addrspace(1) %in, i64 128
  %a = call <64 x float> @air.simdgroup_matrix_8x8_load.v64f32.p1f32(ptr addrspace(1) %in, i64 8, <2 x i64> zeroinitializer, i1 false) #0
  %b = call <64 x float> @air.simdgroup_matrix_8x8_load.v64f32.p1f32(ptr addrspace(1) %b.at, i64 8, <2 x i64> zeroinitializer, i1 true) #0
  %c = call <64 x float> @air.simdgroup_matrix_8x8_load.v64f32.p1f32(ptr addrspace(1) %c.at, i64 8, <2 x i64> zeroinitializer, i1 false) #0
  %d = call <64 x float> @air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64f32.v64f32.v64f32(<64 x float> %a, <64 x float> %b, <64 x float> %c) #0
  call void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float> %d, ptr addrspace(1) %out, i64 8, <2 x i64> zeroinitializer, i1 false) #0
  ret void)",
                "declare <64 x float> @air.simdgroup_matrix_8x8_load.v64f32.p1f32(ptr "
                "addrspace(1), i64, <2 x i64>, i1) #0\n"
                "declare void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float>, ptr "
                "addrspace(1), i64, <2 x i64>, i1) #0\n"
                "declare <64 x float> "
                "@air.simdgroup_matrix_8x8_multiply_accumulate.v64f32.v64f32.v64f32.v64f32(<64 x "
                "float>, <64 x float>, <64 x float>) #0");
  std::vector<float> in(192);
  for (int i = 0; i < 192; ++i)
    in[size_t(i)] = float(i * 7 % 23 - 11);
  test.buffers[0] = poison(256);
  test.buffers[1] = bytesOf(in);
  test.launch.threadsPerGrid = {32, 1, 1};
  expectWords(test, [&](uint32_t i) {
    float sum = in[128 + i];
    for (uint32_t k = 0; k < 8; ++k)
      sum += in[i / 8 * 8 + k] * in[64 + i % 8 * 8 + k]; // B is read transposed.
    return std::bit_cast<uint32_t>(sum);
  });
}

TEST(CollectiveOperations, BuiltinsOfRaggedThreeDimensionalGrids) {
  KernelCase test = airKernel({device("out", 0), builtin("grid", "<3 x i32>", "threads_per_grid"),
                               builtin("global", "<3 x i32>", "thread_position_in_grid"),
                               builtin("local", "<3 x i32>", "thread_position_in_threadgroup"),
                               builtin("group", "<3 x i32>", "threadgroup_position_in_grid"),
                               builtin("size", "<3 x i32>", "threads_per_threadgroup"),
                               builtin("index", "i16", "thread_index_in_threadgroup"),
                               builtin("lane", "i16", "thread_index_in_simdgroup"),
                               builtin("simdgroup", "i16", "simdgroup_index_in_threadgroup"),
                               builtin("simdgroups", "i32", "simdgroups_per_threadgroup")},
                              R"(
  %gx = extractelement <3 x i32> %global, i64 0
  %gy = extractelement <3 x i32> %global, i64 1
  %gz = extractelement <3 x i32> %global, i64 2
  %wx = extractelement <3 x i32> %grid, i64 0
  %wy = extractelement <3 x i32> %grid, i64 1
  %zy = mul i32 %gz, %wy
  %row = add i32 %zy, %gy
  %rowx = mul i32 %row, %wx
  %thread = add i32 %rowx, %gx
  %lx = extractelement <3 x i32> %local, i64 0
  %ly = extractelement <3 x i32> %local, i64 1
  %lz = extractelement <3 x i32> %local, i64 2
  %bx = extractelement <3 x i32> %group, i64 0
  %by = extractelement <3 x i32> %group, i64 1
  %bz = extractelement <3 x i32> %group, i64 2
  %sx = extractelement <3 x i32> %size, i64 0
  %sy = extractelement <3 x i32> %size, i64 1
  %sz = extractelement <3 x i32> %size, i64 2
  %i = zext i16 %index to i32
  %l = zext i16 %lane to i32
  %s = zext i16 %simdgroup to i32
  %h0 = mul i32 %lx, 3
  %h1 = mul i32 %ly, 5
  %h2 = mul i32 %lz, 7
  %h3 = mul i32 %bx, 11
  %h4 = mul i32 %by, 13
  %h5 = mul i32 %bz, 17
  %h6 = mul i32 %sx, 1009
  %h7 = mul i32 %sy, 2003
  %h8 = mul i32 %sz, 3001
  %h9 = mul i32 %i, 10007
  %h10 = mul i32 %l, 20011
  %h11 = mul i32 %s, 30011
  %h12 = mul i32 %simdgroups, 40009
  %s1 = add i32 %h0, %h1
  %s2 = add i32 %s1, %h2
  %s3 = add i32 %s2, %h3
  %s4 = add i32 %s3, %h4
  %s5 = add i32 %s4, %h5
  %s6 = add i32 %s5, %h6
  %s7 = add i32 %s6, %h7
  %s8 = add i32 %s7, %h8
  %s9 = add i32 %s8, %h9
  %s10 = add i32 %s9, %h10
  %s11 = add i32 %s10, %h11
  %s12 = add i32 %s11, %h12
  %wide = zext i32 %thread to i64
  %at = getelementptr i32, ptr addrspace(1) %out, i64 %wide
  store i32 %s12, ptr addrspace(1) %at, align 4
  ret void)");
  for (Size group :
       {Size{5, 3, 2}, Size{32, 1, 1}, Size{64, 2, 1}, Size{4, 4, 4}, Size{16, 5, 1}}) {
    test.launch.threadsPerThreadgroup = group;
    test.launch.threadsPerGrid = {70, 7, 5};
    test.buffers[0] = poison(70 * 7 * 5 * 4);
    expectWords(test, [&](uint32_t i) {
      Size at{i % 70, i / 70 % 7, i / 490}, position, local;
      for (int k = 0; k < 3; ++k) {
        position[k] = at[k] / group[k];
        local[k] = at[k] % group[k];
      }
      Size size = test.launch.sizeAt(position);
      uint32_t linear = local[0] + size[0] * (local[1] + size[1] * local[2]);
      return local[0] * 3 + local[1] * 5 + local[2] * 7 + position[0] * 11 + position[1] * 13 +
             position[2] * 17 + size[0] * 1009 + size[1] * 2003 + size[2] * 3001 + linear * 10007 +
             linear % 32 * 20011 + linear / 32 * 30011 + (product(size) + 31) / 32 * 40009;
    });
  }
}

TEST(CollectiveOperations, AtomicsCountEveryLane) {
  KernelCase test =
      airKernel({device("out", 0), index()}, R"(
  %old = call i32 @air.atomic.global.add.u.i32(ptr addrspace(1) %out, i32 %index, i32 0, i32 2, i1 true)
  %max.at = getelementptr i32, ptr addrspace(1) %out, i64 1
  %old2 = call i32 @air.atomic.global.max.s.i32(ptr addrspace(1) %max.at, i32 %index, i32 0, i32 2, i1 true)
  ret void)",
                "declare i32 @air.atomic.global.add.u.i32(ptr addrspace(1), i32, i32, i32, i1)\n"
                "declare i32 @air.atomic.global.max.s.i32(ptr addrspace(1), i32, i32, i32, i1)");
  test.launch.threadsPerGrid = {150, 1, 1};
  test.launch.threadsPerThreadgroup = {50, 1, 1};
  test.buffers[0] = Bytes(8);
  expectWords(test, [](uint32_t i) { return i == 0 ? 3 * 1225 : 49; });
}

} // namespace
} // namespace pewter::testing
