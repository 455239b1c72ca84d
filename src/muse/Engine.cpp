// SPDX-License-Identifier: Apache-2.0
// Tested by tests/engine/Goldens.cpp and tests/seed/SeedTable.cpp.
#include "muse/Engine.h"
#include "muse/KernelArguments.h"
#include "muse/KvPlane.h"
#include <algorithm>
#include <array>
#include <cmath>

namespace pewter::muse {
namespace {

/// The part of a kernel's name that says the format.
std::string formatName(TensorType type) {
  if (type == TensorType::NVFP4_E2M1)
    return "nvfp4";
  std::string name(nameOf(type));
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

bool hasInt8Matmul(TensorType type) {
  switch (type) {
  case TensorType::Q8_0:
  case TensorType::Q4_0:
  case TensorType::IQ4_NL:
  case TensorType::MXFP4:
  case TensorType::Q4_K:
  case TensorType::Q5_K:
  case TensorType::Q6_K:
    return true;
  default:
    return false;
  }
}

struct MatvecShape {
  uint32_t rows, simdgroups;
};
Result<MatvecShape> shapeOf(std::string_view name) {
  if (name == "1r1s")
    return MatvecShape{1, 1};
  if (name == "2r1s")
    return MatvecShape{2, 1};
  if (name == "4r2s" || name == "held")
    return MatvecShape{4, 2};
  return fail(ErrorKind::Validation, "The matvec geometry is [{}]; 1r1s, 2r1s, 4r2s and held exist.", name);
}

} // namespace

namespace {

/// Places of a row (kernels/matvec_held.metal), of which a thread has one at a time; 0 when the kernels do not take
/// the matrix.
uint32_t heldPlaces(const Matrix &m) {
  if (m.data.offset % 16)
    return 0;
  switch (m.type) {
  case TensorType::Q4_K:
  case TensorType::Q5_K:
    return m.rowBytes % 16 == 0 ? m.inputs / 64 : 0;
  case TensorType::Q6_K:
    return m.rowBytes % 4 == 0 ? m.inputs / 64 : 0;
  case TensorType::Q8_0:
    return m.rowBytes % 16 == 0 ? m.inputs / 32 * 34 / 16 : 0;
  default:
    return 0;
  }
}

} // namespace

HeldLaunch heldLaunch(const Matrix &m, uint32_t units, uint32_t rows, const HeldTuning &tuning) {
  const uint32_t places = heldPlaces(m), passes = (places + tuning.mostThreads - 1) / tuning.mostThreads;
  const uint32_t threads = ((places + passes - 1) / passes + 31) / 32 * 32;
  const uint32_t most = std::max(1u, tuning.cores * std::max(1u, tuning.threadsOfCore / (rows > 2 ? 2 : 1) / threads));
  return {threads, std::min(units, most)};
}

Result<std::shared_ptr<Engine>> Engine::create(std::shared_ptr<Context> context,
                                               std::shared_ptr<const GgufModel> model,
                                               EngineOptions options) {
  auto engine = std::shared_ptr<Engine>(new Engine);
  engine->context_ = std::move(context);
  engine->model_ = std::move(model);
  engine->options_ = std::move(options);
  PEWTER_TRY(engine->config_, ModelConfig::read(*engine->model_));
  const ModelConfig &c = engine->config_;
  uint32_t wanted = engine->options_.maxContext;
  if (wanted > c.context)
    return fail(ErrorKind::Validation, "A context of [{}] was asked for; the model \"{}\" has at most {}.",
                wanted, c.name, c.context);
  engine->maxContext_ = wanted ? wanted : c.context;
  PEWTER_TRY(engine->tokenizer_, Tokenizer::load(*engine->model_));
  PEWTER_TRY(engine->weights_, Weights::create(*engine->context_, engine->model_, c, engine->options_.makeWeights));
  PEWTER_TRY_VOID(engine->buildKernels());
  PEWTER_TRY_VOID(engine->buildRotations());
  engine->options_.makeWeights = {};
  engine->options_.progress = {}; // they may refer to what ends with this call
  return engine;
}

Result<void> Engine::buildKernels() {
  if (options_.matvec.empty())
    // Held activations are 16-bit integers, which strict math does not allow.
    options_.matvec = context_->geometry() == Geometry::Cpu ? "2r1s"
                      : context_->unifiedMemory() || context_->options().math == MathMode::Strict ? "4r2s"
                                                                                                   : "held";
  // The fused kernels of a GPU take some formats and widths of heads.
  auto isHeldLayer = [](const LayerWeights &l) {
    return std::ranges::all_of(std::array{&l.q, &l.k, &l.v, &l.gate, &l.output, &l.ffnGate, &l.ffnUp, &l.ffnDown},
                               [](const Matrix *m) { return heldPlaces(*m) > 0; }) &&
           l.ffnGate.type == l.ffnUp.type;
  };
  const bool isHeld = options_.matvec == "held" && (config_.headDim == 64 || config_.headDim == 128) &&
                      heldPlaces(weights_->head) > 0 && std::ranges::all_of(weights_->layers, isHeldLayer);
  if (options_.matvec == "held" && !isHeld)
    options_.matvec = "4r2s";
  PEWTER_TRY(MatvecShape shape, shapeOf(options_.matvec));
  std::string kv = options_.kv == KvType::F16 ? "f16" : "f32";
  std::string embedding = "embedding_" + formatName(weights_->embedding.type);
  std::string store = "kv_store_" + kv, attend = "attention_splitk_" + kv + "_1sg";
  const std::string rmsNorm = isHeld ? "rms_norm_32sg" : "rms_norm_1sg";
  const std::string normAddNorm = isHeld ? "norm_add_norm_fixed" : "norm_add_norm_1sg";
  std::vector<std::string> names = {embedding,          rmsNorm,             "head_norm_1sg",
                                    normAddNorm,         "rotate_adjacent",   store,
                                    attend,             "attention_reduce_1sg", "gate_sigmoid",
                                    "silu_mul",         "scale_softcap",     "argmax_phase1_1sg",
                                    "argmax_phase2_1sg"};
  for (const char *name : {"to_tiles", "take_row", "rms_norm_tiles", "norm_add_norm_tiles",
                           "head_norm_tiles", "rotate_tiles"})
    names.emplace_back(name);
  for (const char *name : {"kv_stage_", "kv_publish_", "attention_tiles_"})
    names.push_back(name + kv);
  // Eight sums of a SIMD group are as many registers as a processor with 512-bit vectors has to spare.
  if (options_.matmulOutputs == 0)
    options_.matmulOutputs =
        context_->geometry() == Geometry::Cpu && !context_->deviceName().contains("avx512") ? 2 : 8;
  if (options_.matmulOutputs != 8 && options_.matmulOutputs != 2)
    return fail(ErrorKind::Validation, "A matmul of [{}] outputs at a time was asked for; 8 and 2 exist.",
                options_.matmulOutputs);
  auto matmulName = [&](TensorType type) {
    return fmt::format("matmul_{}_32o32r{}", formatName(type), options_.matmulOutputs == 2 ? "_2" : "");
  };
  auto matvecName = [&](TensorType type) {
    return fmt::format("matvec_{}_{}", formatName(type), isHeld ? "4r2s" : options_.matvec);
  };
  auto int8Name = [&](TensorType type) {
    return fmt::format("matmul_{}_int8_32o32r{}", formatName(type), options_.matmulOutputs == 2 ? "_2" : "");
  };
  std::vector<TensorType> integers;
  if (options_.activations == ActivationType::Int8)
    integers = weights_->matrixTypes();
  std::erase_if(integers, [](TensorType type) { return !hasInt8Matmul(type); });
  for (TensorType type : weights_->matrixTypes())
    names.insert(names.end(), {matvecName(type), matmulName(type)});
  for (TensorType type : integers)
    names.insert(names.end(), {int8Name(type), "quantize_tiles"});
  const std::string heads = "finish_heads_" + kv, split = fmt::format("attention_split_{}_d{}", kv, config_.headDim);
  auto heldName = [&](const char *what, TensorType type, uint32_t rows) {
    return fmt::format("{}_{}_held_{}", what, formatName(type), rows);
  };
  const bool hasGemm = isHeld && integers.empty() && std::ranges::all_of(weights_->layers, [](const LayerWeights &l) {
    return std::ranges::all_of(std::array{&l.q, &l.k, &l.v, &l.gate, &l.output, &l.ffnGate, &l.ffnUp, &l.ffnDown},
                               [](const Matrix *m) { return m->outputs % 128 == 0 && m->inputs % 32 == 0; });
  });
  const std::string units = fmt::format("attention_units_f16_d{}", config_.headDim);
  auto dequantizeName = [&](TensorType type) { return "dequantize_" + formatName(type); };
  const std::string tiles = hasGemm ? "_tiles_32sg" : "_tiles";
  if (hasGemm) {
    names.insert(names.end(), {"half_rows", "gemm_half_tiles", "rms_norm_tiles_32sg", "norm_add_norm_tiles_32sg"});
    for (TensorType type : weights_->matrixTypes())
      names.push_back(dequantizeName(type));
    if (options_.kv == KvType::F16)
      names.push_back(units);
  }
  if (isHeld) {
    names.insert(names.end(), {heads, split, "attention_join_gate", "rms_norm_fixed"});
    for (uint32_t rows : {1u, 2u, 4u})
      for (TensorType type : weights_->matrixTypes())
        names.insert(names.end(), {heldName("matvecs", type, rows), heldName("gated", type, rows)});
  }
  PEWTER_TRY(registry_, PipelineRegistry::create(*context_, context_->options().math, names, options_.progress));
  auto get = [&](std::string_view name) { return &registry_.get(name); };
  kernels_.embedding = get(embedding);
  kernels_.rmsNorm = get(rmsNorm);
  kernels_.normThreads = isHeld ? 1024 : 32;
  kernels_.headNorm = get("head_norm_1sg");
  kernels_.normAddNorm = get(normAddNorm);
  kernels_.rotate = get("rotate_adjacent");
  kernels_.kvStore = get(store);
  kernels_.attend = get(attend);
  kernels_.attendReduce = get("attention_reduce_1sg");
  kernels_.gate = get("gate_sigmoid");
  kernels_.siluMul = get("silu_mul");
  kernels_.softcap = get("scale_softcap");
  kernels_.argmax1 = get("argmax_phase1_1sg");
  kernels_.argmax2 = get("argmax_phase2_1sg");
  kernels_.toTiles = get("to_tiles");
  kernels_.takeRow = get("take_row");
  kernels_.rmsNormTiles = get("rms_norm" + tiles);
  kernels_.normAddNormTiles = get("norm_add_norm" + tiles);
  kernels_.tileNormThreads = hasGemm ? 1024 : 32;
  kernels_.hasGemm = hasGemm;
  if (hasGemm) {
    kernels_.halfRows = get("half_rows");
    kernels_.gemm = get("gemm_half_tiles");
    if (options_.kv == KvType::F16)
      kernels_.attendUnits = get(units);
    for (TensorType type : weights_->matrixTypes())
      kernels_.dequantize[type] = get(dequantizeName(type));
  }
  kernels_.headNormTiles = get("head_norm_tiles");
  kernels_.rotateTiles = get("rotate_tiles");
  kernels_.kvStage = get("kv_stage_" + kv);
  kernels_.kvPublish = get("kv_publish_" + kv);
  kernels_.attendTiles = get("attention_tiles_" + kv);
  for (TensorType type : weights_->matrixTypes())
    kernels_.matmul[type] = get(matmulName(type));
  for (TensorType type : integers)
    kernels_.matmulInt8[type] = get(int8Name(type));
  if (!integers.empty())
    kernels_.quantizeTiles = get("quantize_tiles");
  // A processor's second cache has room for the activations of two tiles beside what streams through it. (0.95
  // billion weights in Q4_K, tokens a second with one, two and four: 126, 136, 106.)
  kernels_.matmulTiles = context_->geometry() == Geometry::Cpu ? 2 : kPrefillRows / 32;
  kernels_.matmulInt8Tiles = context_->geometry() == Geometry::Cpu ? 4 : kPrefillRows / 32;
  for (TensorType type : weights_->matrixTypes())
    kernels_.matvec[type] = {get(matvecName(type)), shape.rows * shape.simdgroups, 32 * shape.simdgroups};
  kernels_.isFused = isHeld;
  if (isHeld) {
    kernels_.finishHeads = get(heads);
    kernels_.attendSplit = get(split);
    kernels_.joinGate = get("attention_join_gate");
    kernels_.rmsNormFixed = get("rms_norm_fixed");
    for (TensorType type : weights_->matrixTypes())
      for (uint32_t i = 0; i < 3; ++i)
        kernels_.held[type][i] = {get(heldName("matvecs", type, 1u << i)), get(heldName("gated", type, 1u << i))};
  }
  return {};
}

Result<void> Engine::buildRotations() {
  uint32_t pairs = config_.ropeDim / 2;
  PEWTER_TRY(rotations_, context_->allocate(uint64_t(maxContext_) * pairs * 8, "rotations"));
  auto *table = static_cast<float *>(rotations_->contents());
  std::vector<double> frequency(pairs);
  for (uint32_t i = 0; i < pairs; ++i)
    frequency[i] = std::pow(static_cast<double>(config_.ropeBase), -2.0 * i / config_.ropeDim);
  for (uint32_t position = 0; position < maxContext_; ++position)
    for (uint32_t i = 0; i < pairs; ++i) {
      double angle = position * frequency[i];
      *table++ = static_cast<float>(std::cos(angle));
      *table++ = static_cast<float>(std::sin(angle));
    }
  PEWTER_TRY(rotations_, context_->settled(std::move(rotations_)));
  return {};
}

Result<BatchWorkspace *> Engine::workspace(uint32_t stride, bool withLogits) {
  BatchWorkspace &w = workspaces_[stride];
  const ModelConfig &c = config_;
  auto make = [&](NS::SharedPtr<MTL::Buffer> &buffer, uint64_t width, uint32_t bytes,
                  const char *label) -> Result<void> {
    if (buffer)
      return {};
    PEWTER_TRY(buffer, context_->allocateForDevice(width * stride * bytes, label));
    return {};
  };
  if (w.stride == 0) {
    PEWTER_TRY(w.tokens, context_->allocate(stride * 4, "batch_tokens"));
    PEWTER_TRY_VOID(make(w.normed, c.hidden, 4, "batch_normed"));
    PEWTER_TRY_VOID(make(w.postNorm, c.hidden, 4, "batch_post_norm"));
    PEWTER_TRY_VOID(make(w.projected, c.hidden, 4, "batch_projected"));
    PEWTER_TRY_VOID(make(w.attention, c.attentionDim(), 4, "batch_attention"));
    PEWTER_TRY_VOID(make(w.k, c.kvDim(), 4, "batch_k"));
    PEWTER_TRY_VOID(make(w.v, c.kvDim(), 4, "batch_v"));
    PEWTER_TRY_VOID(make(w.kStage, c.kvDim(), kvElementBytes(), "k_stage"));
    PEWTER_TRY_VOID(make(w.vStage, c.kvDim(), kvElementBytes(), "v_stage"));
    const uint32_t widest = std::max({c.ffn, c.hidden, c.attentionDim()});
    PEWTER_TRY_VOID(make(w.ffnGate, widest, 4, "batch_ffn_gate"));
    PEWTER_TRY_VOID(make(w.ffnUp, widest, 4, "batch_ffn_up"));
    w.embedded = w.gate = w.ffnGate;
    w.hidden = w.q = w.ffnUp;
    if (kernels_.quantizeTiles)
      PEWTER_TRY_VOID(make(w.quantized, widest / 32, kInt8BlockBytes / 32,
                           "batch_quantized"));
    if (kernels_.hasGemm) {
      PEWTER_TRY_VOID(make(w.rows, widest, 2, "batch_rows"));
      uint64_t most = 0;
      for (const LayerWeights &l : weights_->layers)
        for (const Matrix *m : {&l.q, &l.k, &l.v, &l.gate, &l.output, &l.ffnGate, &l.ffnUp, &l.ffnDown})
          most = std::max(most, uint64_t(m->inputs) * m->outputs);
      PEWTER_TRY(w.weights, context_->allocateForDevice(most * 2, "batch_weights"));
    }
    w.stride = stride;
    // Only the widest is worth keeping beside the present one.
    std::erase_if(workspaces_, [&](const auto &entry) {
      return entry.first != stride && entry.first != prefillRows();
    });
  }
  if (withLogits && !w.logits) {
    PEWTER_TRY(w.logits, context_->allocate(uint64_t(c.vocab) * stride * 4, "batch_logits"));
  }
  return &workspaces_[stride];
}

uint32_t Engine::attentionSplits(uint32_t rows) const {
  // A core needs no more workers than keep it busy, and each record costs as much as a few rows.
  uint32_t blocks = (rows + 31) / 32;
  if (kernels_.isFused)
    return std::clamp(blocks, 1u, Activations::kMostSplits);
  return context_->geometry() == Geometry::Cpu ? std::clamp((blocks + 1) / 2, 1u, 32u) : splitK(rows).threadgroups;
}

Result<Activations *> Engine::packedActivations() {
  if (!packed_) {
    PEWTER_TRY(Activations made, Activations::create(*context_, config_, /*rows=*/4, kernels_.isFused));
    packed_ = std::move(made);
  }
  return &*packed_;
}

} // namespace pewter::muse
