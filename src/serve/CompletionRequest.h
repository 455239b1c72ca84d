// SPDX-License-Identifier: Apache-2.0
//
// CompletionRequest: what one request asks for, whichever interface it came through: a prompt as tokens or
// as a conversation, and settings. Reading checks everything; nothing of the engine is touched.
//
// Plain values.
#pragma once
#include "muse/Sampler.h"
#include "serve/Grammar.h"
#include "serve/Json.h"
#include "serve/Refusal.h"
#include <variant>

namespace pewter::serve {

struct CompletionSettings {
  muse::SamplerOptions sampler;
  std::optional<uint32_t> maxTokens;  ///< Nothing: as many as the context holds.
  std::vector<std::string> stop;
  uint32_t choices = 1;
  bool stream = false, streamUsage = false;
  bool logProbabilities = false;
  uint32_t topLogProbabilities = 0;
  bool ignoreEnd = false;
  bool reusePrefix = true;
  bool echo = false, returnTokens = false;
  std::optional<uint32_t> slot;
  std::string grammar;                ///< GBNF; "" is none.
  std::shared_ptr<const Grammar> constraint; ///< The same, read.
};

struct ReadingOptions {
  bool lenient = false;
  muse::SamplerOptions defaults = {};
  uint32_t vocabulary = 0;
};

/// The fields that all generation routes share: sampling and llama.cpp's extensions.
void readSampling(Fields &fields, const ReadingOptions &options, CompletionSettings &settings);
/// "stop": a string or a list of them.
void readStop(Fields &fields, CompletionSettings &settings);
/// OpenAI's "response_format", and llama.cpp's "json_schema" and "grammar": at most one of them.
void readResponseFormat(Fields &fields, CompletionSettings &settings);

struct ChatRequest {
  CompletionSettings settings;
  Json messages;                      ///< As the template takes them: role, content as one string, ...
  Json tools;                         ///< Null: none.
};
Answer<ChatRequest> readChatRequest(const Json &body, const ReadingOptions &options);

/// A prompt: text, or tokens.
using Prompt = std::variant<std::string, std::vector<uint32_t>>;

struct TextRequest {
  CompletionSettings settings;
  std::vector<Prompt> prompts;
};
/// OpenAI's /v1/completions.
Answer<TextRequest> readCompletionRequest(const Json &body, const ReadingOptions &options);
/// llama.cpp's /completion.
Answer<TextRequest> readLlamaRequest(const Json &body, const ReadingOptions &options);

/// The sampling settings by the names that llama.cpp's routes have for them.
Json samplerJson(const muse::SamplerOptions &options);

} // namespace pewter::serve
