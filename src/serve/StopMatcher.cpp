// SPDX-License-Identifier: Apache-2.0
// Tested by StopMatcher_test.cpp.
#include "serve/StopMatcher.h"
#include <algorithm>
#include <utility>

namespace pewter::serve {

std::string StopMatcher::push(std::string_view text) {
  if (matched_)
    return {};
  held_ += text;
  size_t first = held_.npos;
  for (const std::string &stop : stops_)
    if (size_t at = held_.find(stop); at < first) {
      first = at;
      matched_ = stop;
    }
  if (matched_) {
    std::string out = held_.substr(0, first);
    held_.clear();
    return out;
  }
  size_t keep = 0;
  for (const std::string &stop : stops_)
    for (size_t length = std::min(stop.size() - 1, held_.size()); length > keep; --length)
      if (std::string_view(held_).substr(held_.size() - length) == std::string_view(stop).substr(0, length))
        keep = length;
  std::string out = held_.substr(0, held_.size() - keep);
  held_.erase(0, held_.size() - keep);
  return out;
}

std::string StopMatcher::finish() { return std::exchange(held_, {}); }

} // namespace pewter::serve
