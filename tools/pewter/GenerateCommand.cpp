// SPDX-License-Identifier: Apache-2.0
// `pewter generate`: continues a text. `pewter perplexity`: how well a model foresees one.
#include "base/Bytes.h"
#include "pewter/Commands.h"
#include "pewter/EngineOptions.h"
#include <csignal>
#include <cstdio>
#include <fmt/format.h>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <utility>

namespace pewter::tools {
namespace {

using Json = nlohmann::ordered_json;

std::atomic<bool> interrupted = false;
void onInterrupt(int) { interrupted = true; }

struct GenerateFlags {
  EngineFlags engine;
  SamplerFlags sampler;
  std::string prompt, file;
  bool hasPrompt = false, json = false, ignoreEnd = false, noBos = false, noEcho = false, special = true,
       phaseProfile = false;
  std::string trace;
  int64_t count = 128;
  uint32_t logProbabilities = 0;
};

Result<std::string> textFrom(const std::string &prompt, bool hasPrompt, const std::string &file) {
  if (hasPrompt)
    return prompt;
  if (!file.empty() && file != "-") {
    PEWTER_TRY(Bytes bytes, readFile(file));
    return std::string(textOf(bytes));
  }
  if (file == "-" || !::isatty(STDIN_FILENO))
    return std::string(std::istreambuf_iterator<char>(std::cin), {});
  return std::string("Once upon a time there was a brave fox named");
}

Result<std::vector<uint32_t>> promptIds(const muse::Tokenizer &tokenizer, std::string_view text, bool bos,
                                        bool special) {
  PEWTER_TRY(auto ids,
             tokenizer.encode(text, special ? muse::Specials::All : muse::Specials::None));
  if (bos && tokenizer.addsBos())
    ids.insert(ids.begin(), *tokenizer.bos());
  if (ids.empty())
    return fail(ErrorKind::Validation, "The prompt has no tokens.");
  return ids;
}

Json toJson(const muse::GenerationResult &result, std::span<const uint32_t> prompt,
            const muse::Tokenizer &tokenizer, const muse::Engine &engine) {
  Json out;
  out["model"] = engine.config().name;
  out["device"] = engine.context().deviceName();
  out["prompt_ids"] = prompt;
  out["ids"] = result.ids;
  out["text"] = result.text;
  out["stop"] = std::string(muse::nameOf(result.stop));
  out["seed"] = result.seed;
  if (!result.best.empty()) {
    Json &steps = out["logprobs"] = Json::array();
    for (const auto &step : result.best) {
      Json row = Json::array();
      for (const auto &best : step)
        row.push_back({{"id", best.id}, {"logprob", best.logProbability}, {"token", tokenizer.bytesOf(best.id)}});
      steps.push_back(std::move(row));
    }
  }
  out["timings"] = {{"prompt_tokens", result.promptTokens},
                    {"prompt_seconds", result.promptSeconds},
                    {"prompt_tokens_per_second", result.promptRate()},
                    {"decode_tokens", result.ids.size()},
                    {"decode_seconds", result.decodeSeconds},
                    {"decode_tokens_per_second", result.decodeRate()}};
  return out;
}

Result<void> run(GenerateFlags &flags) {
  if (flags.logProbabilities && !flags.json)
    return fail(ErrorKind::Validation, "--logprobs [{}] is given without --json, which prints them.",
                flags.logProbabilities);
  PEWTER_TRY(auto samplerOptions, flags.sampler.build());
  PEWTER_TRY(std::string text, textFrom(flags.prompt, flags.hasPrompt, flags.file));
  PEWTER_TRY(auto engine, makeEngine(flags.engine));
  const muse::Tokenizer &tokenizer = engine->tokenizer();
  PEWTER_TRY(auto ids, promptIds(tokenizer, text, !flags.noBos, flags.special));
  PEWTER_TRY(auto sequence, muse::Sequence::create(engine, {}));
  ProgressLine progress(flags.engine.quiet);
  std::signal(SIGINT, onInterrupt);
  std::optional<uint32_t> limit; // -1 is none, as in llama.cpp.
  if (flags.count >= 0)
    limit = static_cast<uint32_t>(flags.count);
  muse::GenerationOptions options{.maxTokens = limit,
                                  .ignoreEnd = flags.ignoreEnd,
                                  .logProbabilities = flags.logProbabilities,
                                  .sampler = samplerOptions,
                                  .cancel = &interrupted};
  // Not before the first tokens are through: a refusal prints nothing else.
  bool mayEcho = !flags.json && !flags.noEcho;
  auto echo = [&] {
    if (std::exchange(mayEcho, false)) {
      progress.clear();
      fmt::print("{}", text);
      std::fflush(stdout);
    }
  };
  options.prefillProgress = [&](uint32_t done) {
    echo();
    if (ids.size() > 256)
      progress.show("prompt", double(done) / double(ids.size()));
  };
  auto result = muse::generate(*sequence, ids, options, [&](const muse::GenerationStep &step) {
    progress.clear();
    if (flags.json)
      return;
    std::fwrite(step.text.data(), 1, step.text.size(), stdout);
    std::fflush(stdout);
  });
  progress.clear();
  if (!result)
    return std::unexpected(std::move(result).error());
  if (flags.json) {
    fmt::print("{}\n", toJson(*result, ids, tokenizer, *engine).dump(-1, ' ', false,
                                                                   Json::error_handler_t::replace));
    return {};
  }
  fmt::print("\n");
  std::fflush(stdout);
  if (!flags.engine.quiet)
    fmt::print(stderr, "\n[prompt {} tokens, {:.1f} tok/s; decode {} tokens, {:.1f} tok/s; stop: {}; {}]\n",
               result->promptTokens, result->promptRate(), result->ids.size(), result->decodeRate(),
               muse::nameOf(result->stop), engine->context().deviceName());
  return {};
}

struct PerplexityFlags {
  EngineFlags engine;
  std::string file;
  uint32_t window = 512;
  bool json = false;
};

Result<void> runPerplexity(PerplexityFlags &flags) {
  PEWTER_TRY(Bytes bytes, readFile(flags.file));
  PEWTER_TRY(auto engine, makeEngine(flags.engine));
  PEWTER_TRY(auto ids, promptIds(engine->tokenizer(), textOf(bytes), true, false));
  PEWTER_TRY(auto sequence, muse::Sequence::create(engine, {}));
  ProgressLine progress(flags.engine.quiet);
  PEWTER_TRY(auto result, muse::measurePerplexity(*sequence, ids, flags.window,
                                                  [&](double done) { progress.show("text", done); }));
  progress.clear();
  if (flags.json)
    fmt::print("{}\n", Json{{"perplexity", result.perplexity},
                            {"nats_per_token", result.meanLogLoss},
                            {"tokens", result.tokens},
                            {"seconds", result.seconds}}
                           .dump());
  else
    fmt::print("perplexity {:.4f} ({:.4f} nats per token over {} tokens, {:.1f} s)\n", result.perplexity,
               result.meanLogLoss, result.tokens, result.seconds);
  return {};
}

} // namespace

void addGenerate(CLI::App &app, int &status) {
  CLI::App *command = app.add_subcommand("generate", "Continue a text");
  auto flags = std::make_shared<GenerateFlags>();
  flags->engine.addTo(*command);
  flags->sampler.addTo(*command);
  auto *prompt = command->add_option("-p,--prompt", flags->prompt, "The text to continue");
  command->add_option("-f,--file", flags->file, "File with the text; - is standard input")
      ->excludes(prompt);
  command->add_option("-n,--predict", flags->count, "Tokens to make at most; -1 fills the context")
      ->check(CLI::Range(int64_t(-1), int64_t(UINT32_MAX)))
      ->capture_default_str();
  command->add_flag("--ignore-eos", flags->ignoreEnd, "Go on after an end token");
  command->add_flag("--no-bos", flags->noBos, "Do not begin with the beginning-of-text token");
  command->add_flag("--no-echo", flags->noEcho, "Do not print the prompt");
  command->add_flag("!--no-special", flags->special, "Treat spelled special tokens as plain text");
  command->add_flag("--json", flags->json, "One JSON object: ids, text, timings");
  command->add_option("--logprobs", flags->logProbabilities, "With --json: log probabilities of the best n");
  command->callback([flags, prompt, &status] {
    flags->hasPrompt = prompt->count() > 0;
    auto result = run(*flags);
    status = !result ? report(result.error()) : interrupted ? 128 + SIGINT : 0;
  });
}

void addPerplexity(CLI::App &app, int &status) {
  CLI::App *command = app.add_subcommand("perplexity", "Measure how well a model foresees a text");
  auto flags = std::make_shared<PerplexityFlags>();
  flags->engine.addTo(*command);
  command->add_option("FILE", flags->file, "Text file")->required();
  command->add_option("--window", flags->window, "Tokens per window")->capture_default_str();
  command->add_flag("--json", flags->json, "As JSON");
  command->callback([flags, &status] {
    auto result = runPerplexity(*flags);
    status = result ? 0 : report(result.error());
  });
}

} // namespace pewter::tools
