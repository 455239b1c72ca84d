// SPDX-License-Identifier: Apache-2.0
//
// Engine: what all sequences of one model share: context, kernels, mapped weights, the table of
// rotations, the scheduler. Sequence (Sequence.h) is what each has for itself.
//
//   PEWTER_TRY(auto context, Context::create({}));
//   PEWTER_TRY(auto engine, Engine::create(context, model, {}));
//   PEWTER_TRY(auto sequence, Sequence::create(engine, {.maxContext = 2048}));
//   PEWTER_TRY_VOID(sequence->prefill(prompt, {}));
//   std::span<const float> logits = sequence->logits();
//
// Immutable after create but for the scheduler, which is thread safe.
#pragma once
#include "muse/AcceleratorScheduler.h"
#include "muse/Activations.h"
#include "muse/Tokenizer.h"
#include "muse/Weights.h"
#include <array>
#include <functional>

namespace pewter::muse {

/// Rows of a prefill chunk; fewer when a decode waits.
inline constexpr uint32_t kPrefillRows = 512, kPrefillRowsWhenBusy = 64;
/// The same where weights are dequantised once a chunk, for matrix units.
inline constexpr uint32_t kPrefillRowsOnUnits = 2048;

enum class KvType { F16, F32 };

/// What matrices of prefill multiply: floats, or integers of eight bits with a scale for each 32 of them. Weights
/// of 16 or 32 bits and NVFP4 always meet floats, and so does decoding.
enum class ActivationType { F32, Int8 };

/// How matvecs with held activations are launched; what an H200 likes.
struct HeldTuning {
  uint32_t cores = 132, threadsOfCore = 640, mostThreads = 192, prefetchBytes = 0;
};

struct EngineOptions {
  uint32_t maxContext = 0;   ///< The longest sequence; 0 takes the model's.
  KvType kv = KvType::F16;
  ActivationType activations = ActivationType::F32;
  bool serialPrefill = false; ///< A serial encoder for prefill, to compare with the concurrent one.
  /// Rows per SIMD group and SIMD groups per threadgroup of matvec kernels: "1r1s", "2r1s", "4r2s"; or
  /// "held" (kernels/matvecs_held.metal), and "4r2s" where the model has matrices that it does not take. "" takes
  /// what suits the device.
  std::string matvec = {};
  HeldTuning held = {};
  /// Outputs that a matmul of prefill sums at a time, 8 or 2; 0 takes what suits the device.
  uint32_t matmulOutputs = 0;
  /// Fills a buffer of the device with a shard's bytes instead of uploading the file's: for measuring a shape
  /// without having its weights.
  WeightMaker makeWeights = {};
  /// Told the fraction of the kernels that are built, when that takes compiling.
  std::function<void(double)> progress = {};
};

/// Matrix-vector kernels of one format.
struct MatvecKernel {
  const Kernel *kernel = nullptr;
  uint32_t rowsPerGroup = 1, threads = 32;
};

/// The launch of a held kernel.
struct HeldLaunch {
  uint32_t threads = 0, threadgroups = 0;
};
/// For `rows` activations of a matrix like `matrix`, whose threadgroups share `units` of outputs.
HeldLaunch heldLaunch(const Matrix &matrix, uint32_t units, uint32_t rows, const HeldTuning &tuning);

/// The fused kernels of one format, for 1, 2 or 4 rows.
struct HeldKernels {
  const Kernel *matvecs = nullptr, *gated = nullptr;
};

/// Every kernel by its role.
struct Kernels {
  uint32_t normThreads = 32; ///< Of rmsNorm and normAddNorm.
  const Kernel *embedding, *rmsNorm, *headNorm, *normAddNorm, *rotate, *kvStore, *attend, *attendReduce,
      *gate, *siluMul, *softcap, *argmax1, *argmax2;
  bool isFused = false; ///< Decode takes these; they exist only then.
  const Kernel *finishHeads, *attendSplit, *joinGate, *rmsNormFixed;
  std::unordered_map<TensorType, std::array<HeldKernels, 3>> held;
  bool hasGemm = false; ///< Prefill takes these.
  const Kernel *halfRows, *gemm;
  const Kernel *attendUnits = nullptr; ///< With a cache of halves.
  std::unordered_map<TensorType, const Kernel *> dequantize;
  uint32_t tileNormThreads = 32; ///< Of rmsNormTiles and normAddNormTiles.
  const Kernel *toTiles, *takeRow, *rmsNormTiles, *normAddNormTiles, *headNormTiles,
      *rotateTiles, *kvStage, *kvPublish, *attendTiles;
  std::unordered_map<TensorType, MatvecKernel> matvec;
  std::unordered_map<TensorType, const Kernel *> matmul, matmulInt8;
  const Kernel *quantizeTiles = nullptr; ///< Null where activations stay floats.
  uint32_t matmulTiles = 1; ///< Tiles of rows that a threadgroup of a matmul walks at most.
  uint32_t matmulInt8Tiles = 1;
};

/// Activations of a prefill chunk, in tiles of 32 rows (kernels/prefill_matmul.metal): [stride / 32][width][32].
struct BatchWorkspace {
  uint32_t stride = 0; ///< Rows of the chunk, rounded up to 32.
  NS::SharedPtr<MTL::Buffer> tokens;                          ///< u32 [stride]
  NS::SharedPtr<MTL::Buffer> normed, postNorm, projected;     ///< f32 [hidden]
  NS::SharedPtr<MTL::Buffer> attention;                       ///< f32 [heads * headDim]
  NS::SharedPtr<MTL::Buffer> k, v;                            ///< f32 [kvHeads * headDim]
  NS::SharedPtr<MTL::Buffer> kStage, vStage;                  ///< one layer's chunk in the cache's layout
  NS::SharedPtr<MTL::Buffer> ffnGate, ffnUp;                  ///< f32 [ffn]
  /// What is never needed beside those is in the same memory, embedded and gate in that of ffnGate.
  NS::SharedPtr<MTL::Buffer> embedded;                        ///< f32 [stride][hidden], by rows
  NS::SharedPtr<MTL::Buffer> hidden;                          ///< f32 [hidden], before and behind the layers
  NS::SharedPtr<MTL::Buffer> q, gate;                         ///< f32 [heads * headDim]
  NS::SharedPtr<MTL::Buffer> quantized;                       ///< blocks of kernels/prefill_int8.metal, of the widest
  NS::SharedPtr<MTL::Buffer> logits;                          ///< f32 [vocab], when all are wanted
  NS::SharedPtr<MTL::Buffer> rows, weights; ///< With matrix units: f16 [stride][widest], and of the largest matrix
};

class Engine {
public:
  static Result<std::shared_ptr<Engine>> create(std::shared_ptr<Context> context,
                                                std::shared_ptr<const GgufModel> model,
                                                EngineOptions options);

