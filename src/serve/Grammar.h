// SPDX-License-Identifier: Apache-2.0
//
// Grammar: what a text may look like, in GBNF, the notation of llama.cpp's grammars:
//
//   root   ::= "[" (number ("," " "? number)*)? "]"   # a comment
//   number ::= "-"? [0-9]{1,9}
//
// Strings, classes of characters ("[^\"\x00-\x1f]"), "." for any character, groups, alternatives, and the
// repetitions ? * + {n} {n,} {n,m}. Rules may refer to each other in any way, also to themselves on the
// left. The text begins and ends with the rule "root".
//
// GrammarMatcher follows a text byte by byte and says what may come next.
//
//   PEWTER_TRY(auto grammar, Grammar::parse(text));
//   GrammarMatcher matcher(grammar);
//   bool fits = matcher.push("[1,");       // false leaves it as it was
//   bool may = matcher.mayEnd();
//
// A Grammar is immutable, for any thread. A matcher belongs to one thread.
#pragma once
#include "base/Error.h"
#include <bitset>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace pewter::serve {

class Grammar {
public:
  static Result<std::shared_ptr<const Grammar>> parse(std::string_view text);

  enum class Kind : uint8_t { Bytes, Rule, End };
  struct Symbol {
    Kind kind;
    uint32_t index; ///< Of the set of bytes, or of the rule; at the end of an alternative, of its rule.
  };
  using ByteSet = std::bitset<256>;

  const Symbol &at(uint32_t position) const { return symbols_[position]; }
  const ByteSet &bytes(uint32_t index) const { return sets_[index]; }
  /// Where the alternatives of a rule begin.
  const std::vector<uint32_t> &alternatives(uint32_t rule) const { return rules_[rule]; }
  bool canBeEmpty(uint32_t rule) const { return nullable_[rule]; }
  uint32_t root() const { return root_; }
  size_t size() const { return symbols_.size(); }

private:
  friend class GrammarParser;
  Grammar() = default;
  std::vector<Symbol> symbols_; ///< All alternatives, each closed by an End.
  std::vector<ByteSet> sets_;
  std::vector<std::vector<uint32_t>> rules_;
  std::vector<bool> nullable_;
  uint32_t root_ = 0;
};

class GrammarMatcher {
public:
  explicit GrammarMatcher(std::shared_ptr<const Grammar> grammar);

  /// Follows a byte. False, and nothing changes, when it does not fit.
  bool push(unsigned char byte);
  /// All bytes or none.
  bool push(std::string_view bytes);
  /// Takes back the last `count` bytes.
  void pop(size_t count);
  /// Bytes that may come next.
  Grammar::ByteSet next() const;
  bool mayEnd() const { return states_.back().complete; }
  size_t length() const { return states_.size() - 1; }
  /// Whether the grammar was so ambiguous that following it was given up; then nothing fits any more.
  bool overwhelmed() const { return overwhelmed_; }

private:
  struct Item {
    uint32_t position, origin;
    bool operator==(const Item &) const = default;
  };
  struct State {
    std::vector<Item> items;
    bool complete = false;
  };
  bool close(State &state);
  bool add(State &state, Item item);

  std::shared_ptr<const Grammar> grammar_;
  std::vector<State> states_;             ///< [length + 1]
  std::vector<std::pair<uint64_t, uint64_t>> seen_; ///< A hash table of items; entries of older rounds are free.
  uint64_t round_ = 0;
  bool overwhelmed_ = false;
};

} // namespace pewter::serve
