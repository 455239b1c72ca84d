// SPDX-License-Identifier: Apache-2.0
// Tested by TokenConstraint_test.cpp.
#include "serve/TokenConstraint.h"
#include <algorithm>

namespace pewter::serve {

TokenOrder::TokenOrder(const muse::Tokenizer &tokenizer) : tokenizer_(tokenizer) {
  for (uint32_t id = 0; id < tokenizer.size(); ++id)
    if (!tokenizer.isControl(id) && !tokenizer.bytesOf(id).empty())
      ids_.push_back(id);
  std::ranges::sort(ids_, [&](uint32_t a, uint32_t b) { return tokenizer.bytesOf(a) < tokenizer.bytesOf(b); });
}

bool TokenConstraint::allows(uint32_t id) {
  const muse::Tokenizer &tokenizer = order_.tokenizer();
  if (tokenizer.endsGeneration(id))
    return matcher_.mayEnd();
  const std::string &bytes = tokenizer.bytesOf(id);
  if (tokenizer.isControl(id) || bytes.empty() || !matcher_.push(bytes))
    return false;
  matcher_.pop(bytes.size());
  return true;
}

bool TokenConstraint::accept(uint32_t id) {
  return order_.tokenizer().endsGeneration(id) || matcher_.push(order_.tokenizer().bytesOf(id));
}

size_t TokenConstraint::allowed(std::vector<uint8_t> &mask) {
  const muse::Tokenizer &tokenizer = order_.tokenizer();
  mask.assign(tokenizer.size(), 0);
  size_t count = 0;
  std::string_view path; // what the matcher has followed beyond the text
  std::string_view dead; // a beginning that does not fit
  for (uint32_t id : order_.ids()) {
    std::string_view bytes = tokenizer.bytesOf(id);
    if (!dead.empty() && bytes.starts_with(dead))
      continue;
    dead = {};
    size_t same = static_cast<size_t>(std::ranges::mismatch(path, bytes).in1 - path.begin());
    matcher_.pop(path.size() - same);
    path = bytes.substr(0, same);
    while (path.size() < bytes.size() && matcher_.push(static_cast<unsigned char>(bytes[path.size()])))
      path = bytes.substr(0, path.size() + 1);
    if (path.size() == bytes.size()) {
      mask[id] = 1;
      ++count;
    } else {
      dead = bytes.substr(0, path.size() + 1);
    }
  }
  matcher_.pop(path.size());
  if (matcher_.mayEnd())
    for (uint32_t id : tokenizer.endOfGeneration()) {
      mask[id] = 1;
      ++count;
    }
  return count;
}

} // namespace pewter::serve
