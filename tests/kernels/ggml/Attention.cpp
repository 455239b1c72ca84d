// SPDX-License-Identifier: Apache-2.0
//
// Rotary positions and flash attention of the Apple-built library: the matrix form, the vector form
// with its reduction, padding of the last block of keys, and the table of masked blocks.
#include "ggml/BlockFormats.h"
#include <cmath>
#include <gtest/gtest.h>

namespace pewter::testing {
namespace {

class GgmlAttention : public ::testing::Test {
protected:
  void SetUp() override {
    if (!libraryIsPresent())
      GTEST_SKIP() << "llama.rn 0.8.3 is not installed (scripts/fetch-peers.sh)";
  }
};

TEST_F(GgmlAttention, Rope) {
  for (std::string kind : {"norm", "neox", "multi", "imrope", "vision"})
    for (ElementType type : {ElementType::F32, ElementType::F16})
      for (bool hasFactors : {false, true}) {
        int64_t n = 64, heads = 3, tokens = 5, dims = kind == "vision" ? 32 : 48;
        Tensor t = Tensor::of({n, heads, tokens, 1}, elementBytes(type));
        auto x = Numbers(1).uniform(size_t(t.elements()));
        Bytes xs = storeAs(x, type);
        std::vector<double> positions, factors = Numbers(2).uniform(32, 0.5, 2);
        for (int64_t i = 0; i < 4 * tokens; ++i)
          positions.push_back(double(i * 7 % 50));
        Bytes fs = storeAs(factors, ElementType::F32);
        double base = 10000, scale = 0.5, magnitude = 1.2;
        int sections[4] = {8, 6, 6, 4};
        if (kind == "vision")
          sections[0] = sections[1] = 16;
        std::vector<double> reference = x;
        for (int64_t token = 0; token < tokens; ++token)
          for (int64_t head = 0; head < heads; ++head) {
            const double *in = x.data() + (token * heads + head) * n;
            double *out = reference.data() + (token * heads + head) * n;
            for (int64_t pair = 0; pair < (kind == "vision" ? dims : dims / 2); ++pair) {
              int sum = kind == "vision" ? sections[0] + sections[1]
                                         : sections[0] + sections[1] + sections[2] + sections[3];
              int sector = int(pair % sum), stream = 0;
              double power = double(pair);
              if (kind == "multi") {
                stream = sector < sections[0]                 ? 0
                         : sector < sections[0] + sections[1] ? 1
                         : sector < sum - sections[3]         ? 2
                                                              : 3;
              } else if (kind == "imrope") {
                stream = sector % 3 == 1 && sector < 3 * sections[1]   ? 1
                         : sector % 3 == 2 && sector < 3 * sections[2] ? 2
                         : sector % 3 == 0 && sector < 3 * sections[0] ? 0
                                                                       : 3;
              } else if (kind == "vision") {
                stream = sector < sections[0] ? 0 : 1;
                power = stream ? sector - sections[0] : sector;
              }
              double angle = positions[size_t(token + tokens * stream)] *
                             std::pow(base, -2 * power / double(dims));
              if (hasFactors)
                angle /= factors[size_t(pair)];
              angle *= scale;
              double c = std::cos(angle) * magnitude, s = std::sin(angle) * magnitude;
              int64_t first = kind == "norm" ? 2 * pair : pair;
              int64_t second = kind == "norm"     ? 2 * pair + 1
                               : kind == "vision" ? pair + dims
                                                  : pair + dims / 2;
              out[first] = in[first] * c - in[second] * s;
              out[second] = in[first] * s + in[second] * c;
            }
          }
        Dispatch d(
            fmt::format("kernel_rope_{}_{}", kind == "imrope" ? "multi" : kind, suffixOf(type)));
        d.constant(800, kind == "imrope").tensor("0", t).tensor("", t);
        d.field("n_past", 0)
            .field("n_dims", double(dims))
            .field("n_ctx_orig", 4096)
            .field("freq_base", base);
        d.field("freq_scale", scale)
            .field("ext_factor", 0)
            .field("attn_factor", magnitude)
            .field("beta_fast", 32);
        d.field("beta_slow", 1).field("src2", hasFactors);
        for (int i = 0; i < 4; ++i)
          d.field("sect_" + std::to_string(i), sections[i]);
        d.buffer(1, xs).buffer(2, storeAs(positions, ElementType::I32));
        hasFactors ? d.buffer(3, fs) : d.alias(3, 1);
        d.output(4, size_t(t.bytes()))
            .groups({uint32_t(heads), uint32_t(tokens), 1}, {uint32_t(n), 1, 1});
        checkOutput(d, 4, reference, type == ElementType::F16 ? 1e-3 : 1e-5, type);
      }
}

/// Elements of one head: of queries and keys, and of values.
struct HeadSize {
  int64_t key, value;
  std::string suffix() const { return fmt::format("dk{}_dv{}", key, value); }
};

/// One attention problem: queries [key, queries, heads], keys [key, keys, heads / share] and values
/// [value, keys, heads / share], mask [keys, queries] in half, or none.
struct Attention {
  HeadSize size;
  int64_t queries, keys, heads = 4, keyHeads = 2;
  bool hasMask;
  const BlockFormat &format;
  Tensor q, k, v, mask, out;
  Bytes qs, ks, vs, ms;
  std::vector<double> reference;
  double scale;

