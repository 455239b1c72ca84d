// SPDX-License-Identifier: Apache-2.0
#include "Accuracy.h"
#include "Samples.h"
#include <cmath>
#include <fmt/format.h>
#include <immintrin.h>

namespace {

bool same(float a, float b) {
  return std::isnan(a) ? std::isnan(b) : bitsOfFloat(a) == bitsOfFloat(b);
}

void checkFma(MathJit &jit, Report &report) {
  auto *soft = jit.function<float(float, float, float)>("pewter_soft_fma_f32");
  Random random(7);
  uint64_t wrong = 0;
  std::string first;
  auto check = [&](float a, float b, float c) {
    float got = soft(a, b, c), expected = std::fma(a, b, c);
    if (!same(got, expected) && !wrong++)
      first = fmt::format("{:a} * {:a} + {:a} = {:a}, not {:a}", a, b, c, expected, got);
  };
  for (int i = 0; i < 4000000; ++i) {
    float a = random.anyFloat(), b = random.anyFloat(), c = random.anyFloat();
    check(a, b, c);
    // A sum of like sizes, and one that nearly cancels.
    a = static_cast<float>(random.uniform(-2, 2));
    b = static_cast<float>(random.uniform(-2, 2));
    check(a, b, static_cast<float>(random.uniform(-2, 2)));
    check(a, b, floatOfBits(bitsOfFloat(-a * b) + static_cast<uint32_t>(random.next() % 5) - 2));
    // Results among the denormals, and halfway cases of short operands.
    check(a, b * 0x1p-126f, static_cast<float>(random.uniform(-1, 1)) * 0x1p-127f);
    check(floatOfBits(bitsOfFloat(a) & 0xfffff000), floatOfBits(bitsOfFloat(b) & 0xfffff000),
          std::ldexp(1.0f, static_cast<int>(random.next() % 60) - 40));
  }
  const float specials[] = {0.0f, -0.0f, 1.0f, -1.0f, INFINITY, -INFINITY, NAN, 0x1p-149f, 0x1.fffffep127f};
  for (float a : specials)
    for (float b : specials)
      for (float c : specials)
        check(a, b, c);
  report.require(wrong == 0, fmt::format("pewter_soft_fma_f32: {} wrong, first {}", wrong, first));
}

_Float16 halfOf(uint16_t bits) { return std::bit_cast<_Float16>(bits); }

/// The product of halves is exact in double, and so is the sum unless the exponents are far apart,
/// where a long double has bits enough.
void checkHalfFma(MathJit &jit, Report &report) {
  auto *soft = jit.function<float(float, float, float)>("pewter_soft_fma_odd_f16");
  Random random(11);
  uint64_t wrong = 0;
  for (int i = 0; i < 4000000; ++i) {
    uint64_t word = random.next();
    _Float16 a = halfOf(static_cast<uint16_t>(word)), b = halfOf(static_cast<uint16_t>(word >> 16)),
             c = halfOf(static_cast<uint16_t>(word >> 32));
    if (!std::isfinite(static_cast<float>(a) * static_cast<float>(b) * static_cast<float>(c)))
      continue;
    float odd = soft(a, b, c);
    auto got = static_cast<_Float16>(odd);
    // Reference: nearest half to the exact sum, by comparing distances in long double.
    long double exact = static_cast<long double>(static_cast<float>(a)) * static_cast<float>(b) +
                        static_cast<float>(c);
    auto distance = [&](_Float16 h) { return std::fabs(static_cast<long double>(static_cast<float>(h)) - exact); };
    auto bits = std::bit_cast<uint16_t>(got);
    if ((bits & 0x7fff) >= 0x7bff || (bits & 0x7fff) == 0)
      continue;
    _Float16 below = halfOf(static_cast<uint16_t>(bits - 1)), above = halfOf(static_cast<uint16_t>(bits + 1));
    long double own = distance(got);
    bool nearest = own <= distance(below) && own <= distance(above);
    bool tie = own == distance(below) || own == distance(above);
    wrong += !nearest || (tie && (bits & 1));
  }
  report.require(wrong == 0, fmt::format("pewter_soft_fma_odd_f16: {} wrong", wrong));
}

void checkHalfConversions(MathJit &jit, Report &report) {
  auto *widen = jit.function<float(uint16_t)>("pewter_soft_f16_to_f32");
  auto *narrow = jit.function<uint16_t(float)>("pewter_soft_f32_to_f16");
  auto *brain = jit.function<uint16_t(float)>("pewter_soft_f32_to_bf16");
  uint64_t wrong = 0;
  for (uint32_t bits = 0; bits < 0x10000; ++bits)
    wrong += bitsOfFloat(widen(static_cast<uint16_t>(bits))) !=
             bitsOfFloat(_cvtsh_ss(static_cast<uint16_t>(bits)));
  report.require(wrong == 0, fmt::format("pewter_soft_f16_to_f32: {} wrong", wrong));
  wrong = 0;
  uint64_t brainWrong = 0;
  for (uint64_t i = 0; i < 0x100000000; i += 251) {
    float x = floatOfBits(static_cast<uint32_t>(i));
    wrong += narrow(x) != _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT);
    if (std::isnan(x)) {
      brainWrong += (brain(x) & 0x7fff) <= 0x7f80;
      continue;
    }
    auto low = static_cast<uint32_t>(i) & 0xffff0000;
    double down = floatOfBits(low);
    double up = (low & 0x7fffffff) == 0x7f7f0000 ? std::copysign(0x1p128, down) : floatOfBits(low + 0x10000);
    double middle = (down + up) / 2, value = x;
    bool isUp = std::fabs(value) > std::fabs(middle) ||
                (std::fabs(value) == std::fabs(middle) && (low >> 16 & 1));
    uint32_t expected = std::isinf(x) ? low >> 16 : (low >> 16) + isUp;
    brainWrong += brain(x) != expected;
  }
  report.require(wrong == 0, fmt::format("pewter_soft_f32_to_f16: {} wrong", wrong));
  report.require(brainWrong == 0, fmt::format("pewter_soft_f32_to_bf16: {} wrong", brainWrong));
}

} // namespace

void checkEmulation(MathJit &jit, Report &report) {
  checkFma(jit, report);
  checkHalfFma(jit, report);
  checkHalfConversions(jit, report);
}
