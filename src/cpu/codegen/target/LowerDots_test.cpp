// SPDX-License-Identifier: Apache-2.0
#include "cpu/codegen/target/LowerDots.h"
#include "cpu/codegen/target/RunBlob_testing.h"
#include <array>
#include <random>

namespace pewter::cpu::codegen {
namespace {

using compiler::TargetKind;

constexpr TargetKind kTargets[] = {TargetKind::CpuAvx512Vnni, TargetKind::CpuAvx512, TargetKind::CpuAvx2,
                                   TargetKind::CpuBaseline, TargetKind::CpuNeon};
constexpr const char *kSigns[] = {"us", "ss", "uu"};

/// k(a, b, sum, out): `count` words of each.
std::string dotOf(const std::string &signs, unsigned count) {
  std::string type = count == 1 ? "i32" : "<" + std::to_string(count) + " x i32>";
  std::string name = "@pewter.dot." + signs + (count == 1 ? ".i32" : ".v" + std::to_string(count) + "i32");
  return "declare " + type + " " + name + "(" + type + ", " + type + ", " + type + ")\n" +
         "define void @k(ptr %a, ptr %b, ptr %sum, ptr %out) {\n"
         "  %x = load " + type + ", ptr %a, align 4\n"
         "  %y = load " + type + ", ptr %b, align 4\n"
         "  %s = load " + type + ", ptr %sum, align 4\n"
         "  %r = call " + type + " " + name + "(" + type + " %x, " + type + " %y, " + type + " %s)\n"
         "  store " + type + " %r, ptr %out, align 4\n"
         "  ret void\n}\n";
}

uint32_t dot(uint32_t a, uint32_t b, uint32_t sum, std::string_view signs) {
  for (int i = 0; i < 4; ++i) {
    auto byte = [&](uint32_t word, char sign) {
      uint8_t bits = uint8_t(word >> 8 * i);
      return sign == 's' ? int32_t(int8_t(bits)) : int32_t(bits);
    };
    sum += uint32_t(byte(a, signs[0]) * byte(b, signs[1]));
  }
  return sum;
}

using Words = std::array<uint32_t, 64>;

TEST(LowerDots, EveryTargetHasTheSameIntegers) {
  std::mt19937 random(7);
  const uint32_t extremes[] = {0x80808080u, 0x7f7f7f7fu, 0xffffffffu, 0u, 0x80ff7f00u, 0x01010101u};
  for (TargetKind kind : kTargets) {
    if (!canRun(kind))
      continue;
    for (const char *signs : kSigns)
      for (unsigned count : {1u, 3u, 4u, 16u, 24u, 32u, 64u}) {
        SCOPED_TRACE(::testing::Message() << "target " << int(kind) << ", " << signs << ", " << count << " words");
        auto blob = LoadedBlob::fromText(dotOf(signs, count).c_str(), kind, {"k"});
        ASSERT_TRUE(blob.has_value()) << blob.error().describe();
        auto run = reinterpret_cast<void (*)(const uint32_t *, const uint32_t *, const uint32_t *, uint32_t *)>(
            (*blob)->entry("k"));
        for (int round = 0; round < 20; ++round) {
          Words a, b, sum, out{};
          for (size_t i = 0; i < a.size(); ++i) {
            a[i] = random() % 3 ? uint32_t(random()) : extremes[random() % 6];
            b[i] = random() % 3 ? uint32_t(random()) : extremes[random() % 6];
            sum[i] = random() % 3 ? uint32_t(random()) : 0x7fffffffu; // Sums wrap around.
          }
          run(a.data(), b.data(), sum.data(), out.data());
          for (unsigned i = 0; i < count; ++i)
            ASSERT_EQ(out[i], dot(a[i], b[i], sum[i], signs))
                << std::hex << a[i] << " and " << b[i] << " with " << sum[i];
        }
      }
  }
}

unsigned countOf(const std::string &text, std::string_view word) {
  unsigned count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    ++count;
  return count;
}

std::string assemblyOf(const std::string &text, TargetKind kind) {
  llvm::LLVMContext context;
  auto module = parseText(text.c_str(), context);
  auto assembly = generateAssembly(*module, kind);
  EXPECT_TRUE(assembly.has_value());
  return assembly ? *assembly : "";
}

// A register's worth of dot products is one instruction, two, or two and additions.
TEST(LowerDots, TargetsUseWhatTheyHave) {
  for (auto [signs, instructions] : {std::pair("us", 1u), std::pair("ss", 2u), std::pair("uu", 3u)})
    EXPECT_EQ(countOf(assemblyOf(dotOf(signs, 32), TargetKind::CpuAvx512Vnni), "vpdpbusd"), 2 * instructions) << signs;
  for (const char *signs : kSigns) {
    EXPECT_EQ(countOf(assemblyOf(dotOf(signs, 32), TargetKind::CpuAvx512), "vpmaddwd"), 4u) << signs;
    EXPECT_EQ(countOf(assemblyOf(dotOf(signs, 32), TargetKind::CpuAvx2), "vpmaddwd"), 8u) << signs;
    EXPECT_EQ(countOf(assemblyOf(dotOf(signs, 32), TargetKind::CpuBaseline), "pmaddwd"), 16u) << signs;
  }
}

} // namespace
} // namespace pewter::cpu::codegen
