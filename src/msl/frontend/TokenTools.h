// SPDX-License-Identifier: Apache-2.0
//
// Small tools on preprocessed tokens: reading their names, finding closing brackets, and making new
// tokens at the place of an old one, so that diagnostics keep pointing at the user's text.
#pragma once
#include <clang/Lex/Preprocessor.h>
#include <clang/Lex/Token.h>
#include <string>
#include <unordered_map>
#include <vector>

namespace pewter::msl {

using Tokens = std::vector<clang::Token>;

/// The identifier or keyword of a token; null for literals, punctuation, annotations and the end.
const clang::IdentifierInfo *identifierOf(const clang::Token &token);
/// True for an identifier or keyword of that spelling.
bool isWord(const clang::Token &token, llvm::StringRef word);

/// Index of the bracket that closes the one at or after `start`; the last token when none does.
size_t closingIndex(const Tokens &tokens, size_t start, clang::tok::TokenKind open,
                    clang::tok::TokenKind close);

/// Tracks the nesting of template brackets over a run of tokens, as far as tokens can tell.
class AngleDepth {
public:
  void see(const clang::Token &token) {
    if (token.is(clang::tok::less))
      ++depth_;
    else if (token.is(clang::tok::greater))
      --depth_;
    else if (token.is(clang::tok::greatergreater))
      depth_ -= 2;
  }
  bool outside() const { return depth_ <= 0; }

private:
  int depth_ = 0;
};

/// Makes tokens and appends them to a list.
class TokenWriter {
public:
  explicit TokenWriter(clang::Preprocessor &preprocessor) : preprocessor_(preprocessor) {}

  Tokens &tokens() { return tokens_; }
  const Tokens &tokens() const { return tokens_; }
  void append(const clang::Token &token) { tokens_.push_back(token); }
  void punctuation(clang::tok::TokenKind kind, clang::SourceLocation at);
  void word(llvm::StringRef spelling, clang::SourceLocation at);
  void number(llvm::StringRef spelling, clang::SourceLocation at);
  void string(llvm::StringRef contents, clang::SourceLocation at);
  /// ::metal::NAME
  void metalName(llvm::StringRef name, clang::SourceLocation at);
  /// __attribute__((NAME(ARGUMENTS...)))
  void attribute(llvm::StringRef name, llvm::ArrayRef<clang::Token> arguments,
                 clang::SourceLocation at);
  void attribute(llvm::StringRef name, unsigned number, clang::SourceLocation at);
  /// __attribute__((annotate("air.NAME", ARGUMENTS...)))
  void annotation(llvm::StringRef name, llvm::ArrayRef<clang::Token> arguments,
                  clang::SourceLocation at);

  clang::Token stringToken(llvm::StringRef contents, clang::SourceLocation at);

private:
  clang::Token numberToken(llvm::StringRef spelling, clang::SourceLocation at);
  clang::Preprocessor &preprocessor_;
  Tokens tokens_;
  std::unordered_map<std::string, clang::Token> numbers_; ///< Spellings already in scratch space.
};

} // namespace pewter::msl
