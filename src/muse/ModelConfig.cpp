// SPDX-License-Identifier: Apache-2.0
// Tested by tests/engine/DamagedGguf.cpp.
#include "muse/ModelConfig.h"
#include <algorithm>
#include <cmath>

namespace pewter::muse {
namespace {

constexpr std::string_view kPrefix = "muse-glimmer.";

/// Reads keys of one model, with errors that name file and key.
class Keys {
public:
  explicit Keys(const GgufModel &model) : model_(model) {}

  const GgufValue *find(std::string_view key) const {
    return model_.find(fmt::format("{}{}", kPrefix, key));
  }
  std::unexpected<Error> wrongType(std::string_view key, const GgufValue &value,
                                   std::string_view expected) const {
    return fail(ErrorKind::Validation,
                "GGUF file \"{}\": key \"{}{}\" has the type {}; {} is expected.", model_.label(), kPrefix,
                key, nameOf(value.type), expected);
  }
  std::unexpected<Error> missing(std::string_view key) const {
    return fail(ErrorKind::Validation, "GGUF file \"{}\" lacks the key \"{}{}\", which is required.",
                model_.label(), kPrefix, key);
  }

  Result<uint32_t> integer(std::string_view key, std::optional<uint32_t> otherwise = {}) const {
    const GgufValue *value = find(key);
    if (!value)
      return otherwise ? Result<uint32_t>(*otherwise) : missing(key);
    if (auto number = value->asU32())
      return *number;
    if (const auto *large = std::get_if<uint64_t>(&value->value); large && *large > UINT32_MAX)
      return fail(ErrorKind::Validation, "GGUF file \"{}\": key \"{}{}\" is [{}]; at most {} is expected.",
                  model_.label(), kPrefix, key, *large, UINT32_MAX);
    return wrongType(key, *value, "u32 or u64");
  }
  Result<float> number(std::string_view key, std::optional<float> otherwise = {}) const {
    const GgufValue *value = find(key);
    if (!value)
      return otherwise ? Result<float>(*otherwise) : missing(key);
    auto number = value->asF32();
    if (!number)
      return wrongType(key, *value, "f32");
    if (!std::isfinite(*number))
      return fail(ErrorKind::Validation, "GGUF file \"{}\": key \"{}{}\" is not a finite number.",
                  model_.label(), kPrefix, key);
    return *number;
  }
  const std::string &label() const { return model_.label(); }

private:
  const GgufModel &model_;
};

Result<void> inRange(const Keys &keys, std::string_view what, uint64_t value, uint64_t least,
                     uint64_t most) {
  if (value >= least && value <= most)
    return {};
  return fail(ErrorKind::Validation, "GGUF file \"{}\": {} is [{}]; {} to {} are supported.",
              keys.label(), what, value, least, most);
}

Result<std::vector<bool>> readPattern(const Keys &keys, uint32_t layers) {
  constexpr std::string_view kKey = "attention.sliding_window_pattern";
  const GgufValue *value = keys.find(kKey);
  if (!value)
    return keys.missing(kKey);
  std::vector<bool> sliding(layers);
  if (auto period = value->asU32()) {
    for (uint32_t l = 0; l < layers; ++l)
      sliding[l] = *period == 0 || l % *period < *period - 1;
    return sliding;
  }
  const GgufArray *array = value->asArray();
  auto flags = array ? array->asIntegers() : std::nullopt;
  if (!flags)
    return keys.wrongType(kKey, *value, "u32, or an array of flags,");
  if (flags->size() != layers)
    return fail(ErrorKind::Validation,
                "GGUF file \"{}\": key \"{}{}\" has [{}] entries; {} are expected, one per block.",
                keys.label(), kPrefix, kKey, flags->size(), layers);
  for (uint32_t l = 0; l < layers; ++l) {
    if ((*flags)[l] != 0 && (*flags)[l] != 1)
      return fail(ErrorKind::Validation,
                  "GGUF file \"{}\": entry {} of key \"{}{}\" is [{}]; 0 or 1 is expected.", keys.label(),
                  l, kPrefix, kKey, (*flags)[l]);
    sliding[l] = (*flags)[l] == 1;
  }
  return sliding;
}

} // namespace

uint32_t ModelConfig::slidingLayers() const {
  return static_cast<uint32_t>(std::ranges::count(sliding, true));
}
float ModelConfig::attentionScale() const { return 1.0f / std::sqrt(static_cast<float>(headDim)); }

Result<ModelConfig> ModelConfig::read(const GgufModel &model) {
  const GgufValue *architecture = model.find("general.architecture");
  auto architectureName = architecture ? architecture->asString() : std::nullopt;
  if (!architectureName)
    return fail(ErrorKind::Validation,
                "GGUF file \"{}\" lacks the string \"general.architecture\", which is required.",
                model.label());
  if (*architectureName != "muse-glimmer")
    return fail(ErrorKind::Unsupported,
                "GGUF file \"{}\" holds a model of the architecture [{}]; \"muse-glimmer\" is supported.",
                model.label(), *architectureName);

  Keys keys(model);
  ModelConfig c;
  const GgufValue *name = model.find("general.name");
  c.name = name && name->asString() ? std::string(*name->asString()) : model.label();
  PEWTER_TRY(c.layers, keys.integer("block_count"));
  PEWTER_TRY(c.hidden, keys.integer("embedding_length"));
  PEWTER_TRY(c.heads, keys.integer("attention.head_count"));
  PEWTER_TRY_VOID(inRange(keys, "the number of blocks", c.layers, 1, 1024));
  PEWTER_TRY_VOID(inRange(keys, "the embedding length", c.hidden, 32, 1 << 16));
  PEWTER_TRY_VOID(inRange(keys, "the number of query heads", c.heads, 1, 1024));
  PEWTER_TRY(c.kvHeads, keys.integer("attention.head_count_kv", c.heads));
  PEWTER_TRY_VOID(inRange(keys, "the number of key-value heads", c.kvHeads, 1, c.heads));
  PEWTER_TRY(c.headDim, keys.integer("attention.key_length", c.hidden / c.heads));
  PEWTER_TRY(uint32_t valueDim, keys.integer("attention.value_length", c.headDim));
  PEWTER_TRY(c.ffn, keys.integer("feed_forward_length"));
  PEWTER_TRY(c.context, keys.integer("context_length", 2048));
  PEWTER_TRY(c.rmsEps, keys.number("attention.layer_norm_rms_epsilon"));
  PEWTER_TRY(c.window, keys.integer("attention.sliding_window"));
  PEWTER_TRY(c.logitScale, keys.number("logit_scale"));
  PEWTER_TRY(c.softcap, keys.number("final_logit_softcapping", 30.0f));
  PEWTER_TRY(float fullBase, keys.number("rope.freq_base", 10000.0f));
  PEWTER_TRY(c.ropeBase, keys.number("rope.freq_base_swa", fullBase));
  PEWTER_TRY(c.ropeDim, keys.integer("rope.dimension_count", c.headDim));

  if (c.heads % c.kvHeads)
    return fail(ErrorKind::Validation,
                "GGUF file \"{}\": [{}] query heads are not a multiple of {} key-value heads.",
                model.label(), c.heads, c.kvHeads);
  PEWTER_TRY_VOID(inRange(keys, "the head dimension", c.headDim, 32, 256));
  if (c.headDim % 32)
    return fail(ErrorKind::Unsupported,
                "GGUF file \"{}\": the head dimension is [{}]; a multiple of 32 is supported.",
                model.label(), c.headDim);
  if (valueDim != c.headDim)
    return fail(ErrorKind::Unsupported,
                "GGUF file \"{}\": the value length [{}] differs from the key length {}.", model.label(),
                valueDim, c.headDim);
  if (c.hidden % 32)
    return fail(ErrorKind::Unsupported,
                "GGUF file \"{}\": the embedding length is [{}]; a multiple of 32 is supported.",
                model.label(), c.hidden);
  PEWTER_TRY_VOID(inRange(keys, "the feed-forward length", c.ffn, 32, 1 << 18));
  if (c.ffn % 32)
    return fail(ErrorKind::Unsupported,
                "GGUF file \"{}\": the feed-forward length is [{}]; a multiple of 32 is supported.",
                model.label(), c.ffn);
  PEWTER_TRY_VOID(inRange(keys, "the context length", c.context, 1, 1 << 24));
  PEWTER_TRY_VOID(inRange(keys, "the sliding window", c.window, 1, 1 << 24));
  PEWTER_TRY_VOID(inRange(keys, "the rotated dimension", c.ropeDim, 2, c.headDim));
  if (c.ropeDim % 2)
    return fail(ErrorKind::Validation, "GGUF file \"{}\": the rotated dimension [{}] is odd.",
                model.label(), c.ropeDim);
  if (!(c.rmsEps > 0) || !(c.ropeBase > 1))
    return fail(ErrorKind::Validation,
                "GGUF file \"{}\": the norm epsilon [{}] and the rope base [{}] must be positive, the base "
                "above 1.",
                model.label(), c.rmsEps, c.ropeBase);
  PEWTER_TRY(c.sliding, readPattern(keys, c.layers));

  const GgufValue *tokens = model.find("tokenizer.ggml.tokens");
  const GgufArray *tokenArray = tokens ? tokens->asArray() : nullptr;
  if (!tokenArray || !tokenArray->asStrings())
    return fail(ErrorKind::Validation,
                "GGUF file \"{}\" lacks the string array \"tokenizer.ggml.tokens\", which is required.",
                model.label());
  auto tokenCount = static_cast<uint32_t>(tokenArray->size());
  PEWTER_TRY(c.vocab, keys.integer("vocab_size", tokenCount));
  if (c.vocab != tokenCount)
    return fail(ErrorKind::Validation,
                "GGUF file \"{}\": the vocabulary size is [{}], but the tokenizer has {} tokens.",
                model.label(), c.vocab, tokenCount);
  PEWTER_TRY_VOID(inRange(keys, "the vocabulary size", c.vocab, 2, 1 << 24));
  return c;
}

} // namespace pewter::muse
