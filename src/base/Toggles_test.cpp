// SPDX-License-Identifier: Apache-2.0
#include "base/Toggles.h"
#include <gtest/gtest.h>

namespace pewter {
namespace {

TEST(Toggles, ListSetsAndClears) {
  ASSERT_TRUE(setToggles("dump_air").has_value());
  EXPECT_TRUE(enabled(Toggle::dump_air));
  ASSERT_TRUE(setToggles("no-dump_air,").has_value());
  EXPECT_FALSE(enabled(Toggle::dump_air));
}

TEST(Toggles, UnknownNameIsNamed) {
  auto result = setToggles("no-such_thing");
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().message().find("\"such_thing\""), std::string::npos);
}

} // namespace
} // namespace pewter
