// SPDX-License-Identifier: Apache-2.0
// Tested by tests/engine/Goldens.cpp and tests/engine/Sequences.cpp.
#include "muse/Sequence.h"
#include "muse/DecodeGraph.h"
#include "muse/KernelArguments.h"
#include "muse/PrefillGraph.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace pewter::muse {
namespace {
/// Below this many tokens a prompt is decoded token by token.
constexpr size_t kFewTokens = 12;
} // namespace

Result<std::unique_ptr<Sequence>> Sequence::create(std::shared_ptr<Engine> engine, SequenceOptions options) {
  auto sequence = std::unique_ptr<Sequence>(new Sequence);
  sequence->engine_ = std::move(engine);
  sequence->options_ = options;
  uint32_t most = sequence->engine_->maxContext();
  sequence->maxContext_ = options.maxContext ? options.maxContext : most;
  if (sequence->maxContext_ > most)
    return fail(ErrorKind::Validation, "A context of [{}] was asked for; the engine has at most {}.",
                options.maxContext, most);
  PEWTER_TRY_VOID(sequence->allocate());
  return sequence;
}

Result<void> Sequence::allocate() {
  const ModelConfig &c = engine_->config();
  const Context &context = engine_->context();
  PEWTER_TRY(a_, Activations::create(context, c, /*rows=*/1, engine_->kernels().isFused));
  if (!context.unifiedMemory()) {
    PEWTER_TRY(hostLogits_, context.allocate(uint64_t(c.vocab) * 4, "logits on the host"));
  }
  for (uint32_t l = 0; l < c.layers; ++l) {
    LayerCache cache;
    cache.plane.layer = l;
    cache.plane.capacity = c.sliding[l] ? KvPlane::slidingCapacity(maxContext_, c.window)
                                        : KvPlane::fullCapacity(maxContext_);
    cache.blocks = (cache.plane.capacity + 31) / 32;
    uint64_t bytes = uint64_t(cache.blocks) * 32 * c.kvDim() * engine_->kvElementBytes();
    PEWTER_TRY(cache.k, context.allocateForDevice(bytes, fmt::format("k_cache.{}", l)));
    PEWTER_TRY(cache.v, context.allocateForDevice(bytes, fmt::format("v_cache.{}", l)));
    caches_.push_back(std::move(cache));
  }
  return {};
}

uint64_t Sequence::cacheBytes() const {
  uint64_t total = 0;
  for (const LayerCache &cache : caches_)
    total += cache.k->length() + cache.v->length();
  return total;
}

Result<void> Sequence::checkRoom(size_t tokens) const {
  if (tokens <= maxContext_ - position_)
    return {};
  return fail(ErrorKind::Validation,
              "The context of {} tokens is full: {} are used and [{}] more were given.", maxContext_,
              position_, tokens);
}

Result<void> Sequence::checkToken(uint32_t token) const {
  if (token < engine_->config().vocab)
    return {};
  return fail(ErrorKind::Validation, "Token [{}] is not in the vocabulary of {}.", token,
              engine_->config().vocab);
}

Result<void> Sequence::appendRows(uint32_t count) {
  for (LayerCache &cache : caches_)
    PEWTER_TRY_VOID(cache.plane.appendBatch(position_, count));
  return {};
}

Result<void> Sequence::runDecode(uint32_t token, GraphOptions options) {
  PEWTER_TRY_VOID(checkRoom(1));
  PEWTER_TRY_VOID(checkToken(token));
  PEWTER_TRY(auto permit, engine_->scheduler().acquire(options_.id, WorkKind::Decode));
  auto before = planes();
  PEWTER_TRY_VOID(appendRows(1));
  static_cast<uint32_t *>(a_.tokens->contents())[0] = token;
  GraphEncoder encoder(engine_->context(), options);
  hasHostLogits_ = false;
  DecodeGraph(*engine_, a_, encoder, {{this, position_}}).encodeToken(0);
  if (auto ran = encoder.finish(); !ran) {
    setPlanes(before);
    return std::unexpected(std::move(ran).error().whileDoing(fmt::format("decoding token {}", position_)));
  }
  ++position_;
  history_.push_back(token);
  return {};
}

Result<void> Sequence::decode(uint32_t token) { return runDecode(token, {.label = "decode"}); }

Result<std::vector<PhaseSample>> Sequence::profileDecode(uint32_t token) {
  std::vector<PhaseSample> samples;
  PEWTER_TRY_VOID(runDecode(token, {.label = "profiled decode", .profile = &samples}));
  return samples;
}

Result<GraphRecord> Sequence::recordDecode(uint32_t token) {
  GraphRecord record;
  PEWTER_TRY_VOID(runDecode(token, {.label = "recorded decode", .record = &record}));
  return record;
}

Result<void> Sequence::forceTokens(std::span<const uint32_t> tokens) {
  PEWTER_TRY_VOID(checkRoom(tokens.size()));
  for (uint32_t token : tokens)
    PEWTER_TRY_VOID(checkToken(token));
  while (!tokens.empty()) {
    auto count = std::min<size_t>(tokens.size(), kMaxAhead);
    PEWTER_TRY(auto permit, engine_->scheduler().acquire(options_.id, WorkKind::Decode));
    std::memcpy(a_.tokens->contents(), tokens.data(), count * 4);
    std::vector<NS::SharedPtr<MTL::CommandBuffer>> inFlight;
    auto before = planes();
    hasHostLogits_ = false;
    for (uint32_t i = 0; i < count; ++i) {
      for (LayerCache &cache : caches_)
        PEWTER_TRY_VOID(cache.plane.append(position_ + i));
      GraphEncoder encoder(engine_->context(), {.label = "forced decode"});
      DecodeGraph(*engine_, a_, encoder, {{this, position_ + i}}).encodeToken(i);
      inFlight.push_back(encoder.commit());
    }
    // The queue runs buffers in order: when the last has ended, all have.
    PEWTER_TRY_VOID(engine_->context().wait(inFlight.back().get()));
    for (auto &buffer : inFlight)
      if (auto ended = engine_->context().wait(buffer.get()); !ended) {
        setPlanes(before);
        return ended;
      }
    position_ += static_cast<uint32_t>(count);
    history_.insert(history_.end(), tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(count));
    tokens = tokens.subspan(count);
  }
  return {};
}

