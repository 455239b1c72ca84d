// SPDX-License-Identifier: Apache-2.0
#include "Accuracy.h"
#include "Samples.h"
#include <climits>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kPi = 3.14159265f;

struct Value {
  const char *name;
  float x, expected;
};
struct PairValue {
  const char *name;
  float x, y, expected;
};

bool same(float a, float b) {
  return std::isnan(a) ? std::isnan(b) : bitsOfFloat(a) == bitsOfFloat(b);
}

const Value kValues[] = {
    {"exp", -kInfinity, 0},        {"exp", kInfinity, kInfinity},   {"exp", kNan, kNan},
    {"exp", 0.0f, 1},              {"exp", -0.0f, 1},               {"exp", 1e30f, kInfinity},
    {"exp", -1e30f, 0},            {"exp2", -kInfinity, 0},         {"exp2", kInfinity, kInfinity},
    {"exp2", kNan, kNan},          {"exp2", 3, 8},                  {"exp2", -126, 0x1p-126f},
    {"exp2", 127, 0x1p127f},       {"exp10", -kInfinity, 0},        {"exp10", kInfinity, kInfinity},
    {"exp10", kNan, kNan},         {"exp10", 0, 1},                 {"log", 0.0f, -kInfinity},
    {"log", -0.0f, -kInfinity},    {"log", -1, kNan},               {"log", kInfinity, kInfinity},
    {"log", -kInfinity, kNan},     {"log", kNan, kNan},             {"log", 1, 0},
    {"log2", 0, -kInfinity},       {"log2", 8, 3},                  {"log2", 0.25f, -2},
    {"log2", -1, kNan},            {"log2", kInfinity, kInfinity},  {"log2", kNan, kNan},
    {"log10", 0, -kInfinity},      {"log10", -2, kNan},             {"log10", kInfinity, kInfinity},
    {"sin", 0.0f, 0.0f},           {"sin", kNan, kNan},             {"cos", 0.0f, 1},
    {"cos", kNan, kNan},           {"tan", kNan, kNan},         {"rsqrt", 4, 0.5f},              {"rsqrt", 0.0f, kInfinity},
    {"rsqrt", -1, kNan},           {"rsqrt", kInfinity, 0},         {"rsqrt", kNan, kNan},
};

/// These hold for the precise form; the fast one may differ or there is none.
const Value kPreciseValues[] = {
    {"sin", -0.0f, -0.0f},          {"tan", -0.0f, -0.0f},         {"tanpi", 0.5f, kInfinity},
    {"tanpi", 1.5f, -kInfinity},    {"tanpi", -0.5f, -kInfinity},
    {"exp2", -149, 0x1p-149f},      {"sin", kInfinity, kNan},      {"cos", kInfinity, kNan},
    {"tan", -kInfinity, kNan},      {"asin", 2, kNan},             {"asin", -0.0f, -0.0f},
    {"asin", kNan, kNan},           {"acos", 1, 0},                {"acos", 1.5f, kNan},
    {"acos", -1, kPi},              {"atan", -0.0f, -0.0f},        {"atan", kInfinity, kPi / 2},
    {"atan", -kInfinity, -kPi / 2}, {"atan", kNan, kNan},          {"sinh", -0.0f, -0.0f},
    {"sinh", kInfinity, kInfinity}, {"sinh", -kInfinity, -kInfinity}, {"sinh", kNan, kNan},
    {"cosh", -kInfinity, kInfinity}, {"cosh", 0, 1},               {"cosh", kNan, kNan},
    {"tanh", -0.0f, -0.0f},         {"tanh", kInfinity, 1},        {"tanh", -kInfinity, -1},
    {"tanh", kNan, kNan},           {"asinh", -0.0f, -0.0f},       {"asinh", -kInfinity, -kInfinity},
    {"asinh", kNan, kNan},          {"acosh", 1, 0},               {"acosh", 0.5f, kNan},
    {"acosh", kInfinity, kInfinity}, {"acosh", kNan, kNan},        {"atanh", 1, kInfinity},
    {"atanh", -1, -kInfinity},      {"atanh", 1.5f, kNan},         {"atanh", -0.0f, -0.0f},
    {"atanh", kNan, kNan},          {"sinpi", 0.5f, 1},            {"sinpi", 1.5f, -1},
    {"sinpi", -0.0f, -0.0f},        {"sinpi", kInfinity, kNan},    {"cospi", 1, -1},
    {"cospi", 0x1p23f + 1, -1},     {"cospi", 0x1p30f, 1},         {"cospi", kInfinity, kNan},
    {"cospi", 0x1p22f + 0.5f, 0},   {"tanpi", 0.25f, 1},           {"tanpi", kNan, kNan},
    {"fract", -0x1p-30f, 0x1.fffffep-1f}, {"fract", kInfinity, 0}, {"fract", kNan, kNan},
    {"round", 0.5f, 1},             {"round", -0.5f, -1},          {"round", 2.5f, 3},
    {"round", 0x1.fffffep-2f, 0},   {"round", -0.25f, -0.0f},      {"round", kInfinity, kInfinity},
    {"round", 0x1.000002p23f, 0x1.000002p23f}, {"round", kNan, kNan}, {"sign", kNan, 0},
    {"sign", -0.0f, -0.0f},         {"sign", -3, -1},              {"logb", 0, -kInfinity},
    {"logb", -kInfinity, kInfinity}, {"logb", 0x1p-149f, -149},
};