  const Context &context() const { return *context_; }
  const ModelConfig &config() const { return config_; }
  const EngineOptions &options() const { return options_; }
  const Weights &weights() const { return *weights_; }
  const Kernels &kernels() const { return kernels_; }
  const PipelineRegistry &registry() const { return registry_; }
  const Tokenizer &tokenizer() const { return *tokenizer_; }
  const GgufModel &model() const { return *model_; }
  AcceleratorScheduler &scheduler() { return scheduler_; }
  uint32_t maxContext() const { return maxContext_; }
  /// (cos, sin) per position and pair: f32 [maxContext][ropeDim / 2][2].
  View rotations() const { return {rotations_.get(), 0}; }
  /// The workspace of chunks of `stride` rows; only while holding a permit. The widest is kept.
  Result<BatchWorkspace *> workspace(uint32_t stride, bool withLogits);
  /// Rows of a prefill chunk at most.
  uint32_t prefillRows() const { return kernels_.hasGemm ? kPrefillRowsOnUnits : kPrefillRows; }
  /// Buffers for four rows that decode together; only while holding a permit.
  Result<Activations *> packedActivations();
  /// Workers per key-value head in the attention of one query over `rows` rows: 1 to 32.
  uint32_t attentionSplits(uint32_t rows) const;
  uint32_t kvElementBytes() const { return options_.kv == KvType::F16 ? 2 : 4; }

private:
  Engine() = default;
  Result<void> buildKernels();
  Result<void> buildRotations();

  std::shared_ptr<Context> context_;
  std::shared_ptr<const GgufModel> model_;
  EngineOptions options_;
  ModelConfig config_;
  uint32_t maxContext_ = 0;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::shared_ptr<const Weights> weights_;
  PipelineRegistry registry_;
  Kernels kernels_{};
  NS::SharedPtr<MTL::Buffer> rotations_;
  AcceleratorScheduler scheduler_;
  std::unordered_map<uint32_t, BatchWorkspace> workspaces_; ///< By stride.
  std::optional<Activations> packed_;
};

} // namespace pewter::muse
