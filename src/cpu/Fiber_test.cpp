// SPDX-License-Identifier: Apache-2.0
#include "cpu/Fiber.h"
#include <gtest/gtest.h>
#include <vector>

namespace pewter::cpu {
namespace {

struct Shared {
  Fiber main, first, second;
  std::vector<int> trace;
};

TEST(Fiber, SwitchesInARing) {
  auto stacks = FiberStacks::create(2, 64 << 10);
  ASSERT_TRUE(stacks);
  Shared shared;
  shared.main.adopt();
  shared.first.user = shared.second.user = &shared;
  shared.first.start(stacks->bottom(0), stacks->bytesEach(), [](Fiber &self) {
    auto &shared = *static_cast<Shared *>(self.user);
    while (true) {
      shared.trace.push_back(1);
      Fiber::change(self, shared.second);
    }
  });
  shared.second.start(stacks->bottom(1), stacks->bytesEach(), [](Fiber &self) {
    auto &shared = *static_cast<Shared *>(self.user);
    while (true) {
      shared.trace.push_back(2);
      Fiber::change(self, shared.main);
    }
  });
  for (int i = 0; i < 3; ++i) {
    shared.trace.push_back(0);
    Fiber::change(shared.main, shared.first);
  }
  EXPECT_EQ(shared.trace, (std::vector<int>{0, 1, 2, 0, 1, 2, 0, 1, 2}));
}

TEST(FiberStacks, KnowsItsTrapPages) {
  auto stacks = FiberStacks::create(3, 10'000);
  ASSERT_TRUE(stacks);
  EXPECT_GE(stacks->bytesEach(), 10'000u);
  for (size_t i = 0; i < 3; ++i) {
    std::byte *bottom = stacks->bottom(i);
    EXPECT_TRUE(stacks->isTrap(bottom - 1));
    EXPECT_FALSE(stacks->isTrap(bottom));
    EXPECT_FALSE(stacks->isTrap(bottom + stacks->bytesEach() - 1));
    bottom[0] = bottom[stacks->bytesEach() - 1] = std::byte(1);
  }
  EXPECT_FALSE(stacks->isTrap(nullptr));
}

} // namespace
} // namespace pewter::cpu
