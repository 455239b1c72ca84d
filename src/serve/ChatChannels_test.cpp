// SPDX-License-Identifier: Apache-2.0
#include "serve/ChatChannels.h"
#include <gtest/gtest.h>

namespace pewter::serve {
namespace {

TEST(ChatChannels, FollowsHeadsAndRecipients) {
  auto model = muse::GgufModel::open(PEWTER_SOURCE_DIR "/tests/engine/data/glimmer-tiny-q8_0.gguf").value();
  auto tokenizer = muse::Tokenizer::load(*model).value();
  auto ids = [&](std::string_view text) { return tokenizer->encode(text, muse::Specials::All).value(); };
  ChatChannels channels(*tokenizer, ids("<|start|>user<|message|>Hi<|eot|><|start|>assistant"));
  std::string reasoning, content;
  for (uint32_t id : ids(" to=self<|message|>think<|eom|><|start|>assistant to=user<|message|>say")) {
    Channel channel = channels.push(id);
    if (channel != Channel::Head)
      (channel == Channel::Content ? content : reasoning) += tokenizer->bytesOf(id);
  }
  EXPECT_EQ(reasoning, "think");
  EXPECT_EQ(content, "say");
  // A prompt that ends inside a message.
  ChatChannels inside(*tokenizer, ids("<|start|>assistant to=user<|message|>"));
  EXPECT_EQ(inside.push(ids("x")[0]), Channel::Content);
}

} // namespace
} // namespace pewter::serve
