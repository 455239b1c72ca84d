// SPDX-License-Identifier: Apache-2.0
//
// math_accuracy: the error of every function of the embedded math library against the C library's
// double functions, over dense samples, and its special values. The bounds are Metal's, written again
// here; what is measured is usually much less.
//
//   math_accuracy            checks, one line for each failure and a summary
//   math_accuracy --table    also prints the table of docs/accuracy.md
#include "Accuracy.h"
#include "MathJit.h"
#include "Samples.h"
#include <array>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <limits>

namespace {

constexpr float kLargest = std::numeric_limits<float>::max();
constexpr double kPi = 3.14159265358979323846;

struct Range {
  float low, high;
  double bound;          ///< In ulp, or absolute where `absolute`.
  bool absolute = false;
  bool grows = false;    ///< Bound + floor(|2x|) ulp.
};

struct Unary {
  const char *name;
  double (*reference)(double);
  std::vector<Range> precise, fast;
};

double exp10Of(double x) { return std::pow(10.0, x); }
double rsqrtOf(double x) { return 1 / std::sqrt(x); }
double sinpiOf(double x) {
  double r = std::remainder(x, 2.0);
  return std::fabs(r) > 0.5 ? std::copysign(std::sin(kPi * (1 - std::fabs(r))), r) : std::sin(kPi * r);
}
double cospiOf(double x) {
  double r = std::fabs(std::remainder(x, 2.0));
  return r > 0.25 && r < 0.75 ? std::sin(kPi * (0.5 - r)) : std::cos(kPi * r);
}
double tanpiOf(double x) { return sinpiOf(x) / cospiOf(x); }
double fractOf(double x) {
  double part = x - std::floor(x);
  return part < 0x1.ffffffp-1 ? part : 0x1.fffffep-1;
}
double signOf(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

const std::vector<Unary> &unaryFunctions() {
  static const std::vector<Unary> functions = {
      {"exp", std::exp, {{-120, 100, 4}}, {{-120, 100, 3, false, true}}},
      {"exp2", std::exp2, {{-160, 140, 4}}, {{-160, 140, 3, false, true}}},
      {"exp10", exp10Of, {{-50, 45, 4}}, {}},
      {"log", std::log, {{0, kLargest, 4}, {0.5f, 2, 4}}, {{0x1p-126f, 0.5f, 3}, {0.5f, 2, 0x1p-21, true}, {2, kLargest, 3}}},
      {"log2", std::log2, {{0, kLargest, 4}, {0.5f, 2, 4}}, {{0x1p-126f, 0.5f, 3}, {0.5f, 2, 0x1p-21, true}, {2, kLargest, 3}}},
      {"log10", std::log10, {{0, kLargest, 4}, {0.5f, 2, 4}}, {{0x1p-126f, 0.5f, 3}, {0.5f, 2, 0x1p-21, true}, {2, kLargest, 3}}},
      {"sin", std::sin, {{-kLargest, kLargest, 4}, {-50000, 50000, 4}, {-4, 4, 4}}, {{-3.1415927f, 3.1415927f, 0x1p-13, true}, {-131072, 131072, 0x1p-13, true}}},
      {"cos", std::cos, {{-kLargest, kLargest, 4}, {-50000, 50000, 4}, {-4, 4, 4}}, {{-3.1415927f, 3.1415927f, 0x1p-13, true}, {-131072, 131072, 0x1p-13, true}}},
      {"tan", std::tan, {{-kLargest, kLargest, 6}, {-50000, 50000, 6}, {-4, 4, 6}}, {{-0.785f, 0.785f, 6}}},
      {"asin", std::asin, {{-1, 1, 4}}, {}},
      {"acos", std::acos, {{-1, 1, 4}}, {}},
      {"atan", std::atan, {{-kLargest, kLargest, 5}, {-10, 10, 5}}, {}},
      {"sinh", std::sinh, {{-92, 92, 4}, {-2, 2, 4}}, {}},
      {"cosh", std::cosh, {{-92, 92, 4}, {-2, 2, 4}}, {}},
      {"tanh", std::tanh, {{-kLargest, kLargest, 5}, {-12, 12, 5}}, {}},
      {"asinh", std::asinh, {{-kLargest, kLargest, 4}, {-5, 5, 4}}, {}},
      {"acosh", std::acosh, {{1, kLargest, 4}, {1, 5, 4}}, {}},
      {"atanh", std::atanh, {{-1, 1, 5}}, {}},
      {"sinpi", sinpiOf, {{-kLargest, kLargest, 4}, {-4, 4, 4}}, {}},
      {"cospi", cospiOf, {{-kLargest, kLargest, 4}, {-4, 4, 4}}, {}},
      {"tanpi", tanpiOf, {{-0x1p22f, 0x1p22f, 6}, {-4, 4, 6}}, {}},
      {"rsqrt", rsqrtOf, {{0x1p-149f, kLargest, 0.5}, {1, 4, 0.5}}, {}},
      {"fract", fractOf, {{-kLargest, kLargest, 0.5}, {-4, 4, 0.5}}, {}},
      {"round", std::round, {{-kLargest, kLargest, 0}, {-9, 9, 0}}, {}},
      {"sign", signOf, {{-kLargest, kLargest, 0}}, {}},
      {"logb", std::logb, {{-kLargest, kLargest, 0}}, {}},
  };
  return functions;
}

struct Binary {
  const char *name;
  double (*reference)(double, double);
  double precise, fast; ///< Bounds in ulp; fast < 0: not checked, 0 with no fast form.
  /// Makes operands out of two random words.
  void (*draw)(Random &, float &, float &);
};

void drawPower(Random &random, float &x, float &y) {
  if (random.next() & 1) { // results over the whole range
    x = std::fabs(random.anyFloat());
    y = static_cast<float>(random.uniform(-150, 130) / std::log2(static_cast<double>(x)));
  } else {
    x = static_cast<float>(random.uniform(0.5, 2));
    y = static_cast<float>(random.uniform(-160, 140) / std::log2(static_cast<double>(x)));
  }
}
void drawAny(Random &random, float &x, float &y) {
  x = random.anyFloat();
  y = random.anyFloat();
}
void drawLike(Random &random, float &x, float &y) {
  x = random.anyFloat();
  y = static_cast<float>(x * random.uniform(-4, 4));
  if (random.next() & 1)
    std::swap(x, y);
}
void drawPlane(Random &random, float &x, float &y) {
  if (random.next() & 1)
    return drawLike(random, x, y);
  drawAny(random, x, y);
}
double fdimOf(double x, double y) { return static_cast<float>(x > y ? x - y : 0); }
double nextafterOf(double x, double y) {
  return std::nextafterf(static_cast<float>(x), static_cast<float>(y));
}

const std::vector<Binary> &binaryFunctions() {
  static const std::vector<Binary> functions = {
      {"pow", std::pow, 16, 16, drawPower},   {"powr", std::pow, 16, 16, drawPower},
      {"atan2", std::atan2, 6, 0, drawPlane}, {"fmod", std::fmod, 0, -1, drawPlane},
      {"fdim", fdimOf, 0.5, 0, drawPlane},    {"nextafter", nextafterOf, 0, 0, drawPlane},
  };
  return functions;
}

Worst measure(float (*function)(float), const Unary &unary, const Range &range, bool flushes) {
  Worst worst;
  sweep(range.low, range.high, 1500000, [&](float x) {
    double reference = unary.reference(x);
    float got = function(x);
    double error;
    if (range.absolute)
      error = std::fabs(got - reference) / range.bound;
    else {
      error = ulpError(got, reference, flushes);
      if (range.grows)
        error = std::fmax(0, error - std::floor(std::fabs(2.0 * x)));
    }
    worst.note(error, x);
  });
  return worst;
}

std::string describe(const Range &range) {
  return fmt::format("[{:g}, {:g}]", range.low, range.high);
}

} // namespace

void Report::require(bool holds, const std::string &what) {
  ++checks_;
  if (holds)
    return;
  ++failures_;
  fmt::print("FAIL {}\n", what);
}

int main(int argc, char **argv) {
  bool table = argc > 1 && std::strcmp(argv[1], "--table") == 0;
  MathJit jit;
  Report report;
  uint64_t samples = 0;
  if (table)
    fmt::print("| function | form | range | bound | measured | at |\n|---|---|---|---|---|---|\n");
  auto row = [&](const char *name, bool fast, const std::string &range, const std::string &bound,
                 const std::string &measured, const std::string &where) {
    if (table)
      fmt::print("| {} | {} | {} | {} | {} | {} |\n", name, fast ? "fast" : "precise", range, bound,
                 measured, where);
  };
  for (const Unary &unary : unaryFunctions()) {
    for (bool fast : {false, true}) {
      std::string symbol = fmt::format("{}{}", fast ? "pewter_fast_" : "pewter_math_", unary.name);
      if (fast && !jit.has(symbol))
        continue;
      auto *function = jit.function<float(float)>(symbol);
      report.require(!fast || !unary.fast.empty(), symbol + " has no ranges");
      for (const Range &range : fast ? unary.fast : unary.precise) {
        Worst worst = measure(function, unary, range, fast);
        samples += worst.samples;
        double limit = range.absolute ? 1 : range.bound;
        if (limit == 0.5)
          limit = 0.5000001; // the reference itself is rounded
        report.require(worst.error <= limit,
                       fmt::format("{} {}: {:.3f} of {} at {:a}", symbol, describe(range),
                                   worst.error, range.bound, worst.x));
        std::string bound = range.absolute ? fmt::format("{:.1e} absolute", range.bound)
                            : range.grows  ? fmt::format("{} + floor(2 abs x) ulp", range.bound)
                                           : fmt::format("{} ulp", range.bound);
        row(unary.name, fast, describe(range), bound,
            range.absolute ? fmt::format("{:.1e}", worst.error * range.bound)
                           : fmt::format("{:.2f} ulp", worst.error),
            fmt::format("{:g}", worst.x));
      }
    }
  }
  for (const Binary &binary : binaryFunctions()) {
    for (bool fast : {false, true}) {
      std::string symbol = fmt::format("{}{}", fast ? "pewter_fast_" : "pewter_math_", binary.name);
      if ((fast && !jit.has(symbol)) || (fast && binary.fast < 0))
        continue;
      auto *function = jit.function<float(float, float)>(symbol);
      double limit = fast ? binary.fast : binary.precise;
      Worst worst;
      Random random(42);
      for (int i = 0; i < 3000000; ++i) {
        float x, y;
        binary.draw(random, x, y);
        if (fast && std::fabs(x) < 0x1p-126)
          continue;
        worst.note(ulpError(function(x, y), binary.reference(x, y), fast), x, y);
      }
      samples += worst.samples;
      report.require(worst.error <= (limit == 0.5 ? 0.5000001 : limit),
                     fmt::format("{}: {:.3f} of {} at {:a}, {:a}", symbol, worst.error, limit,
                                 worst.x, worst.y));
      row(binary.name, fast, "all", fmt::format("{} ulp", limit), fmt::format("{:.2f} ulp", worst.error),
          fmt::format("{:g}, {:g}", worst.x, worst.y));
    }
  }
  checkSpecialValues(jit, report);
  checkEmulation(jit, report);
  if (!table)
    fmt::print("math_accuracy: {} samples, {} checks, {} failures\n", samples, report.checks(),
               report.failures());
  return report.failures() != 0;
}
