// SPDX-License-Identifier: Apache-2.0
//
// Convolutions, pooling, resampling, state-space and RWKV recurrences, generators and optimiser
// steps of the Apple-built library.
#include "ggml/GgmlHarness.h"
#include <cmath>
#include <gtest/gtest.h>

namespace pewter::testing {
namespace {

class GgmlSignals : public ::testing::Test {
protected:
  void SetUp() override {
    if (!libraryIsPresent())
      GTEST_SKIP() << "llama.rn 0.8.3 is not installed (scripts/fetch-peers.sh)";
  }
};

TEST_F(GgmlSignals, Im2Col) {
  for (ElementType type : {ElementType::F32, ElementType::F16}) {
    int64_t n = 2, channels = 3, ih = 9, iw = 8, kh = 3, kw = 2, s0 = 2, s1 = 1, p0 = 1, p1 = 2,
            d0 = 1, d1 = 2;
    int64_t oh = (ih + 2 * p1 - d1 * (kh - 1) - 1) / s1 + 1,
            ow = (iw + 2 * p0 - d0 * (kw - 1) - 1) / s0 + 1;
    auto x = Numbers(1).uniform(size_t(n * channels * ih * iw));
    Bytes xs = storeAs(x, ElementType::F32);
    int64_t chw = channels * kh * kw;
    std::vector<double> reference(size_t(n * oh * ow * chw));
    for (int64_t b = 0; b < n; ++b)
      for (int64_t y = 0; y < oh; ++y)
        for (int64_t c = 0; c < ow; ++c)
          for (int64_t i = 0; i < chw; ++i) {
            int64_t channel = i / (kh * kw), iy = y * s1 + i / kw % kh * d1 - p1,
                    ix = c * s0 + i % kw * d0 - p0;
            reference[size_t(((b * oh + y) * ow + c) * chw + i)] =
                iy < 0 || iy >= ih || ix < 0 || ix >= iw
                    ? 0
                    : x[size_t(((b * channels + channel) * ih + iy) * iw + ix)];
          }
    Dispatch d(fmt::format("kernel_im2col_{}", suffixOf(type)));
    d.field("ofs0", double(channels * ih * iw))
        .field("ofs1", double(ih * iw))
        .field("IW", double(iw))
        .field("IH", double(ih));
    d.field("CHW", double(chw))
        .field("s0", double(s0))
        .field("s1", double(s1))
        .field("p0", double(p0))
        .field("p1", double(p1));
    d.field("d0", double(d0))
        .field("d1", double(d1))
        .field("N", double(n))
        .field("KH", double(kh))
        .field("KW", double(kw));
    d.field("KHW", double(kh * kw));
    d.buffer(1, xs).output(2, reference.size() * elementBytes(type));
    d.groups({uint32_t(channels), uint32_t(oh), uint32_t(ow)},
             {uint32_t(n), uint32_t(kh), uint32_t(kw)});
    checkOutput(d, 2, reference, type == ElementType::F16 ? 5e-4 : 0, type);
  }
}

TEST_F(GgmlSignals, Convolution) {
  for (ElementType type : {ElementType::F32, ElementType::F16}) {
    int64_t n = 2, ic = 3, oc = 4, ih = 9, iw = 10, kh = 3, kw = 2, s0 = 2, s1 = 1, p0 = 1, p1 = 1,
            d0 = 1, d1 = 2;
    int64_t oh = (ih + 2 * p1 - d1 * (kh - 1) - 1) / s1 + 1,
            ow = (iw + 2 * p0 - d0 * (kw - 1) - 1) / s0 + 1;
    Tensor k = Tensor::of({kw, kh, ic, oc}, elementBytes(type)), x = Tensor::of({iw, ih, ic, n}),
           out = Tensor::of({ow, oh, oc, n});
    auto kv = Numbers(2).uniform(size_t(k.elements())),
         xv = Numbers(3).uniform(size_t(x.elements()));
    Bytes ks = storeAs(kv, type), xs = storeAs(xv, ElementType::F32);
    std::vector<double> reference;
    for (int64_t i = 0; i < out.elements(); ++i) {
      int64_t c = i % ow, y = i / ow % oh, o = i / (ow * oh) % oc, b = i / (ow * oh * oc);
      double sum = 0;
      for (int64_t j = 0; j < ic * kh * kw; ++j) {
        int64_t channel = j / (kh * kw), iy = y * s1 + j / kw % kh * d1 - p1,
                ix = c * s0 + j % kw * d0 - p0;
        if (iy >= 0 && iy < ih && ix >= 0 && ix < iw)
          sum += kv[size_t(o * ic * kh * kw + j)] *
                 xv[size_t(((b * ic + channel) * ih + iy) * iw + ix)];
      }
      reference.push_back(sum);
    }
    Dispatch d(fmt::format("kernel_conv_2d_{}_f32", suffixOf(type)));
    d.tensor("0", k)
        .tensor("1", x)
        .tensor("", out)
        .field("IW", double(iw))
        .field("IH", double(ih))
        .field("KW", double(kw));
    d.field("KH", double(kh))
        .field("IC", double(ic))
        .field("OC", double(oc))
        .field("OW", double(ow))
        .field("OH", double(oh));
    d.field("N", double(n))
        .field("s0", double(s0))
        .field("s1", double(s1))
        .field("p0", double(p0))
        .field("p1", double(p1));
    d.field("d0", double(d0)).field("d1", double(d1));
    d.buffer(1, ks).buffer(2, xs).output(3, size_t(out.bytes()));
    d.groups({uint32_t((out.elements() + 255) / 256), 1, 1}, {256, 1, 1});
    checkOutput(d, 3, reference, 2e-6);
  }
}

TEST_F(GgmlSignals, TransposedConvolution) {
  for (ElementType type : {ElementType::F32, ElementType::F16}) {
    int64_t ic = 5, oc = 3, length = 7, k = 4, stride = 2, ol = (length - 1) * stride + k;
    auto kv = Numbers(4).uniform(size_t(k * oc * ic)), xv = Numbers(5).uniform(size_t(length * ic));
    Bytes ks = storeAs(kv, type), xs = storeAs(xv, ElementType::F32);
    std::vector<double> reference(size_t(ol * oc));
    for (int64_t c = 0; c < ic; ++c)
      for (int64_t i = 0; i < length; ++i)
        for (int64_t o = 0; o < oc; ++o)
          for (int64_t j = 0; j < k; ++j)
            reference[size_t(o * ol + i * stride + j)] +=
                kv[size_t((c * oc + o) * k + j)] * xv[size_t(c * length + i)];
    Dispatch d(fmt::format("kernel_conv_transpose_1d_{}_f32", suffixOf(type)));
    d.field("IC", double(ic))
        .field("IL", double(length))
        .field("K", double(k))
        .field("s0", double(stride));
    d.field("nb0", 4).field("nb1", double(ol * 4));
    d.buffer(1, ks)
        .buffer(2, xs)
        .output(3, reference.size() * 4)
        .groups({uint32_t(ol), uint32_t(oc), 1}, {1, 1, 1});
    checkOutput(d, 3, reference, 2e-6);

    int64_t iw = 5, ih = 4, kw = 3, kh = 2, ow = (iw - 1) * stride + kw,
            oh = (ih - 1) * stride + kh;
    auto k2 = Numbers(6).uniform(size_t(kw * kh * oc * ic)),
         x2 = Numbers(7).uniform(size_t(iw * ih * ic));
    Bytes k2s = storeAs(k2, type), x2s = storeAs(x2, ElementType::F32);
    std::vector<double> plane(size_t(ow * oh * oc));
    for (int64_t c = 0; c < ic; ++c)
      for (int64_t o = 0; o < oc; ++o)
        for (int64_t i = 0; i < iw * ih; ++i)
          for (int64_t j = 0; j < kw * kh; ++j)
            plane[size_t((o * oh + i / iw * stride + j / kw) * ow + i % iw * stride + j % kw)] +=
                k2[size_t((c * oc + o) * kw * kh + j)] * x2[size_t(c * iw * ih + i)];
    Dispatch e(fmt::format("kernel_conv_transpose_2d_{}_f32", suffixOf(type)));
    e.field("IC", double(ic))
        .field("IH", double(ih))
        .field("IW", double(iw))
        .field("KH", double(kh))
        .field("KW", double(kw));
    e.field("OC", double(oc))
        .field("s0", double(stride))
        .field("nb0", 4)
        .field("nb1", double(ow * 4))
        .field("nb2", double(ow * oh * 4));
    e.buffer(1, k2s)
        .buffer(2, x2s)
        .output(3, plane.size() * 4)
        .threadgroupMemory(uint32_t((kw * kh * 4 + 15) / 16 * 16));
    e.groups({uint32_t(ow), uint32_t(oh), uint32_t(oc)}, {uint32_t(kw), uint32_t(kh), 1});
    checkOutput(e, 3, plane, 2e-6);
  }
}

TEST_F(GgmlSignals, PoolAndUpscale) {
  int64_t iw = 11, ih = 9, channels = 3, k0 = 3, k1 = 2, s0 = 2, s1 = 2, p0 = 1, p1 = 0;
  int64_t ow = (iw + 2 * p0 - k0) / s0 + 1, oh = (ih + 2 * p1 - k1) / s1 + 1;
  auto x = Numbers(8).uniform(size_t(iw * ih * channels));
  Bytes xs = storeAs(x, ElementType::F32);
  for (bool isMax : {false, true}) {
    std::vector<double> reference;
    for (int64_t i = 0; i < ow * oh * channels; ++i) {
      double sum = 0, largest = -INFINITY;
      for (int64_t j = 0; j < k0 * k1; ++j) {
        int64_t ix = i % ow * s0 - p0 + j % k0, iy = i / ow % oh * s1 - p1 + j / k0;
        if (ix < 0 || ix >= iw || iy < 0 || iy >= ih)
          continue;
        double value = x[size_t((i / (ow * oh) * ih + iy) * iw + ix)];
        sum += value;
        largest = std::max(largest, value);
      }
      reference.push_back(isMax ? largest : sum / double(k0 * k1));
    }
    Dispatch d(isMax ? "kernel_pool_2d_max_f32" : "kernel_pool_2d_avg_f32");
    d.field("k0", double(k0))
        .field("k1", double(k1))
        .field("s0", double(s0))
        .field("s1", double(s1))
        .field("p0", double(p0));
    d.field("p1", double(p1))
        .field("IH", double(ih))
        .field("IW", double(iw))
        .field("OH", double(oh))
        .field("OW", double(ow));
    d.field("np", double(reference.size())).buffer(1, xs).output(2, reference.size() * 4);
    d.groups({1, 1, 1}, {uint32_t(reference.size()), 1, 1});
    checkOutput(d, 2, reference, 1e-6);
  }
  Tensor a = Tensor::of({iw, ih, channels, 1}), out = Tensor::of({iw * 2, ih * 3, channels, 1});
  std::vector<double> reference;
  for (int64_t i = 0; i < out.elements(); ++i)
    reference.push_back(x[size_t((i / (iw * 2 * ih * 3) * ih + i / (iw * 2) % (ih * 3) / 3) * iw +
                                 i % (iw * 2) / 2)]);
  Dispatch u("kernel_upscale_f32");
  u.tensor("0", a).tensor("", out).field("sf0", 2).field("sf1", 3).field("sf2", 1).field("sf3", 1);
  u.buffer(1, xs)
      .output(2, size_t(out.bytes()))
      .groups({uint32_t(ih * 3), uint32_t(channels), 1}, {uint32_t(iw * 2), 1, 1});
  checkOutput(u, 2, reference, 0);
}

TEST_F(GgmlSignals, Generators) {
  std::vector<double> reference;
  for (int i = 0; i < 100; ++i)
    reference.push_back(2 + 0.5 * i);
  Dispatch d("kernel_arange_f32");
  d.field("ne0", 100)
      .field("start", 2)
      .field("step", 0.5)
      .output(1, 400)
      .groups({1, 1, 1}, {100, 1, 1});
  checkOutput(d, 1, reference, 1e-6);

  int dim = 20;
  std::vector<double> steps{0, 1, 7.5, 40};
  Bytes xs = storeAs(steps, ElementType::F32);
  reference.assign(steps.size() * size_t(dim), 0);
  for (size_t r = 0; r < steps.size(); ++r)
    for (int j = 0; j < dim / 2; ++j) {
      double angle = steps[r] * std::exp(-std::log(10000.0) * j / (dim / 2));
      reference[r * size_t(dim) + size_t(j)] = std::cos(angle);
      reference[r * size_t(dim) + size_t(j + dim / 2)] = std::sin(angle);
    }
  Dispatch t("kernel_timestep_embedding_f32");
  t.field("nb1", dim * 4)
      .field("dim", dim)
      .field("max_period", 10000)
      .buffer(1, xs)
      .output(2, reference.size() * 4);
  t.groups({uint32_t(steps.size()), 1, 1}, {uint32_t(dim / 2), 1, 1});
  checkOutput(t, 2, reference, 1e-5);
}

TEST_F(GgmlSignals, StateSpaceConvolution) {
  for (bool isVector : {false, true}) {
    int64_t width = isVector ? 4 : 3, inner = 40, tokens = 6, sequences = 2;
    Tensor s = Tensor::of({width - 1 + tokens, inner, sequences, 1}),
           w = Tensor::of({width, inner, 1, 1});
    Tensor out = Tensor::of({inner, tokens, sequences, 1});
    auto x = Numbers(9).uniform(size_t(s.elements())),
         c = Numbers(10).uniform(size_t(w.elements()));
    Bytes xs = storeAs(x, ElementType::F32), cs = storeAs(c, ElementType::F32);
    std::vector<double> reference;
    for (int64_t q = 0; q < sequences; ++q)
      for (int64_t t = 0; t < tokens; ++t)
        for (int64_t i = 0; i < inner; ++i) {
          double sum = 0;
          for (int64_t j = 0; j < width; ++j)
            sum += x[size_t((q * inner + i) * s.ne[0] + t + j)] * c[size_t(i * width + j)];
          reference.push_back(sum);
        }
    Dispatch d(isVector ? "kernel_ssm_conv_f32_f32_4" : "kernel_ssm_conv_f32_f32");
    d.tensor("0", s).tensor("1", w).tensor("", out).buffer(1, xs).buffer(2, cs).output(
        3, size_t(out.bytes()));
    d.groups({uint32_t(inner), uint32_t(tokens), uint32_t(sequences)}, {1, 1, 1});
    checkOutput(d, 3, reference, 2e-6);
  }
}

TEST_F(GgmlSignals, StateSpaceScan) {
  for (int64_t state : {32, 128}) {
    int64_t inner = 8, heads = 4, groups = 2, tokens = 5, sequences = 2;
    Tensor s = Tensor::of({state, inner, heads, sequences}),
           x = Tensor::of({inner, heads, tokens, sequences});
    Tensor dt = Tensor::of({heads, tokens, sequences, 1}), a = Tensor::of({1, heads, 1, 1});
    Tensor b = Tensor::of({state, groups, tokens, sequences});
    auto sv = Numbers(11).uniform(size_t(s.elements())),
         xv = Numbers(12).uniform(size_t(x.elements()));
    auto dv = Numbers(13).uniform(size_t(dt.elements()), -3, 3),
         av = Numbers(14).uniform(size_t(heads), -1, -0.1);
    auto bv = Numbers(15).uniform(size_t(b.elements())),
         cv = Numbers(16).uniform(size_t(b.elements()));
    std::vector<double> ids{1, 0};
    Bytes ss = storeAs(sv, ElementType::F32), xs = storeAs(xv, ElementType::F32),
          ds = storeAs(dv, ElementType::F32);
    Bytes as = storeAs(av, ElementType::F32), bs = storeAs(bv, ElementType::F32),
          cs = storeAs(cv, ElementType::F32);
    std::vector<double> y(size_t(x.elements())), last(size_t(s.elements()));
    for (int64_t q = 0; q < sequences; ++q)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t i = 0; i < inner; ++i)
          for (int64_t n = 0; n < state; ++n) {
            double value =
                sv[size_t(((int64_t(ids[size_t(q)]) * heads + h) * inner + i) * state + n)];
            for (int64_t t = 0; t < tokens; ++t) {
              double delta = dv[size_t((q * tokens + t) * heads + h)];
              delta = delta <= 20 ? std::log1p(std::exp(delta)) : delta;
              int64_t at = ((q * tokens + t) * groups + h / (heads / groups)) * state + n;
              int64_t xi = ((q * tokens + t) * heads + h) * inner + i;
              value =
                  value * std::exp(delta * av[size_t(h)]) + bv[size_t(at)] * xv[size_t(xi)] * delta;
              y[size_t(xi)] += value * cv[size_t(at)];
            }
            last[size_t(((q * heads + h) * inner + i) * state + n)] = value;
          }
    std::vector<double> reference = y;
    reference.insert(reference.end(), last.begin(), last.end());
    Dispatch d("kernel_ssm_scan_f32");
    d.field("d_state", double(state))
        .field("d_inner", double(inner))
        .field("n_head", double(heads))
        .field("n_group", double(groups));
    d.field("n_seq_tokens", double(tokens))
        .field("n_seqs", double(sequences))
        .field("s_off", double(x.elements() * 4));
    d.tensor("0", s)
        .tensor("1", x)
        .tensor("2", dt)
        .tensor("3", a)
        .tensor("4", b)
        .tensor("5", b)
        .field("nb0", 4);
    d.field("ns12", double(x.nb[2] / 4))
        .field("ns21", double(dt.nb[1] / 4))
        .field("ns42", double(b.nb[2] / 4));
    d.field("ns52", double(b.nb[2] / 4));
    d.buffer(1, ss).buffer(2, xs).buffer(3, ds).buffer(4, as).buffer(5, bs).buffer(6, cs);
    d.buffer(7, storeAs(ids, ElementType::I32)).output(8, reference.size() * 4);
    d.threadgroupMemory(uint32_t(128 * ((state + 31) / 32)));
    d.groups({uint32_t(inner), uint32_t(heads), uint32_t(sequences)}, {uint32_t(state), 1, 1});
    checkOutput(d, 8, reference, 1e-5);
  }
}

TEST_F(GgmlSignals, Rwkv) {
  constexpr int64_t size = 64, heads = 2, sequences = 2, tokens = 6, channels = heads * size,
                    each = tokens / sequences;
  auto values = [](uint64_t seed, int64_t n, double low = -1, double high = 1) {
    return Numbers(seed).uniform(size_t(n), low, high);
  };
  auto k = values(1, tokens * channels), v = values(2, tokens * channels),
       r = values(3, tokens * channels);
  auto tf = values(4, channels), td = values(5, tokens * channels, 0.3, 0.9),
       s = values(6, sequences * channels * size);
  Bytes ks = storeAs(k, ElementType::F32), vs = storeAs(v, ElementType::F32),
        rs = storeAs(r, ElementType::F32);
  Bytes fs = storeAs(tf, ElementType::F32), tds = storeAs(td, ElementType::F32),
        states = storeAs(s, ElementType::F32);
  auto number = [](int64_t n) {
    uint32_t value = uint32_t(n);
    Bytes bytes(8);
    std::copy_n(reinterpret_cast<std::byte *>(&value), 4, bytes.data());
    return bytes;
  };
  { // State i, j decays by td[i] and takes k[i] v[j]; the output reads it with r[i].
    std::vector<double> out(size_t(tokens * channels)), state = s;
    for (int64_t b = 0; b < sequences; ++b)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t t = b * each; t < (b + 1) * each; ++t)
          for (int64_t j = 0; j < size; ++j)
            for (int64_t i = 0; i < size; ++i) {
              size_t at = size_t(t * channels + h * size);
              double &cell = state[size_t(((b * heads + h) * size + i) * size + j)];
              double kv = k[at + size_t(i)] * v[at + size_t(j)];
              out[at + size_t(j)] += r[at + size_t(i)] * (tf[size_t(h * size + i)] * kv + cell);
              cell = cell * td[at + size_t(i)] + kv;
            }
    out.insert(out.end(), state.begin(), state.end());
    Dispatch d("kernel_rwkv_wkv6_f32");
    d.buffer(0, ks)
        .buffer(1, vs)
        .buffer(2, rs)
        .buffer(3, fs)
        .buffer(4, tds)
        .buffer(5, states)
        .output(6, out.size() * 4);
    d.buffer(7, number(sequences))
        .buffer(8, number(tokens))
        .buffer(9, number(channels))
        .buffer(10, number(heads));
    d.groups({sequences * heads, 1, 1}, {size, 1, 1});
    checkOutput(d, 6, out, 1e-5);
  }
  { // Seventh version: S = S diag(w) + (S a) b' + v k'; out = S r.
    auto a = values(7, tokens * channels, -0.3, 0.3), bb = values(8, tokens * channels, -0.3, 0.3);
    Bytes as = storeAs(a, ElementType::F32), bs = storeAs(bb, ElementType::F32);
    std::vector<double> out(size_t(tokens * channels)), state = s;
    for (int64_t b = 0; b < sequences; ++b)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t t = b * each; t < (b + 1) * each; ++t)
          for (int64_t i = 0; i < size; ++i) {
            size_t at = size_t(t * channels + h * size);
            double *row = state.data() + ((b * heads + h) * size + i) * size, sa = 0;
            for (int64_t j = 0; j < size; ++j)
              sa += a[at + size_t(j)] * row[j];
            for (int64_t j = 0; j < size; ++j) {
              row[j] = row[j] * td[at + size_t(j)] + k[at + size_t(j)] * v[at + size_t(i)] +
                       sa * bb[at + size_t(j)];
              out[at + size_t(i)] += row[j] * r[at + size_t(j)];
            }
          }
    out.insert(out.end(), state.begin(), state.end());
    Dispatch d("kernel_rwkv_wkv7_f32");
    d.buffer(0, rs)
        .buffer(1, tds)
        .buffer(2, ks)
        .buffer(3, vs)
        .buffer(4, as)
        .buffer(5, bs)
        .buffer(6, states)
        .output(7, out.size() * 4);
    d.buffer(8, number(sequences))
        .buffer(9, number(tokens))
        .buffer(10, number(channels))
        .buffer(11, number(heads));
    d.groups({sequences * heads, 1, 1}, {size, 1, 1});
    checkOutput(d, 7, out, 1e-5);
  }
}