const PairValue kPairValues[] = {
    {"pow", kNan, 0, 1},           {"pow", 1, kNan, 1},            {"pow", 2, kNan, kNan},
    {"pow", kNan, 1, kNan},        {"pow", -2, 3, -8},             {"pow", -2, 2, 4},
    {"pow", -2, 0.5f, kNan},       {"pow", 0.0f, -1, kInfinity},   {"pow", -0.0f, -1, -kInfinity},
    {"pow", -0.0f, -2, kInfinity}, {"pow", -0.0f, 3, -0.0f},       {"pow", 0, 2, 0},
    {"pow", -0.0f, 0.5f, 0},       {"pow", -1, kInfinity, 1},      {"pow", -1, -kInfinity, 1},
    {"pow", 0.5f, kInfinity, 0},   {"pow", 0.5f, -kInfinity, kInfinity}, {"pow", 2, kInfinity, kInfinity},
    {"pow", 2, -kInfinity, 0},     {"pow", kInfinity, 2, kInfinity}, {"pow", kInfinity, -2, 0},
    {"pow", -kInfinity, 3, -kInfinity}, {"pow", -kInfinity, 2, kInfinity}, {"pow", -kInfinity, -3, -0.0f},
    {"pow", -kInfinity, 0.5f, kInfinity}, {"pow", 2, 127, 0x1p127f}, {"pow", 2, 200, kInfinity},
    {"pow", 2, -200, 0},           {"pow", 10, 2, 100},            {"pow", -3, 16777215.0f, -kInfinity},
    {"pow", -1, 16777215.0f, -1},  {"pow", -1, 16777216.0f, 1},    {"pow", -1, kNan, kNan},
    {"powr", -1, 2, kNan},         {"powr", 0, 0, kNan},           {"powr", 2, 3, 8},
    {"powr", 0, 2, 0},             {"powr", kInfinity, 0, kNan},   {"powr", 1, kInfinity, kNan},
    {"powr", kNan, 1, kNan},       {"powr", 3, 0, 1},              {"powr", 0, -1, kInfinity},
    {"atan2", 0.0f, 0.0f, 0.0f},   {"atan2", -0.0f, 0.0f, -0.0f},  {"atan2", 0.0f, -0.0f, kPi},
    {"atan2", -0.0f, -0.0f, -kPi}, {"atan2", 1, 0, kPi / 2},       {"atan2", -1, 0, -kPi / 2},
    {"atan2", 1, kInfinity, 0},    {"atan2", 1, -kInfinity, kPi},  {"atan2", kNan, 1, kNan},
    {"atan2", 1, kNan, kNan},      {"fmod", 5, kInfinity, 5},      {"fmod", kInfinity, 2, kNan},
    {"fmod", 1, 0, kNan},          {"fmod", -0.0f, 3, -0.0f},      {"fmod", -6, 3, -0.0f},
    {"fmod", kNan, 1, kNan},       {"fmod", 1, kNan, kNan},        {"fmod", 0x1.fffffep127f, 0x1p-149f, 0},
    {"fdim", kNan, 1, kNan},       {"fdim", kInfinity, kInfinity, 0}, {"fdim", 3, 1, 2},
    {"nextafter", 0.0f, 1, 0x1p-149f}, {"nextafter", 0.0f, -1, -0x1p-149f},
    {"nextafter", 0x1p-149f, 0, 0},    {"nextafter", -0x1p-149f, 0, -0.0f},
    {"nextafter", 0x1.fffffep127f, kInfinity, kInfinity}, {"nextafter", 1, kNan, kNan},
    {"nextafter", 0.0f, -0.0f, -0.0f},
};

