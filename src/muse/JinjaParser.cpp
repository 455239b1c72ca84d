// SPDX-License-Identifier: Apache-2.0
//
// Text to tree. The text is first cut at {{ }}, {% %} and {# #}, with whitespace taken away as the marks
// ask ("-", and the two block rules that chat templates are written for: a newline behind a block goes,
// spaces before a block at the beginning of a line go). What is inside is cut into tokens and parsed by
// recursive descent, one function per level of precedence.
//
// Tested by Jinja_test.cpp.
#include "muse/JinjaNodes.h"
#include <array>
#include <cctype>
#include <cstdlib>

namespace pewter::muse {
namespace {

struct Token {
  enum class Kind { Name, String, Integer, Float, Operator, End };
  Kind kind;
  std::string text;
  int line;
};

/// One part of a template: text between marks, or what is inside of a mark.
struct Part {
  enum class Kind { Text, Output, Statement };
  Kind kind;
  std::string text;
  int line;
};

int linesIn(std::string_view text) {
  int lines = 0;
  for (char c : text)
    lines += c == '\n';
  return lines;
}

void trimRight(std::string &text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
    text.pop_back();
}

/// The end of a mark that begins at `from`, looking past strings.
size_t findEnd(std::string_view text, size_t from, std::string_view end) {
  char quote = 0;
  for (size_t i = from; i < text.size(); ++i) {
    if (quote) {
      if (text[i] == '\\')
        ++i;
      else if (text[i] == quote)
        quote = 0;
    } else if (text[i] == '"' || text[i] == '\'') {
      quote = text[i];
    } else if (text.substr(i).starts_with(end)) {
      return i;
    }
  }
  return text.npos;
}

std::vector<Part> cut(std::string_view text) {
  std::vector<Part> parts;
  std::string pending;
  int line = 1;
  bool stripNext = false, dropNewline = false;
  size_t i = 0;
  auto takeText = [&](std::string_view piece) {
    if (stripNext)
      while (!piece.empty() && std::isspace(static_cast<unsigned char>(piece.front())))
        piece.remove_prefix(1);
    else if (dropNewline && piece.starts_with("\n"))
      piece.remove_prefix(1);
    else if (dropNewline && piece.starts_with("\r\n"))
      piece.remove_prefix(2);
    pending = piece;
  };
  while (true) {
    size_t open = i;
    while ((open = text.find('{', open)) != text.npos && open + 1 < text.size() &&
           text[open + 1] != '{' && text[open + 1] != '%' && text[open + 1] != '#')
      ++open;
    if (open == text.npos || open + 1 >= text.size()) {
      takeText(text.substr(i));
      parts.push_back({Part::Kind::Text, pending, line});
      return parts;
    }
    takeText(text.substr(i, open - i));
    char mark = text[open + 1];
    size_t begin = open + 2;
    bool stripBefore = begin < text.size() && text[begin] == '-';
    bool keepBefore = begin < text.size() && text[begin] == '+';
    if (stripBefore) {
      trimRight(pending);
    } else if (mark != '{' && !keepBefore) {
      size_t end = pending.size();
      while (end > 0 && (pending[end - 1] == ' ' || pending[end - 1] == '\t'))
        --end;
      bool atLineStart = end > 0 ? pending[end - 1] == '\n' : i == 0 || dropNewline;
      if (atLineStart)
        pending.resize(end);
    }
    parts.push_back({Part::Kind::Text, pending, line});
    line += linesIn(text.substr(i, open - i));
    begin += stripBefore || keepBefore;
    std::string_view close = mark == '{' ? "}}" : mark == '%' ? "%}" : "#}";
    size_t end = mark == '#' ? text.find(close, begin) : findEnd(text, begin, close);
    if (end == text.npos)
      throw JinjaFailure{line, fmt::format("\"{{{}\" is never closed", mark)};
    std::string inside(text.substr(begin, end - begin));
    stripNext = !inside.empty() && inside.back() == '-';
    bool keepNext = !inside.empty() && inside.back() == '+';
    if (stripNext || keepNext)
      inside.pop_back();
    dropNewline = mark != '{' && !keepNext;
    if (mark != '#')
      parts.push_back({mark == '{' ? Part::Kind::Output : Part::Kind::Statement, inside, line});
    line += linesIn(text.substr(open, end - open));
    i = end + 2;
  }
}

std::vector<Token> tokenize(const std::string &text, int line) {
  static constexpr std::array kOperators = {"==", "!=", "<=", ">=", "//", "**"};
  std::vector<Token> tokens;
  size_t i = 0;
  while (i < text.size()) {
    auto c = static_cast<unsigned char>(text[i]);
    if (c == '\n')
      ++line;
    if (std::isspace(c)) {
      ++i;
    } else if (std::isalpha(c) || c == '_') {
      size_t end = i;
      while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
        ++end;
      tokens.push_back({Token::Kind::Name, text.substr(i, end - i), line});
      i = end;
    } else if (std::isdigit(c)) {
      size_t end = i;
      bool real = false;
      while (end < text.size() && (std::isdigit(static_cast<unsigned char>(text[end])) ||
                                   (text[end] == '.' && !real && end + 1 < text.size() &&
                                    std::isdigit(static_cast<unsigned char>(text[end + 1])))))
        real |= text[end++] == '.';
      tokens.push_back({real ? Token::Kind::Float : Token::Kind::Integer, text.substr(i, end - i), line});
      i = end;
    } else if (c == '"' || c == '\'') {
      std::string value;
      size_t end = i + 1;
      while (end < text.size() && text[end] != static_cast<char>(c)) {
        if (text[end] != '\\' || end + 1 >= text.size()) {
          value += text[end++];
          continue;
        }
        char escaped = text[end + 1];
        value += escaped == 'n' ? '\n' : escaped == 't' ? '\t' : escaped == 'r' ? '\r' : escaped;
        end += 2;
      }
      if (end >= text.size())
        throw JinjaFailure{line, "a string is never closed"};
      tokens.push_back({Token::Kind::String, value, line});
      i = end + 1;
    } else {
      std::string op(1, static_cast<char>(c));
      for (const char *two : kOperators)
        if (text.compare(i, 2, two) == 0)
          op = two;
      if (std::string_view("()[]{},.:|=<>+-*/%~!").find(op[0]) == std::string_view::npos)
        throw JinjaFailure{line, fmt::format("unexpected character [{}]", op)};
      tokens.push_back({Token::Kind::Operator, op, line});
      i += op.size();
    }
  }
  tokens.push_back({Token::Kind::End, "", line});
  return tokens;
}

/// Parses what is inside of one mark.
class ExpressionParser {
public:
  ExpressionParser(const std::string &text, int line) : tokens_(tokenize(text, line)) {}

