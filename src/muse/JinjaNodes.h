// SPDX-License-Identifier: Apache-2.0
//
// The syntax tree of a Jinja template, and the parser's and the evaluator's shared failure. Private to
// Jinja*.cpp: JinjaParser.cpp makes it, Jinja.cpp walks it.
#pragma once
#include "muse/Jinja.h"
#include <optional>
#include <vector>

namespace pewter::muse {

/// Thrown inside Jinja*.cpp, turned into an Error at the two public functions.
struct JinjaFailure {
  int line;
  std::string message;
};

struct JinjaExpression;
using JinjaExpressionPtr = std::unique_ptr<JinjaExpression>;

struct JinjaArgument {
  std::string name; ///< "" for a positional one.
  JinjaExpressionPtr value;
};

struct JinjaExpression {
  enum class Kind {
    Literal,   // literal
    Name,      // text
    List,      // children
    Mapping,   // children: key, value, key, value, ...
    Attribute, // children[0] . text
    Index,     // children[0] [children[1]]
    Slice,     // children[0] [a : b : c]; missing ones are null
    Call,      // children[0] (arguments)
    Filter,    // children[0] | text(arguments)
    Test,      // children[0] is text(arguments); negated
    Unary,     // text children[0]
    Binary,    // children[0] text children[1]
    Condition, // children[1] if children[0] else children[2] (may be null)
  };
  Kind kind;
  int line = 0;
  std::string text;
  JinjaData literal;
  std::vector<JinjaExpressionPtr> children;
  std::vector<JinjaArgument> arguments;
  bool negated = false;
};

struct JinjaStatement;
struct JinjaBlock {
  std::vector<std::unique_ptr<JinjaStatement>> statements;
};

struct JinjaBranch;
struct JinjaStatement {
  JinjaStatement();
  ~JinjaStatement();
  enum class Kind { Text, Output, If, For, Set, SetBlock, Macro, Filter, Break, Continue };
  Kind kind = Kind::Text;
  int line = 0;
  std::string text;                ///< Text; the name of a macro; the attribute that set assigns.
  std::vector<std::string> names;  ///< Targets of for and set; parameters of a macro.
  JinjaExpressionPtr expression;   ///< Output, set, the iterable of for, the filter chain.
  JinjaExpressionPtr condition;    ///< for ... if.
  std::vector<JinjaBranch> branches; ///< if and elif; else has no condition.
  std::vector<JinjaExpressionPtr> defaults; ///< Of macro parameters; null where there is none.
  JinjaBlock body, otherwise;
};

struct JinjaBranch {
  JinjaExpressionPtr condition; ///< Null for else.
  JinjaBlock body;
};

JinjaBlock parseJinja(std::string_view text);

} // namespace pewter::muse
