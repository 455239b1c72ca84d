// SPDX-License-Identifier: Apache-2.0
#include "cpu/HostArena.h"
#include <algorithm>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pewter::cpu {
namespace {

TEST(HostArena, PiecesAreAlignedZeroedAndApart) {
  HostArena arena(uint64_t(1) << 30);
  std::vector<std::pair<std::byte *, uint64_t>> pieces;
  for (int round = 0; round < 3; ++round) {
    for (uint64_t length : {0u, 1u, 255u, 256u, 257u, 4096u, 5000u, 65536u, 1u << 20, 3'000'001u}) {
      auto *bytes = static_cast<std::byte *>(arena.allocate(length).value());
      EXPECT_EQ(reinterpret_cast<uint64_t>(bytes) % 256, 0u);
      if (length >= 4096)
        EXPECT_EQ(reinterpret_cast<uint64_t>(bytes) % 4096, 0u);
      if (length > HostArena::kLargestClass)
        EXPECT_EQ(reinterpret_cast<uint64_t>(bytes) % (2 << 20), 0u);
      EXPECT_TRUE(std::all_of(bytes, bytes + length, [](std::byte b) { return b == std::byte(0); }));
      std::memset(bytes, 0xab, length);
      pieces.emplace_back(bytes, length);
    }
    std::sort(pieces.begin(), pieces.end());
    for (size_t i = 1; i < pieces.size(); ++i)
      EXPECT_LT(pieces[i - 1].first + pieces[i - 1].second, pieces[i].first + 1);
    if (round == 1) { // What is released comes back clean.
      for (auto [bytes, length] : pieces)
        arena.release(bytes, length);
      pieces.clear();
      EXPECT_EQ(arena.bytesOut(), 0u);
    }
  }
  for (auto [bytes, length] : pieces)
    arena.release(bytes, length);
}

TEST(HostArena, RefusesWhatDoesNotFit) {
  HostArena arena(1 << 20);
  void *half = arena.allocate(600'000).value();
  auto other = arena.allocate(600'000);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind(), ErrorKind::OutOfMemory);
  EXPECT_THAT(other.error().message(), ::testing::HasSubstr("600000"));
  EXPECT_FALSE(arena.allocate(~uint64_t(0)));
  EXPECT_EQ(arena.bytesOut(), 600'000u);
  arena.release(half, 600'000);
  EXPECT_TRUE(arena.allocate(600'000));
}

} // namespace
} // namespace pewter::cpu
