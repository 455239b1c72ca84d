// SPDX-License-Identifier: Apache-2.0
//
// Characters become sequences of bytes when a grammar is read, so that a token which ends inside a character
// needs no special case. Following is Earley's algorithm ("An efficient context-free parsing algorithm",
// 1970), with Aycock and Horspool's treatment of rules that can be empty: it takes any grammar, in time that
// is cubic at worst. A state that grows beyond any use ends it instead of holding up the server.
//
// Tested by Grammar_test.cpp and Grammar_fuzz.cpp.
#include "serve/Grammar.h"
#include <algorithm>
#include <map>
#include <optional>
#include <string>

namespace pewter::serve {

namespace {
constexpr uint32_t kMostRepeats = 2000, kMostDepth = 100;
constexpr size_t kMostSymbols = 200'000, kMostItems = 20'000, kMostText = 1 << 20;
constexpr uint32_t kLastCharacter = 0x10ffff;
} // namespace

class GrammarParser {
public:
  explicit GrammarParser(std::string_view text) : text_(text) {}

  Result<std::shared_ptr<const Grammar>> parse() {
    if (text_.size() > kMostText)
      return fail(ErrorKind::Validation, "The grammar has [{}] bytes; {} are allowed.", text_.size(), kMostText);
    space(true);
    while (at_ < text_.size() && !error_)
      rule();
    if (!error_ && !names_.contains("root"))
      complain("has no rule [root]");
    for (const auto &[name, rule] : names_)
      if (!error_ && !defined_[rule])
        complain(fmt::format("uses rule [{}], which is not defined", name));
    if (error_)
      return std::unexpected(std::move(*error_));
    grammar_->root_ = names_["root"];
    findNullable();
    return std::shared_ptr<const Grammar>(std::move(grammar_));
  }

private:
  using Symbols = std::vector<Grammar::Symbol>;
  struct Range {
    uint32_t first, last;
  };

