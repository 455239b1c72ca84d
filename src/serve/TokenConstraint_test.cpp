// SPDX-License-Identifier: Apache-2.0
#include "serve/TokenConstraint.h"
#include "serve/JsonSchema.h"
#include <gtest/gtest.h>
#include <random>

namespace pewter::serve {
namespace {

// The mask of a whole vocabulary is what asking for each token gives, all along a text.
TEST(TokenConstraint, TheMaskIsWhatEachTokenGives) {
  auto model = muse::GgufModel::open(PEWTER_SOURCE_DIR "/tests/engine/data/glimmer-tiny-q8_0.gguf").value();
  auto tokenizer = muse::Tokenizer::load(*model).value();
  TokenOrder order(*tokenizer);
  std::mt19937 random(11);
  for (const std::string &text :
       {grammarOfAnyObject(), std::string("root ::= [a-z]+ \".\""), std::string("root ::= (\"é\" | \"🙂\" | \" \")*")}) {
    TokenConstraint constraint(Grammar::parse(text).value(), order);
    for (int step = 0; step < 12 && !constraint.finished(); ++step) {
      std::vector<uint8_t> mask;
      size_t count = constraint.allowed(mask);
      ASSERT_GT(count, 0u);
      std::vector<uint32_t> may;
      for (uint32_t id = 0; id < tokenizer->size(); ++id) {
        ASSERT_EQ(mask[id] != 0, constraint.allows(id)) << text << " " << tokenizer->bytesOf(id);
        if (mask[id] && !tokenizer->endsGeneration(id))
          may.push_back(id);
      }
      if (may.empty())
        break;
      ASSERT_TRUE(constraint.accept(may[random() % may.size()]));
    }
  }
}

} // namespace
} // namespace pewter::serve
