// SPDX-License-Identifier: Apache-2.0
//
// Normalisations, soft_max, sums and the other row reductions of the Apple-built library.
#include "ggml/GgmlHarness.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

namespace pewter::testing {
namespace {

class GgmlRows : public ::testing::Test {
protected:
  void SetUp() override {
    if (!libraryIsPresent())
      GTEST_SKIP() << "llama.rn 0.8.3 is not installed (scripts/fetch-peers.sh)";
  }
};

/// Whole SIMD groups: these kernels add the groups' sums with one lane for each, which a partial
/// last group would not have.
uint32_t threadsFor(int64_t n) {
  int64_t threads = 32;
  while (threads < n && threads < 1024)
    threads *= 2;
  return uint32_t(threads);
}

TEST_F(GgmlRows, NormAndRmsNorm) {
  for (bool isRms : {false, true})
    for (int fused = 1; fused <= 3; ++fused)
      for (bool isVector : {false, true})
        for (int64_t n :
             isVector ? std::vector<int64_t>{64, 1000, 6656} : std::vector<int64_t>{33, 1001}) {
          Tensor t = Tensor::of({n, 3, 2, 1}), f = Tensor::of({n, 3, 1, 1});
          auto x = Numbers(1).uniform(size_t(t.elements()), -2, 3);
          auto mul = Numbers(2).uniform(size_t(f.elements())),
               add = Numbers(3).uniform(size_t(f.elements()));
          Bytes xs = storeAs(x, ElementType::F32), ms = storeAs(mul, ElementType::F32),
                as = storeAs(add, ElementType::F32);
          double eps = 1e-5;
          std::vector<double> reference(x.size());
          for (int64_t r = 0; r < t.rows(); ++r) {
            const double *row = x.data() + r * n;
            double mean = isRms ? 0 : std::accumulate(row, row + n, 0.0) / double(n), squares = 0;
            for (int64_t i = 0; i < n; ++i)
              squares += (row[i] - mean) * (row[i] - mean);
            double scale = 1 / std::sqrt(squares / double(n) + eps);
            for (int64_t i = 0; i < n; ++i) {
              double y = (row[i] - mean) * scale;
              if (fused > 1)
                y *= mul[size_t(r % 3 * n + i)];
              if (fused > 2)
                y += add[size_t(r % 3 * n + i)];
              reference[size_t(r * n + i)] = y;
            }
          }
          static const char *suffix[] = {"", "_mul", "_mul_add"};
          Dispatch d(fmt::format("kernel_{}norm{}_f32{}", isRms ? "rms_" : "", suffix[fused - 1],
                                 isVector ? "_4" : ""));
          double n3[3] = {3, 3, 3};
          d.field("ne00", double(n))
              .field("ne00_t", double(isVector ? n / 4 : n))
              .field("eps", eps);
          d.field("nb1", double(t.nb[1]))
              .field("nb2", double(t.nb[2]))
              .field("nb3", double(t.nb[3]));
          d.field("nef1", std::vector<double>(n3, n3 + 3))
              .field("nef2", std::vector<double>{2, 1, 1});
          d.field("nef3", std::vector<double>{1, 1, 1});
          auto strides = [&](int i) {
            return std::vector<double>{double(t.nb[size_t(i)]), double(f.nb[size_t(i)]),
                                       double(f.nb[size_t(i)])};
          };
          d.field("nbf1", strides(1)).field("nbf2", strides(2)).field("nbf3", strides(3));
          d.buffer(1, xs)
              .buffer(2, ms)
              .buffer(3, as)
              .output(4, size_t(t.bytes()))
              .threadgroupMemory(128);
          d.groups({3, 2, 1}, {threadsFor(isVector ? n / 4 : n), 1, 1});
          checkOutput(d, 4, reference, 2e-6);
        }
}

TEST_F(GgmlRows, L2Norm) {
  int64_t n = 264, rows = 5;
  auto x = Numbers(4).uniform(size_t(n * rows));
  Bytes xs = storeAs(x, ElementType::F32);
  std::vector<double> reference;
  for (int64_t r = 0; r < rows; ++r) {
    double squares = 0;
    for (int64_t i = 0; i < n; ++i)
      squares += x[size_t(r * n + i)] * x[size_t(r * n + i)];
    for (int64_t i = 0; i < n; ++i)
      reference.push_back(x[size_t(r * n + i)] / std::max(std::sqrt(squares), 1e-6));
  }
  Dispatch d("kernel_l2_norm_f32");
  d.field("ne00", double(n))
      .field("ne00_4", double(n / 4))
      .field("nb01", double(n * 4))
      .field("eps", 1e-6);
  d.buffer(1, xs)
      .output(2, size_t(n * rows * 4))
      .threadgroupMemory(128)
      .groups({uint32_t(rows), 1, 1}, {64, 1, 1});
  checkOutput(d, 2, reference, 2e-6);
}

TEST_F(GgmlRows, GroupNorm) {
  int64_t width = 9, height = 5, channels = 12, groups = 4;
  Tensor t = Tensor::of({width, height, channels, 1});
  auto x = Numbers(5).uniform(size_t(t.elements()), -1, 3);
  Bytes xs = storeAs(x, ElementType::F32);
  int64_t per = width * height * channels / groups;
  std::vector<double> reference(x.size());
  for (int64_t g = 0; g < groups; ++g) {
    double *out = reference.data() + g * per;
    const double *in = x.data() + g * per;
    double mean = std::accumulate(in, in + per, 0.0) / double(per), squares = 0;
    for (int64_t i = 0; i < per; ++i)
      squares += (in[i] - mean) * (in[i] - mean);
    for (int64_t i = 0; i < per; ++i)
      out[i] = (in[i] - mean) / std::sqrt(squares / double(per) + 1e-5);
  }
  Dispatch d("kernel_group_norm_f32");
  d.tensor("0", t).field("ngrp", double(groups)).field("eps", 1e-5);
  d.buffer(1, xs)
      .output(2, size_t(t.bytes()))
      .threadgroupMemory(128)
      .groups({uint32_t(groups), 1, 1}, {32, 1, 1});
  checkOutput(d, 2, reference, 2e-6);
}

TEST_F(GgmlRows, SoftMax) {
  for (ElementType maskType : {ElementType::F32, ElementType::F16})
    for (bool isVector : {false, true})
      for (int variant = 0; variant < 4; ++variant) { // plain, mask, mask and bias, mask and sinks
        int64_t n = isVector ? 200 : 133, rows = 5, heads = 6;
        Tensor t = Tensor::of({n, rows, heads, 2});
        Tensor m = Tensor::of({n, rows, 1, 1}, elementBytes(maskType));
        auto x = Numbers(6).uniform(size_t(t.elements()), -6, 6);
        auto mask = Numbers(7).uniform(size_t(m.elements()));
        for (size_t i = 0; i < mask.size(); i += 3)
          mask[i] = -INFINITY;
        auto sinks = Numbers(8).uniform(size_t(heads));
        Bytes xs = storeAs(x, ElementType::F32), ms = storeAs(mask, maskType),
              ss = storeAs(sinks, ElementType::F32);
        double scale = 0.3, maxBias = variant == 2 ? 8 : 0;
        int headsLog2 = 4;
        double m0 = std::pow(2, -maxBias / headsLog2), m1 = std::pow(2, -maxBias / 2 / headsLog2);
        std::vector<double> reference(x.size());
        for (int64_t r = 0; r < t.rows(); ++r) {
          int64_t head = r / rows % heads;
          double slope = maxBias == 0       ? 1
                         : head < headsLog2 ? std::pow(m0, head + 1)
                                            : std::pow(m1, 2 * (head - headsLog2) + 1);
          std::vector<double> v(static_cast<size_t>(n));
          double largest = variant == 3 ? sinks[size_t(head)] : -INFINITY, sum = 0;
          for (int64_t i = 0; i < n; ++i) {
            v[size_t(i)] = x[size_t(r * n + i)] * scale +
                           (variant ? slope * mask[size_t(r % rows * n + i)] : 0);
            largest = std::max(largest, v[size_t(i)]);
          }
          for (double &e : v)
            sum += e = std::exp(e - largest);
          if (variant == 3)
            sum += std::exp(sinks[size_t(head)] - largest);
          for (int64_t i = 0; i < n; ++i)
            reference[size_t(r * n + i)] = v[size_t(i)] / sum;
        }
        Dispatch d(fmt::format("kernel_soft_max_{}{}", suffixOf(maskType), isVector ? "_4" : ""));
        d.tensor("0", t)
            .tensor("1", m)
            .tensor("", t)
            .field("scale", scale)
            .field("max_bias", maxBias);
        d.field("m0", m0).field("m1", m1).field("n_head_log2", headsLog2);
        d.buffer(1, xs);
        variant ? d.buffer(2, ms) : d.alias(2, 1);
        variant == 3 ? d.buffer(3, ss) : d.alias(3, 1);
        d.output(4, size_t(t.bytes())).threadgroupMemory(128);
        d.groups({uint32_t(rows), uint32_t(heads), 2}, {uint32_t(isVector ? 64 : 128), 1, 1});
        checkOutput(d, 4, reference, 2e-6);
      }
}

TEST_F(GgmlRows, Sums) {
  for (bool isMean : {false, true}) {
    int64_t n = 517;
    Tensor t = Tensor::of({n, 4, 3, 2}), out = Tensor::of({1, 4, 3, 2});
    auto x = Numbers(9).uniform(size_t(t.elements()));
    Bytes xs = storeAs(x, ElementType::F32);
    std::vector<double> reference;
    for (int64_t r = 0; r < t.rows(); ++r)
      reference.push_back(std::accumulate(x.begin() + r * n, x.begin() + (r + 1) * n, 0.0) /
                          double(isMean ? n : 1));
    Dispatch d(isMean ? "kernel_mean_f32" : "kernel_sum_rows_f32");
    d.tensor("0", t)
        .tensor("", out)
        .buffer(1, xs)
        .output(2, size_t(out.bytes()))
        .threadgroupMemory(128);
    d.groups({4, 3, 2}, {threadsFor(n), 1, 1});
    checkOutput(d, 2, reference, 2e-6);
  }
  auto x = Numbers(10).uniform(3000, 0, 1);
  Bytes xs = storeAs(x, ElementType::F32);
  Dispatch d("kernel_op_sum_f32");
  d.field("np", 3000)
      .buffer(1, xs)
      .output(2, 4)
      .threadgroupMemory(128)
      .groups({1, 1, 1}, {1024, 1, 1});
  checkOutput(d, 2, {std::accumulate(x.begin(), x.end(), 0.0)}, 2e-6);
}

TEST_F(GgmlRows, ArgMax) {
  int64_t n = 1000, rows = 6;
  auto x = Numbers(11).uniform(size_t(n * rows));
  Bytes xs = storeAs(x, ElementType::F32);
  std::vector<double> reference;
  for (int64_t r = 0; r < rows; ++r)
    reference.push_back(
        double(std::max_element(x.begin() + r * n, x.begin() + (r + 1) * n) - (x.begin() + r * n)));
  Dispatch d("kernel_argmax_f32");
  d.field("ne00", double(n)).field("nb01", double(n * 4)).buffer(1, xs).output(2, size_t(rows * 4));
  d.threadgroupMemory(256).groups({uint32_t(rows), 1, 1}, {64, 1, 1});
  checkOutput(d, 2, reference, 0, ElementType::I32);
}

TEST_F(GgmlRows, ArgSort) {
  for (std::string order : {"asc", "desc"})
    for (int64_t n : {60, 1500}) { // One block, and blocks that are merged.
      Tensor t = Tensor::of({n, 3, 2, 1});
      // No two values of a row are equal: the order of equals is not stated.
      Numbers numbers(12);
      std::vector<double> x(size_t(t.elements()));
      for (int64_t i = 0; i < t.elements(); ++i) {
        x[size_t(i)] = double(i % n) - double(n) / 2;
        std::swap(x[size_t(i)], x[size_t(i - numbers.below(uint32_t(i % n + 1)))]);
      }
      Bytes xs = storeAs(x, ElementType::F32);
      std::vector<double> reference;
      for (int64_t r = 0; r < t.rows(); ++r) {
        std::vector<int64_t> index(static_cast<size_t>(n));
        std::iota(index.begin(), index.end(), 0);
        std::sort(index.begin(), index.end(), [&](int64_t a, int64_t b) {
          double l = x[size_t(r * n + a)], h = x[size_t(r * n + b)];
          return order == "asc" ? l < h : l > h;
        });
        reference.insert(reference.end(), index.begin(), index.end());
      }
      int64_t threads = 1;
      while (threads < n && 2 * threads <= 1024)
        threads *= 2;
      int64_t blocks = (n + threads - 1) / threads;
      Dispatch sort("kernel_argsort_f32_i32_" + order);
      sort.tensor("0", t)
          .buffer(1, xs)
          .output(2, size_t(t.elements() * 4))
          .threadgroupMemory(uint32_t(threads * 4));
      sort.groups({uint32_t(blocks * 3), 2, 1}, {uint32_t(threads), 1, 1});
      std::vector<std::string> kernels{sort.kernel()};
      if (n > threads)
        kernels.push_back("kernel_argsort_merge_f32_i32_" + order);
      checkChain(
          kernels,
          [&](const Subject &subject) {
            Bytes result = runFor(sort, 2, subject);
            for (int64_t length = threads; length < n; length *= 2) {
              Dispatch merge("kernel_argsort_merge_f32_i32_" + order);
              merge.tensor("0", t)
                  .field("len", double(length))
                  .buffer(1, xs)
                  .buffer(2, result)
                  .output(3, result.size());
              merge.threadgroupMemory(0);
              merge.groups({uint32_t((n + 2 * length - 1) / (2 * length) * 3), 2, 1}, {512, 1, 1});
              result = runFor(merge, 3, subject);
            }
            return result;
          },
          reference, 0, ElementType::I32);
    }
}

} // namespace
} // namespace pewter::testing
