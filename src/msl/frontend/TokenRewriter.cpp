// SPDX-License-Identifier: Apache-2.0
//
// The idea: one pass over the tokens, with a few marks made by look-ahead passes before it. None of
// the keyword rules applies behind `.`, `->` or `::`, where the word names a member. The look-ahead
// (TokenShapes.cpp) is bounded, so that a hostile source costs linear time.
//
// Tested by: Compile_test.cpp.
#include "msl/frontend/TokenRewriter.h"
#include <clang/Basic/CharInfo.h>
#include <llvm/ADT/APFloat.h>
#include <llvm/ADT/StringSet.h>

namespace pewter::msl {

using namespace clang;

namespace {

constexpr size_t kNotRewritten = static_cast<size_t>(-1);
constexpr unsigned kMostAttributes = 256; ///< In a row: clang sorts them in by comparing with each.

const llvm::StringSet<> &attributeNames() {
  static const llvm::StringSet<> names = {
      "alias_implicit_imageblock", "alias_implicit_imageblock_color", "amplification_count",
      "amplification_id", "attribute", "barycentric_coord", "base_instance", "base_vertex",
      "buffer", "center_no_perspective", "center_perspective", "centroid_no_perspective",
      "centroid_perspective", "clip_distance", "color", "depth",
      "dispatch_quadgroups_per_threadgroup", "dispatch_simdgroups_per_threadgroup",
      "dispatch_threads_per_threadgroup", "early_fragment_tests", "flat", "fragment",
      "front_facing", "function_constant", "function_groups", "grid_origin", "grid_size", "host_name", "id",
      "imageblock_data", "instance_id", "intersection", "invariant", "kernel",
      "max_total_threadgroups_per_mesh_grid", "max_total_threads_per_threadgroup", "mesh", "object",
      "patch", "patch_id", "payload", "point_coord", "point_size", "position", "position_in_patch",
      "primitive_culled", "primitive_id", "quadgroup_index_in_threadgroup",
      "quadgroups_per_threadgroup", "raster_order_group", "render_target_array_index",
      "required_threads_per_threadgroup", "sample_id", "sample_mask", "sample_no_perspective",
      "sample_perspective", "sampler", "simdgroup_index_in_threadgroup",
      "simdgroups_per_threadgroup", "stage_in", "stencil", "stitchable", "texture",
      "thread_execution_width", "thread_index_in_quadgroup", "thread_index_in_simdgroup",
      "thread_index_in_threadgroup", "thread_position_in_grid", "thread_position_in_threadgroup",
      "threadgroup", "threadgroup_position_in_grid", "threadgroups_per_grid", "threads_per_grid",
      "threads_per_simdgroup", "threads_per_threadgroup", "user", "vertex", "vertex_id",
      "viewport_array_index", "visible"};
  return names;
}

unsigned spaceOf(llvm::StringRef word) {
  return word == "device" ? 1 : word == "constant" ? 2 : word == "threadgroup" ? 3 : 0;
}

} // namespace

TokenRewriter::TokenRewriter(Preprocessor &preprocessor, const Repairs &repairs)
    : preprocessor_(preprocessor), repairs_(repairs), out_(preprocessor) {}

const Token &TokenRewriter::next(size_t i, size_t distance) const {
  return in_[std::min(i + distance, in_.size() - 1)];
}

Tokens TokenRewriter::rewrite(Tokens input) {
  in_ = std::move(input);
  marks_.assign(in_.size(), 0);
  skip_.clear();
  copyAssignments_.clear();
  out_.tokens().clear();
  out_.tokens().reserve(in_.size() + in_.size() / 2);
  markConditionals();
  markArrayParameters();
  markCasts();
  markMethodsBesideSpaces();

  for (size_t i = 0; i < in_.size(); ++i) {
    const Token token = in_[i];
    const SourceLocation at = token.getLocation();
    if (const auto skipped = skip_.find(i); skipped != skip_.end()) {
      i = skipped->second;
      continue;
    }
    if (marks_[i] & kWidenClose)
      out_.punctuation(tok::r_paren, at);
    if (marks_[i] & kLoadValue) {
      out_.metalName("__rv", at);
      out_.punctuation(tok::lesslessequal, at);
    }
    if (marks_[i] & kStarParen)
      out_.punctuation(tok::l_paren, at);
    if (marks_[i] & (kStar | kStarParen))
      out_.punctuation(tok::star, at);

    size_t last = kNotRewritten;
    if (token.is(tok::l_square) && next(i).is(tok::l_square)) {
      last = rewriteAttributes(i);
      if (attributesInARow_ > kMostAttributes)
        break;
    }
    else if (const IdentifierInfo *identifier = identifierOf(token))
      last = rewriteWord(i, *identifier);
    else if (repairs_.texts && token.is(tok::string_literal))
      last = rewriteText(i);
    else if (token.is(tok::numeric_constant) && rewriteNumber(token))
      last = i;
    if (last == kNotRewritten)
      out_.append(token);
    else
      i = last;

    if (const auto copied = copyAssignments_.find(i); copied != copyAssignments_.end())
      declareCopyAssignment(i, copied->second);
    if (marks_[i] & kStarParen)
      out_.punctuation(tok::r_paren, at);
    if (marks_[i] & kThreadMethod)
      out_.attribute("air_method_as", 0, at);
    if (marks_[i] & kFloatCast) {
      out_.punctuation(tok::l_paren, at);
      out_.word("float", at);
      out_.punctuation(tok::r_paren, at);
    }
    if (marks_[i] & kWidenOpen) {
      out_.metalName("__widen", at);
      out_.punctuation(tok::l_paren, at);
    }
  }
  if (out_.tokens().empty() || out_.tokens().back().isNot(tok::eof))
    out_.append(in_.back());
  in_.clear();
  return std::move(out_.tokens());
}

// [[a(x), b]] where every name is one of MSL's: one annotation each. Other lists pass untouched.
size_t TokenRewriter::rewriteAttributes(size_t i) {
  struct Item {
    llvm::StringRef name;
    size_t first, end; ///< Tokens of the arguments.
  };
  const size_t close = closingIndex(in_, i, tok::l_square, tok::r_square);
  std::vector<Item> items;
  for (size_t k = i + 2; k + 1 < close;) {
    if (in_[k].is(tok::comma)) {
      ++k;
      continue;
    }
    const IdentifierInfo *name = identifierOf(in_[k]);
    if (!name || !attributeNames().contains(name->getName()))
      return kNotRewritten;
    Item item{name->getName(), 0, 0};
    ++k;
    if (k + 1 < close && in_[k].is(tok::l_paren)) {
      item.first = k + 1;
      item.end = closingIndex(in_, k, tok::l_paren, tok::r_paren);
      k = item.end + 1;
    } else if (k + 1 < close && in_[k].isNot(tok::comma)) {
      return kNotRewritten;
    }
    items.push_back(item);
  }
  if (items.empty())
    return kNotRewritten;
  attributesInARow_ = i == afterAttributes_ ? attributesInARow_ + unsigned(items.size())
                                            : unsigned(items.size());
  afterAttributes_ = close + 1;
  if (attributesInARow_ > kMostAttributes) {
    DiagnosticsEngine &engine = preprocessor_.getDiagnostics();
    const unsigned id =
        engine.getCustomDiagID(DiagnosticsEngine::Fatal, "more than %0 attributes in a row");
    engine.Report(in_[i].getLocation(), id) << kMostAttributes;
    return close;
  }
  for (const Item &item : items) {
    const SourceLocation at = in_[i + 2].getLocation();
    const bool oneWord = item.end == item.first + 1 && identifierOf(in_[item.first]);
    if (item.name == "function_groups")
      continue; // Of a call through a table: a promise that is not needed.
    // Words of the language that are no constant expressions, of functions that never run.
    if (item.name == "depth" || item.name == "patch" || item.name == "intersection") {
      out_.annotation(item.name, {}, at);
      continue;
    }
    // A gate names a variable, and a user location is a bare word: neither is a constant expression.
    const bool gate = item.name == "function_constant" && oneWord && !constantIndices_.contains(i);
    if (gate || item.name == "user") {
      const Token name = out_.stringToken(
          oneWord ? identifierOf(in_[item.first])->getName() : llvm::StringRef(""), at);
      out_.annotation(gate ? "fc_enable" : "user", name, at);
      continue;
    }
    out_.annotation(item.name,
                    llvm::ArrayRef<Token>(in_).slice(item.first, item.end - item.first), at);
  }
  return close;
}

size_t TokenRewriter::rewriteWord(size_t i, const IdentifierInfo &identifier) {
  const Tokens &done = out_.tokens();
  if (!done.empty() && done.back().isOneOf(tok::period, tok::arrow, tok::coloncolon))
    return kNotRewritten;
  const llvm::StringRef word = identifier.getName();
  const SourceLocation at = in_[i].getLocation();
  if (const unsigned space = spaceOf(word))
    return rewriteSpace(i, space);
  if (word == "thread")
    return qualifiesMethod(i) ? rewriteSpace(i, 0) : i;
  if (word == "kernel" || word == "vertex" || word == "fragment") {
    out_.annotation(word, {}, at);
    return i;
  }
  if (word == "object_data" || word == "threadgroup_imageblock" || word == "ray_data")
    return i;
  if (word == "double" && identifier.getTokenID() == tok::kw_double) {
    DiagnosticsEngine &engine = preprocessor_.getDiagnostics();
    engine.Report(at, engine.getCustomDiagID(DiagnosticsEngine::Error,
                                             "'double' is not supported in Metal"));
    return kNotRewritten;
  }
  if ((word == "asm" || word == "__asm__" || word == "__asm") &&
      (done.empty() || done.back().isOneOf(tok::semi, tok::l_brace, tok::r_brace)) &&
      !preprocessor_.getSourceManager().isInSystemHeader(at)) {
    DiagnosticsEngine &engine = preprocessor_.getDiagnostics();
    engine.Report(at, engine.getCustomDiagID(DiagnosticsEngine::Error,
                                             "inline assembly is not supported in Metal"));
    // Up to its semicolon, so that nothing else is said about it.
    while (i + 1 < in_.size() && !next(i).isOneOf(tok::semi, tok::r_brace, tok::eof))
      ++i;
    return i;
  }
  if (word == "coherent" && next(i).is(tok::l_paren)) {
    out_.word("volatile", at);
    return closingIndex(in_, i + 1, tok::l_paren, tok::r_paren);
  }
  return kNotRewritten;
}

size_t TokenRewriter::rewriteSpace(size_t i, unsigned space) {
  const SourceLocation at = in_[i].getLocation();
  Tokens &done = out_.tokens();
  if (qualifiesMethod(i)) {
    while (isWord(next(i), "const") || isWord(next(i), "noexcept"))
      out_.append(in_[++i]);
    out_.attribute("air_method_as", space, at);
    return i;
  }
  if (space == 3 && atStatementStart() && declaresObject(i)) {
    if (!followsStorageClass())
      out_.word("static", at);
    dropInitializers(i);
  }
  if (space == 2) {
    if (const size_t attribute = functionConstantAttribute(i)) {
      constantIndices_.insert(attribute);
      const auto droppable = [](const Token &token) {
        return isWord(token, "static") || isWord(token, "constexpr") || isWord(token, "inline") ||
               isWord(token, "const");
      };
      while (!done.empty() && droppable(done.back()))
        done.pop_back();
      while (droppable(next(i)))
        ++i;
      if (done.empty() || !isWord(done.back(), "extern"))
        out_.word("extern", at);
    }
    out_.word("const", at);
  }
  out_.attribute("address_space", space, at);
  if (isWord(next(i), "alignas") && next(i, 2).is(tok::l_paren)) {
    const size_t close = closingIndex(in_, i + 2, tok::l_paren, tok::r_paren);
    out_.attribute("aligned", llvm::ArrayRef<Token>(in_).slice(i + 3, close - i - 3), at);
    return close;
  }
  return i;
}

// "text" as a value: an array in constant memory. Not where it fills an array, nor where the language wants a
// literal.
size_t TokenRewriter::rewriteText(size_t i) {
  size_t last = i;
  while (next(last).is(tok::string_literal))
    ++last;
  const Tokens &done = out_.tokens();
  if (done.empty() || next(last).is(tok::l_square) || wantsPlainText())
    return kNotRewritten;
  const Token &before = done.back();
  const bool isValue = before.isOneOf(tok::equal, tok::l_paren, tok::comma, tok::l_brace, tok::question,
                                      tok::colon, tok::equalequal) ||
                       isWord(before, "return");
  if (!isValue)
    return kNotRewritten;
  const SourceLocation at = in_[i].getLocation();
  const auto literal = [&] {
    for (size_t k = i; k <= last; ++k)
      out_.append(in_[k]);
  };
  // (*(const constant char (*)[sizeof("text")])&"text")
  for (const tok::TokenKind kind : {tok::l_paren, tok::star, tok::l_paren})
    out_.punctuation(kind, at);
  out_.word("const", at);
  out_.attribute("address_space", 2, at);
  out_.word("char", at);
  for (const tok::TokenKind kind : {tok::l_paren, tok::star, tok::r_paren, tok::l_square})
    out_.punctuation(kind, at);
  out_.word("sizeof", at);
  out_.punctuation(tok::l_paren, at);
  literal();
  for (const tok::TokenKind kind : {tok::r_paren, tok::r_square, tok::r_paren, tok::amp})
    out_.punctuation(kind, at);
  literal();
  out_.punctuation(tok::r_paren, at);
  return last;
}

// MSL has no double, `h` means half and `bf` means bfloat.
bool TokenRewriter::rewriteNumber(const Token &token) {
  llvm::SmallString<32> buffer;
  const llvm::StringRef text = preprocessor_.getSpelling(token, buffer);
  const bool hex = text.starts_with_insensitive("0x");
  const bool fractional =
      hex ? text.contains_insensitive('p') : text.find_first_of(".eE") != llvm::StringRef::npos;
  const SourceLocation at = token.getLocation();
  if (text.ends_with_insensitive("bf") && (!hex || fractional)) {
    // clang has no literals of this type. Rounded here, once; the float that is cast holds it exactly.
    llvm::APFloat value(llvm::APFloat::BFloat());
    auto status = value.convertFromString(text.drop_back(2), llvm::APFloat::rmNearestTiesToEven);
    if (!status) {
      llvm::consumeError(status.takeError());
      return false;
    }
    if (!value.isFinite())
      return false;
    char digits[32];
    value.convertToHexString(digits, 0, false, llvm::APFloat::rmNearestTiesToEven);
    out_.punctuation(tok::l_paren, at);
    out_.punctuation(tok::l_paren, at);
    out_.word("__bf16", at);
    out_.punctuation(tok::r_paren, at);
    out_.number((llvm::StringRef(digits) + "f").str(), at);
    out_.punctuation(tok::r_paren, at);
    return true;
  }
  if (text.ends_with_insensitive("h") && (!hex || fractional)) {
    const llvm::StringRef digits = text.drop_back(1);
    const bool whole = !hex && digits.find_first_of(".eE") == llvm::StringRef::npos;
    out_.number((digits + (whole ? ".0f16" : "f16")).str(), at);
    return true;
  }
  if (fractional && (isDigit(text.back()) || text.back() == '.')) {
    out_.number((text + "f").str(), at);
    return true;
  }
  return false;
}

} // namespace pewter::msl