  void complain(std::string what) {
    if (error_)
      return;
    size_t line = 1 + static_cast<size_t>(std::ranges::count(text_.substr(0, at_), '\n'));
    error_ = Error(ErrorKind::Validation, fmt::format("The grammar {} (line {}).", what, line));
  }
  bool more() const { return at_ < text_.size() && !error_; }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (!more() || peek() != c)
      return false;
    ++at_;
    return true;
  }
  void space(bool lines) {
    while (at_ < text_.size()) {
      char c = text_[at_];
      if (c == '#')
        at_ = std::min(text_.find('\n', at_), text_.size());
      else if (c == ' ' || c == '\t' || (lines && (c == '\n' || c == '\r')))
        ++at_;
      else
        return;
    }
  }
  static bool isName(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_'; }
  std::string name() {
    size_t start = at_;
    while (at_ < text_.size() && isName(text_[at_]))
      ++at_;
    if (start == at_)
      complain(fmt::format("has [{}] where a name is expected", shown()));
    return std::string(text_.substr(start, at_ - start));
  }
  std::string shown() const {
    if (at_ >= text_.size())
      return "its end";
    unsigned char c = static_cast<unsigned char>(text_[at_]);
    return c > 0x20 && c < 0x7f ? std::string(1, static_cast<char>(c)) : fmt::format("\\x{:02x}", c);
  }

  uint32_t newRule() {
    grammar_->rules_.emplace_back();
    defined_.push_back(true);
    return static_cast<uint32_t>(grammar_->rules_.size() - 1);
  }
  uint32_t ruleNamed(const std::string &name) {
    auto [found, isNew] = names_.try_emplace(name, 0);
    if (isNew) {
      found->second = newRule();
      defined_[found->second] = false;
    }
    return found->second;
  }
  void addAlternative(uint32_t rule, const Symbols &symbols) {
    if (grammar_->symbols_.size() + symbols.size() + 1 > kMostSymbols)
      return complain(fmt::format("has more than [{}] symbols", kMostSymbols));
    grammar_->rules_[rule].push_back(static_cast<uint32_t>(grammar_->symbols_.size()));
    grammar_->symbols_.insert(grammar_->symbols_.end(), symbols.begin(), symbols.end());
    grammar_->symbols_.push_back({Grammar::Kind::End, rule});
  }
  Grammar::Symbol bytesSymbol(const Grammar::ByteSet &set) {
    auto [found, isNew] = setIndex_.try_emplace(set.to_string(), static_cast<uint32_t>(grammar_->sets_.size()));
    if (isNew)
      grammar_->sets_.push_back(set);
    return {Grammar::Kind::Bytes, found->second};
  }

  void rule() {
    std::string ruleName = name();
    space(false);
    if (!error_ && text_.substr(at_, 3) != "::=")
      complain(fmt::format("has [{}] behind name [{}]; ::= is expected", shown(), ruleName));
    if (error_)
      return;
    at_ += 3;
    space(true);
    uint32_t index = ruleNamed(ruleName);
    if (defined_[index])
      return complain(fmt::format("defines rule [{}] twice", ruleName));
    defined_[index] = true;
    alternatives(index, 0);
    if (more() && peek() != '\n' && peek() != '\r')
      complain(fmt::format("has [{}] where a rule ends", shown()));
    space(true);
  }

  void alternatives(uint32_t rule, uint32_t depth) {
    if (depth > kMostDepth)
      return complain(fmt::format("nests groups more than [{}] deep", kMostDepth));
    do {
      space(true);
      addAlternative(rule, sequence(depth));
      space(depth > 0);
    } while (take('|'));
  }

  Symbols sequence(uint32_t depth) {
    Symbols out;
    while (more()) {
      space(depth > 0);
      Symbols item;
      char c = peek();
      if (c == '"') {
        ++at_;
        while (more() && peek() != '"')
          addCharacter(item, character());
        if (!take('"'))
          complain("has a string without an end");
      } else if (c == '[') {
        ++at_;
        item = {characterClass()};
      } else if (c == '.') {
        ++at_;
        item = {classSymbol({{0, kLastCharacter}})};
      } else if (c == '(') {
        ++at_;
        uint32_t group = newRule();
        alternatives(group, depth + 1);
        space(true);
        if (!take(')'))
          complain(fmt::format("has [{}] where a group ends", shown()));
        item = {{Grammar::Kind::Rule, group}};
      } else if (isName(c)) {
        item = {{Grammar::Kind::Rule, ruleNamed(name())}};
      } else {
        return out;
      }
      repeat(item);
      if (out.size() + item.size() > kMostSymbols)
        complain(fmt::format("has more than [{}] symbols", kMostSymbols));
      if (error_)
        return {};
      out.insert(out.end(), item.begin(), item.end());
    }
    return out;
  }

  /// The repetitions behind an item.
  void repeat(Symbols &item) {
    while (more()) {
      if (take('*'))
        item = {anyNumberOf(item)};
      else if (take('+'))
        item = joined(item, {anyNumberOf(item)});
      else if (take('?'))
        item = {optional(item)};
      else if (take('{'))
        counted(item);
      else
        return;
    }
  }
  void counted(Symbols &item) {
    auto number = [&]() -> uint32_t {
      uint32_t value = 0;
      size_t start = at_;
      while (more() && std::isdigit(static_cast<unsigned char>(peek())) && value <= kMostRepeats)
        value = value * 10 + static_cast<uint32_t>(text_[at_++] - '0');
      if (start == at_ || value > kMostRepeats)
        complain(fmt::format("has a repetition that is no number up to [{}]", kMostRepeats));
      return value;
    };
    space(false);
    uint32_t least = number(), most = least;
    bool endless = false;
    space(false);
    if (take(',')) {
      space(false);
      endless = peek() == '}';
      if (!endless)
        most = number();
      space(false);
    }
    if (!take('}'))
      complain(fmt::format("has [{}] where a repetition ends", shown()));
    if (most < least)
      complain(fmt::format("repeats from [{}] to [{}] times", least, most));
    if (uint64_t(std::max(least, most)) * item.size() > kMostSymbols)
      complain(fmt::format("has more than [{}] symbols", kMostSymbols));
    if (error_)
      return;
    Symbols out;
    for (uint32_t i = 0; i < least; ++i)
      out.insert(out.end(), item.begin(), item.end());
    if (endless)
      out.push_back(anyNumberOf(item));
    // The rest from the inside: (x (x (x)?)?)?
    std::optional<Grammar::Symbol> rest;
    for (uint32_t i = least; i < most && !error_; ++i)
      rest = optional(rest ? joined(item, {*rest}) : item);
    if (rest)
      out.push_back(*rest);
    item = std::move(out);
  }
  static Symbols joined(Symbols a, const Symbols &b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
  /// Recursive on the left, which takes constant space however long the text becomes.
  Grammar::Symbol anyNumberOf(const Symbols &item) {
    uint32_t rule = newRule();
    Grammar::Symbol self{Grammar::Kind::Rule, rule};
    addAlternative(rule, {});
    addAlternative(rule, joined({self}, item));
    return self;
  }
  Grammar::Symbol optional(const Symbols &item) {
    uint32_t rule = newRule();
    addAlternative(rule, {});
    addAlternative(rule, item);
    return {Grammar::Kind::Rule, rule};
  }

  /// A character of a string or a class: plain UTF-8 or an escape.
  uint32_t character() {
    if (take('\\')) {
      char c = peek();
      ++at_;
      switch (c) {
      case 'n': return '\n';
      case 'r': return '\r';
      case 't': return '\t';
      case 'x': return hexadecimal(2);
      case 'u': return hexadecimal(4);
      case 'U': return hexadecimal(8);
      case '\\':
      case '"':
      case '[':
      case ']':
      case '-':
      case '^': return static_cast<unsigned char>(c);
      }
      --at_;
      complain(fmt::format("has the unknown escape [\\{}]", shown()));
      return 0;
    }
    unsigned char lead = static_cast<unsigned char>(peek());
    uint32_t length = lead < 0x80 ? 1 : lead >= 0xc2 && lead < 0xe0 ? 2 : lead >= 0xe0 && lead < 0xf0 ? 3
                      : lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
    uint32_t value = length == 1 ? lead : length == 2 ? lead & 0x1f : length == 3 ? lead & 0xf : lead & 7;
    bool good = length > 0 && at_ + length <= text_.size();
    for (uint32_t i = 1; good && i < length; ++i) {
      unsigned char next = static_cast<unsigned char>(text_[at_ + i]);
      good = (next & 0xc0) == 0x80;
      value = value << 6 | (next & 0x3f);
    }
    static constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    if (!good || value < kLeast[length] || !isCharacter(value)) {
      complain("has bytes that are not UTF-8");
      return 0;
    }
    at_ += length;
    return value;
  }
  static bool isCharacter(uint32_t value) { return value <= kLastCharacter && (value < 0xd800 || value > 0xdfff); }
  uint32_t hexadecimal(int digits) {
    uint32_t value = 0;
    for (int i = 0; i < digits; ++i) {
      char c = peek();
      if (!std::isxdigit(static_cast<unsigned char>(c))) {
        complain(fmt::format("has an escape with [{}]; {} hexadecimal digits are expected", shown(), digits));
        return 0;
      }
      value = value << 4 | static_cast<uint32_t>(std::isdigit(static_cast<unsigned char>(c)) ? c - '0' : (c | 32) - 'a' + 10);
      ++at_;
    }
    if (!isCharacter(value))
      complain(fmt::format("has an escape for [{:x}], which is no character", value));
    return value;
  }

  void addCharacter(Symbols &out, uint32_t character) {
    if (error_)
      return;
    std::vector<Range> bytes = utf8(character);
    for (Range byte : bytes) {
      Grammar::ByteSet set;
      set.set(byte.first);
      out.push_back(bytesSymbol(set));
    }
  }

  Grammar::Symbol characterClass() {
    bool negative = take('^');
    std::vector<Range> ranges;
    while (more() && peek() != ']') {
      uint32_t first = character(), last = first;
      if (peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        ++at_;
        last = character();
      }
      if (last < first)
        complain(fmt::format("has a class with a range from [{:x}] to [{:x}]", first, last));
      ranges.push_back({first, last});
    }
    if (!take(']'))
      complain("has a class without an end");
    if (error_)
      return {Grammar::Kind::Bytes, 0};
    std::ranges::sort(ranges, {}, &Range::first);
    std::vector<Range> merged;
    for (Range range : ranges)
      if (!merged.empty() && range.first <= merged.back().last + 1)
        merged.back().last = std::max(merged.back().last, range.last);
      else
        merged.push_back(range);
    if (negative) {
      std::vector<Range> rest;
      uint32_t next = 0;
      for (Range range : merged) {
        if (range.first > next)
          rest.push_back({next, range.first - 1});
        next = range.last + 1;
      }
      if (next <= kLastCharacter)
        rest.push_back({next, kLastCharacter});
      merged = std::move(rest);
    }
    return classSymbol(merged);
  }

  /// One-byte characters as one set, longer ones as sequences of ranges of bytes.
  Grammar::Symbol classSymbol(const std::vector<Range> &ranges) {
    Grammar::ByteSet single;
    std::vector<std::vector<Range>> sequences;
    for (Range range : ranges)
      cut(range.first, range.last, single, sequences);
    if (sequences.empty() && single.any())
      return bytesSymbol(single);
    uint32_t rule = newRule();
    if (single.any())
      addAlternative(rule, {bytesSymbol(single)});
    for (const auto &sequence : sequences) {
      Symbols symbols;
      for (Range byte : sequence) {
        Grammar::ByteSet set;
        for (uint32_t b = byte.first; b <= byte.last; ++b)
          set.set(b);
        symbols.push_back(bytesSymbol(set));
      }
      addAlternative(rule, symbols);
    }
    return {Grammar::Kind::Rule, rule};
  }
  static std::vector<Range> utf8(uint32_t c) {
    auto byte = [](uint32_t b) { return Range{b, b}; };
    if (c < 0x80)
      return {byte(c)};
    if (c < 0x800)
      return {byte(0xc0 | c >> 6), byte(0x80 | (c & 63))};
    if (c < 0x10000)
      return {byte(0xe0 | c >> 12), byte(0x80 | (c >> 6 & 63)), byte(0x80 | (c & 63))};
    return {byte(0xf0 | c >> 18), byte(0x80 | (c >> 12 & 63)), byte(0x80 | (c >> 6 & 63)), byte(0x80 | (c & 63))};
  }
  /// Cuts a range of characters so that each part is a product of ranges of bytes.
  static void cut(uint32_t first, uint32_t last, Grammar::ByteSet &single, std::vector<std::vector<Range>> &sequences) {
    if (first > last)
      return;
    auto apart = [&](uint32_t end) { // [first, end] and the rest
      cut(first, end, single, sequences);
      cut(end + 1, last, single, sequences);
    };
    if (first <= 0xdfff && last >= 0xd800) { // surrogates are no characters
      if (first < 0xd800)
        cut(first, 0xd7ff, single, sequences);
      return cut(0xe000, last, single, sequences);
    }
    for (uint32_t end : {0x7fu, 0x7ffu, 0xffffu})
      if (first <= end && last > end)
        return apart(end);
    if (last < 0x80) {
      for (uint32_t c = first; c <= last; ++c)
        single.set(c);
      return;
    }
    for (uint32_t bits : {6u, 12u, 18u}) {
      uint32_t low = (1u << bits) - 1;
      if ((first & ~low) == (last & ~low))
        continue;
      if (first & low)
        return apart(first | low);
      if ((last & low) != low)
        return apart((last & ~low) - 1);
    }
    std::vector<Range> a = utf8(first), b = utf8(last);
    for (size_t i = 0; i < a.size(); ++i)
      a[i].last = b[i].last;
    sequences.push_back(std::move(a));
  }

  void findNullable() {
    grammar_->nullable_.assign(grammar_->rules_.size(), false);
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t rule = 0; rule < grammar_->rules_.size(); ++rule) {
        if (grammar_->nullable_[rule])
          continue;
        bool empty = std::ranges::any_of(grammar_->rules_[rule], [&](uint32_t position) {
          while (grammar_->symbols_[position].kind == Grammar::Kind::Rule &&
                 grammar_->nullable_[grammar_->symbols_[position].index])
            ++position;
          return grammar_->symbols_[position].kind == Grammar::Kind::End;
        });
        changed = changed || empty;
        grammar_->nullable_[rule] = empty;
      }
    }
  }

