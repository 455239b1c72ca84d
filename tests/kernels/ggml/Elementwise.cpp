// SPDX-License-Identifier: Apache-2.0
//
// Unary, binary and gated operations of the Apple-built library.
#include "ggml/GgmlHarness.h"
#include <cmath>
#include <gtest/gtest.h>

namespace pewter::testing {
namespace {

class GgmlElementwise : public ::testing::Test {
protected:
  void SetUp() override {
    if (!libraryIsPresent())
      GTEST_SKIP() << "llama.rn 0.8.3 is not installed (scripts/fetch-peers.sh)";
  }
};

double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * x * (1 + 0.044715 * x * x)));
}
double geluErf(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
double geluQuick(double x) { return x / (1 + std::exp(-1.702 * x)); }
double silu(double x) { return x / (1 + std::exp(-x)); }

TEST_F(GgmlElementwise, Unary) {
  struct Operation {
    const char *name;
    double (*reference)(double);
    double low = -4, high = 4;
    std::vector<std::pair<const char *, double>> fields{};
  };
  const Operation operations[] = {
      {"abs", [](double x) { return std::abs(x); }},
      {"cos", [](double x) { return std::cos(x); }, -20, 20},
      {"sin", [](double x) { return std::sin(x); }, -20, 20},
      {"log", [](double x) { return std::log(x); }, 1e-3, 50},
      {"exp", [](double x) { return std::exp(x); }},
      {"sqr", [](double x) { return x * x; }},
      {"sqrt", [](double x) { return std::sqrt(x); }, 0, 9},
      {"neg", [](double x) { return -x; }},
      {"elu", [](double x) { return x > 0 ? x : std::expm1(x); }},
      {"gelu", gelu},
      {"gelu_erf", geluErf},
      {"gelu_quick", geluQuick},
      {"silu", silu},
      {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"tanh", [](double x) { return std::tanh(x); }},
      {"relu", [](double x) { return std::max(0.0, x); }},
      {"sgn", [](double x) { return double(x > 0) - double(x < 0); }},
      {"step", [](double x) { return double(x >= 0); }},
      {"hardswish", [](double x) { return x * std::min(1.0, std::max(0.0, (x + 3) / 6)); }},
      {"hardsigmoid", [](double x) { return std::min(1.0, std::max(0.0, (x + 3) / 6)); }},
      {"scale", [](double x) { return 2.5 * x - 0.75; }, -4, 4, {{"scale", 2.5}, {"bias", -0.75}}},
      {"clamp",
       [](double x) { return std::min(1.5, std::max(-0.5, x)); },
       -4,
       4,
       {{"min", -0.5}, {"max", 1.5}}},
      {"leaky_relu", [](double x) { return x > 0 ? x : 0.1 * x; }, -4, 4, {{"slope", 0.1}}},
  };
  for (const Operation &operation : operations)
    for (bool isVector : {false, true}) {
      size_t n = isVector ? 1024 : 777;
      auto x = Numbers(3).uniform(n, operation.low, operation.high);
      x[5] = operation.low < 0 ? 0 : x[5];
      Bytes input = storeAs(x, ElementType::F32);
      std::vector<double> reference;
      for (double value : x)
        reference.push_back(operation.reference(value));
      Dispatch d(fmt::format("kernel_{}_f32{}", operation.name, isVector ? "_4" : ""));
      for (auto [name, value] : operation.fields)
        d.field(name, value);
      uint32_t first = operation.fields.empty() ? 0 : 1;
      d.buffer(first, input).output(first + 1, n * 4);
      d.groups({uint32_t(isVector ? n / 4 : n), 1, 1}, {1, 1, 1});
      checkOutput(d, first + 1, reference, 1e-6);
    }
}

double apply(const std::string &name, double a, double b) {
  return name == "add" ? a + b : name == "sub" ? a - b : name == "mul" ? a * b : a / b;
}

TEST_F(GgmlElementwise, BinaryWithBroadcast) {
  for (std::string name : {"add", "sub", "mul", "div"})
    for (int fused = 1; fused <= (name == "add" ? 8 : 1); ++fused) {
      Tensor a = Tensor::of({70, 6, 4, 2}), b = Tensor::of({35, 3, 2, 1});
      auto x = Numbers(1).uniform(size_t(a.elements()));
      auto y = Numbers(2).uniform(size_t(b.elements() * fused), 0.5, 2);
      Bytes xs = storeAs(x, ElementType::F32), ys = storeAs(y, ElementType::F32);
      std::vector<double> reference, offsets;
      for (int64_t i = 0; i < a.elements(); ++i) {
        int64_t i0 = i % 70, i1 = i / 70 % 6, i2 = i / 420 % 4;
        double value = x[size_t(i)];
        for (int f = 0; f < fused; ++f)
          value = apply(name, value,
                        y[size_t(f * b.elements() + i0 % 35 + 35 * (i1 % 3 + 3 * (i2 % 2)))]);
        reference.push_back(value);
      }
      for (int f = 0; f < 8; ++f)
        offsets.push_back(f < fused ? double(f * b.bytes()) : 0);
      Dispatch d(fmt::format("kernel_{}_fuse_{}", name, fused));
      d.tensor("0", a).tensor("1", b).tensor("", a).field("offs", 0).field("o1", offsets);
      d.buffer(1, xs).buffer(2, ys).output(3, size_t(a.bytes())).groups({6, 4, 2}, {32, 1, 1});
      checkOutput(d, 3, reference, 1e-6);
    }
}

TEST_F(GgmlElementwise, BinaryByRow) {
  for (std::string name : {"add", "sub", "mul", "div"})
    for (int fused = 1; fused <= (name == "add" ? 8 : 1); ++fused) {
      Tensor a = Tensor::of({96, 5, 1, 1}), b = Tensor::of({96, 1, 1, 1});
      auto x = Numbers(4).uniform(size_t(a.elements()));
      auto y = Numbers(5).uniform(size_t(96 * fused), 0.5, 2);
      Bytes xs = storeAs(x, ElementType::F32), ys = storeAs(y, ElementType::F32);
      std::vector<double> reference, offsets;
      for (size_t i = 0; i < x.size(); ++i) {
        double value = x[i];
        for (int f = 0; f < fused; ++f)
          value = apply(name, value, y[size_t(f) * 96 + i % 96]);
        reference.push_back(value);
      }
      for (int f = 0; f < 8; ++f)
        offsets.push_back(f < fused ? double(f * 96 * 4) : 0);
      Dispatch d(fmt::format("kernel_{}_row_c4_fuse_{}", name, fused));
      d.tensor("0", a).tensor("1", b).tensor("", a).field("offs", 0).field("o1", offsets);
      d.buffer(1, xs)
          .buffer(2, ys)
          .output(3, size_t(a.bytes()))
          .groups({96 * 5 / 4, 1, 1}, {1, 1, 1});
      checkOutput(d, 3, reference, 1e-6);
    }
}

TEST_F(GgmlElementwise, AddById) {
  Tensor a = Tensor::of({50, 3, 4, 1}), b = Tensor::of({50, 7, 1, 1}),
         ids = Tensor::of({3, 4, 1, 1});
  auto x = Numbers(6).uniform(size_t(a.elements())), y = Numbers(7).uniform(size_t(b.elements()));
  std::vector<double> which;
  for (int i = 0; i < 12; ++i)
    which.push_back(i * 5 % 7);
  Bytes xs = storeAs(x, ElementType::F32), ys = storeAs(y, ElementType::F32);
  std::vector<double> reference;
  for (size_t i = 0; i < x.size(); ++i)
    reference.push_back(x[i] + y[i % 50 + 50 * size_t(which[i / 50])]);
  Dispatch d("kernel_add_id");
  d.tensor("0", a).tensor("1", b).tensor("2", ids).tensor("", a);
  d.buffer(1, xs)
      .buffer(2, ys)
      .buffer(3, storeAs(which, ElementType::I32))
      .output(4, size_t(a.bytes()));
  d.groups({3, 4, 1}, {50, 1, 1});
  checkOutput(d, 4, reference, 1e-6);
}

TEST_F(GgmlElementwise, Gated) {
  struct Operation {
    const char *name;
    double (*reference)(double, double);
  };
  const Operation operations[] = {
      {"reglu", [](double a, double b) { return std::max(0.0, a) * b; }},
      {"geglu", [](double a, double b) { return gelu(a) * b; }},
      {"geglu_erf", [](double a, double b) { return geluErf(a) * b; }},
      {"geglu_quick", [](double a, double b) { return geluQuick(a) * b; }},
      {"swiglu", [](double a, double b) { return silu(a) * b; }},
      {"swiglu_oai",
       [](double a, double b) {
         a = std::min(a, 3.0);
         b = std::min(3.0, std::max(-3.0, b));
         return a / (1 + std::exp(-1.7 * a)) * (1 + b);
       }},
  };
  for (const Operation &operation : operations)
    for (bool isSplit : {false, true}) {
      // Either two tensors, or one whose rows hold both halves.
      int64_t n = 100, rows = 7;
      auto x = Numbers(8).uniform(size_t(2 * n * rows), -4, 4);
      Bytes xs = storeAs(x, ElementType::F32);
      std::vector<double> reference;
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t i = 0; i < n; ++i)
          reference.push_back(
              isSplit
                  ? operation.reference(x[size_t(r * n + i)], x[size_t((rows + r) * n + i)])
                  : operation.reference(x[size_t(r * 2 * n + i)], x[size_t(r * 2 * n + n + i)]));
      Dispatch d(fmt::format("kernel_{}_f32", operation.name));
      double width = double(isSplit ? n : 2 * n);
      d.field("ne00", width).field("nb01", width * 4).field("ne10", width).field("nb11", width * 4);
      d.field("ne0", double(n)).field("nb1", double(n * 4));
      d.field("i00", 0).field("i10", isSplit ? 0 : double(n)).field("alpha", 1.7).field("limit", 3);
      if (isSplit) {
        d.buffer(1, Bytes(xs.begin(), xs.begin() + n * rows * 4))
            .buffer(2, Bytes(xs.begin() + n * rows * 4, xs.end()));
      } else {
        d.buffer(1, xs).alias(2, 1);
      }
      d.output(3, size_t(n * rows * 4)).groups({uint32_t(rows), 1, 1}, {uint32_t(width / 2), 1, 1});
      checkOutput(d, 3, reference, 2e-6);
    }
}

} // namespace
} // namespace pewter::testing
