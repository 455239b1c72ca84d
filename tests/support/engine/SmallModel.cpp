// SPDX-License-Identifier: Apache-2.0
#include "engine/SmallModel.h"
#include "base/Check.h"
#include "muse/Quantize.h"
#include <cmath>
#include <random>

namespace pewter::testing {
namespace {

/// The printable stand-ins of the 256 bytes in a byte-level vocabulary.
std::string byteToken(int byte) {
  int code = byte;
  bool plain = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  if (!plain) {
    int before = 0;
    for (int b = 0; b < byte; ++b)
      before += !((b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174);
    code = 256 + before;
  }
  std::string out;
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else {
    out += static_cast<char>(0xc0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 63));
  }
  return out;
}

std::vector<float> randomValues(uint64_t seed, const std::string &name, size_t count, float scale) {
  std::mt19937_64 bits(seed * 1'000'003 + std::hash<std::string>{}(name));
  std::vector<float> values(count);
  for (float &v : values)
    v = scale * (static_cast<float>(bits() >> 40) / static_cast<float>(1 << 23) - 1.0f);
  return values;
}

} // namespace

Bytes SmallModel::build() const {
  muse::GgufWriter writer;
  auto want = [&](const std::string &key) { return !onKey || onKey(key, writer); };
  const std::string p = "muse-glimmer.";
  auto u32 = [&](const std::string &key, uint32_t value) {
    if (want(key))
      writer.addU32(key, value);
  };
  auto f32 = [&](const std::string &key, float value) {
    if (want(key))
      writer.addF32(key, value);
  };
  auto text = [&](const std::string &key, const std::string &value) {
    if (want(key))
      writer.addString(key, value);
  };
  text("general.architecture", "muse-glimmer");
  text("general.name", "small");
  u32(p + "block_count", layers);
  u32(p + "context_length", context);
  u32(p + "embedding_length", hidden);
  u32(p + "feed_forward_length", ffn);
  u32(p + "attention.head_count", heads);
  u32(p + "attention.head_count_kv", kvHeads);
  u32(p + "attention.key_length", headDim);
  u32(p + "attention.value_length", headDim);
  f32(p + "attention.layer_norm_rms_epsilon", 1e-5f);
  u32(p + "attention.sliding_window", window);
  u32(p + "attention.sliding_window_pattern", period);
  f32(p + "rope.freq_base", ropeBase);
  f32(p + "final_logit_softcapping", softcap);
  f32(p + "logit_scale", logitScale);
  text("tokenizer.ggml.model", "gpt2");
  text("tokenizer.ggml.pre", "llama4");

  std::vector<std::string> tokens, merges;
  for (int b = 0; b < 256; ++b)
    tokens.push_back(byteToken(b));
  for (uint32_t i = 0; i < vocabMerges; ++i) {
    std::string a(1, static_cast<char>('a' + i)), b(1, static_cast<char>('b' + i));
    tokens.push_back(a + b);
    merges.push_back(a + " " + b);
  }
  std::vector<int64_t> types(tokens.size(), 1);
  auto firstSpecial = static_cast<uint32_t>(tokens.size());
  for (const char *special : {"<|begin_of_text|>", "<|end_of_text|>", "<|eot|>", "<|eom|>", "<|start|>",
                              "<|message|>"}) {
    tokens.emplace_back(special);
    types.push_back(3);
  }
  if (want("tokenizer.ggml.tokens"))
    writer.addStrings("tokenizer.ggml.tokens", tokens);
  if (want("tokenizer.ggml.token_type"))
    writer.addIntegers("tokenizer.ggml.token_type", muse::GgufValueType::I32, types);
  if (want("tokenizer.ggml.merges"))
    writer.addStrings("tokenizer.ggml.merges", merges);
  u32("tokenizer.ggml.bos_token_id", firstSpecial);
  u32("tokenizer.ggml.eos_token_id", firstSpecial + 1);
  u32("tokenizer.ggml.eot_token_id", firstSpecial + 2);
  if (want("tokenizer.ggml.add_bos_token"))
    writer.addBool("tokenizer.ggml.add_bos_token", true);
  text("tokenizer.chat_template",
       "{{- bos_token }}{%- for m in messages %}{{- '<|start|>' + m.role + '<|message|>' + m.content + "
       "'<|eot|>' }}{%- endfor %}{%- if add_generation_prompt %}{{- '<|start|>assistant' }}{%- endif %}");

  auto add = [&](std::string name, muse::TensorType wanted, std::vector<uint64_t> dims,
                 const std::vector<float> &values) {
    if (dims.size() == 2 && dims[0] % muse::formatOf(wanted).blockElements)
      wanted = muse::TensorType::Q8_0;
    Bytes bytes = muse::quantizeBlocks(wanted, values);
    if (!onTensor || onTensor(name, wanted, dims, bytes))
      writer.addTensor(std::move(name), wanted, std::move(dims), std::move(bytes));
  };
  auto matrix = [&](const std::string &name, uint64_t in, uint64_t out) {
    add(name, type, {in, out},
        randomValues(seed, name, in * out, std::sqrt(3.0f / static_cast<float>(in))));
  };
  auto norm = [&](const std::string &name, uint64_t width, float middle, float spread) {
    auto values = randomValues(seed, name, width, spread);
    for (float &v : values)
      v += middle;
    add(name, muse::TensorType::F32, {width}, values);
  };
  uint64_t attention = uint64_t(heads) * headDim, kv = uint64_t(kvHeads) * headDim;
  matrix("token_embd.weight", hidden, vocab());
  for (uint32_t l = 0; l < layers; ++l) {
    std::string b = fmt::format("blk.{}.", l);
    norm(b + "attn_norm.weight", hidden, 1.0f, 0.2f);
    matrix(b + "attn_q.weight", hidden, attention);
    matrix(b + "attn_k.weight", hidden, kv);
    matrix(b + "attn_v.weight", hidden, kv);
    norm(b + "attn_q_norm.weight", headDim, qNorm, 0.0f);
    norm(b + "attn_k_norm.weight", headDim, 1.0f, 0.0f);
    matrix(b + "attn_gate.weight", hidden, attention);
    matrix(b + "attn_output.weight", attention, hidden);
    norm(b + "post_attention_norm.weight", hidden, 0.5f, 0.1f);
    norm(b + "ffn_norm.weight", hidden, 1.0f, 0.2f);
    matrix(b + "ffn_gate.weight", hidden, ffn);
    matrix(b + "ffn_up.weight", hidden, ffn);
    matrix(b + "ffn_down.weight", ffn, hidden);
    norm(b + "post_ffw_norm.weight", hidden, 0.5f, 0.1f);
  }
  norm("output_norm.weight", hidden, 1.0f, 0.2f);
  if (!tied)
    matrix("output.weight", hidden, vocab());
  auto bytes = writer.toBytes();
  PEWTER_CHECK(bytes.has_value());
  return std::move(*bytes);
}

} // namespace pewter::testing
