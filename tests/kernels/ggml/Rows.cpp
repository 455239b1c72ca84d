// SPDX-License-Identifier: Apache-2.0
//
// Copies between types and layouts: get_rows, set_rows, cpy, concat, repeat, pad.
#include "ggml/BlockFormats.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

namespace pewter::testing {
namespace {

class GgmlCopies : public ::testing::Test {
protected:
  void SetUp() override {
    if (!libraryIsPresent())
      GTEST_SKIP() << "llama.rn 0.8.3 is not installed (scripts/fetch-peers.sh)";
  }
};

ElementType elementOf(const std::string &name) {
  return name == "f16"    ? ElementType::F16
         : name == "bf16" ? ElementType::BF16
         : name == "i32"  ? ElementType::I32
                          : ElementType::F32;
}

TEST_F(GgmlCopies, GetRows) {
  // Threadgroups of whole SIMD groups, and of one and a half.
  for (const BlockFormat &format : blockFormats())
    for (int64_t n : {512, 768}) {
      const int64_t stored = 9;
      Tensor t = Tensor::of({n, stored, 2, 1}, format.bytes, format.elements),
             ids = Tensor::of({6, 2, 1, 1});
      Tensor out = Tensor::of({n, 6, 2, 1});
      Numbers numbers(1);
      Bytes bytes = randomBlocks(format, t.elements(), numbers);
      auto values = decodeAsLibrary(format, bytes);
      std::vector<double> which, reference;
      for (int i = 0; i < 12; ++i)
        which.push_back(i * 4 % 9);
      for (int64_t r = 0; r < 12; ++r)
        for (int64_t i = 0; i < n; ++i)
          reference.push_back(values[size_t((r / 6 * stored + int64_t(which[size_t(r)])) * n + i)]);
      int64_t steps = format.elements > 1 ? n / 16 : n, threads = std::min<int64_t>(steps, 1024);
      Dispatch d(fmt::format("kernel_get_rows_{}", format.name));
      d.tensor("0", t).tensor("1", ids).tensor("", out).field("ne00t", double(steps));
      d.buffer(1, bytes).buffer(2, storeAs(which, ElementType::I32)).output(3, size_t(out.bytes()));
      d.groups({uint32_t((steps + threads - 1) / threads * 6), 2, 1}, {uint32_t(threads), 1, 1});
      checkOutput(d, 3, reference, 2e-7);
    }
}

TEST_F(GgmlCopies, GetRowsOfIntegers) {
  Tensor t = Tensor::of({70, 5, 1, 1}), ids = Tensor::of({4, 1, 1, 1}),
         out = Tensor::of({70, 4, 1, 1});
  auto values = Numbers(2).uniform(size_t(t.elements()), -1e6, 1e6);
  Bytes bytes = storeAs(values, ElementType::I32);
  std::vector<double> which{3, 0, 4, 3}, reference;
  for (double row : which)
    reference.insert(reference.end(), values.begin() + int64_t(row) * 70,
                     values.begin() + int64_t(row + 1) * 70);
  Dispatch d("kernel_get_rows_i32");
  d.tensor("0", t).tensor("1", ids).tensor("", out).field("ne00t", 70);
  d.buffer(1, bytes).buffer(2, storeAs(which, ElementType::I32)).output(3, size_t(out.bytes()));
  d.groups({4, 1, 1}, {70, 1, 1});
  checkOutput(d, 3, reference, 0, ElementType::I32);
}

/// How far a value may be from what its block's code can say, relative to the largest of the block.
/// Types with a least value spread their codes over up to twice the largest, and keep that value
/// and the step in half: both roundings reach the result.
double quantisationStep(const std::string &type) {
  return type == "q8_0"     ? (0.5 + 127 * 0x1p-11) / 127 /* its scale is a half */
         : type == "q5_0"   ? 1.0 / 16
         : type == "q5_1"   ? 1.0 / 31 + 3 * 0x1p-11
         : type == "q4_0"   ? 1.0 / 8
         : type == "q4_1"   ? 1.0 / 15 + 3 * 0x1p-11
         : type == "iq4_nl" ? 0.14
         : type == "f16"    ? 0x1p-11
         : type == "bf16"   ? 0x1p-8
                            : 0;
}
/// The largest distance of a stored value from the original, in steps of its block.
double distance(const std::string &type, const std::vector<double> &stored,
                const std::vector<double> &original) {
  const BlockFormat &format = blockFormat(type);
  double worst = 0;
  for (size_t block = 0; block < original.size(); block += size_t(format.elements)) {
    double largest = 1e-30;
    for (int64_t i = 0; i < format.elements; ++i)
      largest = std::max(largest, std::abs(original[block + size_t(i)]));
    for (int64_t i = 0; i < format.elements; ++i) {
      double difference = std::abs(stored[block + size_t(i)] - original[block + size_t(i)]);
      double step = quantisationStep(type) * largest * 1.01;
      worst = std::max(worst, step == 0 ? (difference == 0 ? 0 : INFINITY) : difference / step);
    }
  }
  return worst;
}

TEST_F(GgmlCopies, SetRows) {
  for (const char *type : {"f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "iq4_nl"})
    for (bool isLong : {false, true}) {
      const BlockFormat &format = blockFormat(type);
      int64_t n = 128, rows = 5, stored = 11;
      Tensor t = Tensor::of({n, rows, 1, 1}),
             out = Tensor::of({n, stored, 1, 1}, format.bytes, format.elements);
      Tensor ids = Tensor::of({rows, 1, 1, 1}, isLong ? 8 : 4);
      auto x = Numbers(2).uniform(size_t(t.elements()));
      Bytes xs = storeAs(x, ElementType::F32);
      std::vector<int64_t> which{7, 0, 10, 3, 4};
      Bytes idBytes;
      for (int64_t id : which)
        for (int i = 0; i < (isLong ? 8 : 4); ++i)
          idBytes.push_back(std::byte(uint8_t(uint64_t(id) >> 8 * i)));
      int64_t blocks = n / format.elements, threads = 32, rowsEach = 1;
      while (threads < blocks)
        threads *= 2;
      if (threads > blocks) {
        rowsEach = (threads + blocks - 1) / blocks;
        threads = blocks;
      }
      Dispatch d(fmt::format("kernel_set_rows_{}_{}", type, isLong ? "i64" : "i32"));
      d.field("nk0", double(blocks)).tensor("0", t).tensor("1", ids).tensor("", out);
      d.buffer(1, xs).buffer(2, idBytes).buffer(3, Bytes(size_t(out.bytes()), std::byte(0)));
      d.groups({uint32_t((rows + rowsEach - 1) / rowsEach), 1, 1},
               {uint32_t(threads), uint32_t(rowsEach), 1});
      checkWith(
          d, 3,
          [&](const Bytes &bytes) {
            auto all = decodeBlocks(format, bytes);
            double worst = 0;
            for (int64_t r = 0; r < stored; ++r) {
              std::vector<double> got(all.begin() + r * n, all.begin() + (r + 1) * n);
              auto source = std::find(which.begin(), which.end(), r);
              if (source == which.end()) {
                for (int64_t i = 0; i < out.nb[1]; ++i)
                  worst = std::max(
                      worst, bytes[size_t(r * out.nb[1] + i)] == std::byte(0) ? 0.0 : INFINITY);
                continue;
              }
              int64_t from = source - which.begin();
              worst = std::max(
                  worst, distance(type, got, {x.begin() + from * n, x.begin() + (from + 1) * n}));
            }
            return worst;
          },
          1);
    }
}

TEST_F(GgmlCopies, Copy) {
  const std::pair<const char *, std::vector<const char *>> pairs[] = {
      {"f32", {"f32", "f16", "bf16", "i32", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "iq4_nl"}},
      {"f16", {"f16", "f32"}},
      {"bf16", {"bf16", "f32"}},
      {"i32", {"f32"}},
      {"q4_0", {"f32", "f16"}},
      {"q4_1", {"f32", "f16"}},
      {"q5_0", {"f32", "f16"}},
      {"q5_1", {"f32", "f16"}},
      {"q8_0", {"f32", "f16"}}};
  for (const auto &[from, targets] : pairs)
    for (const char *to : targets) {
      std::string source = from, target = to;
      auto format = [](const std::string &name) {
        return name == "i32" ? blockFormat("f32") : blockFormat(name);
      };
      BlockFormat in = format(source), outFormat = format(target);
      int64_t n = 96;
      Tensor stored = Tensor::of({n, 4, 3, 2}, in.bytes, in.elements);
      Tensor view =
          stored; // The two middle dimensions change places: a view that is not contiguous.
      std::swap(view.ne[1], view.ne[2]);
      std::swap(view.nb[1], view.nb[2]);
      Tensor out = Tensor::of(view.ne, outFormat.bytes, outFormat.elements);
      Numbers numbers(3);
      Bytes bytes;
      std::vector<double> values;
      if (source == "i32" || target == "i32") {
        for (int64_t i = 0; i < stored.elements(); ++i)
          values.push_back(double(int64_t(numbers.below(2000)) - 1000) +
                           (source == "i32" ? 0 : 0.25));
        bytes = storeAs(values, elementOf(source));
      } else {
        bytes = randomBlocks(in, stored.elements(), numbers);
        values = decodeAsLibrary(in, bytes);
      }
      std::vector<double> reference;
      for (int64_t i3 = 0; i3 < 2; ++i3)
        for (int64_t i2 = 0; i2 < 4; ++i2)
          for (int64_t i1 = 0; i1 < 3; ++i1)
            for (int64_t i0 = 0; i0 < n; ++i0) {
              double value = values[size_t(i0 + n * (i2 + 4 * (i1 + 3 * i3)))];
              reference.push_back(target == "i32" ? std::trunc(value) : value);
            }
      int64_t steps = in.elements > 1          ? n / 16
                      : outFormat.elements > 1 ? n / outFormat.elements
                                               : n;
      Dispatch d(fmt::format("kernel_cpy_{}_{}", source, target));
      d.field("nk0", double(steps))
          .tensor("0", view)
          .tensor("", out)
          .buffer(1, bytes)
          .output(2, size_t(out.bytes()));
      d.groups({uint32_t(view.ne[1]), uint32_t(view.ne[2]), 2}, {uint32_t(steps), 1, 1});
      if (outFormat.elements > 1)
        checkWith(
            d, 2,
            [&](const Bytes &result) {
              return distance(target, decodeBlocks(outFormat, result), reference);
            },
            1);
      else
        checkOutput(d, 2, reference,
                    target == "bf16"  ? 4e-3
                    : target == "f16" ? 5e-4
                                      : 2e-7,
                    elementOf(target));
    }
}

TEST_F(GgmlCopies, Concat) {
  for (int dim = 0; dim < 4; ++dim) {
    std::array<int64_t, 4> shape{20, 3, 4, 2}, other = shape, sum = shape;
    other[size_t(dim)] = 5;
    sum[size_t(dim)] += 5;
    Tensor a = Tensor::of(shape), b = Tensor::of(other), out = Tensor::of(sum);
    auto x = Numbers(4).uniform(size_t(a.elements())), y = Numbers(5).uniform(size_t(b.elements()));
    Bytes xs = storeAs(x, ElementType::F32), ys = storeAs(y, ElementType::F32);
    std::vector<double> reference;
    for (int64_t i = 0; i < out.elements(); ++i) {
      std::array<int64_t, 4> at{i % sum[0], i / sum[0] % sum[1], i / sum[0] / sum[1] % sum[2],
                                i / sum[0] / sum[1] / sum[2]};
      bool isFirst = at[size_t(dim)] < shape[size_t(dim)];
      const auto &ne = isFirst ? shape : other;
      if (!isFirst)
        at[size_t(dim)] -= shape[size_t(dim)];
      reference.push_back(
          (isFirst ? x : y)[size_t(at[0] + ne[0] * (at[1] + ne[1] * (at[2] + ne[2] * at[3])))]);
    }
    Dispatch d("kernel_concat");
    d.tensor("0", a)
        .tensor("1", b)
        .tensor("", out)
        .field("dim", dim)
        .buffer(1, xs)
        .buffer(2, ys)
        .output(3, size_t(out.bytes()));
    d.groups({uint32_t(sum[1]), uint32_t(sum[2]), uint32_t(sum[3])}, {uint32_t(sum[0]), 1, 1});
    checkOutput(d, 3, reference, 0);
  }
}

TEST_F(GgmlCopies, Repeat) {
  for (const char *type : {"f32", "f16", "i32", "i16"}) {
    std::string name = type;
    ElementType element =
        name == "i16" ? ElementType::F16 : elementOf(name); // 16 bits are 16 bits.
    Tensor a = Tensor::of({7, 3, 2, 1}, elementBytes(element)),
           out = Tensor::of({21, 6, 2, 2}, elementBytes(element));
    auto x = Numbers(6).uniform(size_t(a.elements()), -100, 100);
    Bytes xs = storeAs(x, element);
    std::vector<double> reference;
    for (int64_t i = 0; i < out.elements(); ++i)
      reference.push_back(x[size_t(i % 21 % 7 + 7 * (i / 21 % 6 % 3 + 3 * (i / 126 % 2)))]);
    Dispatch d("kernel_repeat_" + name);
    d.tensor("0", a)
        .tensor("", out)
        .buffer(1, xs)
        .output(2, size_t(out.bytes()))
        .groups({6, 2, 2}, {21, 1, 1});
    checkOutput(d, 2, reference, 0, element);
  }
}

TEST_F(GgmlCopies, Pad) {
  Tensor a = Tensor::of({9, 4, 3, 1}), out = Tensor::of({12, 6, 3, 2});
  auto x = Numbers(7).uniform(size_t(a.elements()));
  Bytes xs = storeAs(x, ElementType::F32);
  std::vector<double> reference;
  for (int64_t i = 0; i < out.elements(); ++i) {
    int64_t i0 = i % 12, i1 = i / 12 % 6, i2 = i / 72 % 3, i3 = i / 216;
    reference.push_back(i0 < 9 && i1 < 4 && i3 < 1 ? x[size_t(i0 + 9 * (i1 + 4 * i2))] : 0);
  }
  Dispatch d("kernel_pad_f32");
  d.tensor("0", a)
      .tensor("", out)
      .buffer(1, xs)
      .output(2, size_t(out.bytes()))
      .groups({6, 3, 2}, {12, 1, 1});
  checkOutput(d, 2, reference, 0);

  int64_t p0 = 3, p1 = 4;
  Tensor wide = Tensor::of({9 + p0 + p1, 4, 3, 1});
  reference.clear();
  for (int64_t i = 0; i < wide.elements(); ++i) {
    int64_t at = i % wide.ne[0] - p0;
    at = at < 0 ? -at : at >= 9 ? 2 * 8 - at : at;
    reference.push_back(x[size_t(at + 9 * (i / wide.ne[0]))]);
  }
  Dispatch r("kernel_pad_reflect_1d_f32");
  r.tensor("0", a)
      .tensor("", wide)
      .field("p0", double(p0))
      .field("p1", double(p1))
      .buffer(1, xs)
      .output(2, size_t(wide.bytes()));
  r.groups({4, 3, 1}, {uint32_t(wide.ne[0]), 1, 1});
  checkOutput(r, 2, reference, 0);
}

} // namespace
} // namespace pewter::testing
