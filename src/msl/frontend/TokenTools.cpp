// SPDX-License-Identifier: Apache-2.0
//
// Tested by: Compile_test.cpp.
#include "msl/frontend/TokenTools.h"

namespace pewter::msl {

using namespace clang;

const IdentifierInfo *identifierOf(const Token &token) {
  if (token.isAnnotation() || token.isLiteral() || token.is(tok::eof))
    return nullptr;
  return token.getIdentifierInfo();
}

bool isWord(const Token &token, llvm::StringRef word) {
  const IdentifierInfo *identifier = identifierOf(token);
  return identifier && identifier->getName() == word;
}

size_t closingIndex(const Tokens &tokens, size_t start, tok::TokenKind open, tok::TokenKind close) {
  int depth = 0;
  for (size_t i = start; i < tokens.size(); ++i) {
    if (tokens[i].is(open))
      ++depth;
    else if (tokens[i].is(close) && --depth == 0)
      return i;
  }
  return tokens.size() - 1;
}

void TokenWriter::punctuation(tok::TokenKind kind, SourceLocation at) {
  Token token;
  token.startToken();
  token.setKind(kind);
  token.setLocation(at);
  token.setLength(1);
  append(token);
}

void TokenWriter::word(llvm::StringRef spelling, SourceLocation at) {
  Token token;
  token.startToken();
  IdentifierInfo *identifier = preprocessor_.getIdentifierInfo(spelling);
  token.setKind(identifier->getTokenID());
  token.setIdentifierInfo(identifier);
  token.setLocation(at);
  token.setLength(spelling.size());
  append(token);
}

Token TokenWriter::numberToken(llvm::StringRef spelling, SourceLocation at) {
  const auto found = numbers_.find(spelling.str());
  if (found != numbers_.end())
    return found->second;
  Token token;
  token.startToken();
  token.setKind(tok::numeric_constant);
  preprocessor_.CreateString(spelling, token, at, at);
  return token;
}

void TokenWriter::number(llvm::StringRef spelling, SourceLocation at) {
  append(numberToken(spelling, at));
}

Token TokenWriter::stringToken(llvm::StringRef contents, SourceLocation at) {
  Token token;
  token.startToken();
  token.setKind(tok::string_literal);
  preprocessor_.CreateString(("\"" + contents + "\"").str(), token, at, at);
  return token;
}

void TokenWriter::string(llvm::StringRef contents, SourceLocation at) {
  append(stringToken(contents, at));
}

void TokenWriter::metalName(llvm::StringRef name, SourceLocation at) {
  punctuation(tok::coloncolon, at);
  word("metal", at);
  punctuation(tok::coloncolon, at);
  word(name, at);
}

void TokenWriter::attribute(llvm::StringRef name, llvm::ArrayRef<Token> arguments,
                            SourceLocation at) {
  word("__attribute__", at);
  punctuation(tok::l_paren, at);
  punctuation(tok::l_paren, at);
  word(name, at);
  punctuation(tok::l_paren, at);
  for (const Token &argument : arguments)
    append(argument);
  for (int i = 0; i < 3; ++i)
    punctuation(tok::r_paren, at);
}

void TokenWriter::attribute(llvm::StringRef name, unsigned number, SourceLocation at) {
  // The few numbers that occur are made once: each costs scratch space otherwise.
  const std::string spelling = std::to_string(number);
  if (!numbers_.contains(spelling)) {
    Token made = numberToken(spelling, at);
    numbers_.emplace(spelling, made);
  }
  attribute(name, llvm::ArrayRef(numbers_.find(spelling)->second), at);
}

void TokenWriter::annotation(llvm::StringRef name, llvm::ArrayRef<Token> arguments,
                             SourceLocation at) {
  Tokens list{stringToken(("air." + name).str(), at)};
  if (!arguments.empty()) {
    Token comma;
    comma.startToken();
    comma.setKind(tok::comma);
    comma.setLocation(at);
    comma.setLength(1);
    list.push_back(comma);
    list.insert(list.end(), arguments.begin(), arguments.end());
  }
  attribute("annotate", list, at);
}

} // namespace pewter::msl
