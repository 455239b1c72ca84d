// SPDX-License-Identifier: Apache-2.0
//
// Generated programs of matrix loads, products and stores in a loop, on every executor, bit by bit against
// the order of additions that the vectoriser states. The code generator waits with loads and products
// and reorders them, so what matters is who reads what between which stores.
#include "base/Half.h"
#include "runner/AirText.h"
#include <array>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <random>

namespace pewter::testing {
namespace {

using Matrix = std::array<float, 64>;

constexpr uint32_t kInputs = 48, kOutputs = 12, kTrips = 3;

struct State {
  std::map<std::string, Matrix> matrices;
  std::vector<float> in, out;
};

/// A program as text and as steps on a state; the argument is the loop's counter.
class Program {
public:
  explicit Program(uint32_t seed, bool isTiled) : random_(seed) {
    isHalf_ = pick(2);
    isTiled ? writeTiles(seed) : writeMixture(seed);
    for (uint32_t j = 0; j < sums_; ++j) {
      loop_.push_back([=, end = now_[j]](State &state, uint32_t) {
        state.matrices[fmt::format("end{}", j)] = state.matrices[end];
      });
      phis_ += fmt::format("  %sum{} = phi <64 x float> [ %start{}, %0 ], [ %{}, %loop ]\n", j, j, now_[j]);
    }
    for (uint32_t j = 0; j < sums_; ++j)
      store(after_, tail_, now_[j], j % kOutputs);
    multiply(after_, tail_, "last", "a0", "b1", now_[0]);
    store(after_, tail_, "last", kOutputs - 1);
  }

  std::string text() const {
    return before_ + "  br label %loop\nloop:\n  %it = phi i64 [ 0, %0 ], [ %next, %loop ]\n" + phis_ +
           "  %skip = mul i64 %it, 64\n" + body_ +
           fmt::format("  %next = add i64 %it, 1\n  %again = icmp ult i64 %next, {}\n"
                       "  br i1 %again, label %loop, label %done\ndone:\n",
                       kTrips) +
           after_ + "  ret void";
  }

  static std::string declarations() {
    std::string text;
    for (const char *type : {"float", "half"}) {
      const char *suffix = type[0] == 'f' ? "f32" : "f16";
      text += fmt::format("declare <64 x {0}> @air.simdgroup_matrix_8x8_load.v64{1}.p1{1}(ptr "
                          "addrspace(1), i64, <2 x i64>, i1) #0\n"
                          "declare <64 x float> @air.simdgroup_matrix_8x8_multiply_accumulate."
                          "v64f32.v64{1}.v64{1}.v64f32(<64 x {0}>, <64 x {0}>, <64 x float>) #0\n",
                          type, suffix);
    }
    return text + "declare void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float>, ptr "
                  "addrspace(1), i64, <2 x i64>, i1) #0\n";
  }

  std::vector<float> run(const std::vector<float> &in, std::vector<float> out) const {
    State state{{}, in, std::move(out)};
    for (const auto &step : head_)
      step(state, 0);
    for (uint32_t trip = 0; trip < kTrips; ++trip) {
      for (uint32_t j = 0; j < sums_; ++j)
        state.matrices[fmt::format("sum{}", j)] =
            state.matrices[fmt::format("{}{}", trip ? "end" : "start", j)];
      for (const auto &step : loop_)
        step(state, trip);
    }
    for (const auto &step : tail_)
      step(state, 0);
    return state.out;
  }

private:
  using Steps = std::vector<std::function<void(State &, uint32_t)>>;

  uint32_t pick(uint32_t count) { return uint32_t(random_() % count); }

  void loadStarts(bool isTransposed) {
    for (uint32_t i = 0; i < 4; ++i) {
      load(before_, head_, fmt::format("a{}", i), {i * 64}, false, false);
      load(before_, head_, fmt::format("b{}", i), {(4 + i) * 64}, false, isTransposed);
    }
    for (uint32_t j = 0; j < sums_; ++j) {
      load(before_, head_, fmt::format("start{}", j), {(8 + j % 4) * 64}, false, false, /*isSum=*/true);
      now_.push_back(fmt::format("sum{}", j));
    }
  }

