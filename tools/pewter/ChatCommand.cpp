// SPDX-License-Identifier: Apache-2.0
// `pewter chat`: a conversation on a terminal, one line a turn.
#include "muse/ChatTemplate.h"
#include "pewter/Commands.h"
#include "pewter/EngineOptions.h"
#include <csignal>
#include <cstdio>
#include <fmt/format.h>
#include <iostream>
#include <unistd.h>

namespace pewter::tools {
namespace {

std::atomic<bool> interrupted = false;
void onInterrupt(int) { interrupted = true; }

struct ChatFlags {
  EngineFlags engine;
  SamplerFlags sampler;
  std::string system, message;
  uint32_t count = 256;
};

/// The part of an answer that is for the user: what follows the last message mark.
std::string spoken(const muse::Tokenizer &tokenizer, const std::vector<uint32_t> &ids) {
  auto mark = tokenizer.find("<|message|>");
  auto begin = ids.begin();
  for (auto it = ids.begin(); it != ids.end(); ++it)
    if (mark && *it == *mark)
      begin = it + 1;
  std::string text;
  for (auto it = begin; it != ids.end(); ++it)
    if (!tokenizer.isControl(*it))
      text += tokenizer.bytesOf(*it);
  return text;
}

/// Answers the conversation so far. Only the tokens that the cache does not hold are fed.
Result<std::string> answer(muse::Sequence &sequence, const muse::ChatTemplate &chat,
                           const std::vector<muse::ChatMessage> &messages, const ChatFlags &flags,
                           const muse::SamplerOptions &sampler) {
  const muse::Tokenizer &tokenizer = sequence.engine().tokenizer();
  PEWTER_TRY(auto ids, chat.encode(tokenizer, messages, true));
  const auto &known = sequence.tokens();
  size_t same = 0;
  while (same < known.size() && same + 1 < ids.size() && known[same] == ids[same])
    ++same;
  if (same < known.size() && !sequence.truncate(static_cast<uint32_t>(same))) {
    sequence.reset();
    same = 0;
  }
  bool inMessage = false;
  auto mark = tokenizer.find("<|message|>"), end = tokenizer.find("<|eom|>");
  interrupted = false;
  PEWTER_TRY(auto result,
             muse::generate(sequence, std::span(ids).subspan(same),
                            {.maxTokens = flags.count, .sampler = sampler, .cancel = &interrupted},
                            [&](const muse::GenerationStep &step) {
                              if (mark && step.id == *mark)
                                inMessage = true;
                              else if (end && step.id == *end)
                                inMessage = false, fmt::print("\n");
                              if (inMessage || !mark)
                                fmt::print("{}", step.text);
                              std::fflush(stdout);
                            }));
  fmt::print("\n");
  if (!flags.engine.quiet)
    fmt::print(stderr, "[prompt {} tokens, {:.1f} tok/s; answer {} tokens, {:.1f} tok/s]\n", result.promptTokens,
               result.promptRate(), result.ids.size(), result.decodeRate());
  return spoken(tokenizer, result.ids);
}

Result<void> run(ChatFlags &flags) {
  PEWTER_TRY(auto sampler, flags.sampler.build());
  PEWTER_TRY(auto engine, makeEngine(flags.engine));
  PEWTER_TRY(auto chat, muse::ChatTemplate::load(engine->model()));
  PEWTER_TRY(auto sequence, muse::Sequence::create(engine, {}));
  std::signal(SIGINT, onInterrupt);
  std::vector<muse::ChatMessage> messages;
  if (!flags.system.empty())
    messages.push_back({"system", flags.system});
  if (!flags.message.empty()) {
    messages.push_back({"user", flags.message});
    PEWTER_TRY_VOID(answer(*sequence, chat, messages, flags, sampler));
    return {};
  }
  bool terminal = ::isatty(STDIN_FILENO);
  std::string line;
  while (true) {
    if (terminal)
      fmt::print("> ");
    std::fflush(stdout);
    if (!std::getline(std::cin, line))
      return {};
    if (line.empty())
      continue;
    messages.push_back({"user", line});
    PEWTER_TRY(std::string text, answer(*sequence, chat, messages, flags, sampler));
    messages.push_back({"assistant", text});
  }
}

} // namespace

void addChat(CLI::App &app, int &status) {
  CLI::App *command = app.add_subcommand("chat", "Talk with a model");
  auto flags = std::make_shared<ChatFlags>();
  flags->engine.addTo(*command);
  flags->sampler.addTo(*command);
  command->add_option("--system", flags->system, "System message");
  command->add_option("-p,--prompt", flags->message, "One message; then stop");
  command->add_option("-n,--predict", flags->count, "Tokens per answer at most")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->callback([flags, &status] {
    auto result = run(*flags);
    status = result ? 0 : report(result.error());
  });
}

} // namespace pewter::tools