  const Token &peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  int line() const { return peek().line; }
  bool isName(std::string_view text) const {
    return peek().kind == Token::Kind::Name && peek().text == text;
  }
  bool isOperator(std::string_view text) const {
    return peek().kind == Token::Kind::Operator && peek().text == text;
  }
  bool takeName(std::string_view text) { return isName(text) && ++at_; }
  bool takeOperator(std::string_view text) { return isOperator(text) && ++at_; }
  [[noreturn]] void unexpected(std::string_view wanted) const {
    throw JinjaFailure{line(), fmt::format("[{}] where {} is expected",
                                           peek().kind == Token::Kind::End ? "the end" : peek().text, wanted)};
  }
  std::string name() {
    if (peek().kind != Token::Kind::Name)
      unexpected("a name");
    return tokens_[at_++].text;
  }
  void expectOperator(std::string_view text) {
    if (!takeOperator(text))
      unexpected(fmt::format("\"{}\"", text));
  }
  void expectEnd() const {
    if (peek().kind != Token::Kind::End)
      unexpected("the end");
  }

  JinjaExpressionPtr expression() {
    if (++depth_ > 200)
      throw JinjaFailure{line(), "an expression is nested too deeply"};
    auto value = orExpression();
    if (takeName("if")) {
      auto condition = make(JinjaExpression::Kind::Condition);
      condition->children.push_back(orExpression());
      condition->children.push_back(std::move(value));
      condition->children.push_back(takeName("else") ? expression() : nullptr);
      value = std::move(condition);
    }
    --depth_;
    return value;
  }
  /// An expression without "if", for the iterable of a loop.
  JinjaExpressionPtr orExpression() {
    auto left = andExpression();
    while (takeName("or"))
      left = binary("or", std::move(left), andExpression());
    return left;
  }
  /// Filters applied to something that is given elsewhere ({% filter ... %}).
  JinjaExpressionPtr filterChain(JinjaExpressionPtr value) {
    do
      value = filter(std::move(value));
    while (takeOperator("|"));
    return value;
  }

private:
  JinjaExpressionPtr make(JinjaExpression::Kind kind, std::string text = {}) const {
    auto node = std::make_unique<JinjaExpression>();
    node->kind = kind;
    node->line = line();
    node->text = std::move(text);
    return node;
  }
  JinjaExpressionPtr binary(std::string op, JinjaExpressionPtr left, JinjaExpressionPtr right) const {
    auto node = make(JinjaExpression::Kind::Binary, std::move(op));
    node->children.push_back(std::move(left));
    node->children.push_back(std::move(right));
    return node;
  }
  JinjaExpressionPtr unary(std::string op, JinjaExpressionPtr operand) const {
    auto node = make(JinjaExpression::Kind::Unary, std::move(op));
    node->children.push_back(std::move(operand));
    return node;
  }

