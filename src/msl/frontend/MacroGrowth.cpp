// SPDX-License-Identifier: Apache-2.0
//
// An estimate: macros that an argument names, and those whose name is pasted together, are counted when
// they are expanded themselves. Each macro's function is worked out once.
//
// Tested by: Hostile_test.cpp.
#include "msl/frontend/MacroGrowth.h"
#include <algorithm>
#include <clang/Basic/Diagnostic.h>
#include <clang/Lex/MacroArgs.h>
#include <clang/Lex/MacroInfo.h>
#include <clang/Lex/Preprocessor.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>

namespace pewter::msl {

using namespace clang;

namespace {

constexpr double kHuge = 1e18;
constexpr unsigned kDeepestCall = 2000; ///< Of calls within arguments.

/// constant + sum of perParameter[i] * (tokens of argument i)
struct Growth {
  double constant = 0;
  std::vector<double> perParameter;

  void add(const Growth &other, double times) {
    constant = std::min(constant + other.constant * times, kHuge);
    for (size_t i = 0; i < perParameter.size() && i < other.perParameter.size(); ++i)
      perParameter[i] = std::min(perParameter[i] + other.perParameter[i] * times, kHuge);
  }
};

class MacroGrowth final : public PPCallbacks {
public:
  MacroGrowth(Preprocessor &preprocessor, size_t mostTokens)
      : preprocessor_(preprocessor), most_(static_cast<double>(mostTokens)) {}

  void MacroExpands(const Token &name, const MacroDefinition &definition, SourceRange,
                    const MacroArgs *arguments) override {
    MacroInfo *macro = definition.getMacroInfo();
    if (!macro || macro->isBuiltinMacro() || macro->getNumTokens() == 0)
      return;
    const Growth growth = growthOf(*macro);
    double tokens = growth.constant;
    for (unsigned i = 0; arguments && i < arguments->getNumMacroArguments(); ++i) {
      const Token *first = arguments->getUnexpArgument(i);
      const Token *end = first;
      while (end->isNot(tok::eof))
        ++end;
      const Growth given = growthOf(llvm::ArrayRef<Token>(first, end), nullptr, 0);
      if (!growth.perParameter.empty())
        tokens += given.constant *
                  growth.perParameter[std::min<size_t>(i, growth.perParameter.size() - 1)];
    }
    if (tokens <= most_)
      return;
    DiagnosticsEngine &engine = preprocessor_.getDiagnostics();
    const unsigned id = engine.getCustomDiagID(DiagnosticsEngine::Fatal,
                                               "macro '%0' expands to more than %1 tokens");
    engine.Report(name.getLocation(), id)
        << name.getIdentifierInfo()->getName() << static_cast<unsigned>(most_);
    static_cast<void>(macro->allocateTokens(0, preprocessor_.getPreprocessorAllocator()));
  }
  void MacroUndefined(const Token &, const MacroDefinition &, const MacroDirective *) override {
    known_.clear(); // What others name may mean something else from here on.
  }
  void MacroDefined(const Token &, const MacroDirective *) override { known_.clear(); }

private:
  Growth growthOf(const MacroInfo &macro) {
    if (const auto known = known_.find(&macro); known != known_.end())
      return known->second;
    Growth growth;
    if (!active_.insert(&macro).second) {
      growth.constant = 1; // Its own name stays as it is.
      return growth;
    }
    growth = growthOf(macro.tokens(), &macro, 0);
    active_.erase(&macro);
    known_[&macro] = growth;
    return growth;
  }

  /// Of tokens in the body of `within`, or in an argument (null).
  Growth growthOf(llvm::ArrayRef<Token> tokens, const MacroInfo *within, unsigned depth) {
    Growth growth;
    growth.perParameter.resize(within ? within->getNumParams() : 0);
    for (size_t i = 0; i < tokens.size(); ++i) {
      const IdentifierInfo *word = tokens[i].getIdentifierInfo();
      const int parameter = word && within ? within->getParameterNum(word) : -1;
      if (parameter >= 0) {
        if (i > 0 && tokens[i - 1].is(tok::hash))
          growth.constant += 1;
        else
          growth.perParameter[static_cast<size_t>(parameter)] += 1;
        continue;
      }
      const MacroInfo *called = word && word->hasMacroDefinition() ? preprocessor_.getMacroInfo(word)
                                                                  : nullptr;
      const bool isCall = called && called->isFunctionLike() && i + 1 < tokens.size() &&
                          tokens[i + 1].is(tok::l_paren) && depth < kDeepestCall;
      if (!called || (called->isFunctionLike() && !isCall)) {
        growth.constant += 1;
        continue;
      }
      const Growth body = growthOf(*called);
      growth.constant = std::min(growth.constant + body.constant, kHuge);
      if (isCall)
        i = addArguments(tokens, i + 1, within, depth, body, growth);
    }
    return growth;
  }

  /// Adds what the arguments behind the parenthesis at `open` give in `body`; where the call ends.
  size_t addArguments(llvm::ArrayRef<Token> tokens, size_t open, const MacroInfo *within, unsigned depth,
                      const Growth &body, Growth &growth) {
    size_t argument = 0, begin = open + 1, i = open;
    int nesting = 0;
    for (; i < tokens.size(); ++i) {
      nesting += tokens[i].is(tok::l_paren) - tokens[i].is(tok::r_paren);
      const bool ends = nesting == 0;
      if (!ends && !(nesting == 1 && tokens[i].is(tok::comma)))
        continue;
      if (!body.perParameter.empty())
        growth.add(growthOf(tokens.slice(begin, i - begin), within, depth + 1),
                   body.perParameter[std::min(argument, body.perParameter.size() - 1)]);
      ++argument;
      begin = i + 1;
      if (ends)
        break;
    }
    return i;
  }

  Preprocessor &preprocessor_;
  const double most_;
  llvm::DenseMap<const MacroInfo *, Growth> known_;
  llvm::DenseSet<const MacroInfo *> active_;
};

} // namespace

std::unique_ptr<PPCallbacks> makeMacroGrowth(Preprocessor &preprocessor, size_t mostTokens) {
  return std::make_unique<MacroGrowth>(preprocessor, mostTokens);
}

} // namespace pewter::msl
