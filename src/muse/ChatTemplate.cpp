// SPDX-License-Identifier: Apache-2.0
//
// In text that a person wrote, "<|" is replaced by "<" + U+E000 + "|" before rendering and restored,
// piece by piece, after the rendered text has been cut into control tokens and plain text. U+E000 is
// private use: a template cannot contain it by accident, and input that does is escaped the same way.
//
// Tested by tests/engine/Chat.cpp.
#include "muse/ChatTemplate.h"
#include <ctime>

namespace pewter::muse {
namespace {

constexpr std::string_view kMark = "\xee\x80\x80"; // U+E000

std::string replaceAll(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}
std::string protect(const std::string &text) {
  return replaceAll(replaceAll(text, kMark, std::string(kMark) + "e"), "<|", "<" + std::string(kMark) + "|");
}
std::string unprotect(std::string_view text) {
  return replaceAll(replaceAll(std::string(text), "<" + std::string(kMark) + "|", "<|"), std::string(kMark) + "e",
                    kMark);
}

/// Protects every string inside a value, but not the keys or the roles.
JinjaData protectAll(const JinjaData &value) {
  if (value.is_string())
    return protect(value.get<std::string>());
  JinjaData out = value;
  if (value.is_structured())
    for (auto &[key, element] : out.items())
      if (!(value.is_object() && key == "role"))
        element = protectAll(element);
  return out;
}

} // namespace

Result<ChatTemplate> ChatTemplate::load(const GgufModel &model) {
  const GgufValue *value = model.find("tokenizer.chat_template");
  auto text = value ? value->asString() : std::nullopt;
  if (!text || text->empty())
    return fail(ErrorKind::Validation,
                "GGUF file \"{}\" has no chat template (\"tokenizer.chat_template\").", model.label());
  ChatTemplate out;
  PEWTER_TRY(out.template_, JinjaTemplate::parse(*text));
  return out;
}

Result<std::string> ChatTemplate::render(const JinjaData &messages, bool addGenerationPrompt,
                                         const JinjaData &extra) const {
  std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::localtime_r(&now, &parts);
  char date[16];
  std::strftime(date, sizeof date, "%Y-%m-%d", &parts);
  JinjaData variables = {{"messages", messages},
                         {"add_generation_prompt", addGenerationPrompt},
                         {"bos_token", ""},
                         {"eos_token", ""},
                         {"current_date", date},
                         {"reasoning_strength", "high"},
                         {"tools", nullptr}};
  variables.update(extra);
  return template_->render(variables);
}

Result<std::vector<uint32_t>> ChatTemplate::encode(const Tokenizer &tokenizer, const JinjaData &messages,
                                                   bool addGenerationPrompt, const JinjaData &extra) const {
  PEWTER_TRY(std::string text, render(protectAll(messages), addGenerationPrompt, protectAll(extra)));
  std::vector<uint32_t> ids;
  if (tokenizer.addsBos())
    ids.push_back(*tokenizer.bos());
  // Control tokens are spelled "<|...|>"; everything between them is plain.
  size_t plain = 0;
  auto flush = [&](size_t end) -> Result<void> {
    PEWTER_TRY(auto part, tokenizer.encode(unprotect(std::string_view(text).substr(plain, end - plain)),
                                           Specials::None));
    ids.insert(ids.end(), part.begin(), part.end());
    return {};
  };
  for (size_t at = 0; (at = text.find("<|", at)) != text.npos;) {
    size_t end = text.find("|>", at);
    auto id = end == text.npos ? std::nullopt : tokenizer.find(std::string_view(text).substr(at, end + 2 - at));
    if (!id || !tokenizer.isControl(*id)) {
      at += 2;
      continue;
    }
    PEWTER_TRY_VOID(flush(at));
    if (!(ids.size() == 1 && tokenizer.addsBos() && *id == *tokenizer.bos())) // the template's own BOS
      ids.push_back(*id);
    plain = at = end + 2;
  }
  PEWTER_TRY_VOID(flush(text.size()));
  return ids;
}

Result<std::vector<uint32_t>> ChatTemplate::encode(const Tokenizer &tokenizer,
                                                   const std::vector<ChatMessage> &messages,
                                                   bool addGenerationPrompt) const {
  JinjaData list = JinjaData::array();
  for (const ChatMessage &message : messages)
    list.push_back({{"role", message.role}, {"content", message.content}});
  return encode(tokenizer, list, addGenerationPrompt);
}

} // namespace pewter::muse