  JinjaExpressionPtr andExpression() {
    auto left = notExpression();
    while (takeName("and"))
      left = binary("and", std::move(left), notExpression());
    return left;
  }
  JinjaExpressionPtr notExpression() {
    if (takeName("not"))
      return unary("not", notExpression());
    return comparison();
  }
  JinjaExpressionPtr comparison() {
    auto left = sum();
    while (true) {
      bool took = false;
      for (const char *op : {"==", "!=", "<=", ">=", "<", ">"})
        if (!took && takeOperator(op)) {
          left = binary(op, std::move(left), sum());
          took = true;
        }
      if (!took && takeName("in")) {
        left = binary("in", std::move(left), sum());
        took = true;
      }
      if (!took && isName("not") && peek(1).kind == Token::Kind::Name && peek(1).text == "in") {
        at_ += 2;
        left = unary("not", binary("in", std::move(left), sum()));
        took = true;
      }
      if (!took)
        return left;
    }
  }
  JinjaExpressionPtr sum() {
    auto left = concatenation();
    while (true) {
      if (takeOperator("+"))
        left = binary("+", std::move(left), concatenation());
      else if (takeOperator("-"))
        left = binary("-", std::move(left), concatenation());
      else
        return left;
    }
  }
  JinjaExpressionPtr concatenation() {
    auto left = product();
    while (takeOperator("~"))
      left = binary("~", std::move(left), product());
    return left;
  }
  JinjaExpressionPtr product() {
    auto left = sign();
    while (true) {
      bool took = false;
      for (const char *op : {"*", "//", "/", "%"})
        if (!took && takeOperator(op)) {
          left = binary(op, std::move(left), sign());
          took = true;
        }
      if (!took)
        return left;
    }
  }
  JinjaExpressionPtr sign() {
    if (takeOperator("-"))
      return unary("-", sign());
    if (takeOperator("+"))
      return sign();
    auto value = postfix(primary());
    if (takeOperator("**"))
      value = binary("**", std::move(value), sign());
    while (true) {
      if (takeOperator("|"))
        value = postfix(filter(std::move(value)));
      else if (takeName("is"))
        value = test(std::move(value));
      else
        return value;
    }
  }
  JinjaExpressionPtr filter(JinjaExpressionPtr value) {
    auto node = make(JinjaExpression::Kind::Filter, name());
    node->children.push_back(std::move(value));
    if (takeOperator("("))
      node->arguments = arguments();
    return node;
  }
  JinjaExpressionPtr test(JinjaExpressionPtr value) {
    bool negated = takeName("not");
    auto node = make(JinjaExpression::Kind::Test, name());
    node->negated = negated;
    node->children.push_back(std::move(value));
    if (takeOperator("(")) {
      node->arguments = arguments();
    } else if (peek().kind == Token::Kind::String || peek().kind == Token::Kind::Integer ||
               peek().kind == Token::Kind::Float ||
               (peek().kind == Token::Kind::Name && !isName("and") && !isName("or") && !isName("if") &&
                !isName("else") && !isName("not") && !isName("is") && !isName("in"))) {
      node->arguments.push_back({"", postfix(primary())});
    }
    return node;
  }
  std::vector<JinjaArgument> arguments() {
    std::vector<JinjaArgument> out;
    while (!takeOperator(")")) {
      std::string argumentName;
      if (peek().kind == Token::Kind::Name && peek(1).kind == Token::Kind::Operator && peek(1).text == "=") {
        argumentName = name();
        expectOperator("=");
      }
      out.push_back({argumentName, expression()});
      if (!isOperator(")"))
        expectOperator(",");
    }
    return out;
  }
  JinjaExpressionPtr postfix(JinjaExpressionPtr value) {
    while (true) {
      if (takeOperator(".")) {
        auto node = make(JinjaExpression::Kind::Attribute);
        node->text = peek().kind == Token::Kind::Integer ? tokens_[at_++].text : name();
        node->children.push_back(std::move(value));
        value = std::move(node);
      } else if (takeOperator("[")) {
        value = subscript(std::move(value));
      } else if (takeOperator("(")) {
        auto node = make(JinjaExpression::Kind::Call);
        node->children.push_back(std::move(value));
        node->arguments = arguments();
        value = std::move(node);
      } else {
        return value;
      }
    }
  }
  JinjaExpressionPtr subscript(JinjaExpressionPtr value) {
    auto node = make(JinjaExpression::Kind::Index);
    node->children.push_back(std::move(value));
    JinjaExpressionPtr bound = isOperator(":") ? nullptr : expression();
    if (isOperator(":")) {
      node->kind = JinjaExpression::Kind::Slice;
      node->children.push_back(std::move(bound));
      for (int i = 0; i < 2; ++i)
        node->children.push_back(takeOperator(":") && !isOperator(":") && !isOperator("]") ? expression()
                                                                                           : nullptr);
    } else {
      node->children.push_back(std::move(bound));
    }
    expectOperator("]");
    return node;
  }
  JinjaExpressionPtr primary() {
    const Token &token = peek();
    auto literal = [&](JinjaData value) {
      auto node = make(JinjaExpression::Kind::Literal);
      node->literal = std::move(value);
      ++at_;
      return node;
    };
    switch (token.kind) {
    case Token::Kind::Integer: return literal(static_cast<int64_t>(std::strtoll(token.text.c_str(), nullptr, 10)));
    case Token::Kind::Float: return literal(std::strtod(token.text.c_str(), nullptr));
    case Token::Kind::String: {
      std::string text = token.text;
      auto node = literal(text);
      while (peek().kind == Token::Kind::String) { // adjacent strings join
        node->literal = node->literal.get<std::string>() + peek().text;
        ++at_;
      }
      return node;
    }
    case Token::Kind::Name:
      if (token.text == "true" || token.text == "True")
        return literal(true);
      if (token.text == "false" || token.text == "False")
        return literal(false);
      if (token.text == "none" || token.text == "None")
        return literal(nullptr);
      return make(JinjaExpression::Kind::Name, name());
    case Token::Kind::Operator: break;
    case Token::Kind::End: unexpected("a value");
    }
    if (takeOperator("(")) {
      if (takeOperator(")"))
        return make(JinjaExpression::Kind::List);
      auto value = expression();
      if (isOperator(",")) {
        auto list = make(JinjaExpression::Kind::List);
        list->children.push_back(std::move(value));
        while (takeOperator(",") && !isOperator(")"))
          list->children.push_back(expression());
        value = std::move(list);
      }
      expectOperator(")");
      return value;
    }
    if (takeOperator("[")) {
      auto list = make(JinjaExpression::Kind::List);
      while (!takeOperator("]")) {
        list->children.push_back(expression());
        if (!isOperator("]"))
          expectOperator(",");
      }
      return list;
    }
    if (takeOperator("{")) {
      auto mapping = make(JinjaExpression::Kind::Mapping);
      while (!takeOperator("}")) {
        mapping->children.push_back(expression());
        expectOperator(":");
        mapping->children.push_back(expression());
        if (!isOperator("}"))
          expectOperator(",");
      }
      return mapping;
    }
    unexpected("a value");
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
};

class BlockParser {
public:
  explicit BlockParser(std::string_view text) : parts_(cut(text)) {}
  JinjaBlock parseAll() {
    std::string end;
    JinjaBlock block = parse({}, end);
    return block;
  }

private:
  using Statement = JinjaStatement;

