// SPDX-License-Identifier: Apache-2.0
//
// The pattern is one regular expression of seven alternatives. "Upper" and "lower" are tested on
// ASCII only: a letter that is not a-z, and a letter that is not A-Z; each is written as one negated
// class, so that PCRE2 repeats it without a stack frame per letter and long inputs are safe.
//
// Tested by Tokenizer_test.cpp and tests/engine/TokenizerGoldens.cpp.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "muse/PieceSplitter.h"
#include <pcre2.h>

namespace pewter::muse {
namespace {

constexpr char kContraction[] = "(?:'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL]))?";

std::string pattern() {
  const std::string lead = R"([^\r\n\p{L}\p{N}]?)", upper = R"([^\P{L}a-z])", lower = R"([^\P{L}A-Z])";
  return lead + upper + "*" + lower + "+" + kContraction + "|" + lead + upper + "+" + lower + "*" +
         kContraction + R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
}

} // namespace

Result<std::unique_ptr<PieceSplitter>> PieceSplitter::create(std::string_view pre) {
  if (pre != "llama4" && pre != "gpt-4o")
    return fail(ErrorKind::Unsupported,
                "The tokenizer splits text by the pattern [{}]; \"llama4\" and \"gpt-4o\" are supported.",
                pre);
  std::string text = pattern();
  int error = 0;
  PCRE2_SIZE at = 0;
  pcre2_code *code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF, &error, &at, nullptr);
  if (!code)
    return fail(ErrorKind::Internal, "PCRE2 refuses the split pattern at {} (error {}).", at, error);
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); // without it, matching is slower and the same
  auto splitter = std::unique_ptr<PieceSplitter>(new PieceSplitter);
  splitter->code_ = code;
  return splitter;
}

PieceSplitter::~PieceSplitter() { pcre2_code_free(static_cast<pcre2_code *>(code_)); }

Result<std::vector<std::string_view>> PieceSplitter::split(std::string_view text) const {
  auto *code = static_cast<pcre2_code *>(code_);
  std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data *)> match(
      pcre2_match_data_create_from_pattern(code, nullptr), pcre2_match_data_free);
  std::vector<std::string_view> pieces;
  size_t done = 0;
  while (done < text.size()) {
    int found = pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), done, 0,
                            match.get(), nullptr);
    if (found < 0 && found != PCRE2_ERROR_NOMATCH)
      return fail(ErrorKind::Internal, "Splitting text failed at byte {} (PCRE2 error {}).", done, found);
    const PCRE2_SIZE *span = pcre2_get_ovector_pointer(match.get());
    size_t begin = found < 0 ? text.size() : span[0], end = found < 0 ? text.size() : span[1];
    if (begin > done) // bytes that are not UTF-8 match nothing
      pieces.push_back(text.substr(done, begin - done));
    if (end > begin)
      pieces.push_back(text.substr(begin, end - begin));
    if (end <= done && begin <= done)
      return fail(ErrorKind::Internal, "Splitting text makes no progress at byte {}.", done);
    done = end;
  }
  return pieces;
}

} // namespace pewter::muse
