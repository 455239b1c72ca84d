// SPDX-License-Identifier: Apache-2.0
//
// ChatChannels: which part of an answer a token belongs to. A model of this family writes
//
//   <|start|>assistant to=self<|message|>...<|eom|><|start|>assistant to=user<|message|>...<|eot|>
//
// What goes to "self" is reasoning, what goes to anybody else or to nobody in particular is content, and
// heads are neither. For a vocabulary without <|message|> everything is content.
//
// Belongs to one thread.
#pragma once
#include "muse/Tokenizer.h"

namespace pewter::serve {

enum class Channel { Head, Content, Reasoning };

class ChatChannels {
public:
  /// `prompt` is what the answer continues: it may end inside a head.
  ChatChannels(const muse::Tokenizer &tokenizer, std::span<const uint32_t> prompt);
  /// The channel of a token that has just been made.
  Channel push(uint32_t id);

private:
  const muse::Tokenizer &tokenizer_;
  std::optional<uint32_t> start_, message_, end_;
  Channel channel_ = Channel::Content;
  std::string head_;
};

} // namespace pewter::serve