  std::string_view text_;
  size_t at_ = 0;
  std::unique_ptr<Grammar> grammar_{new Grammar};
  std::map<std::string, uint32_t, std::less<>> names_;
  std::vector<bool> defined_;
  std::map<std::string, uint32_t> setIndex_;
  std::optional<Error> error_;
};

Result<std::shared_ptr<const Grammar>> Grammar::parse(std::string_view text) { return GrammarParser(text).parse(); }

GrammarMatcher::GrammarMatcher(std::shared_ptr<const Grammar> grammar) : grammar_(std::move(grammar)), seen_(256) {
  State &first = states_.emplace_back();
  ++round_;
  for (uint32_t start : grammar_->alternatives(grammar_->root()))
    add(first, {start, 0});
  close(first);
}

/// False when the item is there already.
bool GrammarMatcher::add(State &state, Item item) {
  uint64_t key = uint64_t(item.position) << 32 | item.origin;
  uint64_t hash = key * 0x9e3779b97f4a7c15u;
  size_t slot = hash >> 32;
  for (;; ++slot) {
    auto &[round, value] = seen_[slot % seen_.size()];
    if (round != round_) {
      round = round_;
      value = key;
      break;
    }
    if (value == key)
      return false;
  }
  state.items.push_back(item);
  if (state.items.size() * 2 > seen_.size()) { // grow, and enter this round's items again
    std::vector<std::pair<uint64_t, uint64_t>> larger(seen_.size() * 2);
    for (const Item &each : state.items) {
      uint64_t again = uint64_t(each.position) << 32 | each.origin;
      size_t place = again * 0x9e3779b97f4a7c15u >> 32;
      while (larger[place % larger.size()].first == round_)
        ++place;
      larger[place % larger.size()] = {round_, again};
    }
    seen_ = std::move(larger);
  }
  return true;
}

