// SPDX-License-Identifier: Apache-2.0
//
// What a request computes must not depend on what its slot did before. A cached row may be used again only
// if a fresh prefill would give it the same bits: it was made by prefill, from the start of the sequence,
// with cuts that a fresh one would see as well (Slot::exactRows). Sums over keys go by tiles of 16 and, in
// a ring that has wrapped, in the ring's order; so the cut may lie at a multiple of 16 up to the window,
// behind it only where every prompt is cut. Fewer than 12 tokens would be decoded instead of prefilled.
//
// Tested by tests/serve/Exactness.cpp.
#include "serve/Completion.h"
#include "serve/StopMatcher.h"
#include <algorithm>

namespace pewter::serve {
namespace {

using Clock = std::chrono::steady_clock;
double secondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

constexpr uint32_t kTile = 16, kLeastPrefill = 12;

/// How many rows of the slot's cache stand for the beginning of `prompt`.
uint32_t reusableRows(const Slot &slot, std::span<const uint32_t> prompt) {
  const auto &known = slot.sequence->tokens();
  size_t same = static_cast<size_t>(std::ranges::mismatch(known, prompt).in1 - known.begin());
  same = std::min<size_t>(same, slot.exactRows);
  if (prompt.size() < kLeastPrefill)
    return 0;
  same = std::min(same, prompt.size() - kLeastPrefill);
  uint32_t rows = static_cast<uint32_t>(same) / kTile * kTile;
  if (rows > slot.sequence->engine().config().window)
    rows = rows / muse::kPrefillRows * muse::kPrefillRows;
  return rows;
}

/// Rows that a prefill of `tokens` tokens leaves in prefilled form: all but a short rest.
uint32_t prefilledRows(size_t tokens) {
  auto rest = static_cast<uint32_t>(tokens % muse::kPrefillRows);
  return static_cast<uint32_t>(tokens) - (rest < kLeastPrefill ? rest : 0);
}

/// Puts the prompt into the slot; the result is how many tokens were there already.
Answer<uint32_t> feedPrompt(EngineThread &engine, Slot &slot, const CompletionTask &task) {
  uint32_t reused = task.settings.reusePrefix ? reusableRows(slot, task.prompt) : 0;
  PEWTER_TRY_VOID(engine.call(slot.id, [&](muse::Sequence &sequence) -> Result<void> {
    if (reused && sequence.truncate(reused))
      return {};
    reused = 0;
    sequence.reset();
    return {};
  }));
  slot.exactRows = reused;
  slot.promptDone = reused;
  auto fed = engine.prefill(slot.id, task.prompt.subspan(reused), task.clientGone);
  if (!fed)
    return std::unexpected(fed.error());
  slot.exactRows = prefilledRows(task.prompt.size());
  return reused;
}

class Run {
public:
  Run(EngineThread &engine, Slot &slot, const CompletionTask &task)
      : engine_(engine), slot_(slot), task_(task), settings_(task.settings),
        tokenizer_(slot.sequence->engine().tokenizer()), sampler_(samplerOptions(task)),
        channels_(tokenizer_, task.chat ? task.prompt : std::span<const uint32_t>()), decoder_(tokenizer_),
        stops_(settings_.stop) {
    if (settings_.constraint)
      constraint_.emplace(settings_.constraint, *task.order);
  }

  Answer<CompletionResult> run() {
    auto start = Clock::now();
    slot_.promptTokens = static_cast<uint32_t>(task_.prompt.size());
    slot_.decoded = 0;
    slot_.state = SlotState::Prefill;
    result_.seed = sampler_.seed();
    result_.promptTokens = static_cast<uint32_t>(task_.prompt.size());
    auto fed = feedPrompt(engine_, slot_, task_);
    if (!fed && fed.error().status == 499) {
      result_.finish = Finish::ClientLeft;
      return std::move(result_);
    }
    PEWTER_TRY(result_.cachedTokens, std::move(fed));
    result_.times.prompt = secondsSince(start);
    slot_.promptDone = result_.promptTokens;
    slot_.state = SlotState::Decode;
    for (uint32_t id : task_.prompt)
      sampler_.accept(id);
    start = Clock::now();
    PEWTER_TRY_VOID(decode(start));
    result_.times.decode = secondsSince(start);
    return std::move(result_);
  }

private:
  static muse::SamplerOptions samplerOptions(const CompletionTask &task) {
    muse::SamplerOptions options = task.settings.sampler;
    if (options.seed)
      *options.seed += task.choice;
    return options;
  }

