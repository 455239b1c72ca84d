// SPDX-License-Identifier: Apache-2.0
// Tested by CompletionRequest_test.cpp.
#include "serve/CompletionRequest.h"
#include "muse/Sequence.h"
#include "serve/JsonSchema.h"
#include <algorithm>
#include <limits>
#include <random>

namespace pewter::serve {
namespace {

constexpr double kFloat = 1e9;
constexpr size_t kMostStops = 16, kMostMessages = 4096, kMostPrompts = 4;

float asFloat(double value) { return static_cast<float>(value); }

/// {"15": -100} as OpenAI has it, or [[15, -100], [16, false]] as llama.cpp has it.
void readLogitBias(Fields &fields, const ReadingOptions &options, CompletionSettings &settings) {
  const Json *value = fields.find("logit_bias");
  if (!value)
    return;
  auto wrong = [&] {
    fields.complain(Error(ErrorKind::Validation,
                          fmt::format("Field \"{}\" is not a mapping or a list of token ids [below {}] and biases "
                                      "from -100 to 100 (or false, which forbids).",
                                      fields.nameOf("logit_bias"), options.vocabulary)));
  };
  auto add = [&](int64_t id, const Json &bias) {
    bool forbidden = bias.is_boolean() && !bias.get<bool>();
    if (id < 0 || id >= options.vocabulary || !(forbidden || bias.is_number()))
      return wrong();
    double number = forbidden ? -std::numeric_limits<double>::infinity() : bias.get<double>();
    if (!forbidden && !(number >= -100 && number <= 100))
      return wrong();
    settings.sampler.logitBias[static_cast<uint32_t>(id)] += asFloat(number);
  };
  if (value->is_object()) {
    for (const auto &[key, bias] : value->items()) {
      bool digits = !key.empty() && key.size() < 10 && key.find_first_not_of("0123456789") == key.npos;
      if (!digits)
        return wrong();
      add(std::stol(key), bias);
    }
  } else if (value->is_array()) {
    for (const Json &pair : *value) {
      if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number_integer())
        return wrong();
      add(pair[0].get<int64_t>(), pair[1]);
    }
  } else {
    wrong();
  }
}

void readSeed(Fields &fields, CompletionSettings &settings) {
  // Clients send any 64-bit number; the generator takes 32 bits. Those that fit are themselves. Mixing keeps any
  // two apart that differ in one of their halves only, such as all small negative ones.
  int64_t seed = fields.integer("seed", -1, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
  if (!fields.has("seed") || seed == -1)
    return;
  uint32_t word = static_cast<uint32_t>(seed);
  if (seed < 0 || seed > std::numeric_limits<uint32_t>::max()) {
    std::seed_seq halves{word, static_cast<uint32_t>(static_cast<uint64_t>(seed) >> 32)};
    halves.generate(&word, &word + 1);
  }
  settings.sampler.seed = word;
}

/// Content is a string or a list of text parts.
std::string readContent(Fields &message, bool lenient) {
  const Json *content = message.find("content");
  if (!content || content->is_string())
    return content ? content->get<std::string>() : std::string();
  std::string text;
  if (!content->is_array()) {
    message.complain(Error(ErrorKind::Validation, fmt::format("Field \"{}\" is neither a string nor a list of parts.",
                                                              message.nameOf("content"))));
    return text;
  }
  for (size_t i = 0; i < content->size(); ++i) {
    Fields part((*content)[i], message.nameOf(fmt::format("content[{}]", i)), lenient);
    part.choice("type", "text", {"text"});
    text += part.string("text", "");
    if (auto read = part.finish(); !read)
      message.complain(read.error());
  }
  return text;
}

Json readMessage(const Json &from, const std::string &path, const ReadingOptions &options, Fields &outer) {
  Fields fields(from, path, options.lenient);
  Json to;
  std::string role = fields.string("role", "");
  if (fields.good() && role.empty())
    fields.complain(Error(ErrorKind::Validation, fmt::format("Field \"{}\" is missing; a role is expected.",
                                                             fields.nameOf("role"))));
  to["role"] = role;
  to["content"] = readContent(fields, options.lenient);
  for (const char *name : {"name", "tool_call_id", "reasoning_content"})
    if (fields.has(name))
      to[name] = fields.string(name, "");
  if (const Json *calls = fields.find("tool_calls"))
    to["tool_calls"] = *calls;
  fields.ignore({"refusal", "annotations", "audio", "function_call"});
  if (auto read = fields.finish(); !read)
    outer.complain(read.error());
  return to;
}

Answer<void> finish(Fields &fields, CompletionSettings &settings) {
  PEWTER_TRY_VOID(fields.finish());
  PEWTER_TRY_VOID(settings.sampler.check());
  return {};
}

bool readPrompts(Fields &fields, const ReadingOptions &options, std::vector<Prompt> &prompts) {
  const Json *value = fields.find("prompt");
  auto isToken = [&](const Json &id) {
    return id.is_number_integer() && id >= 0 && id < options.vocabulary;
  };
  auto one = [&](const Json &from) {
    if (from.is_string()) {
      prompts.emplace_back(from.get<std::string>());
      return true;
    }
    if (!from.is_array() || from.empty() || !std::ranges::all_of(from, isToken))
      return false;
    prompts.emplace_back(from.get<std::vector<uint32_t>>());
    return true;
  };
  bool good = value && (one(*value) || (value->is_array() && !value->empty() && value->size() <= kMostPrompts &&
                                        std::ranges::all_of(*value, one)));
  if (!good)
    fields.complain(Error(ErrorKind::Validation,
                          fmt::format("Field \"prompt\" is {}; a string, a list of token ids [below {}], or a list of "
                                      "at most {} of these is expected.",
                                      value ? fmt::format("another [{}]", value->type_name()) : "missing",
                                      options.vocabulary, kMostPrompts)));
  return good;
}

void readStreamOptions(Fields &fields, const ReadingOptions &options, CompletionSettings &settings) {
  const Json *streaming = fields.find("stream_options");
  if (!streaming)
    return;
  Fields inner(*streaming, "stream_options", options.lenient);
  settings.streamUsage = inner.boolean("include_usage", false);
  if (auto read = inner.finish(); !read)
    fields.complain(read.error());
}

} // namespace

void readSampling(Fields &fields, const ReadingOptions &options, CompletionSettings &settings) {
  muse::SamplerOptions &s = settings.sampler = options.defaults;
  s.temperature = asFloat(fields.number("temperature", s.temperature, 0, 100));
  s.topK = static_cast<uint32_t>(std::max<int64_t>(0, fields.integer("top_k", s.topK, -1, 1 << 30)));
  s.topP = asFloat(fields.number("top_p", s.topP, 0, 1));
  s.minP = asFloat(fields.number("min_p", s.minP, 0, 1));
  s.typicalP = asFloat(fields.number("typical_p", s.typicalP, 0, 1));
  s.repeatLastN = static_cast<uint32_t>(fields.integer("repeat_last_n", s.repeatLastN, 0, 1 << 20));
  s.repeatPenalty = asFloat(fields.number("repeat_penalty", s.repeatPenalty, 1e-3, 1e3));
  s.presencePenalty = asFloat(fields.number("presence_penalty", s.presencePenalty, -kFloat, kFloat));
  s.frequencyPenalty = asFloat(fields.number("frequency_penalty", s.frequencyPenalty, -kFloat, kFloat));
  int64_t mirostat = fields.integer("mirostat", s.mirostat, 0, 2);
  if (mirostat == 1)
    fields.complain(Error(ErrorKind::Unsupported, "Field \"mirostat\" is [1]; 0 or 2 is expected."));
  s.mirostat = static_cast<uint32_t>(mirostat);
  s.mirostatTau = asFloat(fields.number("mirostat_tau", s.mirostatTau, 1e-6, kFloat));
  s.mirostatEta = asFloat(fields.number("mirostat_eta", s.mirostatEta, 0, kFloat));
  readSeed(fields, settings);
  readLogitBias(fields, options, settings);
  readStop(fields, settings);
  settings.stream = fields.boolean("stream", false);
  settings.ignoreEnd = fields.boolean("ignore_eos", false);
  settings.reusePrefix = fields.boolean("cache_prompt", true);
  int64_t slot = fields.integer("id_slot", -1, -1, muse::Sequence::kMaxTogether);
  if (slot >= 0)
    settings.slot = static_cast<uint32_t>(slot);
}

void readStop(Fields &fields, CompletionSettings &settings) {
  const Json *stop = fields.find("stop");
  if (!stop)
    return;
  bool list = stop->is_array() && stop->size() <= kMostStops;
  if (stop->is_string())
    settings.stop = {stop->get<std::string>()};
  else if (list && std::ranges::all_of(*stop, [](const Json &each) { return each.is_string(); }))
    settings.stop = stop->get<std::vector<std::string>>();
  else
    fields.complain(Error(ErrorKind::Validation,
                          fmt::format("Field \"stop\" is neither a string nor a list of at most {} strings.",
                                      kMostStops)));
  std::erase(settings.stop, "");
}

void readResponseFormat(Fields &fields, CompletionSettings &settings) {
  int ways = 0;
  auto constrain = [&](Result<std::string> grammar) {
    ++ways;
    if (grammar)
      settings.grammar = std::move(*grammar);
    else
      fields.complain(std::move(grammar).error());
  };
  if (const Json *format = fields.find("response_format")) {
    Fields inner(*format, fields.nameOf("response_format"), fields.lenient());
    std::string type = inner.choice("type", "text", {"text", "json_object", "json_schema"});
    if (type == "json_object") {
      const Json *schema = inner.find("schema");
      constrain(schema ? grammarOfSchema(*schema, fields.lenient()) : grammarOfAnyObject());
    } else if (type == "json_schema") {
      static const Json kNone;
      const Json *named = inner.find("json_schema");
      Fields described(named ? *named : kNone, inner.nameOf("json_schema"), fields.lenient());
      described.string("name", "");
      described.string("description", "");
      described.boolean("strict", true);
      const Json *schema = described.find("schema");
      if (!schema)
        described.complain(Error(ErrorKind::Validation, fmt::format("Field \"{}\" is missing; a JSON schema is expected.",
                                                                    described.nameOf("schema"))));
      if (auto read = described.finish(); !read)
        inner.complain(read.error());
      else
        constrain(grammarOfSchema(*schema, fields.lenient()));
    }
    if (auto read = inner.finish(); !read)
      fields.complain(read.error());
  }
  if (const Json *schema = fields.find("json_schema"))
    constrain(grammarOfSchema(*schema, fields.lenient()));
  if (std::string grammar = fields.string("grammar", ""); !grammar.empty())
    constrain(std::move(grammar));
  if (ways > 1)
    fields.complain(Error(ErrorKind::Validation, "The request has [" + std::to_string(ways) +
                                                     "] of \"response_format\", \"json_schema\" and \"grammar\"; one is "
                                                     "expected."));
  if (!settings.grammar.empty() && fields.good()) {
    auto grammar = Grammar::parse(settings.grammar);
    if (grammar)
      settings.constraint = std::move(*grammar);
    else
      fields.complain(std::move(grammar).error());
  }
}

Answer<ChatRequest> readChatRequest(const Json &body, const ReadingOptions &options) {
  ChatRequest request;
  CompletionSettings &settings = request.settings;
  Fields fields(body, "", options.lenient);
  readSampling(fields, options, settings);
  readResponseFormat(fields, settings);
  fields.string("model", "");
  fields.string("user", "");
  for (const char *name : {"max_tokens", "max_completion_tokens", "n_predict"})
    if (int64_t most = fields.integer(name, -1, -1, UINT32_MAX); most >= 0)
      settings.maxTokens = static_cast<uint32_t>(most);
  settings.choices = static_cast<uint32_t>(fields.integer("n", 1, 1, 4));
  settings.logProbabilities = fields.boolean("logprobs", false);
  settings.topLogProbabilities = static_cast<uint32_t>(fields.integer("top_logprobs", 0, 0, 20));
  if (settings.topLogProbabilities && !settings.logProbabilities)
    fields.complain(Error(ErrorKind::Validation,
                          fmt::format("Field \"top_logprobs\" is [{}], but \"logprobs\" is not true.",
                                      settings.topLogProbabilities)));
  readStreamOptions(fields, options, settings);
  const Json *messages = fields.find("messages");
  request.messages = Json::array();
  if (!messages || !messages->is_array() || messages->empty() || messages->size() > kMostMessages)
    fields.complain(Error(ErrorKind::Validation,
                          fmt::format("Field \"messages\" is {}; a list of 1 to {} messages is expected.",
                                      !messages               ? "missing"
                                      : !messages->is_array() ? fmt::format("of type [{}]", messages->type_name())
                                                              : fmt::format("a list of [{}]", messages->size()),
                                      kMostMessages)));
  else
    for (size_t i = 0; i < messages->size(); ++i)
      request.messages.push_back(readMessage((*messages)[i], fmt::format("messages[{}]", i), options, fields));
  PEWTER_TRY_VOID(finish(fields, settings));
  return request;
}

Answer<TextRequest> readCompletionRequest(const Json &body, const ReadingOptions &options) {
  TextRequest request;
  CompletionSettings &settings = request.settings;
  Fields fields(body, "", options.lenient);
  readSampling(fields, options, settings);
  readResponseFormat(fields, settings);
  fields.string("model", "");
  fields.string("user", "");
  settings.maxTokens = 16; // OpenAI's own default for this route
  for (const char *name : {"max_tokens", "n_predict"})
    if (fields.has(name)) {
      int64_t most = fields.integer(name, -1, -1, UINT32_MAX);
      settings.maxTokens = most < 0 ? std::nullopt : std::optional(static_cast<uint32_t>(most));
    }
  settings.choices = static_cast<uint32_t>(fields.integer("n", 1, 1, 4));
  if (int64_t best = fields.integer("best_of", settings.choices, 1, 4); best != settings.choices)
    fields.complain(Error(ErrorKind::Unsupported, fmt::format("Field \"best_of\" is [{}]; \"n\" ({}) is expected.",
                                                              best, settings.choices)));
  settings.echo = fields.boolean("echo", false);
  if (fields.has("logprobs")) {
    settings.logProbabilities = true;
    settings.topLogProbabilities = static_cast<uint32_t>(fields.integer("logprobs", 0, 0, 20));
  }
  if (!fields.string("suffix", "").empty())
    fields.complain(Error(ErrorKind::Unsupported, "Field \"suffix\" is given; the model cannot fill in the middle."));
  readStreamOptions(fields, options, settings);
  readPrompts(fields, options, request.prompts);
  PEWTER_TRY_VOID(finish(fields, settings));
  return request;
}

Answer<TextRequest> readLlamaRequest(const Json &body, const ReadingOptions &options) {
  TextRequest request;
  CompletionSettings &settings = request.settings;
  Fields fields(body, "", options.lenient);
  readSampling(fields, options, settings);
  readResponseFormat(fields, settings);
  fields.string("model", "");
  for (const char *name : {"max_tokens", "n_predict"})
    if (int64_t most = fields.integer(name, -1, -1, UINT32_MAX); most >= 0)
      settings.maxTokens = static_cast<uint32_t>(most);
  settings.topLogProbabilities = static_cast<uint32_t>(fields.integer("n_probs", 0, 0, 100));
  settings.logProbabilities = settings.topLogProbabilities > 0;
  settings.returnTokens = fields.boolean("return_tokens", false);
  readPrompts(fields, options, request.prompts);
  if (request.prompts.size() > 1)
    fields.complain(Error(ErrorKind::Unsupported, fmt::format("Field \"prompt\" has [{}] prompts; one is expected.",
                                                              request.prompts.size())));
  PEWTER_TRY_VOID(finish(fields, settings));
  return request;
}

Json samplerJson(const muse::SamplerOptions &options) {
  return {{"temperature", options.temperature},
          {"top_k", options.topK},
          {"top_p", options.topP},
          {"min_p", options.minP},
          {"typical_p", options.typicalP},
          {"repeat_last_n", options.repeatLastN},
          {"repeat_penalty", options.repeatPenalty},
          {"presence_penalty", options.presencePenalty},
          {"frequency_penalty", options.frequencyPenalty},
          {"mirostat", options.mirostat},
          {"mirostat_tau", options.mirostatTau},
          {"mirostat_eta", options.mirostatEta}};
}

} // namespace pewter::serve
