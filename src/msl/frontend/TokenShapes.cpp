// SPDX-License-Identifier: Apache-2.0
//
// The look-ahead of the token rewriter: which declaration or expression a token begins or ends.
#include "msl/frontend/TokenRewriter.h"

namespace pewter::msl {

using namespace clang;

namespace {

/// How far a look-ahead goes inside one declaration or expression.
constexpr size_t kLookAhead = 4096;

bool isOpening(const Token &token) {
  return token.isOneOf(tok::l_paren, tok::l_square, tok::l_brace);
}
bool isClosing(const Token &token) {
  return token.isOneOf(tok::r_paren, tok::r_square, tok::r_brace);
}

bool isVectorTypeName(const Token &token) {
  const IdentifierInfo *identifier = identifierOf(token);
  if (!identifier)
    return false;
  llvm::StringRef name = identifier->getName();
  if (name.size() < 4 || name.back() < '2' || name.back() > '4')
    return false;
  name = name.drop_back();
  for (const char *scalar : {"float", "half", "bfloat", "int", "uint", "short", "ushort", "char",
                             "uchar", "long", "ulong", "bool"})
    if (name == scalar)
      return true;
  return false;
}

} // namespace

bool TokenRewriter::atStatementStart() const {
  const Tokens &done = out_.tokens();
  for (size_t k = done.size(); k-- > 0;) {
    if (isWord(done[k], "const") || isWord(done[k], "constexpr") || isWord(done[k], "volatile") ||
        isWord(done[k], "static"))
      continue;
    return done[k].isOneOf(tok::l_brace, tok::r_brace, tok::semi, tok::colon) ||
           done[k].isAnnotation();
  }
  return true;
}

// Does a literal here fill an array of characters, or stand where the language wants a literal?
bool TokenRewriter::wantsPlainText() const {
  const Tokens &done = out_.tokens();
  const size_t least = done.size() > kLookAhead ? done.size() - kLookAhead : 0;
  int parentheses = 0;
  for (size_t k = done.size(); k-- > least && k > 0;) {
    const Token &token = done[k], &before = done[k - 1];
    if (token.is(tok::r_paren)) {
      ++parentheses;
    } else if (token.is(tok::l_paren) && parentheses-- == 0) {
      for (const char *word : {"sizeof", "static_assert", "_Static_assert", "asm", "__asm", "__asm__",
                               "annotate", "deprecated", "diagnose_if", "enable_if", "alignof"})
        if (isWord(before, word))
          return true;
      return false;
    } else if (parentheses == 0 && token.isOneOf(tok::semi, tok::r_brace) &&
               (k + 1 >= done.size() || done[k + 1].isNot(tok::comma))) {
      return false;
    } else if (parentheses == 0 && before.is(tok::r_square) &&
               token.isOneOf(tok::equal, tok::l_brace)) {
      bool isText = false;
      for (size_t i = k; i-- > least && !done[i].isOneOf(tok::semi, tok::l_brace, tok::r_brace);) {
        if (done[i].is(tok::star))
          return false;
        isText |= isWord(done[i], "char") || isWord(done[i], "auto") || isWord(done[i], "uchar");
      }
      return isText;
    }
  }
  return false;
}

bool TokenRewriter::followsStorageClass() const {
  const Tokens &done = out_.tokens();
  for (size_t k = done.size(); k-- > 0;) {
    if (isWord(done[k], "static") || isWord(done[k], "extern"))
      return true;
    if (!isWord(done[k], "const") && !isWord(done[k], "constexpr") && !isWord(done[k], "inline"))
      return false;
  }
  return false;
}

// `) [const] SPACE` followed by what may follow a method's qualifiers.
bool TokenRewriter::qualifiesMethod(size_t i) const {
  const Tokens &done = out_.tokens();
  size_t k = done.size();
  while (k > 0 && (isWord(done[k - 1], "const") || isWord(done[k - 1], "volatile")))
    --k;
  if (k == 0 || done[k - 1].isNot(tok::r_paren))
    return false;
  const Token &after = next(i);
  return after.isOneOf(tok::l_brace, tok::colon, tok::semi, tok::equal, tok::arrow) ||
         isWord(after, "const") || isWord(after, "noexcept");
}

// Does the declaration that begins at i declare an object (not a pointer, reference or function)?
bool TokenRewriter::declaresObject(size_t i) const {
  AngleDepth angles;
  const size_t limit = std::min(in_.size(), i + kLookAhead);
  for (size_t k = i + 1; k < limit; ++k) {
    const Token &token = in_[k];
    angles.see(token);
    if (token.is(tok::l_paren)) {
      if (angles.outside() && !isWord(in_[k - 1], "alignas") && !isWord(in_[k - 1], "decltype"))
        return false;
      k = closingIndex(in_, k, tok::l_paren, tok::r_paren);
    } else if (token.is(tok::l_square) && next(k).is(tok::l_square)) {
      k = closingIndex(in_, k, tok::l_square, tok::r_square);
    } else if (angles.outside()) {
      if (token.isOneOf(tok::star, tok::amp, tok::ampamp, tok::r_paren, tok::r_brace, tok::eof))
        return false;
      if (token.isOneOf(tok::semi, tok::l_square, tok::equal, tok::comma, tok::l_brace))
        return true;
    }
  }
  return false;
}

// A threadgroup variable cannot be initialised: `threadgroup float b[32] = {0}` loses its `= {0}`.
void TokenRewriter::dropInitializers(size_t i) {
  int depth = 0;
  for (size_t k = i + 1; k < in_.size(); ++k) {
    if (isOpening(in_[k]))
      ++depth;
    else if (isClosing(in_[k]))
      --depth;
    else if (depth == 0 && in_[k].is(tok::semi))
      return;
    else if (depth == 0 && in_[k].is(tok::equal)) {
      size_t end = k;
      int inner = 0;
      for (; end + 1 < in_.size(); ++end) {
        if (isOpening(in_[end]))
          ++inner;
        else if (isClosing(in_[end]))
          --inner;
        else if (inner == 0 && in_[end].isOneOf(tok::semi, tok::comma))
          break;
      }
      skip_[k] = end - 1;
      k = end - 1;
    }
    if (depth < 0)
      return;
  }
}

size_t TokenRewriter::functionConstantAttribute(size_t i) const {
  constexpr size_t kLongestDeclaration = 40;
  const size_t limit = std::min(in_.size() - 1, i + kLongestDeclaration);
  for (size_t k = i + 1; k + 2 < limit; ++k) {
    if (in_[k].is(tok::l_square) && in_[k + 1].is(tok::l_square))
      return isWord(in_[k + 2], "function_constant") ? k : 0;
    if (in_[k].isOneOf(tok::semi, tok::l_paren, tok::r_paren, tok::equal, tok::comma, tok::star,
                       tok::amp, tok::l_brace))
      return 0;
  }
  return 0;
}

size_t TokenRewriter::conditionalColon(size_t question) const {
  int depth = 0;
  int nested = 0;
  const size_t limit = std::min(in_.size(), question + kLookAhead);
  for (size_t k = question + 1; k < limit; ++k) {
    if (isOpening(in_[k])) {
      ++depth;
    } else if (isClosing(in_[k])) {
      if (--depth < 0)
        return 0;
    } else if (depth == 0) {
      if (in_[k].is(tok::question))
        ++nested;
      else if (in_[k].is(tok::colon) && nested-- == 0)
        return k;
      else if (in_[k].is(tok::semi))
        return 0;
    }
  }
  return 0;
}

// c ? A : B with operands in different spaces: fine for a built-in vector, ill-formed for a class.
// `<<=` on both arms loads the value; being an assignment operator it needs no parentheses.
void TokenRewriter::markConditionals() {
  for (size_t i = 0; i + 2 < in_.size(); ++i) {
    if (in_[i].isNot(tok::question))
      continue;
    const auto startsVector = [&](size_t k) {
      return isVectorTypeName(next(k)) && next(k, 2).isOneOf(tok::l_paren, tok::l_brace);
    };
    const bool reported =
        repairs_.conditionals.contains(in_[i].getLocation().getRawEncoding());
    const size_t colon = conditionalColon(i);
    if (colon == 0 || !(reported || startsVector(i) || startsVector(colon)))
      continue;
    marks_[i + 1] |= kLoadValue;
    marks_[colon + 1] |= kLoadValue;
  }
}

// Parameter `SPACE T name[N]` -> `SPACE T *name`; `name[N][M]` -> `(*name)[M]`.
void TokenRewriter::markArrayParameters() {
  for (size_t i = 1; i < in_.size(); ++i) {
    if (!isWord(in_[i], "device") && !isWord(in_[i], "constant") && !isWord(in_[i], "threadgroup"))
      continue;
    size_t before = i - 1;
    while (before > 0 && (isWord(in_[before], "const") || isWord(in_[before], "volatile")))
      --before;
    if (!in_[before].isOneOf(tok::l_paren, tok::comma))
      continue;
    AngleDepth angles;
    const size_t limit = std::min(in_.size() - 1, i + kLookAhead);
    for (size_t k = i + 1; k < limit; ++k) {
      angles.see(in_[k]);
      if (!angles.outside())
        continue;
      if (in_[k].isOneOf(tok::star, tok::amp, tok::ampamp, tok::comma, tok::r_paren, tok::semi,
                         tok::l_brace, tok::l_paren, tok::equal))
        break;
      if (in_[k].isNot(tok::l_square))
        continue;
      if (in_[k + 1].is(tok::l_square) || !identifierOf(in_[k - 1]))
        break;
      const size_t close = closingIndex(in_, k, tok::l_square, tok::r_square);
      const bool more = next(close).is(tok::l_square) && next(close, 2).isNot(tok::l_square);
      marks_[k - 1] |= more ? kStarParen : kStar;
      skip_[k] = close;
      break;
    }
  }
}

// A method without a space word beside one of the same name with such a word, in the same class: it is the
// one for objects of threads, and must say so to be compared with the others.
void TokenRewriter::markMethodsBesideSpaces() {
  struct Method {
    size_t scope;      ///< The brace that opens the class.
    std::string name;  ///< Without its parameters: `get`, `operator[]`, `operator float`.
    size_t end;        ///< The last token in front of the body or `;`.
    bool hasSpace;
  };
  const auto isSpace = [&](const Token &token) {
    return isWord(token, "device") || isWord(token, "constant") || isWord(token, "threadgroup") ||
           isWord(token, "thread");
  };
  // Where no space word stands behind a parameter list there is nothing to do.
  bool isNeeded = false;
  for (size_t i = 1; i < in_.size() && !isNeeded; ++i)
    isNeeded = isSpace(in_[i]) && (in_[i - 1].is(tok::r_paren) || isWord(in_[i - 1], "const"));
  if (!isNeeded)
    return;
  std::vector<Method> methods;
  std::vector<size_t> braces;
  for (size_t i = 0; i + 1 < in_.size(); ++i) {
    if (in_[i].is(tok::l_brace)) {
      braces.push_back(i);
    } else if (in_[i].is(tok::r_brace)) {
      if (!braces.empty())
        braces.pop_back();
    } else if (in_[i].is(tok::l_paren) && i > 0 && !braces.empty()) {
      // `operator()` has a pair of its own in front.
      if (isWord(in_[i - 1], "operator"))
        continue;
      size_t first = i - 1;
      const size_t least = i > 6 ? i - 6 : 0;
      size_t word = i;
      for (size_t k = i; k-- > least;)
        if (isWord(in_[k], "operator")) {
          word = k;
          break;
        } else if (in_[k].isOneOf(tok::semi, tok::l_brace, tok::r_brace)) {
          break;
        }
      if (word != i)
        first = word;
      else if (!identifierOf(in_[first]))
        continue;
      constexpr size_t kLongestParameters = 256;
      size_t close = i + 1;
      for (int depth = 1; close < std::min(in_.size(), i + kLongestParameters); ++close) {
        depth += in_[close].is(tok::l_paren) - in_[close].is(tok::r_paren);
        if (depth == 0)
          break;
      }
      if (close >= in_.size() || in_[close].isNot(tok::r_paren))
        continue;
      size_t end = close;
      bool hasSpace = false;
      while (end + 1 < in_.size() && (isWord(in_[end + 1], "const") || isSpace(in_[end + 1])))
        hasSpace |= isSpace(in_[++end]);
      if (!next(end).isOneOf(tok::l_brace, tok::semi, tok::arrow) && !isWord(next(end), "noexcept"))
        continue;
      Method method{braces.back(), "", end, hasSpace};
      for (size_t k = first; k < i; ++k)
        method.name += preprocessor_.getSpelling(in_[k]) + " ";
      methods.push_back(std::move(method));
    }
  }
  const std::string assignment = "operator = ";
  std::set<size_t> ownAssignments; ///< Classes that say how they are copied.
  for (const Method &method : methods)
    if (method.name == assignment && copiesOwnClass(method.scope, method.end))
      ownAssignments.insert(method.scope);
  std::set<std::pair<size_t, std::string>> spaced;
  for (const Method &method : methods)
    if (method.hasSpace)
      spaced.emplace(method.scope, method.name);
  for (const Method &method : methods)
    if (!method.hasSpace && spaced.contains({method.scope, method.name}))
      marks_[method.end] |= kThreadMethod;
  for (const auto &[scope, name] : spaced)
    if (name == assignment && !ownAssignments.contains(scope) && className(scope) != 0)
      copyAssignments_[scope] = className(scope);
}

// Where the name of the class stands whose body the brace opens; 0 where it has none.
size_t TokenRewriter::className(size_t brace) const {
  constexpr size_t kLongestHead = 64;
  const size_t least = brace > kLongestHead ? brace - kLongestHead : 0;
  for (size_t k = brace; k-- > least && !in_[k].isOneOf(tok::semi, tok::l_brace, tok::r_brace);)
    if ((isWord(in_[k], "struct") || isWord(in_[k], "class")) && in_[k + 1].is(tok::identifier))
      return k + 1;
  return 0;
}

// Does the parameter list in front of `end` name the class of the brace?
bool TokenRewriter::copiesOwnClass(size_t brace, size_t end) const {
  const size_t name = className(brace);
  if (name == 0)
    return false;
  for (size_t k = end; k > brace && in_[k].isNot(tok::equal); --k)
    if (identifierOf(in_[k]) == identifierOf(in_[name]))
      return true;
  return false;
}

// NAME &operator=(const NAME &) = default, with the mark of a method for thread objects: the one that is
// declared implicitly has none, and would be as good as an assignment from another type that has it.
void TokenRewriter::declareCopyAssignment(size_t brace, size_t name) {
  const SourceLocation at = in_[brace].getLocation();
  const bool isClass = isWord(in_[name - 1], "class");
  if (isClass) {
    out_.word("public", at);
    out_.punctuation(tok::colon, at);
  }
  out_.append(in_[name]);
  out_.punctuation(tok::amp, at);
  out_.word("operator", at);
  out_.punctuation(tok::equal, at);
  out_.punctuation(tok::l_paren, at);
  out_.word("const", at);
  out_.append(in_[name]);
  out_.punctuation(tok::amp, at);
  out_.punctuation(tok::r_paren, at);
  out_.attribute("air_method_as", 0, at);
  out_.punctuation(tok::equal, at);
  out_.word("default", at);
  out_.punctuation(tok::semi, at);
  if (isClass) {
    out_.word("private", at);
    out_.punctuation(tok::colon, at);
  }
}

// static_cast<T>(e), T(e) and (T)e between half and bfloat: e is widened to float first.
void TokenRewriter::markCasts() {
  if (repairs_.casts.empty())
    return;
  for (size_t i = 0; i + 1 < in_.size(); ++i) {
    if (!repairs_.casts.contains(in_[i].getLocation().getRawEncoding()))
      continue;
    if (in_[i].is(tok::l_paren)) {
      marks_[closingIndex(in_, i, tok::l_paren, tok::r_paren)] |= kFloatCast;
      continue;
    }
    size_t open = i + 1;
    const size_t limit = std::min(in_.size() - 1, i + kLookAhead);
    for (AngleDepth angles; open < limit; ++open) {
      angles.see(in_[open]);
      if (in_[open].is(tok::l_paren) && angles.outside())
        break;
    }
    const size_t close = closingIndex(in_, open, tok::l_paren, tok::r_paren);
    marks_[open] |= kWidenOpen;
    marks_[close] |= kWidenClose;
  }
}

} // namespace pewter::msl
