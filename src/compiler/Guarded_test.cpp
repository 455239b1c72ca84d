// SPDX-License-Identifier: Apache-2.0
#include "compiler/Guarded.h"
#include <cstdlib>
#include <gtest/gtest.h>
#include <new>

namespace pewter::compiler {
namespace {

/// More than a machine has, asked for so that no compiler leaves it out.
void takeAllMemory() {
  volatile size_t most = size_t(1) << 62;
  ::operator delete(::operator new(most));
}
void takeAllMemoryWithoutExceptions() noexcept { takeAllMemory(); }

TEST(Guarded, MissingMemoryIsNamedWhetherExceptionsPassOrNot) {
  for (const std::function<void()> &work :
       {std::function<void()>(takeAllMemory), std::function<void()>(takeAllMemoryWithoutExceptions)}) {
    auto result = runGuarded(work, "compiling kernel \"k\"");
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().kind(), ErrorKind::OutOfMemory);
    EXPECT_EQ(result.error().message(), "The compiler ran out of memory while compiling kernel \"k\".");
  }
}

TEST(Guarded, OtherEndsAreNotTakenForMissingMemory) {
  // Work that did without the memory and went on.
  auto fine = runGuarded([] { ::operator delete(::operator new(size_t(1) << 61, std::nothrow)); }, "working");
  EXPECT_TRUE(fine.has_value()) << fine.error().describe();
  auto aborted = runGuarded([] { std::abort(); }, "working");
  ASSERT_FALSE(aborted.has_value());
  EXPECT_EQ(aborted.error().kind(), ErrorKind::Compile);
  EXPECT_NE(aborted.error().message().find("signal 6"), std::string::npos);
}

} // namespace
} // namespace pewter::compiler