  /// Anything after anything.
  void writeMixture(uint32_t seed) {
    sums_ = std::array{1u, 2u, 4u, 5u, 6u, 9u}[seed % 6];
    loadStarts(/*isTransposed=*/pick(4) == 0);
    const uint32_t steps = seed % 6 == 5 ? 12 : 1 + pick(3); // So many products are calls.
    for (uint32_t t = 0; t < steps; ++t) {
      load(body_, loop_, fmt::format("la{}", t), {(12 + t % 3) * 64}, true, false);
      load(body_, loop_, fmt::format("lb{}", t), {(15 + t % 3) * 64}, true, false);
      const std::string shared = pick(2) ? fmt::format("la{}", t) : fmt::format("a{}", pick(4));
      for (uint32_t j = 0; j < sums_; ++j) {
        const std::string left = pick(4) ? shared : fmt::format("a{}", pick(4));
        const std::string right = pick(2) ? fmt::format("lb{}", t) : fmt::format("b{}", pick(4));
        const std::string name = fmt::format("x{}_{}", t, j);
        multiply(body_, loop_, name, left, right, now_[j]);
        if (pick(4) == 0)
          store(body_, loop_, name, pick(kOutputs));
        if (pick(6) == 0) // A second product from the same sum.
          side(t, j, left, now_[j]);
        now_[j] = name;
      }
    }
  }

  /// Parts of two tiles, as in a product of large matrices: left ones side by side, right ones in rows, all at
  /// pitches of the tiles. Now and then a step is out of line, or a sum is wanted on the way.
  void writeTiles(uint32_t seed) {
    sums_ = std::array{6u, 8u, 9u, 7u}[seed % 4];
    loadStarts(/*isTransposed=*/false);
    const uint32_t steps = 1 + pick(4), pitch = (sums_ + pick(2)) * 8;
    const bool isEven = pick(3) > 0, isWanted = pick(3) == 0, isCrossed = pick(4) == 0;
    for (uint32_t t = 0; t < steps; ++t) {
      const uint32_t place = isEven ? t : t * t;
      load(body_, loop_, fmt::format("la{}", t), {64 + place * 8, 72}, true, false);
      for (uint32_t j = 0; j < sums_; ++j) {
        const uint32_t column = (isCrossed ? j ^ 1 : j) * 8;
        load(body_, loop_, fmt::format("lb{}_{}", t, j), {t * 8 * pitch + column, pitch}, true, false);
        const std::string name = fmt::format("x{}_{}", t, j);
        multiply(body_, loop_, name, fmt::format("la{}", t), fmt::format("lb{}_{}", t, j), now_[j]);
        now_[j] = name;
      }
      if (isWanted && t == 1)
        store(body_, loop_, now_[pick(sums_)], pick(kOutputs));
    }
  }

  /// The first element and how many are from row to row.
  struct Place {
    uint32_t first, pitch = 8;
  };

  /// Floats from `in`; factors of half programs are read from `halves`, which holds the same values.
  void load(std::string &text, Steps &steps, const std::string &name, Place place, bool moves,
            bool isTransposed, bool isSum = false) {
    const bool isHalf = isHalf_ && !isSum;
    const char *type = isHalf ? "half" : "float", *suffix = isHalf ? "f16" : "f32";
    text += fmt::format("  %p.{0} = getelementptr {1}, ptr addrspace(1) %{2}, i64 {3}\n", name, type,
                        isHalf ? "halves" : "in", place.first);
    if (moves)
      text += fmt::format("  %q.{0} = getelementptr {1}, ptr addrspace(1) %p.{0}, i64 %skip\n", name, type);
    text += fmt::format("  %{0} = call <64 x {1}> @air.simdgroup_matrix_8x8_load.v64{2}.p1{2}(ptr "
                        "addrspace(1) %{3}.{0}, i64 {5}, <2 x i64> zeroinitializer, i1 {4}) #0\n",
                        name, type, suffix, moves ? "q" : "p", isTransposed ? "true" : "false", place.pitch);
    steps.push_back([=](State &state, uint32_t trip) {
      Matrix &matrix = state.matrices[name];
      for (uint32_t i = 0; i < 64; ++i) {
        const uint32_t row = isTransposed ? i % 8 : i / 8, column = isTransposed ? i / 8 : i % 8;
        matrix[i] = state.in[place.first + (moves ? trip * 64 : 0) + row * place.pitch + column];
      }
    });
  }

