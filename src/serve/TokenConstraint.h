// SPDX-License-Identifier: Apache-2.0
//
// TokenConstraint: which tokens may come next so that the text stays within a grammar. Control tokens never
// may, but for the ones that end an answer, where the text may end.
//
// A TokenOrder is immutable and shared; a TokenConstraint belongs to one thread.
#pragma once
#include "muse/Tokenizer.h"
#include "serve/Grammar.h"

namespace pewter::serve {

/// The vocabulary in the order of its bytes, so that tokens with a common beginning are neighbours.
class TokenOrder {
public:
  explicit TokenOrder(const muse::Tokenizer &tokenizer);
  const std::vector<uint32_t> &ids() const { return ids_; } ///< Without control tokens and empty ones.
  const muse::Tokenizer &tokenizer() const { return tokenizer_; }

private:
  const muse::Tokenizer &tokenizer_;
  std::vector<uint32_t> ids_;
};

class TokenConstraint {
public:
  TokenConstraint(std::shared_ptr<const Grammar> grammar, const TokenOrder &order)
      : matcher_(std::move(grammar)), order_(order) {}
  bool allows(uint32_t id);
  /// One entry per token of the vocabulary, 1 where it may come next; the result is how many may.
  size_t allowed(std::vector<uint8_t> &mask);
  /// Follows a token that is allowed.
  bool accept(uint32_t id);
  /// The text is complete and nothing can follow.
  bool finished() const { return matcher_.mayEnd() && matcher_.next().none(); }
  bool overwhelmed() const { return matcher_.overwhelmed(); }

private:
  GrammarMatcher matcher_;
  const TokenOrder &order_;
};

} // namespace pewter::serve
