// SPDX-License-Identifier: Apache-2.0
#include "base/Error.h"
#include <gtest/gtest.h>

namespace pewter {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0)
    return fail(ErrorKind::Validation, "Value ({}) is odd.", value);
  return value / 2;
}

Result<int> quarter(int value) {
  PEWTER_TRY(int once, half(value));
  PEWTER_TRY(int twice, half(once));
  return twice;
}

TEST(Error, TryUnwrapsOrReturnsTheError) {
  EXPECT_EQ(quarter(8).value(), 2);
  EXPECT_EQ(quarter(6).error().message(), "Value (3) is odd.");
}

TEST(Error, DescribeListsTheCallPath) {
  Error error = Error(ErrorKind::Io, "It fails.").whileDoing("reading a").whileDoing("opening b");
  EXPECT_EQ(error.describe(), "It fails.\n - While reading a\n - While opening b");
}

TEST(Error, EveryKindHasAName) { EXPECT_EQ(nameOf(ErrorKind::OutOfMemory), "out of memory"); }

} // namespace
} // namespace pewter