  Answer<void> decode(Clock::time_point start) {
    muse::Sequence &sequence = *slot_.sequence;
    EngineThread::Stream stream(engine_, slot_.id);
    while (true) {
      if (settings_.maxTokens && result_.tokens.size() >= *settings_.maxTokens)
        return end(Finish::Length);
      PEWTER_TRY(uint32_t id, pick(sequence.logits()));
      slot_.decoded = static_cast<uint32_t>(result_.tokens.size());
      slot_.position = sequence.position();
      if (result_.tokens.size() == 1)
        result_.times.firstToken = result_.times.prompt + secondsSince(start);
      else
        slot_.tokensPerSecond = static_cast<double>(result_.tokens.size() - 1) / secondsSince(start);
      if ((constraint_ || !settings_.ignoreEnd) && tokenizer_.endsGeneration(id)) {
        setChannel(Channel::Head);
        return end(Finish::EndToken);
      }
      if (!take(id))
        return end(stops_.matched() ? Finish::StopString : Finish::ClientLeft);
      if (constraint_ && constraint_->finished())
        return end(Finish::EndToken);
      if (task_.clientGone())
        return end(Finish::ClientLeft);
      if (settings_.maxTokens && result_.tokens.size() >= *settings_.maxTokens)
        return end(Finish::Length);
      if (sequence.position() >= sequence.maxContext())
        return end(Finish::ContextFull);
      PEWTER_TRY_VOID(engine_.decode(slot_.id, id));
    }
  }

  /// The next token; it joins the result and what waits to go out.
  Answer<uint32_t> pick(std::span<const float> logits) {
    auto start = Clock::now();
    TokenRecord record;
    PEWTER_TRY(record.id, sampler_.sample(logits));
    if (constraint_) {
      if (!constraint_->allows(record.id)) {
        PEWTER_TRY(record.id, constrained(logits));
      }
      constraint_->accept(record.id);
    }
    sampler_.accept(record.id);
    if (settings_.logProbabilities) {
      record.logProbability = static_cast<float>(logits[record.id] - muse::logSumExp(logits));
      PEWTER_TRY(record.best, muse::topLogProbabilities(logits, settings_.topLogProbabilities));
    }
    result_.times.sampling += secondsSince(start);
    result_.tokens.push_back(record);
    waiting_.push_back(std::move(record));
    return result_.tokens.back().id;
  }

  /// Another token, of those that the grammar allows. The first try costs nothing and mostly fits.
  Answer<uint32_t> constrained(std::span<const float> logits) {
    std::vector<uint8_t> mask;
    size_t count = constraint_->allowed(mask);
    if (constraint_->overwhelmed())
      return refuse(400, "The grammar is so ambiguous that the text cannot be followed.");
    if (count == 0)
      return refuse(400, "The grammar allows no token of the vocabulary behind the text so far.");
    std::vector<float> masked(logits.begin(), logits.end());
    uint32_t best = UINT32_MAX;
    for (uint32_t id = 0; id < masked.size(); ++id)
      if (!mask[id])
        masked[id] = -1e30f; // finite, and far below anything that a bias could lift
      else if (best == UINT32_MAX || masked[id] > masked[best])
        best = id;
    PEWTER_TRY(uint32_t id, sampler_.sample(masked));
    return mask[id] ? id : best; // a draw may end on the last candidate by rounding
  }

  /// The text of a token; false when the answer ends with it.
  bool take(uint32_t id) {
    Channel channel = task_.chat ? channels_.push(id) : Channel::Content;
    setChannel(channel);
    if (channel == Channel::Head)
      return send({}, {});
    std::string text = decoder_.push(id);
    if (channel == Channel::Reasoning)
      return send({}, std::move(text));
    return send(stops_.push(text), {}) && !stops_.matched();
  }

  void setChannel(Channel channel) { result_.tokens.back().channel = waiting_.back().channel = channel; }

  bool send(std::string content, std::string reasoning) {
    result_.content += content;
    result_.reasoning += reasoning;
    if (!task_.onPiece || (content.empty() && reasoning.empty() && !stops_.matched()))
      return true;
    return task_.onPiece({std::move(content), std::move(reasoning), std::exchange(waiting_, {})});
  }

  Answer<void> end(Finish finish) {
    result_.finish = finish;
    if (stops_.matched()) {
      result_.stoppedBy = *stops_.matched();
      return {};
    }
    if (finish == Finish::ClientLeft)
      return {};
    std::string rest = stops_.push(decoder_.finish());
    if (!stops_.matched())
      rest += stops_.finish();
    if (!send(std::move(rest), {}))
      result_.finish = Finish::ClientLeft;
    return {};
  }

  EngineThread &engine_;
  Slot &slot_;
  const CompletionTask &task_;
  const CompletionSettings &settings_;
  const muse::Tokenizer &tokenizer_;
  muse::Sampler sampler_;
  ChatChannels channels_;
  muse::StreamDecoder decoder_;
  StopMatcher stops_;
  std::optional<TokenConstraint> constraint_;
  std::vector<TokenRecord> waiting_;
  CompletionResult result_;
};

} // namespace

Answer<CompletionResult> complete(EngineThread &engine, Slot &slot, const CompletionTask &task) {
  return Run(engine, slot, task).run();
}

} // namespace pewter::serve
