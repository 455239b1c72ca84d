// SPDX-License-Identifier: Apache-2.0
//
// StopMatcher: lets text through until one of some strings appears in it. Text that could be the beginning
// of one is held back until it is clear.
//
//   StopMatcher matcher({"\n\n"});
//   out += matcher.push("one\n");   // "one"
//   out += matcher.push("two");     // "\ntwo"
//
// Belongs to one thread.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pewter::serve {

class StopMatcher {
public:
  explicit StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {}
  /// What may go out. After a match nothing more does.
  std::string push(std::string_view text);
  /// What was held back; for the end of the text.
  std::string finish();
  const std::optional<std::string> &matched() const { return matched_; }

private:
  std::vector<std::string> stops_;
  std::string held_;
  std::optional<std::string> matched_;
};

} // namespace pewter::serve
