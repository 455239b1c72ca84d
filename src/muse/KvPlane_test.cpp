// SPDX-License-Identifier: Apache-2.0
#include "muse/KvPlane.h"
#include <gtest/gtest.h>

namespace pewter::muse {
namespace {

TEST(KvPlane, RingWrapsAtItsCapacity) {
  KvPlane plane{.capacity = 32};
  for (uint32_t position = 0; position < 100; ++position) {
    EXPECT_EQ(plane.append(position).value(), position % 32);
    EXPECT_EQ(plane.wrapped(), position >= 32);
    EXPECT_EQ(plane.end(), position + 1);
    EXPECT_EQ(plane.originPhysical, plane.originLogical % 32);
  }
}

TEST(KvPlane, BatchEqualsOneByOne) {
  for (uint32_t first : {0u, 5u, 31u, 32u, 50u}) {
    for (uint32_t count : {1u, 7u, 32u, 33u, 200u}) {
      KvPlane single{.capacity = 32}, batch{.capacity = 32};
      for (uint32_t p = 0; p < first; ++p) {
        ASSERT_TRUE(single.append(p));
        ASSERT_TRUE(batch.append(p));
      }
      for (uint32_t p = first; p < first + count; ++p)
        ASSERT_TRUE(single.append(p));
      uint32_t survivor = batch.appendBatch(first, count).value();
      EXPECT_EQ(batch.originLogical, single.originLogical);
      EXPECT_EQ(batch.originPhysical, single.originPhysical);
      EXPECT_EQ(batch.length, single.length);
      EXPECT_EQ(survivor, first + count > 32 + first ? first + count - 32 : first);
    }
  }
}

TEST(KvPlane, GapsAreAnError) {
  KvPlane plane{.layer = 7, .capacity = 32};
  ASSERT_TRUE(plane.append(0));
  auto gap = plane.append(2);
  ASSERT_FALSE(gap);
  EXPECT_NE(gap.error().describe().find("Layer 7 of the key-value cache expects position 1 next"),
            std::string::npos);
}

TEST(KvPlane, CapacitiesHaveAFloor) {
  EXPECT_EQ(KvPlane::slidingCapacity(8192, 2048), 2048u);
  EXPECT_EQ(KvPlane::slidingCapacity(100, 2048), 100u);
  EXPECT_EQ(KvPlane::slidingCapacity(4, 2048), 32u);
  EXPECT_EQ(KvPlane::slidingCapacity(8192, 16), 16u) << "a ring must not outlive its window";
  EXPECT_EQ(KvPlane::fullCapacity(8192), 8192u);
}

TEST(SplitK, FollowsTheRule) {
  EXPECT_EQ(splitK(1), (SplitK{1, 1}));
  EXPECT_EQ(splitK(33), (SplitK{2, 1}));
  EXPECT_EQ(splitK(2048), (SplitK{32, 1}));
  EXPECT_EQ(splitK(2049), (SplitK{32, 2}));
  EXPECT_EQ(splitK(4096), (SplitK{32, 2}));
  EXPECT_EQ(splitK(4097), (SplitK{32, 4}));
  EXPECT_EQ(splitK(8192), (SplitK{32, 4}));
  EXPECT_EQ(splitK(131008), (SplitK{32, 4}));
}

} // namespace
} // namespace pewter::muse
