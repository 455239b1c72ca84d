// SPDX-License-Identifier: Apache-2.0
//
// PieceSplitter: cuts text into the pieces inside which BPE merges, by the pattern that a GGUF file
// names in tokenizer.ggml.pre ("llama4" and its alias "gpt-4o"). Immutable; any thread.
#pragma once
#include "base/Error.h"
#include <memory>
#include <string_view>
#include <vector>

namespace pewter::muse {

class PieceSplitter {
public:
  static Result<std::unique_ptr<PieceSplitter>> create(std::string_view pre);
  ~PieceSplitter();
  /// Pieces in order; together they are exactly the text, invalid UTF-8 included.
  Result<std::vector<std::string_view>> split(std::string_view text) const;

private:
  PieceSplitter() = default;
  void *code_ = nullptr; ///< pcre2_code
};

} // namespace pewter::muse
