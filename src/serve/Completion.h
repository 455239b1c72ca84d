// SPDX-License-Identifier: Apache-2.0
//
// Completion: one answer on one slot: prefill of what the slot's cache does not hold, then tokens one by
// one until an end token, a stop string, the limit, the end of the context, or a client that left. Text
// is handed out in pieces as it becomes certain.
//
// Runs on the request's thread; only the device's part is on the engine's.
#pragma once
#include "serve/ChatChannels.h"
#include "serve/CompletionRequest.h"
#include "serve/EngineThread.h"
#include "serve/SlotPool.h"
#include "serve/TokenConstraint.h"

namespace pewter::serve {

struct TokenRecord {
  uint32_t id = 0;
  Channel channel = Channel::Content;
  float logProbability = 0;
  std::vector<muse::TokenProbability> best; ///< As many as were asked for.
};

/// A stretch of the answer; never half a character.
struct Piece {
  std::string content, reasoning;
  std::vector<TokenRecord> tokens; ///< That became certain with it, in order.
};

enum class Finish { EndToken, StopString, Length, ContextFull, ClientLeft };

struct CompletionTimes {
  double queue = 0, prompt = 0, decode = 0, firstToken = 0; ///< Seconds.
  double sampling = 0;
};

struct CompletionResult {
  std::string content, reasoning;
  std::vector<TokenRecord> tokens;
  Finish finish = Finish::Length;
  std::string stoppedBy;        ///< The stop string.
  uint32_t promptTokens = 0, cachedTokens = 0, seed = 0;
  CompletionTimes times;
};

struct CompletionTask {
  const CompletionSettings &settings;
  std::span<const uint32_t> prompt;
  bool chat = false;            ///< Split by channels.
  uint32_t choice = 0;          ///< Moves the seed.
  const TokenOrder *order = nullptr; ///< Needed with a grammar.
  std::function<bool()> clientGone = {};
  /// False ends the answer.
  std::function<bool(const Piece &)> onPiece = {};
};

Answer<CompletionResult> complete(EngineThread &engine, Slot &slot, const CompletionTask &task);

} // namespace pewter::serve
