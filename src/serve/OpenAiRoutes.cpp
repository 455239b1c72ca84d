// SPDX-License-Identifier: Apache-2.0
//
// Routes in OpenAI's form. A stream for which there is no slot is refused with a status: the slot is taken
// before the reply begins. All choices and prompts of a request follow each other on its one slot.
//
// Tested by tests/serve/Routes.cpp.
#include "serve/Service.h"
#include <ctime>

namespace pewter::serve {
namespace {

const char *reasonOf(Finish finish) {
  return finish == Finish::Length || finish == Finish::ContextFull ? "length" : "stop";
}

Json usageOf(const std::vector<CompletionResult> &results) {
  uint64_t made = 0, prompt = 0, cached = 0;
  for (const CompletionResult &result : results) {
    made += result.tokens.size();
    prompt = std::max<uint64_t>(prompt, result.promptTokens);
    cached = std::max<uint64_t>(cached, result.cachedTokens);
  }
  return {{"prompt_tokens", prompt},
          {"completion_tokens", made},
          {"total_tokens", prompt + made},
          {"prompt_tokens_details", {{"cached_tokens", cached}}}};
}

Json bytesOf(const std::string &text) { return std::vector<uint8_t>(text.begin(), text.end()); }

Json chatLogProbabilities(const std::vector<TokenRecord> &tokens, const muse::Tokenizer &tokenizer) {
  Json content = Json::array();
  for (const TokenRecord &token : tokens) {
    if (token.channel != Channel::Content)
      continue;
    Json best = Json::array();
    for (const muse::TokenProbability &candidate : token.best)
      best.push_back({{"token", tokenizer.bytesOf(candidate.id)},
                      {"logprob", candidate.logProbability},
                      {"bytes", bytesOf(tokenizer.bytesOf(candidate.id))}});
    content.push_back({{"token", tokenizer.bytesOf(token.id)},
                       {"logprob", token.logProbability},
                       {"bytes", bytesOf(tokenizer.bytesOf(token.id))},
                       {"top_logprobs", std::move(best)}});
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

/// The older form, of /v1/completions.
Json textLogProbabilities(const std::vector<TokenRecord> &tokens, const muse::Tokenizer &tokenizer, size_t offset) {
  Json texts = Json::array(), values = Json::array(), best = Json::array(), offsets = Json::array();
  for (const TokenRecord &token : tokens) {
    texts.push_back(tokenizer.bytesOf(token.id));
    values.push_back(token.logProbability);
    Json candidates = Json::object();
    for (const muse::TokenProbability &candidate : token.best)
      candidates[tokenizer.bytesOf(candidate.id)] = candidate.logProbability;
    best.push_back(std::move(candidates));
    offsets.push_back(offset);
    offset += tokenizer.bytesOf(token.id).size();
  }
  return {{"tokens", std::move(texts)},
          {"token_logprobs", std::move(values)},
          {"top_logprobs", std::move(best)},
          {"text_offset", std::move(offsets)}};
}

bool writeEvent(ResponseStream &out, const Json &value) { return out.write("data: " + dumpJson(value) + "\n\n"); }

} // namespace

HttpReply Service::chatCompletions(const HttpRequest &request) {
  auto body = parseJson(request.body);
  if (!body)
    return errorReply(body.error());
  auto read = readChatRequest(*body, reading());
  if (!read)
    return errorReply(read.error());
  if (!chat_)
    return errorReply({400, noChat_});
  auto ids = chat_->encode(engine_->tokenizer(), read->messages, /*addGenerationPrompt=*/true);
  if (!ids)
    return errorReply(ids.error());
  if (read->settings.constraint)
    ids->insert(ids->end(), answerHead_.begin(), answerHead_.end());
  if (auto checked = checkPrompt(*ids); !checked)
    return errorReply(checked.error());
  auto settings = std::make_shared<const CompletionSettings>(std::move(read->settings));
  Work work{.settings = settings, .prompt = std::move(*ids), .chat = true};
  auto ticket = takeSlot(work, request.clientGone);
  if (!ticket)
    return errorReply(ticket.error());
  std::string id = randomId("chatcmpl-");
  int64_t created = std::time(nullptr);
  auto frame = [this, id, created](const char *object) {
    return Json{{"id", id}, {"object", object}, {"created", created}, {"model", modelName_}};
  };

  if (!settings->stream) {
    Json choices = Json::array();
    std::vector<CompletionResult> results;
    for (uint32_t i = 0; i < settings->choices; ++i) {
      work.choice = i;
      auto result = perform(**ticket, work, {});
      if (!result)
        return errorReply(result.error());
      Json message = {{"role", "assistant"}, {"content", result->content}, {"refusal", nullptr}};
      if (!result->reasoning.empty())
        message["reasoning_content"] = result->reasoning;
      choices.push_back({{"index", i},
                         {"message", std::move(message)},
                         {"logprobs", settings->logProbabilities
                                          ? chatLogProbabilities(result->tokens, engine_->tokenizer())
                                          : Json()},
                         {"finish_reason", reasonOf(result->finish)}});
      results.push_back(std::move(*result));
    }
    Json out = frame("chat.completion");
    out["choices"] = std::move(choices);
    out["usage"] = usageOf(results);
    return jsonReply(out);
  }
  return {.contentType = "text/event-stream", .stream = [this, ticket = *ticket, work, settings, frame](ResponseStream &out) mutable {
            auto chunk = [&](Json delta, Json logProbabilities, Json reason) {
              Json value = frame("chat.completion.chunk");
              value["choices"] = Json::array({{{"index", work.choice},
                                               {"delta", std::move(delta)},
                                               {"logprobs", std::move(logProbabilities)},
                                               {"finish_reason", std::move(reason)}}});
              if (settings->streamUsage)
                value["usage"] = nullptr;
              return writeEvent(out, value);
            };
            std::vector<CompletionResult> results;
            for (uint32_t i = 0; i < settings->choices; ++i) {
              work.choice = i;
              if (!chunk({{"role", "assistant"}, {"content", ""}}, {}, {}))
                return;
              auto result = perform(*ticket, work, [&](const Piece &piece) {
                Json delta = Json::object();
                if (!piece.content.empty())
                  delta["content"] = piece.content;
                if (!piece.reasoning.empty())
                  delta["reasoning_content"] = piece.reasoning;
                return chunk(std::move(delta),
                             settings->logProbabilities ? chatLogProbabilities(piece.tokens, engine_->tokenizer())
                                                        : Json(),
                             {});
              });
              if (!result) {
                static_cast<void>(out.write("data: " + errorReply(result.error()).body + "\n\n"));
                return;
              }
              if (result->finish == Finish::ClientLeft || !chunk(Json::object(), {}, reasonOf(result->finish)))
                return;
              results.push_back(std::move(*result));
            }
            if (settings->streamUsage) {
              Json value = frame("chat.completion.chunk");
              value["choices"] = Json::array();
              value["usage"] = usageOf(results);
              if (!writeEvent(out, value))
                return;
            }
            static_cast<void>(out.write("data: [DONE]\n\n"));
          }};
}

HttpReply Service::completions(const HttpRequest &request) {
  auto body = parseJson(request.body);
  if (!body)
    return errorReply(body.error());
  auto read = readCompletionRequest(*body, reading());
  if (!read)
    return errorReply(read.error());
  std::vector<std::vector<uint32_t>> prompts;
  for (const Prompt &prompt : read->prompts) {
    auto ids = idsOf(prompt);
    if (!ids)
      return errorReply(ids.error());
    if (auto checked = checkPrompt(*ids); !checked)
      return errorReply(checked.error());
    prompts.push_back(std::move(*ids));
  }
  std::vector<std::string> echoes(prompts.size());
  if (read->settings.echo)
    for (size_t i = 0; i < prompts.size(); ++i) {
      muse::StreamDecoder decoder(engine_->tokenizer());
      for (uint32_t token : prompts[i])
        echoes[i] += decoder.push(token);
      echoes[i] += decoder.finish();
    }
  auto settings = std::make_shared<const CompletionSettings>(std::move(read->settings));
  std::string id = randomId("cmpl-");
  int64_t created = std::time(nullptr);
  auto frame = [this, id, created] {
    return Json{{"id", id}, {"object", "text_completion"}, {"created", created}, {"model", modelName_}};
  };
  auto workOf = [settings](const std::vector<uint32_t> &prompt, uint32_t choice) {
    return Work{.settings = settings, .prompt = prompt, .choice = choice};
  };
  auto ticket = takeSlot(workOf(prompts[0], 0), request.clientGone);
  if (!ticket)
    return errorReply(ticket.error());

  if (!settings->stream) {
    Json choices = Json::array();
    std::vector<CompletionResult> results;
    for (size_t p = 0; p < prompts.size(); ++p)
      for (uint32_t i = 0; i < settings->choices; ++i) {
        auto result = perform(**ticket, workOf(prompts[p], i), {});
        if (!result)
          return errorReply(result.error());
        choices.push_back({{"text", echoes[p] + result->content},
                           {"index", choices.size()},
                           {"logprobs", settings->logProbabilities
                                            ? textLogProbabilities(result->tokens, engine_->tokenizer(), echoes[p].size())
                                            : Json()},
                           {"finish_reason", reasonOf(result->finish)}});
        results.push_back(std::move(*result));
      }
    Json out = frame();
    out["choices"] = std::move(choices);
    out["usage"] = usageOf(results);
    return jsonReply(out);
  }
  return {.contentType = "text/event-stream",
          .stream = [this, ticket = *ticket, prompts = std::move(prompts), echoes = std::move(echoes), settings, frame,
                     workOf](ResponseStream &out) {
            size_t index = 0;
            auto chunk = [&](std::string text, Json logProbabilities, Json reason) {
              Json value = frame();
              value["choices"] = Json::array({{{"text", std::move(text)},
                                               {"index", index},
                                               {"logprobs", std::move(logProbabilities)},
                                               {"finish_reason", std::move(reason)}}});
              return writeEvent(out, value);
            };
            std::vector<CompletionResult> results;
            for (size_t p = 0; p < prompts.size(); ++p)
              for (uint32_t i = 0; i < settings->choices; ++i, ++index) {
                if (!echoes[p].empty() && !chunk(echoes[p], {}, {}))
                  return;
                size_t offset = echoes[p].size();
                auto result = perform(*ticket, workOf(prompts[p], i), [&](const Piece &piece) {
                  Json values = settings->logProbabilities
                                    ? textLogProbabilities(piece.tokens, engine_->tokenizer(), offset)
                                    : Json();
                  offset += piece.content.size();
                  return chunk(piece.content, std::move(values), {});
                });
                if (!result) {
                  static_cast<void>(out.write("data: " + errorReply(result.error()).body + "\n\n"));
                  return;
                }
                if (result->finish == Finish::ClientLeft || !chunk("", {}, reasonOf(result->finish)))
                  return;
                results.push_back(std::move(*result));
              }
            if (settings->streamUsage) {
              Json value = frame();
              value["choices"] = Json::array();
              value["usage"] = usageOf(results);
              if (!writeEvent(out, value))
                return;
            }
            static_cast<void>(out.write("data: [DONE]\n\n"));
          }};
}

} // namespace pewter::serve