/// frexp, ldexp, ilogb, modf and sincos against the C library, every exponent.
void checkParts(MathJit &jit, Report &report) {
  auto *frexp = jit.function<float(float, int *)>("pewter_math_frexp");
  auto *ldexp = jit.function<float(float, int)>("pewter_math_ldexp");
  auto *ilogb = jit.function<int(float)>("pewter_math_ilogb");
  auto *modf = jit.function<float(float, float *)>("pewter_math_modf");
  auto *sincos = jit.function<float(float, float *)>("pewter_math_sincos");
  auto *sine = jit.function<float(float)>("pewter_math_sin");
  auto *cosine = jit.function<float(float)>("pewter_math_cos");
  Random random(3);
  uint64_t wrong[5] = {};
  for (int i = 0; i < 1000000; ++i) {
    float x = random.anyFloat();
    int exponent = 0, expectedExponent = 0;
    float mantissa = frexp(x, &exponent), expected = std::frexp(x, &expectedExponent);
    wrong[0] += !same(mantissa, expected) || exponent != expectedExponent;
    int n = static_cast<int>(random.next() % 700) - 350;
    wrong[1] += !same(ldexp(x, n), static_cast<float>(std::ldexp(static_cast<double>(x), n)));
    wrong[2] += x != 0 && ilogb(x) != std::ilogb(x);
    float whole = 0, expectedWhole = 0;
    float part = modf(x, &whole), expectedPart = std::modf(x, &expectedWhole);
    wrong[3] += !same(part, expectedPart) || !same(whole, expectedWhole);
    float cosineResult = 0;
    wrong[4] += !same(sincos(x, &cosineResult), sine(x)) || !same(cosineResult, cosine(x));
  }
  const char *names[] = {"frexp", "ldexp", "ilogb", "modf", "sincos"};
  for (int i = 0; i < 5; ++i)
    report.require(wrong[i] == 0, fmt::format("pewter_math_{}: {} wrong", names[i], wrong[i]));
  report.require(ldexp(1, INT_MAX) == kInfinity && ldexp(1, INT_MIN) == 0, "pewter_math_ldexp: range of n");
  report.require(ilogb(0) == INT_MIN && ilogb(kInfinity) == INT_MAX && ilogb(kNan) == INT_MAX,
                 "pewter_math_ilogb: special values");
  int exponent = 1;
  report.require(std::isnan(frexp(kNan, &exponent)) && exponent == 0, "pewter_math_frexp: NaN");
  report.require(frexp(-kInfinity, &exponent) == -kInfinity && exponent == 0, "pewter_math_frexp: infinity");
  float whole = 0;
  report.require(same(modf(-kInfinity, &whole), -0.0f) && whole == -kInfinity, "pewter_math_modf: infinity");
}

/// Powers of two are exact in both forms, and atan2 of two infinities is a diagonal.
void checkExactPowers(MathJit &jit, Report &report) {
  for (const char *symbol : {"pewter_math_exp2", "pewter_fast_exp2"}) {
    auto *function = jit.function<float(float)>(symbol);
    for (int n = -126; n < 128; ++n)
      report.require(function(static_cast<float>(n)) == std::ldexp(1.0f, n),
                     fmt::format("{}({}) = {:a}", symbol, n, function(static_cast<float>(n))));
  }
  auto *atan2 = jit.function<float(float, float)>("pewter_math_atan2");
  report.require(std::fabs(atan2(kInfinity, kInfinity) - kPi / 4) < 2e-7f, "pewter_math_atan2(inf, inf)");
  report.require(std::fabs(atan2(-kInfinity, -kInfinity) + 3 * kPi / 4) < 4e-7f, "pewter_math_atan2(-inf, -inf)");
}

/// A finite argument never gives NaN or anything outside [-1, 1] in the fast sine and cosine.
void checkFastTrigonometry(MathJit &jit, Report &report) {
  for (const char *name : {"sin", "cos"}) {
    auto *function = jit.function<float(float)>(std::string("pewter_fast_") + name);
    uint64_t wrong = 0;
    for (uint64_t bits = 0; bits < 0x100000000; bits += 4093) {
      float x = floatOfBits(static_cast<uint32_t>(bits));
      wrong += std::isfinite(x) && !(std::fabs(function(x)) <= 1.000001f);
    }
    report.require(wrong == 0, fmt::format("pewter_fast_{}: {} results outside [-1, 1]", name, wrong));
  }
}

/// Every mantissa of an even and an odd exponent: rsqrt is correctly rounded.
void checkReciprocalRoot(MathJit &jit, Report &report) {
  auto *rsqrt = jit.function<float(float)>("pewter_math_rsqrt");
  uint64_t wrong = 0;
  for (uint32_t bits = 0x3f800000; bits < 0x40800000; ++bits) {
    float x = floatOfBits(bits);
    wrong += rsqrt(x) != static_cast<float>(1.0L / std::sqrt(static_cast<long double>(x)));
  }
  report.require(wrong == 0, fmt::format("pewter_math_rsqrt: {} of 2^24 not correctly rounded", wrong));
}

} // namespace

void checkSpecialValues(MathJit &jit, Report &report) {
  auto check = [&](const std::string &symbol, const Value &value) {
    float got = jit.function<float(float)>(symbol)(value.x);
    report.require(same(got, value.expected), fmt::format("{}({:a}) = {:a}, expected {:a}", symbol,
                                                          value.x, got, value.expected));
  };
  for (const Value &value : kValues)
    for (const char *form : {"pewter_math_", "pewter_fast_"})
      if (std::string symbol = std::string(form) + value.name; jit.has(symbol))
        check(symbol, value);
  for (const Value &value : kPreciseValues)
    check(std::string("pewter_math_") + value.name, value);
  for (const PairValue &value : kPairValues) {
    std::string symbol = std::string("pewter_math_") + value.name;
    float got = jit.function<float(float, float)>(symbol)(value.x, value.y);
    report.require(same(got, value.expected),
                   fmt::format("{}({:a}, {:a}) = {:a}, expected {:a}", symbol, value.x, value.y, got,
                               value.expected));
  }
  checkParts(jit, report);
  checkExactPowers(jit, report);
  checkFastTrigonometry(jit, report);
  checkReciprocalRoot(jit, report);
}