TEST_F(GgmlSignals, OptimiserSteps) {
  constexpr size_t n = 300;
  auto x = Numbers(1).uniform(n), g = Numbers(2).uniform(n), m = Numbers(3).uniform(n),
       v = Numbers(4).uniform(n, 0, 1);
  std::vector<double> p{1e-2, 0.9, 0.999, 1e-8, 0.1, 1.5, 2.5};
  Bytes xs = storeAs(x, ElementType::F32), gs = storeAs(g, ElementType::F32),
        ms = storeAs(m, ElementType::F32);
  Bytes vs = storeAs(v, ElementType::F32), ps = storeAs(p, ElementType::F32);
  std::vector<double> adam, descent;
  for (size_t i = 0; i < n; ++i) {
    double mi = m[i] * p[1] + g[i] * (1 - p[1]), vi = v[i] * p[2] + g[i] * g[i] * (1 - p[2]);
    adam.push_back(x[i] * (1 - p[0] * p[4]) - p[0] * (mi * p[5]) / (std::sqrt(vi * p[6]) + p[3]));
    descent.push_back(x[i] * (1 - p[0] * p[1]) - p[0] * g[i]);
  }
  auto count = [](Dispatch &d, uint32_t slot) {
    uint64_t value = n;
    Bytes bytes(8);
    std::copy_n(reinterpret_cast<std::byte *>(&value), 8, bytes.data());
    d.buffer(slot, bytes);
  };
  Dispatch a("kernel_opt_step_adamw_f32");
  count(a, 0);
  a.buffer(1, xs).buffer(2, gs).buffer(3, ms).buffer(4, vs).buffer(5, ps).groups({2, 1, 1},
                                                                                 {256, 1, 1});
  Dispatch b("kernel_opt_step_sgd_f32");
  count(b, 0);
  b.buffer(1, xs).buffer(2, gs).buffer(3, ps).groups({2, 1, 1}, {256, 1, 1});
  // The host binds the buffers from 1 on behind the argument struct.
  checkOutput(a, 1, adam, 2e-6);
  checkOutput(b, 1, descent, 2e-6);
}

} // namespace
} // namespace pewter::testing
