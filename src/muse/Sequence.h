// SPDX-License-Identifier: Apache-2.0
//
// Sequence: one running text: its key-value planes, activations, position and last logits. Work is
// recorded on one command buffer per token (decode) or per chunk (prefill), under a permit of the
// engine's scheduler; the position moves only after the device has finished without an error, so a
// failed or cancelled step leaves the sequence usable.
//
// One thread at a time per sequence; sequences of one engine may run from different threads.
#pragma once
#include "muse/Engine.h"
#include "muse/KvPlane.h"
#include <atomic>
#include <functional>
#include <span>

namespace pewter::muse {

struct SequenceOptions {
  uint32_t id = 0;         ///< For the scheduler; distinct among sequences of an engine.
  uint32_t maxContext = 0; ///< 0 takes the engine's.
};

struct PrefillOptions {
  const std::atomic<bool> *cancel = nullptr;      ///< Looked at between chunks.
  std::function<void(uint32_t done)> progress = {}; ///< Tokens done.
  /// Called for each chunk with the logits of every token, in tiles of 32: logit `id` of token `t` is at
  /// ((t / 32) * vocabulary + id) * 32 + t % 32.
  std::function<void(uint32_t first, uint32_t count, std::span<const float> logits)>
      onLogits = {};
  std::vector<PhaseSample> *profile = nullptr; ///< Time each group.
  GraphRecord *record = nullptr;
};

/// The cache of one layer.
struct LayerCache {
  KvPlane plane;
  uint32_t blocks = 0;               ///< Of 32 rows.
  NS::SharedPtr<MTL::Buffer> k, v;   ///< see kernels/kv_cache.metal

  /// Copies physical row `row` to or from plain elements: kvDim of K, then kvDim of V.
  void readRow(const ModelConfig &config, uint32_t elementBytes, uint32_t row, std::byte *plain) const;
  void writeRow(const ModelConfig &config, uint32_t elementBytes, uint32_t row, const std::byte *plain);
};

class Sequence {
public:
  static constexpr uint32_t kMaxAhead = Activations::kMaxAhead; ///< Known tokens that may be in flight.
  static constexpr size_t kMaxTogether = 4;                     ///< Sequences of one packed decode.

  static Result<std::unique_ptr<Sequence>> create(std::shared_ptr<Engine> engine, SequenceOptions options);

  /// Feeds tokens and leaves the logits that follow the last.
  Result<void> prefill(std::span<const uint32_t> tokens, const PrefillOptions &options);
  /// Feeds one token and leaves the logits that follow it.
  Result<void> decode(uint32_t token);
  /// Feeds token i to sequence i, all in one command buffer: 1 to 4 sequences of one engine, each once.
  /// Each has the bits that decode() would have given it. An error leaves all of them as they were.
  static Result<void> decodeTogether(std::span<Sequence *const> sequences, std::span<const uint32_t> tokens,
                                     GraphRecord *record = nullptr);
  /// Feeds known tokens, one command buffer each, waiting only for the last.
  Result<void> forceTokens(std::span<const uint32_t> tokens);
  /// Feeds `token` and then, `count` - 1 times, the best token that follows, all found on the device: a
  /// command takes its id from the one before it, and up to kGreedyAhead of them are committed ahead.
  /// The result is the `count` best tokens; the last of them is not fed. `goOn` (may be empty) is asked
  /// after each whether to go on; stopping early leaves the sequence as if no more had been fed. An error
  /// leaves it as it was before the block that failed.
  Result<std::vector<uint32_t>> decodeGreedy(uint32_t token, uint32_t count,
                                             const std::function<bool(uint32_t)> &goOn);
  static constexpr uint32_t kGreedyAhead = 16;
  /// One decode with each group timed by the device.
  Result<std::vector<PhaseSample>> profileDecode(uint32_t token);
  /// What one decode at the present position would record. Runs it.
  Result<GraphRecord> recordDecode(uint32_t token);

  std::span<const float> logits() const;
  /// The device's own argmax of the logits; an error when one is not finite.
  Result<uint32_t> argmaxOnDevice();

  uint32_t position() const { return position_; }
  uint32_t maxContext() const { return maxContext_; }
  const std::vector<uint32_t> &tokens() const { return history_; }
  const Engine &engine() const { return *engine_; }
  uint64_t cacheBytes() const;

  void reset();
  /// Goes back to an earlier position; an error when a ring has dropped rows that would be needed.
  Result<void> truncate(uint32_t position);
  /// Position, tokens and cache as bytes, in logical order; and back. Restoring checks everything and
  /// leaves the sequence as it was when something does not fit. No bytes: the device was lost.
  Bytes save() const;
  Result<void> restore(ByteView bytes);

private:
  friend class DecodeGraph;
  friend class PrefillGraph;
  Sequence() = default;
  Result<void> allocate();
  Result<void> checkRoom(size_t tokens) const;
  Result<void> checkToken(uint32_t token) const;
  /// Adds the next row to every plane's books.
  Result<void> appendRows(uint32_t count);
  Result<void> runDecode(uint32_t token, GraphOptions options);
  /// Feeds `token` and what follows, `ahead` commands; adds to `out`. How many were fed, and whether to go on.
  Result<std::pair<uint32_t, bool>> greedyBlock(uint32_t token, uint32_t ahead,
                                                const std::function<bool(uint32_t)> &goOn,
                                                std::vector<uint32_t> &out);
  /// The rows that the next `count` tokens take, as they are now, so that they can be put back.
  Result<Bytes> rowsAhead(uint32_t count);
  /// Goes back to `fed` tokens after `before`, of which `count` had been fed.
  Result<void> rollBack(const std::vector<KvPlane> &before, ByteView rows, uint32_t count, uint32_t fed);
  /// The cache with buffers that the host reaches: its own, or copies where the device has its own memory.
  Result<LayerCache> onHost(const LayerCache &cache) const;
  /// Puts such copies back.
  Result<void> toDevice(const LayerCache &host, LayerCache &cache);
  Result<void> runChunk(std::span<const uint32_t> tokens, const PrefillOptions &options);
  std::vector<KvPlane> planes() const;
  void setPlanes(const std::vector<KvPlane> &planes);

  std::shared_ptr<Engine> engine_;
  SequenceOptions options_;
  uint32_t maxContext_ = 0, position_ = 0;
  std::vector<uint32_t> history_;
  Activations a_;
  /// Where the device has its own memory: f32 [vocab], a copy of the logits, made when they are asked for.
  NS::SharedPtr<MTL::Buffer> hostLogits_;
  mutable bool hasHostLogits_ = false;
  std::vector<LayerCache> caches_; ///< [layers]
  std::vector<LayerCache> spares_; ///< Where the device has its own memory: planes before a run ahead; [layers] or none
};

} // namespace pewter::muse
