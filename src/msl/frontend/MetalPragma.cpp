// SPDX-License-Identifier: Apache-2.0
//
// Tested by: Compile_test.cpp (a safe scope in a fast library has no fast-math flags).
#include "msl/frontend/MetalPragma.h"
#include <clang/Lex/Preprocessor.h>

namespace pewter::msl {
namespace {

using namespace clang;

std::string clangPragmaFor(llvm::StringRef text) {
  if (text.contains("math_mode(safe)"))
    return "float_control(precise, on)";
  if (text.contains("math_mode(fast)") || text.contains("math_mode(relaxed)"))
    return "float_control(precise, off)";
  for (const char *mode : {"off", "on", "fast"})
    if (text.contains(std::string("contract(") + mode + ")"))
      return std::string("clang fp contract(") + mode + ")";
  return "";
}

Token punctuation(tok::TokenKind kind, SourceLocation location) {
  Token token;
  token.startToken();
  token.setKind(kind);
  token.setLocation(location);
  token.setLength(1);
  return token;
}

class MetalPragma : public PragmaHandler {
public:
  MetalPragma() : PragmaHandler("METAL") {}

  void HandlePragma(Preprocessor &preprocessor, PragmaIntroducer, Token &first) override {
    const SourceLocation location = first.getLocation();
    std::string text;
    Token token;
    for (preprocessor.Lex(token); token.isNot(tok::eod); preprocessor.Lex(token))
      text += preprocessor.getSpelling(token);
    const std::string pragma = clangPragmaFor(text);
    if (pragma.empty())
      return;

    auto tokens = std::make_unique<Token[]>(4);
    tokens[0].startToken();
    tokens[0].setIdentifierInfo(preprocessor.getIdentifierInfo("_Pragma"));
    tokens[0].setKind(tok::identifier);
    tokens[0].setLocation(location);
    tokens[0].setLength(7);
    tokens[1] = punctuation(tok::l_paren, location);
    tokens[2].startToken();
    tokens[2].setKind(tok::string_literal);
    preprocessor.CreateString("\"" + pragma + "\"", tokens[2], location, location);
    tokens[3] = punctuation(tok::r_paren, location);
    preprocessor.EnterTokenStream(std::move(tokens), 4, /*DisableMacroExpansion=*/false,
                                  /*IsReinject=*/false);
  }
};

} // namespace

clang::PragmaHandler *makeMetalPragma() { return new MetalPragma; }

} // namespace pewter::msl