  /// Parses up to a statement whose first word is one of `ends`, which is left in `end` with its rest in
  /// `rest_`; or to the end of the text when `ends` is empty.
  JinjaBlock parse(std::initializer_list<std::string_view> ends, std::string &end) {
    if (++depth_ > 100)
      throw JinjaFailure{at_ < parts_.size() ? parts_[at_].line : 0, "blocks are nested too deeply"};
    JinjaBlock block;
    int opened = at_ > 0 ? parts_[at_ - 1].line : 1;
    while (at_ < parts_.size()) {
      const Part &part = parts_[at_++];
      auto statement = std::make_unique<Statement>();
      statement->line = part.line;
      if (part.kind == Part::Kind::Text) {
        if (part.text.empty())
          continue;
        statement->kind = Statement::Kind::Text;
        statement->text = part.text;
      } else if (part.kind == Part::Kind::Output) {
        ExpressionParser inside(part.text, part.line);
        statement->kind = Statement::Kind::Output;
        statement->expression = inside.expression();
        inside.expectEnd();
      } else {
        ExpressionParser inside(part.text, part.line);
        std::string word = inside.name();
        for (std::string_view wanted : ends)
          if (word == wanted) {
            end = word;
            rest_ = std::make_unique<ExpressionParser>(std::move(inside));
            --depth_;
            return block;
          }
        if (!parseStatement(word, inside, *statement))
          continue;
      }
      block.statements.push_back(std::move(statement));
    }
    if (ends.size())
      throw JinjaFailure{opened, fmt::format("a block is never closed by \"{}\"", *(ends.end() - 1))};
    --depth_;
    return block;
  }