/// Predicts and completes. `state` is the one behind states_, or its last.
bool GrammarMatcher::close(State &state) {
  bool isLast = &state == &states_.back();
  auto self = static_cast<uint32_t>(isLast ? states_.size() - 1 : states_.size());
  for (size_t i = 0; i < state.items.size(); ++i) {
    if (state.items.size() > kMostItems) {
      overwhelmed_ = true;
      return false;
    }
    Item item = state.items[i];
    const Grammar::Symbol &symbol = grammar_->at(item.position);
    if (symbol.kind == Grammar::Kind::Rule) {
      for (uint32_t start : grammar_->alternatives(symbol.index))
        add(state, {start, self});
      if (grammar_->canBeEmpty(symbol.index))
        add(state, {item.position + 1, item.origin});
    } else if (symbol.kind == Grammar::Kind::End) {
      if (symbol.index == grammar_->root() && item.origin == 0)
        state.complete = true;
      if (item.origin == self)
        continue; // empty: done where it was predicted
      for (const Item &waiting : states_[item.origin].items) {
        const Grammar::Symbol &wanted = grammar_->at(waiting.position);
        if (wanted.kind == Grammar::Kind::Rule && wanted.index == symbol.index)
          add(state, {waiting.position + 1, waiting.origin});
      }
    }
  }
  return true;
}

bool GrammarMatcher::push(unsigned char byte) {
  if (overwhelmed_)
    return false;
  State next;
  ++round_;
  for (const Item &item : states_.back().items) {
    const Grammar::Symbol &symbol = grammar_->at(item.position);
    if (symbol.kind == Grammar::Kind::Bytes && grammar_->bytes(symbol.index)[byte])
      add(next, {item.position + 1, item.origin});
  }
  if (next.items.empty() || !close(next))
    return false;
  states_.push_back(std::move(next));
  return true;
}

bool GrammarMatcher::push(std::string_view bytes) {
  for (size_t i = 0; i < bytes.size(); ++i)
    if (!push(static_cast<unsigned char>(bytes[i]))) {
      pop(i);
      return false;
    }
  return true;
}

void GrammarMatcher::pop(size_t count) { states_.resize(states_.size() - count); }

Grammar::ByteSet GrammarMatcher::next() const {
  Grammar::ByteSet out;
  for (const Item &item : states_.back().items) {
    const Grammar::Symbol &symbol = grammar_->at(item.position);
    if (symbol.kind == Grammar::Kind::Bytes)
      out |= grammar_->bytes(symbol.index);
  }
  return out;
}

} // namespace pewter::serve