  void multiply(std::string &text, Steps &steps, const std::string &name, const std::string &left,
                const std::string &right, const std::string &sum) {
    const char *type = isHalf_ ? "half" : "float", *suffix = isHalf_ ? "f16" : "f32";
    text += fmt::format("  %{0} = call <64 x float> @air.simdgroup_matrix_8x8_multiply_accumulate."
                        "v64f32.v64{1}.v64{1}.v64f32(<64 x {2}> %{3}, <64 x {2}> %{4}, <64 x float> "
                        "%{5}) #0\n",
                        name, suffix, type, left, right, sum);
    steps.push_back([=](State &state, uint32_t) {
      const Matrix a = state.matrices[left], b = state.matrices[right], c = state.matrices[sum];
      Matrix &result = state.matrices[name];
      for (uint32_t i = 0; i < 64; ++i) {
        result[i] = c[i];
        for (uint32_t k = 0; k < 8; ++k)
          result[i] = std::fma(a[i / 8 * 8 + k], b[k * 8 + i % 8], result[i]);
      }
    });
  }

  void store(std::string &text, Steps &steps, const std::string &name, uint32_t place) {
    text += fmt::format("  %o{0} = getelementptr float, ptr addrspace(1) %out, i64 {1}\n"
                        "  call void @air.simdgroup_matrix_8x8_store.v64f32.p1f32(<64 x float> %{2}, ptr "
                        "addrspace(1) %o{0}, i64 8, <2 x i64> zeroinitializer, i1 false) #0\n",
                        stores_++, place * 64, name);
    steps.push_back([=](State &state, uint32_t) {
      for (uint32_t i = 0; i < 64; ++i)
        state.out[place * 64 + i] = state.matrices[name][i];
    });
  }

  void side(uint32_t t, uint32_t j, const std::string &left, const std::string &sum) {
    const std::string name = fmt::format("side{}_{}", t, j);
    multiply(body_, loop_, name, left, fmt::format("b{}", pick(4)), sum);
    store(body_, loop_, name, pick(kOutputs));
  }

  std::mt19937 random_;
  uint32_t sums_ = 0, stores_ = 0;
  bool isHalf_ = false;
  std::vector<std::string> now_; ///< The last product of each sum.
  std::string before_, phis_, body_, after_;
  Steps head_, loop_, tail_;
};

void expectOrder(bool isTiled, uint32_t seeds) {
  for (uint32_t seed = 1; seed <= seeds; ++seed) {
    const Program program(seed, isTiled);
    KernelCase test = airKernel({device("out", 0), device("in", 1), device("halves", 2),
                                 builtin("lane", "i32", "thread_index_in_simdgroup")},
                                program.text(), Program::declarations());
    std::mt19937 random(seed);
    std::vector<float> in(kInputs * 64);
    std::vector<uint16_t> halves;
    for (float &value : in) {
      value = float(int(random() % 2001) - 1000) / 1024.0f; // Exact in half.
      halves.push_back(halfFromFloat(value));
    }
    test.buffers[0] = poison(kOutputs * 64 * 4);
    test.buffers[1] = bytesOf(in);
    test.buffers[2] = bytesOf(halves);
    test.launch.threadsPerGrid = {32, 1, 1};
    const std::vector<float> expected = program.run(in, valuesOf<float>(test.buffers[0]));
    for (Executor executor : kAllExecutors) {
      if (!isAvailable(executor))
        continue;
      auto result = runOn(test, executor, shapesOf(test.launch)[0]);
      ASSERT_TRUE(result.has_value()) << nameOf(executor) << ": " << result.error().describe();
      auto got = valuesOf<uint32_t>(result->at(0));
      for (uint32_t i = 0; i < got.size(); ++i)
        ASSERT_EQ(got[i], std::bit_cast<uint32_t>(expected[i]))
            << nameOf(executor) << ", seed " << seed << ", matrix " << i / 64 << ", element " << i % 64;
    }
  }
}

TEST(MatrixProducts, GeneratedProgramsKeepTheirOrder) { expectOrder(/*isTiled=*/false, 8); }

TEST(MatrixProducts, ProductsOfTilesKeepTheirOrder) { expectOrder(/*isTiled=*/true, 12); }

} // namespace
} // namespace pewter::testing
