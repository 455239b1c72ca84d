// SPDX-License-Identifier: Apache-2.0
#include "engine/Reference.h"
#include "base/Check.h"
#include "muse/Dequantize.h"
#include <algorithm>
#include <cmath>

namespace pewter::testing {
namespace {

std::vector<float> vectorOf(const muse::GgufModel &model, const std::string &name) {
  return muse::dequantizeRows(model, *model.findTensor(name), 0, 1).value();
}

/// Eight partial sums, so that the compiler may use vectors without reordering anything else.
template <class Number> std::vector<Number> multiply(const auto &m, const std::vector<Number> &x) {
  std::vector<Number> y(m.outputs);
  for (uint32_t o = 0; o < m.outputs; ++o) {
    const float *row = m.values.data() + size_t(o) * m.inputs;
    Number sums[8] = {};
    for (uint32_t i = 0; i < m.inputs; i += 8)
      for (int j = 0; j < 8; ++j)
        sums[j] += row[i + j] * x[i + j];
    y[o] = ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
  }
  return y;
}

template <class Number> void rms(Number *x, size_t n, float epsilon, const float *w) {
  double sum = 0;
  for (size_t i = 0; i < n; ++i)
    sum += double(x[i]) * x[i];
  auto inverse = static_cast<Number>(1.0 / std::sqrt(sum / n + epsilon));
  for (size_t i = 0; i < n; ++i)
    x[i] = x[i] * inverse * (w ? Number(w[i]) : Number(1));
}

template <class Number>
std::vector<Number> normed(std::vector<Number> x, float epsilon, const std::vector<float> &w) {
  rms(x.data(), x.size(), epsilon, w.data());
  return x;
}

} // namespace

template <class Number>
typename PlainModel<Number>::Matrix PlainModel<Number>::matrix(const muse::GgufModel &model,
                                                               const std::string &name) const {
  const muse::GgufTensor *tensor = model.findTensor(name);
  PEWTER_CHECK(tensor);
  return {static_cast<uint32_t>(tensor->dims[0]), static_cast<uint32_t>(tensor->dims[1]),
          muse::dequantizeRows(model, *tensor, 0, tensor->dims[1]).value()};
}

template <class Number>
PlainModel<Number>::PlainModel(const muse::GgufModel &model, const muse::ModelConfig &config, Mistake mistake)
    : c_(config), mistake_(mistake) {
  switch (mistake) {
  case Mistake::WindowOneLess: --c_.window; break;
  case Mistake::WindowOneMore: ++c_.window; break;
  case Mistake::NoWindow: c_.window = UINT32_MAX; break;
  case Mistake::PostEpsilon1e5: c_.postNormEps = 1e-5f; break;
  case Mistake::PostEpsilon1e6: c_.postNormEps = 1e-6f; break;
  case Mistake::RopeBase10000: c_.ropeBase = 10000; break;
  case Mistake::NoSoftcap: c_.softcap = 0; break;
  case Mistake::Softcap30: c_.softcap = 30; break;
  case Mistake::LogitScale1: c_.logitScale = 1; break;
  default: break;
  }
  embedding_ = matrix(model, "token_embd.weight");
  head_ = matrix(model, model.findTensor("output.weight") ? "output.weight" : "token_embd.weight");
  outputNorm_ = vectorOf(model, "output_norm.weight");
  for (uint32_t l = 0; l < c_.layers; ++l) {
    auto name = [l](const char *part) { return fmt::format("blk.{}.{}.weight", l, part); };
    Layer layer;
    layer.q = matrix(model, name("attn_q"));
    layer.k = matrix(model, name("attn_k"));
    layer.v = matrix(model, name("attn_v"));
    layer.gate = matrix(model, name("attn_gate"));
    layer.output = matrix(model, name("attn_output"));
    layer.ffnGate = matrix(model, name("ffn_gate"));
    layer.ffnUp = matrix(model, name("ffn_up"));
    layer.ffnDown = matrix(model, name("ffn_down"));
    layer.attnNorm = vectorOf(model, name("attn_norm"));
    layer.qNorm = vectorOf(model, name("attn_q_norm"));
    if (mistake == Mistake::QueryNorm1)
      std::ranges::fill(layer.qNorm, 1.0f);
    layer.kNorm = vectorOf(model, name("attn_k_norm"));
    layer.postAttnNorm = vectorOf(model, name("post_attention_norm"));
    layer.ffnNorm = vectorOf(model, name("ffn_norm"));
    layer.postFfnNorm = vectorOf(model, name("post_ffw_norm"));
    layer.sliding = c_.sliding[l];
    layers_.push_back(std::move(layer));
  }
}

template <class Number>
void PlainModel<Number>::rotate(std::vector<Number> &x, uint32_t heads) const {
  uint32_t half = c_.ropeDim / 2;
  for (uint32_t h = 0; h < heads; ++h)
    for (uint32_t i = 0; i < half; ++i) {
      double angle = position_ * std::pow(double(c_.ropeBase), -2.0 * i / c_.ropeDim);
      auto cosine = static_cast<Number>(std::cos(angle)), sine = static_cast<Number>(std::sin(angle));
      bool split = mistake_ == Mistake::RopeHalfSplit;
      Number &a = x[h * c_.headDim + (split ? i : 2 * i)];
      Number &b = x[h * c_.headDim + (split ? i + half : 2 * i + 1)];
      Number newA = a * cosine - b * sine, newB = a * sine + b * cosine;
      a = newA, b = newB;
    }
}

template <class Number>
std::vector<Number> PlainModel<Number>::attend(Layer &layer, std::vector<Number> q, std::vector<Number> k,
                                               const std::vector<Number> &v) {
  for (uint32_t h = 0; h < c_.heads; ++h)
    rms(q.data() + h * c_.headDim, c_.headDim, c_.rmsEps, layer.qNorm.data());
  for (uint32_t h = 0; h < c_.kvHeads; ++h)
    rms(k.data() + h * c_.headDim, c_.headDim, c_.rmsEps, layer.kNorm.data());
  bool slides = layer.sliding || mistake_ == Mistake::RopeEverywhere;
  if (slides && mistake_ != Mistake::NoRope) {
    rotate(q, c_.heads);
    rotate(k, c_.kvHeads);
  }
  layer.keys.insert(layer.keys.end(), k.begin(), k.end());
  layer.values.insert(layer.values.end(), v.begin(), v.end());
  uint32_t first = slides && position_ + 1 > c_.window ? position_ + 1 - c_.window : 0;
  std::vector<Number> out(c_.attentionDim());
  std::vector<Number> scores(position_ + 1);
  for (uint32_t h = 0; h < c_.heads; ++h) {
    uint32_t kv = mistake_ == Mistake::HeadsModulo ? h % c_.kvHeads : h / c_.headsPerKvHead();
    Number most = -HUGE_VAL;
    for (uint32_t p = first; p <= position_; ++p) {
      const Number *row = layer.keys.data() + size_t(p) * c_.kvDim() + kv * c_.headDim;
      Number sum = 0;
      for (uint32_t d = 0; d < c_.headDim; ++d)
        sum += q[h * c_.headDim + d] * row[d];
      scores[p] = sum * c_.attentionScale();
      most = std::max(most, scores[p]);
    }
    Number total = 0;
    for (uint32_t p = first; p <= position_; ++p)
      total += scores[p] = std::exp(scores[p] - most);
    for (uint32_t p = first; p <= position_; ++p) {
      const Number *row = layer.values.data() + size_t(p) * c_.kvDim() + kv * c_.headDim;
      for (uint32_t d = 0; d < c_.headDim; ++d)
        out[h * c_.headDim + d] += scores[p] / total * row[d];
    }
  }
  return out;
}

template <class Number>
std::vector<Number> PlainModel<Number>::step(uint32_t token, bool wantLogits) {
  std::vector<Number> h(embedding_.values.begin() + ptrdiff_t(token) * c_.hidden,
                       embedding_.values.begin() + ptrdiff_t(token + 1) * c_.hidden);
  if (mistake_ != Mistake::NoEntryNorm)
    rms(h.data(), h.size(), c_.rmsEps, nullptr);
  for (Layer &layer : layers_) {
    std::vector<Number> a = normed(h, c_.rmsEps, layer.attnNorm);
    std::vector<Number> gate = multiply(layer.gate, a);
    std::vector<Number> o = attend(layer, multiply(layer.q, a), multiply(layer.k, a), multiply(layer.v, a));
    if (mistake_ != Mistake::NoGate)
      for (size_t i = 0; i < o.size(); ++i)
        o[i] *= Number(1) / (Number(1) + std::exp(-gate[i]));
    std::vector<Number> p = normed(multiply(layer.output, o), c_.postNormEps, layer.postAttnNorm);
    for (size_t i = 0; i < h.size(); ++i)
      h[i] += p[i];
    std::vector<Number> f = normed(h, c_.rmsEps, layer.ffnNorm);
    std::vector<Number> u = multiply(layer.ffnGate, f), up = multiply(layer.ffnUp, f);
    for (size_t i = 0; i < u.size(); ++i)
      u[i] = u[i] / (Number(1) + std::exp(-u[i])) * up[i];
    std::vector<Number> d = normed(multiply(layer.ffnDown, u), c_.postNormEps, layer.postFfnNorm);
    for (size_t i = 0; i < h.size(); ++i)
      h[i] += d[i];
  }
  ++position_;
  if (!wantLogits)
    return {};
  std::vector<Number> logits = multiply(head_, normed(h, c_.rmsEps, outputNorm_));
  for (Number &l : logits) {
    l *= c_.logitScale;
    if (c_.softcap > 0)
      l = c_.softcap * std::tanh(l / c_.softcap);
  }
  return logits;
}

template class PlainModel<float>;
template class PlainModel<double>;

std::vector<double> logProbabilities(const std::vector<float> &logits) {
  double most = *std::ranges::max_element(logits), sum = 0;
  for (float l : logits)
    sum += std::exp(l - most);
  std::vector<double> out;
  for (float l : logits)
    out.push_back(l - most - std::log(sum));
  return out;
}

} // namespace pewter::testing
