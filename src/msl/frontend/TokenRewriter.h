// SPDX-License-Identifier: Apache-2.0
//
// Turns preprocessed MSL tokens into tokens that clang's C++17 parser accepts (docs/msl.md lists the
// rules): attributes and `kernel` become annotations, address spaces become type qualifiers, literals
// get the suffixes that C++ wants, and a few shapes that clang refuses are written differently. Macros
// are expanded before, so declarations that macros build are rewritten like any other.
//
// Three shapes cannot be seen in tokens; the compiler reports them, and a second run with the reported
// places in `Repairs` writes them differently too.
#pragma once
#include "msl/frontend/TokenTools.h"
#include <map>
#include <set>

namespace pewter::msl {

/// Raw source locations at which the first run failed in a repairable way.
struct Repairs {
  std::set<unsigned> conditionals; ///< The `?` of a conditional whose operands differ in space.
  std::set<unsigned> casts;        ///< A cast between half and bfloat.
  bool texts = false; ///< String literals are wanted in constant memory.
  size_t size() const { return conditionals.size() + casts.size() + texts; }
};

class TokenRewriter {
public:
  TokenRewriter(clang::Preprocessor &preprocessor, const Repairs &repairs);

  /// Rewrites `input`, which ends with the eof token.
  Tokens rewrite(Tokens input);

private:
  enum Mark : uint8_t {
    kLoadValue = 1,    ///< Put `::metal::__rv <<=` before: an arm of a conditional.
    kStar = 2,         ///< Put `*` before: an array parameter's name.
    kStarParen = 4,    ///< Put `(*` before and `)` behind: a parameter that is an array of arrays.
    kWidenOpen = 8,    ///< Put `::metal::__widen(` behind.
    kWidenClose = 16,  ///< Put `)` before.
    kThreadMethod = 32, ///< Put the attribute of a method for thread objects behind.
    kFloatCast = 64,   ///< Put `(float)` behind: the type of a cast in C's form.
  };

  void markConditionals();
  void markArrayParameters();
  void markCasts();
  void markMethodsBesideSpaces();

  /// Each rewrites what stands at `i` and returns the index of the last token consumed, or npos.
  size_t rewriteAttributes(size_t i);
  size_t rewriteWord(size_t i, const clang::IdentifierInfo &identifier);
  size_t rewriteSpace(size_t i, unsigned space);
  size_t rewriteText(size_t i);
  bool rewriteNumber(const clang::Token &token);

  size_t className(size_t brace) const;
  bool copiesOwnClass(size_t brace, size_t end) const;
  void declareCopyAssignment(size_t brace, size_t name);
  bool wantsPlainText() const;
  bool atStatementStart() const;
  bool followsStorageClass() const;
  bool qualifiesMethod(size_t i) const;
  bool declaresObject(size_t i) const;
  /// Where the `[[` of the function constant declared by the `constant` at i stands; 0 if none is.
  size_t functionConstantAttribute(size_t i) const;
  void dropInitializers(size_t i);
  size_t conditionalColon(size_t question) const;
  const clang::Token &next(size_t i, size_t distance = 1) const;

  clang::Preprocessor &preprocessor_;
  const Repairs &repairs_;
  TokenWriter out_;
  Tokens in_;
  std::vector<uint8_t> marks_;
  std::set<size_t> constantIndices_; ///< The `[[` of function constants' own declarations.
  size_t afterAttributes_ = 0;       ///< Behind the last list of attributes.
  unsigned attributesInARow_ = 0;
  std::map<size_t, size_t> copyAssignments_; ///< Braces that open a class, and where its name stands.
  std::unordered_map<size_t, size_t> skip_; ///< From this index, go on behind that one.
};

} // namespace pewter::msl