std::span<const float> Sequence::logits() const {
  const uint32_t vocab = engine_->config().vocab;
  if (engine_->context().unifiedMemory())
    return {static_cast<const float *>(a_.logits->contents()), vocab};
  auto *host = static_cast<float *>(hostLogits_->contents());
  if (!hasHostLogits_ && !engine_->context().copy({{a_.logits.get(), 0, hostLogits_.get(), 0, uint64_t(vocab) * 4}}))
    std::fill_n(host, vocab, std::numeric_limits<float>::quiet_NaN()); // What reads them refuses these.
  hasHostLogits_ = true;
  return {host, vocab};
}

Result<uint32_t> Sequence::argmaxOnDevice() {
  PEWTER_TRY(auto permit, engine_->scheduler().acquire(options_.id, WorkKind::Decode));
  GraphEncoder encoder(engine_->context(), {.label = "argmax"});
  encoder.group("argmax");
  DecodeGraph(*engine_, a_, encoder, {{this, position_}}).encodeArgmax({a_.best.get(), 0});
  PEWTER_TRY_VOID(encoder.finish());
  uint32_t best = *static_cast<const uint32_t *>(a_.best->contents());
  if (best == 0xffffffff)
    return fail(ErrorKind::DeviceLost, "A logit of position {} is not a finite number.", position_);
  return best;
}

void Sequence::reset() {
  for (LayerCache &cache : caches_)
    cache.plane.clear();
  position_ = 0;
  history_.clear();
}

Result<void> Sequence::truncate(uint32_t position) {
  for (LayerCache &cache : caches_) {
    KvPlane probe = cache.plane;
    PEWTER_TRY_VOID(probe.truncate(position));
  }
  for (LayerCache &cache : caches_)
    PEWTER_TRY_VOID(cache.plane.truncate(position));
  position_ = position;
  history_.resize(position);
  return {};
}

std::vector<KvPlane> Sequence::planes() const {
  std::vector<KvPlane> out;
  for (const LayerCache &cache : caches_)
    out.push_back(cache.plane);
  return out;
}
void Sequence::setPlanes(const std::vector<KvPlane> &planes) {
  for (size_t l = 0; l < caches_.size(); ++l)
    caches_[l].plane = planes[l];
}

Result<void> Sequence::runChunk(std::span<const uint32_t> tokens, const PrefillOptions &options) {
  PEWTER_TRY(auto permit, engine_->scheduler().acquire(options_.id, WorkKind::Prefill));
  auto count = static_cast<uint32_t>(tokens.size());
  PEWTER_TRY(BatchWorkspace * workspace,
             engine_->workspace((count + 31) / 32 * 32, options.onLogits != nullptr));
  auto *ids = static_cast<uint32_t *>(workspace->tokens->contents());
  std::ranges::copy(tokens, ids);
  std::fill(ids + count, ids + workspace->stride, 0u);
  auto before = planes();
  hasHostLogits_ = false;
  GraphEncoder encoder(engine_->context(), {.concurrent = !engine_->options().serialPrefill,
                                            .label = "prefill",
                                            .profile = options.profile,
                                            .record = options.record});
  PEWTER_TRY_VOID(PrefillGraph(*this, encoder, *workspace).encodeChunk(position_, count, options.onLogits != nullptr));
  if (auto ran = encoder.finish(); !ran) {
    setPlanes(before);
    return std::unexpected(std::move(ran).error().whileDoing(
        fmt::format("prefilling tokens {} to {}", position_, position_ + count)));
  }
  if (options.onLogits)
    options.onLogits(position_, count,
                     {static_cast<const float *>(workspace->logits->contents()),
                      uint64_t(engine_->config().vocab) * workspace->stride});
  position_ += count;
  history_.insert(history_.end(), tokens.begin(), tokens.end());
  return {};
}

Result<void> Sequence::prefill(std::span<const uint32_t> tokens, const PrefillOptions &options) {
  if (tokens.empty())
    return fail(ErrorKind::Validation, "The prompt has no tokens.");
  PEWTER_TRY_VOID(checkRoom(tokens.size()));
  for (uint32_t token : tokens)
    PEWTER_TRY_VOID(checkToken(token));
  for (size_t done = 0; done < tokens.size();) {
    if (options.cancel && options.cancel->load())
      return fail(ErrorKind::Timeout, "The prompt was cancelled after {} of {} tokens.", done, tokens.size());
    size_t most = engine_->scheduler().hasWaitingDecode() ? kPrefillRowsWhenBusy : engine_->prefillRows();
    if (options.onLogits)
      most = kPrefillRowsWhenBusy;
    auto part = tokens.subspan(done, std::min(most, tokens.size() - done));
    if (part.size() < kFewTokens && !options.onLogits && !options.profile && !options.record)
      PEWTER_TRY_VOID(forceTokens(part)); // a batch of few rows costs as much as one of 32
    else
      PEWTER_TRY_VOID(runChunk(part, options));
    done += part.size();
    if (options.progress)
      options.progress(static_cast<uint32_t>(done));
  }
  return {};
}

} // namespace pewter::muse
