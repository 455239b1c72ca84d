// SPDX-License-Identifier: Apache-2.0
//
// Which tensors a muse-glimmer file must hold, and the checks that make a wrong file fail when it is
// loaded and not when it speaks. Tested by tests/engine/DamagedGguf.cpp.
#include "muse/Dequantize.h"
#include "muse/ModelConfig.h"
#include <cmath>
#include <cstring>
#include <unordered_set>

namespace pewter::muse {
namespace {

/// A file up to this size has its contents checked on load; `pewter gguf --check` does larger ones.
constexpr uint64_t kCheckedOnLoad = 64 << 20;

class Finder {
public:
  explicit Finder(const GgufModel &model) : model_(model) {}

  Result<const GgufTensor *> tensor(const std::string &name, uint64_t first, uint64_t second) {
    const GgufTensor *found = model_.findTensor(name);
    std::string expected =
        second ? fmt::format("[{}, {}]", first, second) : fmt::format("[{}]", first);
    if (!found)
      return fail(ErrorKind::Validation, "GGUF file \"{}\" lacks the tensor \"{}\" {}.", model_.label(),
                  name, expected);
    if (!found->format->runnable || found->format->type() == TensorType::F8_E4M3)
      return fail(ErrorKind::Unsupported,
                  "GGUF file \"{}\": tensor \"{}\" has the type {}, which this engine cannot run.",
                  model_.label(), name, found->format->name);
    if (found->dims[0] != first || found->dims[1] != std::max<uint64_t>(second, 1) ||
        found->rank != (second ? 2u : 1u))
      return fail(ErrorKind::Validation,
                  "GGUF file \"{}\": tensor \"{}\" has the shape {}; {} is expected.", model_.label(),
                  name, found->shape(), expected);
    known_.insert(found->name);
    return found;
  }

  Result<const GgufTensor *> vector(const std::string &name, uint64_t width) {
    PEWTER_TRY(const GgufTensor *found, tensor(name, width, 0));
    if (found->format->type() != TensorType::F32 && found->format->type() != TensorType::F16 &&
        found->format->type() != TensorType::BF16)
      return fail(ErrorKind::Unsupported,
                  "GGUF file \"{}\": tensor \"{}\" has the type {}; a vector is F32, F16 or BF16.",
                  model_.label(), name, found->format->name);
    PEWTER_TRY(auto values, dequantizeRows(model_, *found, 0, 1));
    for (size_t i = 0; i < values.size(); ++i)
      if (!std::isfinite(values[i]))
        return fail(ErrorKind::Validation,
                    "GGUF file \"{}\": element {} of tensor \"{}\" is not a finite number.",
                    model_.label(), i, name);
    return found;
  }

  Result<WeightTensor> matrix(const std::string &name, uint64_t inputs, uint64_t outputs) {
    WeightTensor weight;
    PEWTER_TRY(weight.tensor, tensor(name, inputs, outputs));
    if (weight.type() == TensorType::NVFP4_E2M1)
      PEWTER_TRY_VOID(findCompanions(name, weight));
    return weight;
  }

  /// Refuses tensors that nobody asked for: ignoring a bias or an adapter would be silent.
  Result<void> nothingElse() const {
    for (const GgufTensor &tensor : model_.tensors())
      if (!known_.contains(tensor.name))
        return fail(ErrorKind::Unsupported,
                    "GGUF file \"{}\" holds the tensor \"{}\" {}, which is not part of a muse-glimmer "
                    "model.",
                    model_.label(), tensor.name, tensor.shape());
    return {};
  }
  bool sawNvfp4() const { return sawNvfp4_; }

private:
  Result<void> findCompanions(const std::string &name, WeightTensor &weight) {
    sawNvfp4_ = true;
    if (weight.inputs() % 16)
      return fail(ErrorKind::Validation,
                  "GGUF file \"{}\": NVFP4 tensor \"{}\" has [{}] inputs; a multiple of 16 is expected.",
                  model_.label(), name, weight.inputs());
    weight.scale = model_.findTensor(name + ".nvfp4_scale");
    const GgufTensor *outer = model_.findTensor(name + ".nvfp4_scale2");
    if (!weight.scale || weight.scale->format->type() != TensorType::F8_E4M3 ||
        weight.scale->dims[0] != weight.inputs() / 16 || weight.scale->dims[1] != weight.outputs())
      return fail(ErrorKind::Validation,
                  "GGUF file \"{}\": NVFP4 tensor \"{}\" needs the F8_E4M3FN tensor \"{}.nvfp4_scale\" "
                  "[{}, {}].",
                  model_.label(), name, name, weight.inputs() / 16, weight.outputs());
    if (!outer || outer->format->type() != TensorType::F32 || outer->elements() != 1)
      return fail(ErrorKind::Validation,
                  "GGUF file \"{}\": NVFP4 tensor \"{}\" needs the F32 tensor \"{}.nvfp4_scale2\" [1].",
                  model_.label(), name, name);
    for (std::byte code : model_.dataOf(*weight.scale))
      if ((static_cast<uint8_t>(code) & 127) == 127)
        return fail(ErrorKind::Validation,
                    "GGUF file \"{}\": tensor \"{}.nvfp4_scale\" holds a scale that is not a number.",
                    model_.label(), name);
    std::memcpy(&weight.scale2, model_.dataOf(*outer).data(), 4);
    if (!std::isfinite(weight.scale2) || weight.scale2 <= 0)
      return fail(ErrorKind::Validation,
                  "GGUF file \"{}\": tensor \"{}.nvfp4_scale2\" is [{}]; a positive number is expected.",
                  model_.label(), name, weight.scale2);
    known_.insert(weight.scale->name);
    known_.insert(outer->name);
    if (model_.findTensor(name + ".nvfp4_input_scale_inv"))
      return fail(ErrorKind::Unsupported,
                  "GGUF file \"{}\": tensor \"{}\" has an input scale: four-bit activations are not "
                  "supported.",
                  model_.label(), name);
    return {};
  }