  Attention(const BlockFormat &f, HeadSize size, int64_t queries, int64_t keys, bool hasMask)
      : size(size), queries(queries), keys(keys), hasMask(hasMask), format(f) {
    const int64_t d = size.key, dv = size.value;
    scale = 1 / std::sqrt(double(d));
    q = Tensor::of({d, queries, heads, 1});
    k = Tensor::of({d, keys, keyHeads, 1}, f.bytes, f.elements);
    v = Tensor::of({dv, keys, keyHeads, 1}, f.bytes, f.elements);
    mask = Tensor::of({keys, queries, 1, 1}, 2);
    out = Tensor::of({dv, heads, queries, 1});
    Numbers numbers(3);
    auto qv = numbers.uniform(size_t(q.elements()), -2, 2);
    qs = storeAs(qv, ElementType::F32);
    ks = randomBlocks(f, k.elements(), numbers);
    vs = randomBlocks(f, v.elements(), numbers);
    auto kv = decodeBlocks(f, ks), vv = decodeBlocks(f, vs);
    auto mv = numbers.uniform(size_t(mask.elements()));
    for (int64_t i = 0; i < queries; ++i)
      for (int64_t j = 0; j < keys; ++j) // A causal edge, and a stretch of keys that nobody sees.
        if (j > keys - queries + i || (j >= keys / 4 && j < keys / 2))
          mv[size_t(i * keys + j)] = -INFINITY;
    ms = storeAs(mv, ElementType::F16);
    reference.resize(size_t(out.elements()));
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < queries; ++i) {
        int64_t kh = h / (heads / keyHeads);
        std::vector<double> s(static_cast<size_t>(keys));
        double largest = -INFINITY, sum = 0;
        for (int64_t j = 0; j < keys; ++j) {
          double dot = 0;
          for (int64_t e = 0; e < d; ++e)
            dot += qv[size_t((h * queries + i) * d + e)] * kv[size_t((kh * keys + j) * d + e)];
          s[size_t(j)] = dot * scale + (hasMask ? mv[size_t(i * keys + j)] : 0);
          largest = std::max(largest, s[size_t(j)]);
        }
        for (double &p : s)
          sum += p = std::exp(p - largest);
        for (int64_t e = 0; e < dv; ++e) {
          double value = 0;
          for (int64_t j = 0; j < keys; ++j)
            value += s[size_t(j)] / sum * vv[size_t((kh * keys + j) * dv + e)];
          reference[size_t((i * heads + h) * dv + e)] = value;
        }
      }
  }

