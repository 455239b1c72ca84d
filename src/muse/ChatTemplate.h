// SPDX-License-Identifier: Apache-2.0
//
// ChatTemplate: the layout of a conversation, as the model's file has it. What a person wrote becomes
// plain text even where it spells control tokens: rendering marks such text, and encoding turns only the
// template's own marks into control tokens.
//
//   PEWTER_TRY(ChatTemplate chat, ChatTemplate::load(*model));
//   PEWTER_TRY(auto ids, chat.encode(tokenizer, {{"user", "Hello"}}, true));
#pragma once
#include "muse/Jinja.h"
#include "muse/Tokenizer.h"

namespace pewter::muse {

struct ChatMessage {
  std::string role, content;
};

class ChatTemplate {
public:
  /// An error when the file has no template or it cannot be parsed.
  static Result<ChatTemplate> load(const GgufModel &model);

  /// `messages` is a list of mappings; `extra` (tools, ...) is added to the variables.
  Result<std::string> render(const JinjaData &messages, bool addGenerationPrompt,
                             const JinjaData &extra = JinjaData::object()) const;
  Result<std::vector<uint32_t>> encode(const Tokenizer &tokenizer, const JinjaData &messages,
                                       bool addGenerationPrompt,
                                       const JinjaData &extra = JinjaData::object()) const;
  Result<std::vector<uint32_t>> encode(const Tokenizer &tokenizer, const std::vector<ChatMessage> &messages,
                                       bool addGenerationPrompt) const;

private:
  std::shared_ptr<const JinjaTemplate> template_;
};

} // namespace pewter::muse
