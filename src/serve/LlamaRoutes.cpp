// SPDX-License-Identifier: Apache-2.0
// Routes in llama.cpp's own form. Tested by tests/serve/Routes.cpp.
#include "serve/Service.h"

namespace pewter::serve {
namespace {

const char *stopTypeOf(Finish finish) {
  switch (finish) {
  case Finish::EndToken: return "eos";
  case Finish::StopString: return "word";
  case Finish::Length:
  case Finish::ContextFull: return "limit";
  case Finish::ClientLeft: return "none";
  }
  return "none";
}

Json probabilitiesOf(const std::vector<TokenRecord> &tokens, const muse::Tokenizer &tokenizer) {
  auto entry = [&](uint32_t id, float logProbability) {
    const std::string &bytes = tokenizer.bytesOf(id);
    return Json{{"id", id},
                {"token", bytes},
                {"bytes", std::vector<uint8_t>(bytes.begin(), bytes.end())},
                {"logprob", logProbability}};
  };
  Json all = Json::array();
  for (const TokenRecord &token : tokens) {
    Json one = entry(token.id, token.logProbability);
    Json &best = one["top_logprobs"] = Json::array();
    for (const muse::TokenProbability &candidate : token.best)
      best.push_back(entry(candidate.id, candidate.logProbability));
    all.push_back(std::move(one));
  }
  return all;
}

Json settingsOf(const CompletionSettings &settings, uint32_t seed) {
  Json out = samplerJson(settings.sampler);
  out.update(Json{{"seed", seed},
                  {"stop", settings.stop},
                  {"n_predict", settings.maxTokens ? int64_t(*settings.maxTokens) : -1},
                  {"ignore_eos", settings.ignoreEnd},
                  {"stream", settings.stream},
                  {"n_probs", settings.topLogProbabilities},
                  {"grammar", settings.grammar}});
  return out;
}

Json timingsOf(const CompletionResult &result) {
  double decoded = result.tokens.size() > 1 ? static_cast<double>(result.tokens.size() - 1) : 0;
  uint32_t fed = result.promptTokens - result.cachedTokens;
  auto rate = [](double count, double seconds) { return seconds > 0 ? count / seconds : 0; };
  return {{"prompt_n", fed},
          {"prompt_ms", result.times.prompt * 1e3},
          {"prompt_per_second", rate(fed, result.times.prompt)},
          {"predicted_n", result.tokens.size()},
          {"predicted_ms", result.times.decode * 1e3},
          {"predicted_per_second", rate(decoded, result.times.decode)},
          {"queue_ms", result.times.queue * 1e3},
          {"cache_n", result.cachedTokens}};
}

std::vector<uint32_t> idsOfRecords(const std::vector<TokenRecord> &tokens) {
  std::vector<uint32_t> ids;
  for (const TokenRecord &token : tokens)
    ids.push_back(token.id);
  return ids;
}

} // namespace

HttpReply Service::llamaCompletion(const HttpRequest &request) {
  auto body = parseJson(request.body);
  if (!body)
    return errorReply(body.error());
  auto read = readLlamaRequest(*body, reading());
  if (!read)
    return errorReply(read.error());
  auto ids = idsOf(read->prompts[0]);
  if (!ids)
    return errorReply(ids.error());
  if (auto checked = checkPrompt(*ids); !checked)
    return errorReply(checked.error());
  auto settings = std::make_shared<const CompletionSettings>(std::move(read->settings));
  Work work{.settings = settings, .prompt = std::move(*ids)};
  auto ticket = takeSlot(work, request.clientGone);
  if (!ticket)
    return errorReply(ticket.error());

  auto finalOf = [this, settings](const CompletionResult &result) {
    Json out = {{"content", settings->stream ? std::string() : result.content},
                {"stop", true},
                {"model", modelName_},
                {"tokens_predicted", result.tokens.size()},
                {"tokens_evaluated", result.promptTokens},
                {"tokens_cached", result.cachedTokens},
                {"truncated", result.finish == Finish::ContextFull},
                {"stop_type", stopTypeOf(result.finish)},
                {"stopping_word", result.stoppedBy},
                {"generation_settings", settingsOf(*settings, result.seed)},
                {"timings", timingsOf(result)}};
    if (settings->returnTokens)
      out["tokens"] = idsOfRecords(result.tokens);
    if (settings->logProbabilities && !settings->stream)
      out["completion_probabilities"] = probabilitiesOf(result.tokens, engine_->tokenizer());
    return out;
  };
  if (!settings->stream) {
    auto result = perform(**ticket, work, {});
    return result ? jsonReply(finalOf(*result)) : errorReply(result.error());
  }
  return {.contentType = "text/event-stream", .stream = [this, ticket = *ticket, work, settings, finalOf](ResponseStream &out) {
            auto event = [&](const Json &value) { return out.write("data: " + dumpJson(value) + "\n\n"); };
            auto result = perform(*ticket, work, [&](const Piece &piece) {
              Json part = {{"content", piece.content}, {"stop", false}};
              if (settings->returnTokens)
                part["tokens"] = idsOfRecords(piece.tokens);
              if (settings->logProbabilities)
                part["completion_probabilities"] = probabilitiesOf(piece.tokens, engine_->tokenizer());
              return event(part);
            });
            static_cast<void>(result ? event(finalOf(*result))
                                     : out.write("error: " + errorReply(result.error()).body + "\n\n"));
          }};
}

} // namespace pewter::serve
