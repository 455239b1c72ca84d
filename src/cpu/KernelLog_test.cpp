// SPDX-License-Identifier: Apache-2.0
#include "cpu/KernelLog.h"
#include <bit>
#include <gtest/gtest.h>

namespace pewter::cpu {
namespace {

std::string format(const char *text, std::initializer_list<uint64_t> arguments) {
  std::vector<uint64_t> packed(arguments);
  return formatKernelLog(text, packed.data(), static_cast<uint32_t>(packed.size()));
}

TEST(KernelLog, FormatsEachKind) {
  EXPECT_EQ(format("plain 100%%", {}), "plain 100%");
  EXPECT_EQ(format("%d|%5i|%-3d|", {uint64_t(-7), 42, 1}), "-7|   42|1  |");
  EXPECT_EQ(format("%u %x %08X %o", {uint64_t(-1), 255, 0xbeef, 8}), "4294967295 ff 0000BEEF 10");
  EXPECT_EQ(format("%lu", {~uint64_t(0)}), "18446744073709551615");
  EXPECT_EQ(format("%.2f %g", {std::bit_cast<uint64_t>(1.0 / 3), std::bit_cast<uint64_t>(0.5)}),
            "0.33 0.5");
  EXPECT_EQ(format("%c%hhd", {'x', uint64_t(-1)}), "x-1");
}

TEST(KernelLog, HostileFormatsAreHarmless) {
  EXPECT_EQ(format("%s %n %q", {1, 2, 3}), "%s %n %q");
  EXPECT_EQ(format("%d %d", {1}), "1 %d");
  EXPECT_EQ(format("%", {1}), "%");
  EXPECT_EQ(format("%l", {1}), "%l");
  EXPECT_EQ(format("%99999999999999999999999999999d", {1}), "%99999999999999999999999999999d");
  EXPECT_LE(format("%9999d", {1}).size(), 512u);
}

} // namespace
} // namespace pewter::cpu
