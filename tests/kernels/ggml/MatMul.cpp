// SPDX-License-Identifier: Apache-2.0
//
// Matrix products of the Apple-built library: one vector, a few vectors, matrices, and the forms
// that choose a matrix by an index (experts), for every stored type.
#include "base/Half.h"
#include "ggml/BlockFormats.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

namespace pewter::testing {
namespace {

class GgmlMatMul : public ::testing::Test {
protected:
  void SetUp() override {
    if (!libraryIsPresent())
      GTEST_SKIP() << "llama.rn 0.8.3 is not installed (scripts/fetch-peers.sh)";
  }
};

constexpr size_t kSlack = 1 << 16; // Row kernels may read rows that do not exist.

/// Weights [k, rows, planes] in a block format, and their values.
struct Weights {
  const BlockFormat &format;
  Tensor tensor;
  Bytes bytes;
  std::vector<double> values;
  Weights(const BlockFormat &f, int64_t k, int64_t rows, int64_t planes, uint64_t seed)
      : format(f), tensor(Tensor::of({k, rows, planes, 1}, f.bytes, f.elements)) {
    Numbers numbers(seed);
    bytes = randomBlocks(f, tensor.elements(), numbers);
    values = decodeBlocks(f, bytes);
  }
};

/// The values as a tile of the matrix kernels keeps them: rounded to bfloat or half.
std::vector<double> inTile(std::vector<double> values, bool isBfloat) {
  storeAs(values, isBfloat ? ElementType::BF16 : ElementType::F16);
  return values;
}
/// A quantised weight may fall to the other side of a half's rounding: one digit of a summand.
double tileTolerance(const BlockFormat &format) { return format.elements > 1 ? 1e-4 : 2e-6; }

/// out[m + M * (n + N * plane)] = sum over k of weights (plane / share) and activations. From the
/// `roundedFrom`th on, a product is rounded to `type`.
std::vector<double> product(const std::vector<double> &weights, const Tensor &shape,
                            const std::vector<double> &x, const Tensor &t,
                            ElementType type = ElementType::F32, int64_t roundedFrom = INT64_MAX) {
  int64_t k = shape.ne[0], rows = shape.ne[1], share = t.ne[2] / shape.ne[2];
  std::vector<double> out, terms(static_cast<size_t>(k));
  for (int64_t plane = 0; plane < t.ne[2]; ++plane)
    for (int64_t n = 0; n < t.ne[1]; ++n)
      for (int64_t m = 0; m < rows; ++m) {
        for (int64_t i = 0; i < k; ++i)
          terms[size_t(i)] = weights[size_t((plane / share * rows + m) * k + i)] *
                             x[size_t((plane * t.ne[1] + n) * k + i)];
        if (roundedFrom < k) {
          std::vector<double> rounded(terms.begin() + roundedFrom, terms.end());
          storeAs(rounded, type);
          std::copy(rounded.begin(), rounded.end(), terms.begin() + roundedFrom);
        }
        out.push_back(std::accumulate(terms.begin(), terms.end(), 0.0));
      }
  return out;
}

struct RowGeometry {
  int simdgroups, rows, memory;
  bool rowsPerThreadgroup; ///< The SIMD groups share rows instead of having their own.
};
RowGeometry geometryOf(const std::string &type, int64_t k) {
  if (type == "f32" || type == "f16" || type == "bf16")
    return k < 32 ? RowGeometry{1, 32, 0, true}
                  : RowGeometry{int(std::min<int64_t>(4, (k + 127) / 128)), 2, 256, true};
  if (type == "q8_0")
    return {4, 2, 256, true};
  if (type == "mxfp4" || type == "iq4_nl" || type == "iq4_xs")
    return {2, 2, 128, false};
  if (type == "q3_K" || type == "q4_K" || type == "q5_K" || type == "q6_K")
    return {2, 2, 0, false};
  int memory = type == "iq2_xxs"   ? 256 * 8 + 128
               : type == "iq2_xs"  ? 512 * 8 + 128
               : type == "iq3_xxs" ? 256 * 4 + 128
               : type == "iq3_s"   ? 512 * 4
                                   : 0;
  return {2, 4, memory, false};
}
uint32_t rowGroups(const RowGeometry &g, int64_t rows) {
  int64_t each = g.rowsPerThreadgroup ? g.rows : g.rows * g.simdgroups;
  return uint32_t((rows + each - 1) / each);
}

void checkVectorProduct(const BlockFormat &format, ElementType xType, const std::string &suffix,
                        int64_t k) {
  for (int64_t rows : {16, 19}) {
    Weights w(format, k, rows, 2, 1);
    Tensor t = Tensor::of({k, 3, 4, 1}, elementBytes(xType)), out = Tensor::of({rows, 3, 4, 1});
    auto x = Numbers(2).uniform(size_t(t.elements()));
    Bytes xs = storeAs(x, xType);
    RowGeometry g = geometryOf(format.name, k);
    Dispatch d(fmt::format("kernel_mul_mv_{}_{}{}", format.name, suffixOf(xType), suffix));
    d.tensor("0", w.tensor)
        .tensor("1", t)
        .tensor("", out)
        .field("nr0", g.rows)
        .field("r2", 2)
        .field("r3", 1);
    d.constant16(600, int16_t(g.simdgroups)).threadgroupMemory(uint32_t(g.memory));
    d.buffer(1, w.bytes, kSlack).buffer(2, xs, kSlack).output(3, size_t(out.bytes()));
    d.groups({rowGroups(g, rows), 3, 4}, {32, uint32_t(g.simdgroups), 1});
    // Two 16-bit operands are multiplied in their own format, but not where the kernel takes four
    // at once (up to a last part of 32) or has short rows.
    int64_t roundedFrom = xType == ElementType::F32 || suffix == "_short" ? INT64_MAX
                          : suffix == "_4"                                ? k / 32 * 32
                                                                          : 0;
    checkOutput(d, 3, product(w.values, w.tensor, x, t, xType, roundedFrom), 2e-6);
  }
}

TEST_F(GgmlMatMul, OneVectorEveryType) {
  for (const BlockFormat &format : blockFormats())
    if (format.elements > 1)
      checkVectorProduct(format, ElementType::F32, "", 512);
}

TEST_F(GgmlMatMul, OneVectorFloats) {
  for (const char *type : {"f32", "f16", "bf16"})
    for (ElementType x : {ElementType::F32, ElementType::F16, ElementType::BF16}) {
      if (x != ElementType::F32 && std::string(type) != suffixOf(x))
        continue;
      checkVectorProduct(blockFormat(type), x, "", 301);
      checkVectorProduct(blockFormat(type), x, "_4", 420);
      checkVectorProduct(blockFormat(type), x, "_short", 20);
    }
}

TEST_F(GgmlMatMul, AFewVectors) {
  for (const char *type : {"f32", "f16", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "mxfp4", "iq4_nl",
                           "q4_K", "q5_K", "q6_K"})
    for (int vectors : {2, 3, 4, 5}) {
      const BlockFormat &format = blockFormat(type);
      int64_t k = 512, rows = 21, lanesAlong = vectors < 3 ? 16 : 8;
      Weights w(format, k, rows, 1, 3);
      Tensor t = Tensor::of({k, vectors, 2, 1}), out = Tensor::of({rows, vectors, 2, 1});
      auto x = Numbers(4).uniform(size_t(t.elements()));
      Bytes xs = storeAs(x, ElementType::F32);
      Dispatch d(fmt::format("kernel_mul_mv_ext_{}_f32_r1_{}", type, vectors));
      d.tensor("0", w.tensor).tensor("1", t).tensor("", out).field("r2", 2).field("r3", 1);
      d.constant16(600, 2).constant16(601, int16_t(lanesAlong));
      d.buffer(1, w.bytes, kSlack).buffer(2, xs, kSlack).output(3, size_t(out.bytes()));
      int64_t each = 32 / lanesAlong * 2;
      d.groups({uint32_t((rows + each - 1) / each), 1, 2}, {32, 2, 1});
      checkOutput(d, 3, product(decodeAsLibrary(format, w.bytes), w.tensor, x, t), 1e-6);
    }
}

TEST_F(GgmlMatMul, Matrices) {
  for (const BlockFormat &format : blockFormats())
    for (ElementType xType : {ElementType::F32, ElementType::F16})
      for (bool isRagged : {false, true}) {
        int64_t rows = isRagged ? 70 : 64, columns = isRagged ? 33 : 32;
        int64_t k = format.elements > 32 ? 256 : isRagged && format.elements == 1 ? 72 : 96;
        Weights w(format, k, rows, 1, 5);
        Tensor t = Tensor::of({k, columns, 2, 1}, elementBytes(xType)),
               out = Tensor::of({rows, columns, 2, 1});
        auto x = Numbers(6).uniform(size_t(t.elements()));
        Bytes xs = storeAs(x, xType);
        Dispatch d(fmt::format("kernel_mul_mm_{}_{}", format.name, suffixOf(xType)));
        d.tensor("0", w.tensor).tensor("1", t).tensor("", out).field("r2", 2).field("r3", 1);
        bool checksInput = k % 32 != 0, checksOutput = rows % 64 != 0 || columns % 32 != 0;
        d.constant(700, checksInput).constant(701, checksOutput);
        d.threadgroupMemory(checksOutput ? 8192 : 6144);
        d.buffer(1, w.bytes, kSlack).buffer(2, xs, kSlack).output(3, size_t(out.bytes()));
        d.groups({uint32_t((columns + 31) / 32), uint32_t((rows + 63) / 64), 2}, {128, 1, 1});
        bool isBfloat = std::string(format.name) == "bf16";
        auto weights = inTile(decodeAsLibrary(format, w.bytes), isBfloat);
        auto columnsInTile = inTile(x, isBfloat && xType == ElementType::F32);
        checkOutput(d, 3, product(weights, w.tensor, columnsInTile, t), tileTolerance(format));
      }
}

/// Tokens choose experts; out[m, slot, token] = weights[expert] * x[slot % shared, token].
struct Experts {
  int64_t k, rows = 66, experts = 5, used = 2, tokens, shared;
  Tensor x, ids, out;
  std::vector<double> values, which;
  Experts(int64_t k, int64_t tokens, int64_t shared) : k(k), tokens(tokens), shared(shared) {
    x = Tensor::of({k, shared, tokens, 1});
    ids = Tensor::of({used, tokens, 1, 1});
    out = Tensor::of({rows, used, tokens, 1});
    values = Numbers(7).uniform(size_t(x.elements()));
    storeAs(values, ElementType::F32);
    for (int64_t token = 0; token < tokens; ++token) {
      int64_t first = token * 7 % experts;
      which.push_back(double(first));
      which.push_back(double((first + 1 + token % (experts - 1)) % experts));
    }
  }
  /// `weights` of all experts, `x` as the kernel takes it.
  std::vector<double> reference(const std::vector<double> &weights,
                                const std::vector<double> &x) const {
    std::vector<double> sums;
    for (int64_t token = 0; token < tokens; ++token)
      for (int64_t slot = 0; slot < used; ++slot)
        for (int64_t m = 0; m < rows; ++m) {
          int64_t expert = int64_t(which[size_t(token * used + slot)]);
          double sum = 0;
          for (int64_t i = 0; i < k; ++i)
            sum += weights[size_t((expert * rows + m) * k + i)] *
                   x[size_t((token * shared + slot % shared) * k + i)];
          sums.push_back(sum);
        }
    return sums;
  }
};

TEST_F(GgmlMatMul, OneVectorByIndex) {
  for (const BlockFormat &format : blockFormats())
    for (bool isVector : {false, true}) {
      if (isVector && format.elements > 1)
        continue;
      int64_t k = format.elements > 32 ? 256 : isVector ? 160 : format.elements > 1 ? 160 : 161;
      Weights w(format, k, 66, 5, 8);
      for (int64_t shared : {1, 2}) {
        Experts e(k, 3, shared);
        RowGeometry g = geometryOf(format.name, k);
        Dispatch d(fmt::format("kernel_mul_mv_id_{}_f32{}", format.name, isVector ? "_4" : ""));
        d.tensor("0", w.tensor).tensor("1", e.x).tensor("", e.out).field("nr0", g.rows);
        d.field("nei0", double(e.used))
            .field("nei1", double(e.tokens))
            .field("nbi1", double(e.ids.nb[1]));
        d.constant16(600, int16_t(g.simdgroups)).threadgroupMemory(uint32_t(g.memory));
        d.buffer(1, w.bytes, kSlack).buffer(2, storeAs(e.values, ElementType::F32), kSlack);
        d.output(3, size_t(e.out.bytes())).buffer(4, storeAs(e.which, ElementType::I32));
        d.groups({rowGroups(g, e.rows), 1, uint32_t(e.used * e.tokens)},
                 {32, uint32_t(g.simdgroups), 1});
        checkOutput(d, 3, e.reference(w.values, e.values), 1e-5);
      }
    }
}

TEST_F(GgmlMatMul, MatricesByIndex) {
  for (const BlockFormat &format : blockFormats())
    for (ElementType xType : {ElementType::F32, ElementType::F16}) {
      int64_t k = format.elements > 32 ? 256 : 96;
      Weights w(format, k, 66, 5, 9);
      Experts e(k, 40, 1);
      Tensor x = Tensor::of(e.x.ne, elementBytes(xType));
      auto values = e.values;
      Bytes xs = storeAs(values, xType);
      Dispatch map("kernel_mul_mm_id_map0_ne20_2");
      map.field("ne02", double(e.experts)).field("ne10", double(k)).field("ne11", double(e.shared));
      map.field("nb11", double(x.nb[1]))
          .field("nb12", double(x.nb[2]))
          .field("ne21", double(e.tokens));
      map.field("ne20", double(e.used)).field("nb21", double(e.ids.nb[1]));
      map.buffer(1, storeAs(e.which, ElementType::I32)).output(2, size_t(e.experts * 4));
      map.output(3, size_t(e.experts * e.tokens * 4))
          .threadgroupMemory(uint32_t(e.experts * e.used * 2));
      map.groups({1, 1, 1}, {uint32_t(e.experts), 1, 1});
      std::string kernel = fmt::format("kernel_mul_mm_id_{}_{}", format.name, suffixOf(xType));
      bool isBfloat = std::string(format.name) == "bf16";
      auto weights = inTile(decodeAsLibrary(format, w.bytes), isBfloat);
      auto columns = inTile(values, isBfloat && xType == ElementType::F32);
      checkChain(
          {map.kernel(), kernel},
          [&](const Subject &subject) {
            auto mapped = map.run(subject);
            if (!mapped) {
              ADD_FAILURE() << map.kernel() << ": " << mapped.error().describe();
              return Bytes{};
            }
            Dispatch d(kernel);
            d.tensor("0", w.tensor)
                .tensor("1", x)
                .tensor("2", e.ids)
                .tensor("", e.out)
                .field("r2", 1)
                .field("r3", 1);
            d.constant(700, k % 32 != 0).threadgroupMemory(8192);
            d.buffer(1, w.bytes, kSlack)
                .buffer(2, xs, kSlack)
                .buffer(3, mapped->at(2))
                .buffer(4, mapped->at(3));
            d.output(5, size_t(e.out.bytes())).groups({2, 2, uint32_t(e.experts)}, {128, 1, 1});
            return runFor(d, 5, subject);
          },
          e.reference(weights, columns), tileTolerance(format));
    }
}

/// The map alone, for every number of experts a token may use: how many each expert has, and which.
TEST_F(GgmlMatMul, MapOfExperts) {
  for (int64_t used : {1, 2, 4, 6, 8, 10, 16}) {
    int64_t experts = 20, tokens = 37;
    std::vector<double> which;
    std::vector<std::vector<int32_t>> lists(static_cast<size_t>(experts));
    for (int64_t token = 0; token < tokens; ++token)
      for (int64_t slot = 0; slot < used; ++slot) {
        int64_t expert = (token * 3 + slot) % experts;
        which.push_back(double(expert));
        lists[size_t(expert)].push_back(int32_t(token * used + slot));
      }
    Dispatch map(fmt::format("kernel_mul_mm_id_map0_ne20_{}", used));
    map.field("ne02", double(experts))
        .field("ne10", 64)
        .field("ne11", 1)
        .field("nb11", 256)
        .field("nb12", 256);
    map.field("ne21", double(tokens)).field("ne20", double(used)).field("nb21", double(used * 4));
    map.buffer(1, storeAs(which, ElementType::I32))
        .output(2, size_t(experts * 4))
        .output(3, size_t(experts * tokens * 4));
    map.threadgroupMemory(uint32_t(experts * used * 2))
        .groups({1, 1, 1}, {uint32_t(experts), 1, 1});
    checkWith(
        map, 3,
        [&](const Bytes &bytes) {
          auto found = valuesOf<int32_t>(bytes);
          double wrong = 0;
          for (int64_t expert = 0; expert < experts; ++expert)
            for (size_t i = 0; i < lists[size_t(expert)].size(); ++i)
              wrong += found[size_t(expert * tokens) + i] != lists[size_t(expert)][i];
          return wrong;
        },
        0);
    std::vector<double> counts;
    for (const auto &list : lists)
      counts.push_back(double(list.size()));
    checkOutput(map, 2, counts, 0, ElementType::I32);
  }
}

} // namespace
} // namespace pewter::testing