  /// False when the statement leaves nothing behind.
  bool parseStatement(const std::string &word, ExpressionParser &inside, Statement &out) {
    std::string end;
    if (word == "if") {
      out.kind = Statement::Kind::If;
      auto condition = inside.expression();
      inside.expectEnd();
      while (true) {
        JinjaBlock body = parse({"elif", "else", "endif"}, end);
        out.branches.push_back({std::move(condition), std::move(body)});
        condition = end == "elif" ? rest_->expression() : nullptr;
        rest_->expectEnd();
        if (end == "endif")
          return true;
      }
    }
    if (word == "for") {
      out.kind = Statement::Kind::For;
      do {
        bool bracket = inside.takeOperator("(");
        out.names.push_back(inside.name());
        while (bracket && inside.takeOperator(","))
          out.names.push_back(inside.name());
        if (bracket)
          inside.expectOperator(")");
      } while (inside.takeOperator(","));
      if (!inside.takeName("in"))
        inside.unexpected("\"in\"");
      out.expression = inside.orExpression();
      if (inside.takeName("if"))
        out.condition = inside.expression();
      if (inside.isName("recursive"))
        inside.unexpected("a loop without \"recursive\", which is not supported,");
      inside.expectEnd();
      out.body = parse({"else", "endfor"}, end);
      if (end == "else")
        out.otherwise = parse({"endfor"}, end);
      return true;
    }
    if (word == "set") {
      out.kind = Statement::Kind::Set;
      out.names.push_back(inside.name());
      if (inside.takeOperator("."))
        out.text = inside.name();
      while (inside.takeOperator(","))
        out.names.push_back(inside.name());
      if (inside.takeOperator("=")) {
        out.expression = inside.expression();
        inside.expectEnd();
        return true;
      }
      inside.expectEnd();
      out.kind = Statement::Kind::SetBlock;
      out.body = parse({"endset"}, end);
      return true;
    }
    if (word == "macro") {
      out.kind = Statement::Kind::Macro;
      out.text = inside.name();
      inside.expectOperator("(");
      while (!inside.takeOperator(")")) {
        out.names.push_back(inside.name());
        out.defaults.push_back(inside.takeOperator("=") ? inside.expression() : nullptr);
        if (!inside.isOperator(")"))
          inside.expectOperator(",");
      }
      inside.expectEnd();
      out.body = parse({"endmacro"}, end);
      return true;
    }
    if (word == "filter") {
      out.kind = Statement::Kind::Filter;
      auto body = std::make_unique<JinjaExpression>();
      body->kind = JinjaExpression::Kind::Name;
      body->line = out.line;
      body->text = "*body*"; // no template can spell this name
      out.expression = inside.filterChain(std::move(body));
      inside.expectEnd();
      out.body = parse({"endfilter"}, end);
      return true;
    }
    if (word == "break" || word == "continue") {
      out.kind = word == "break" ? Statement::Kind::Break : Statement::Kind::Continue;
      inside.expectEnd();
      return true;
    }
    if (word == "generation" || word == "endgeneration")
      return false; // marks for training; nothing to print
    throw JinjaFailure{out.line, fmt::format("the statement \"{}\" is not supported", word)};
  }

  std::vector<Part> parts_;
  size_t at_ = 0;
  int depth_ = 0;
  std::unique_ptr<ExpressionParser> rest_;
};

} // namespace

JinjaStatement::JinjaStatement() = default;
JinjaStatement::~JinjaStatement() = default;

JinjaBlock parseJinja(std::string_view text) { return BlockParser(text).parseAll(); }

} // namespace pewter::muse
