// SPDX-License-Identifier: Apache-2.0
// Tested by ChatChannels_test.cpp.
#include "serve/ChatChannels.h"

namespace pewter::serve {

ChatChannels::ChatChannels(const muse::Tokenizer &tokenizer, std::span<const uint32_t> prompt)
    : tokenizer_(tokenizer), start_(tokenizer.find("<|start|>")), message_(tokenizer.find("<|message|>")),
      end_(tokenizer.find("<|eom|>")) {
  if (!message_)
    return;
  channel_ = Channel::Head;
  for (uint32_t id : prompt)
    push(id);
}

Channel ChatChannels::push(uint32_t id) {
  if (!message_)
    return channel_;
  if (id == start_ || id == end_) {
    channel_ = Channel::Head;
    head_.clear();
    return Channel::Head;
  }
  if (id == *message_) {
    channel_ = head_.find("to=self") != head_.npos ? Channel::Reasoning : Channel::Content;
    return Channel::Head;
  }
  if (channel_ == Channel::Head && head_.size() < 256)
    head_ += tokenizer_.bytesOf(id);
  return channel_;
}

} // namespace pewter::serve