  const GgufModel &model_;
  std::unordered_set<std::string_view> known_;
  bool sawNvfp4_ = false;
};

/// The one value that all elements of a norm have, over all layers so far in `value`.
Result<void> checkConstant(const GgufModel &model, const GgufTensor &norm, std::optional<float> &value) {
  PEWTER_TRY(auto values, dequantizeRows(model, norm, 0, 1));
  for (float element : values) {
    if (!value)
      value = element;
    if (element != *value)
      return fail(ErrorKind::Unsupported,
                  "GGUF file \"{}\": tensor \"{}\" holds [{}] beside {}; one constant is expected (the "
                  "norm may be genuinely learned).",
                  model.label(), norm.name, element, *value);
  }
  return {};
}

Result<void> checkPrecision(const GgufModel &model, bool nvfp4) {
  const GgufValue *lane = model.find("muser.weight_precision");
  auto text = lane ? lane->asString() : std::nullopt;
  std::string_view expected = nvfp4 ? "nvfp4" : "q4_k_xl";
  if ((lane && text != expected) || (nvfp4 && !lane))
    return fail(ErrorKind::Validation,
                "GGUF file \"{}\": \"muser.weight_precision\" is [{}], and {} tensors are NVFP4; \"{}\" is "
                "expected.",
                model.label(), text.value_or(lane ? "not a string" : "absent"), nvfp4 ? "some" : "no",
                expected);
  const GgufValue *activation = model.find("muser.activation_precision");
  if (activation && activation->asString() != std::optional<std::string_view>("f16"))
    return fail(ErrorKind::Unsupported,
                "GGUF file \"{}\": \"muser.activation_precision\" is [{}]; \"f16\" is supported.",
                model.label(), activation->asString().value_or("not a string"));
  return {};
}

} // namespace

Result<ModelTensors> ModelTensors::find(const GgufModel &model, const ModelConfig &c) {
  Finder finder(model);
  ModelTensors out;
  PEWTER_TRY(out.embedding, finder.matrix("token_embd.weight", c.hidden, c.vocab));
  PEWTER_TRY(out.outputNorm, finder.vector("output_norm.weight", c.hidden));
  out.head = out.embedding;
  if (model.findTensor("output.weight")) {
    PEWTER_TRY(out.head, finder.matrix("output.weight", c.hidden, c.vocab));
  }
  std::optional<float> qValue, kValue;
  for (uint32_t l = 0; l < c.layers; ++l) {
    auto name = [l](std::string_view part) { return fmt::format("blk.{}.{}.weight", l, part); };
    LayerTensors layer;
    PEWTER_TRY(layer.attnNorm, finder.vector(name("attn_norm"), c.hidden));
    PEWTER_TRY(layer.q, finder.matrix(name("attn_q"), c.hidden, c.attentionDim()));
    PEWTER_TRY(layer.k, finder.matrix(name("attn_k"), c.hidden, c.kvDim()));
    PEWTER_TRY(layer.v, finder.matrix(name("attn_v"), c.hidden, c.kvDim()));
    PEWTER_TRY(layer.gate, finder.matrix(name("attn_gate"), c.hidden, c.attentionDim()));
    PEWTER_TRY(layer.qNorm, finder.vector(name("attn_q_norm"), c.headDim));
    PEWTER_TRY(layer.kNorm, finder.vector(name("attn_k_norm"), c.headDim));
    PEWTER_TRY(layer.output, finder.matrix(name("attn_output"), c.attentionDim(), c.hidden));
    PEWTER_TRY(layer.postAttnNorm, finder.vector(name("post_attention_norm"), c.hidden));
    PEWTER_TRY(layer.ffnNorm, finder.vector(name("ffn_norm"), c.hidden));
    PEWTER_TRY(layer.ffnGate, finder.matrix(name("ffn_gate"), c.hidden, c.ffn));
    PEWTER_TRY(layer.ffnUp, finder.matrix(name("ffn_up"), c.hidden, c.ffn));
    PEWTER_TRY(layer.ffnDown, finder.matrix(name("ffn_down"), c.ffn, c.hidden));
    PEWTER_TRY(layer.postFfnNorm, finder.vector(name("post_ffw_norm"), c.hidden));
    PEWTER_TRY_VOID(checkConstant(model, *layer.qNorm, qValue));
    PEWTER_TRY_VOID(checkConstant(model, *layer.kNorm, kValue));
    out.layers.push_back(layer);
  }
  PEWTER_TRY_VOID(finder.nothingElse());
  if (*kValue != 1.0f)
    return fail(ErrorKind::Unsupported,
                "GGUF file \"{}\": the attn_k_norm tensors hold [{}]; 1 is expected (the norm may be "
                "genuinely learned).",
                model.label(), *kValue);
  out.qNormValue = *qValue;
  PEWTER_TRY_VOID(checkPrecision(model, finder.sawNvfp4()));
  if (model.fileBytes() <= kCheckedOnLoad)
    PEWTER_TRY_VOID(model.checkContents());
  return out;
}

} // namespace pewter::muse