  void describe(Dispatch &x) const {
    for (int i = 1; i < 4; ++i) {
      auto n = std::to_string(i);
      x.field("ne0" + n, double(q.ne[size_t(i)])).field("nb0" + n, double(q.nb[size_t(i)]));
      x.field("nb1" + n, double(k.nb[size_t(i)])).field("nb2" + n, double(v.nb[size_t(i)]));
      x.field("ne3" + n, hasMask ? double(mask.ne[size_t(i)]) : 0)
          .field("nb3" + n, hasMask ? double(mask.nb[size_t(i)]) : 0);
      x.field("ne" + n, double(out.ne[size_t(i)]));
    }
    x.field("ne11", double(keys))
        .field("ne_12_2", double(keyHeads))
        .field("ne_12_3", 1)
        .field("ne30", double(keys));
    x.field("ns10", double(k.nb[1] / k.nb[0])).field("ns20", double(v.nb[1] / v.nb[0]));
    x.field("scale", scale)
        .field("max_bias", 0)
        .field("m0", 1)
        .field("m1", 1)
        .field("n_head_log2", 4);
    x.field("logit_softcap", 0);
  }
  size_t padBytes(int64_t block) const {
    return size_t(block * (k.nb[1] * keyHeads + v.nb[1] * keyHeads + (hasMask ? 2 * queries : 0)));
  }
  static constexpr const char *kPadKernel = "kernel_flash_attn_ext_pad";
  /// The last block of keys, values and mask, filled up to a whole one.
  Bytes pad(int64_t block, const Subject &subject) const {
    if (keys % block == 0)
      return Bytes(16);
    Dispatch p(kPadKernel);
    describe(p);
    p.constant(100, hasMask).constant32(125, int32_t(block));
    p.buffer(1, ks).buffer(2, vs);
    hasMask ? p.buffer(3, ms) : p.buffer(3, qs);
    p.output(4, padBytes(block)).groups({uint32_t(block), uint32_t(keyHeads), 1}, {32, 1, 1});
    return runFor(p, 4, subject);
  }
};

void checkMatrixForm(const BlockFormat &format, HeadSize size, int64_t queries, int64_t keys,
                     bool hasMask) {
  Attention a(format, size, queries, keys, hasMask);
  std::string kernel = fmt::format("kernel_flash_attn_ext_{}_{}", format.name, size.suffix());
  constexpr const char *kBlockKernel = "kernel_flash_attn_ext_blk";
  std::vector<std::string> kernels{kernel};
  if (keys % 64 != 0)
    kernels.insert(kernels.begin(), Attention::kPadKernel);
  if (hasMask)
    kernels.insert(kernels.begin(), kBlockKernel);
  auto make = [&](const Subject &subject) {
    Bytes padded = a.pad(64, subject), blocks(16);
    if (hasMask) {
      Dispatch b(kBlockKernel);
      a.describe(b);
      b.constant32(224, 8).constant32(225, 64).buffer(1, a.ms);
      int64_t across = (keys + 63) / 64, down = (queries + 7) / 8;
      b.output(2, size_t((across * down + 31) / 32 * 32))
          .groups({uint32_t(across), uint32_t(down), 1}, {32, 1, 1});
      blocks = runFor(b, 2, subject);
    }
    Dispatch x(kernel);
    a.describe(x);
    x.constant(300, hasMask).constant(301, false).constant(302, false).constant(303, false);
    x.constant(304, keys % 64 != 0).constant(310, hasMask && queries % 8 != 0);
    x.constant32(320, int32_t(a.k.nb[1] / a.k.nb[0]))
        .constant32(321, int32_t(a.v.nb[1] / a.v.nb[0]))
        .constant32(322, 4);
    x.buffer(1, a.qs).buffer(2, a.ks).buffer(3, a.vs);
    hasMask ? x.buffer(4, a.ms) : x.alias(4, 1);
    x.alias(5, 1).buffer(6, padded).buffer(7, blocks).output(8, size_t(a.out.bytes()));
    int64_t isQuantised = format.elements > 1;
    int64_t halves = 8 * (size.key + 2 * ((size.value + 63) / 64 * 64) + 2 * (2 * 64)) +
                     isQuantised * 16 * 32 * 4;
    x.threadgroupMemory(uint32_t((halves * 2 + 15) / 16 * 16))
        .groups({uint32_t((queries + 7) / 8), 4, 1}, {32, 4, 1});
    return runFor(x, 8, subject);
  };
  // The library keeps queries and probabilities in half.
  checkChain(kernels, make, a.reference, std::string(format.name) == "bf16" ? 1.5e-2 : 4e-3);
}

constexpr const char *kTypes[] = {"f32", "f16", "bf16", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0"};
constexpr HeadSize kCommonSizes[] = {{64, 64}, {128, 128}};

TEST_F(GgmlAttention, MatrixForm) {
  for (const char *type : kTypes)
    for (HeadSize size : kCommonSizes)
      checkMatrixForm(blockFormat(type), size, 21, 150, true);
  checkMatrixForm(blockFormat("f16"), {64, 64}, 24, 128, false);
  checkMatrixForm(blockFormat("f16"), {128, 128}, 32, 192, true);
}

TEST_F(GgmlAttention, MatrixFormOtherHeadSizes) {
  for (const char *type : {"f16", "q8_0"})
    for (HeadSize size : {HeadSize{32, 32},
                          {40, 40},
                          {72, 72},
                          {80, 80},
                          {96, 96},
                          {112, 112},
                          {192, 192},
                          {192, 128},
                          {256, 256},
                          {576, 512}}) {
      // The library has kernels for heads that are no whole number of blocks; no tensor has them.
      const BlockFormat &format = blockFormat(type);
      if (size.key % format.elements == 0)
        checkMatrixForm(format, size, 9, 70, true);
    }
}

void checkVectorForm(const BlockFormat &format, HeadSize size, int64_t queries, int64_t keys,
                     bool hasMask, int simdgroups) {
  Attention a(format, size, queries, keys, hasMask);
  std::string kernel = fmt::format("kernel_flash_attn_ext_vec_{}_{}", format.name, size.suffix());
  constexpr int workgroups = 32;
  std::vector<std::string> kernels{kernel, "kernel_flash_attn_ext_vec_reduce"};
  if (keys % 32 != 0)
    kernels.insert(kernels.begin(), Attention::kPadKernel);
  auto make = [&](const Subject &subject) {
    Bytes padded = a.pad(32, subject);
    Dispatch x(kernel);
    a.describe(x);
    x.constant(400, hasMask)
        .constant(401, false)
        .constant(402, false)
        .constant(403, false)
        .constant(404, keys % 32 != 0);
    x.constant32(420, int32_t(a.k.nb[1] / a.k.nb[0]))
        .constant32(421, int32_t(a.v.nb[1] / a.v.nb[0]));
    x.constant32(422, simdgroups).constant32(423, workgroups);
    x.buffer(1, a.qs).buffer(2, a.ks).buffer(3, a.vs);
    hasMask ? x.buffer(4, a.ms) : x.alias(4, 1);
    x.alias(5, 1).buffer(6, padded);
    x.output(7, size_t(queries * a.heads * workgroups * (size.value + 2) * 4));
    auto padded128 = [](int64_t n) { return (n + 127) / 128 * 128; };
    int64_t halves =
        padded128(size.key) + 4 * 32 * simdgroups + 2 * padded128(size.value) * simdgroups;
    x.threadgroupMemory(uint32_t((halves * 2 + 15) / 16 * 16));
    x.groups({uint32_t(queries), uint32_t(a.heads), workgroups}, {32, uint32_t(simdgroups), 1});
    Bytes partial = runFor(x, 7, subject);
    Dispatch r("kernel_flash_attn_ext_vec_reduce");
    r.field("nrows", double(queries * a.heads))
        .constant32(500, int32_t(size.value))
        .constant32(501, workgroups);
    r.buffer(1, partial)
        .output(2, size_t(a.out.bytes()))
        .groups({uint32_t(queries * a.heads), 1, 1}, {32 * workgroups, 1, 1});
    return runFor(r, 2, subject);
  };
  checkChain(kernels, make, a.reference, std::string(format.name) == "bf16" ? 1.5e-2 : 4e-3);
}

TEST_F(GgmlAttention, VectorForm) {
  for (const char *type : {"f16", "q8_0"})
    for (HeadSize size : kCommonSizes)
      checkVectorForm(blockFormat(type), size, 2, 150, true, 1);
  checkVectorForm(blockFormat("f16"), {128, 128}, 1, 256, false, 4);
  checkVectorForm(blockFormat("q8_0"), {64, 64}, 3, 400, true, 2);
}

TEST_F(GgmlAttention, VectorFormOtherHeadSizes) {
  for (const char *type : {"f16", "q8_0"})
    for (HeadSize size :
         {HeadSize{32, 32}, {96, 96}, {192, 192}, {192, 128}, {256, 256}, {576, 512}})
      checkVectorForm(blockFormat(type), size, 2, 70, true, 1);
}

} // namespace
} // namespace pewter::testing
