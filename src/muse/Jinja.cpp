// SPDX-License-Identifier: Apache-2.0
//
// Walks the tree. Plain data is JSON; beside it there are undefined values (which print as nothing and
// are an error when used as anything else), namespaces (shared and mutable), macros and functions. Work
// is counted, so that a hostile template ends with an error.
//
// Tested by Jinja_test.cpp.
#include "muse/Jinja.h"
#include "muse/JinjaFilters.h"
#include "muse/JinjaNodes.h"
#include <cmath>
#include <ctime>
#include <map>

namespace pewter::muse {
namespace {

constexpr uint64_t kMaxSteps = 300'000;
constexpr size_t kMaxOutput = 64 << 20;
constexpr int kMaxCalls = 64;

using Kind = JinjaExpression::Kind;

struct Value;
using Object = std::map<std::string, Value>;

struct Value {
  enum class Type { Undefined, Data, Namespace, Macro, Function, Method };
  Type type = Type::Undefined;
  JinjaData data = nullptr;            ///< Data; of a method, the value it belongs to.
  std::shared_ptr<Object> object;      ///< Namespace.
  const JinjaStatement *macro = nullptr;
  std::string text;                    ///< Undefined: what was looked for. Function, Method: its name.

  static Value of(JinjaData data) { return {Type::Data, std::move(data), {}, nullptr, {}}; }
  static Value undefined(std::string name) { return {Type::Undefined, nullptr, {}, nullptr, std::move(name)}; }
  bool isUndefined() const { return type == Type::Undefined; }
};

struct Arguments {
  std::vector<Value> positional;
  std::map<std::string, Value> named;
};

enum class Flow { Next, Break, Continue };

class Renderer {
public:
  explicit Renderer(const JinjaData &variables) {
    scopes_.emplace_back();
    for (const auto &[name, value] : variables.items())
      scopes_.back()[name] = Value::of(value);
    for (const char *name : {"range", "namespace", "raise_exception", "strftime_now", "dict"})
      if (!scopes_.back().contains(name))
        scopes_.back()[name] = {Value::Type::Function, nullptr, {}, nullptr, name};
  }

  std::string render(const JinjaBlock &block) {
    std::string out;
    run(block, out);
    return out;
  }

private:
  [[noreturn]] static void fault(int line, std::string message) {
    throw JinjaFailure{line, std::move(message)};
  }
  void step(int line) {
    if (++steps_ > kMaxSteps)
      fault(line, fmt::format("the template takes more than {} steps", kMaxSteps));
  }
  const JinjaData &need(const Value &value, int line) const {
    if (value.isUndefined())
      fault(line, fmt::format("\"{}\" is undefined", value.text));
    if (value.type != Value::Type::Data)
      fault(line, "a function or namespace is used as a value");
    return value.data;
  }
  bool truth(const Value &value) const {
    if (value.type == Value::Type::Data)
      return jinjaTruth(value.data);
    return !value.isUndefined();
  }
  std::string text(const Value &value, int line) const {
    return value.isUndefined() ? std::string() : jinjaText(need(value, line));
  }
  Value *find(const std::string &name) {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (auto found = scope->find(name); found != scope->end())
        return &found->second;
    return nullptr;
  }

  // --- Statements

  Flow run(const JinjaBlock &block, std::string &out) {
    for (const auto &statement : block.statements) {
      step(statement->line);
      Flow flow = run(*statement, out);
      if (out.size() > kMaxOutput)
        fault(statement->line, "the text grows past 64 MiB");
      if (flow != Flow::Next)
        return flow;
    }
    return Flow::Next;
  }

  Flow run(const JinjaStatement &s, std::string &out) {
    switch (s.kind) {
    case JinjaStatement::Kind::Text: out += s.text; break;
    case JinjaStatement::Kind::Output: out += text(evaluate(*s.expression), s.line); break;
    case JinjaStatement::Kind::If:
      for (const auto &[condition, body] : s.branches)
        if (!condition || truth(evaluate(*condition)))
          return run(body, out);
      break;
    case JinjaStatement::Kind::For: runFor(s, out); break;
    case JinjaStatement::Kind::Set: runSet(s); break;
    case JinjaStatement::Kind::SetBlock: {
      std::string body;
      run(s.body, body);
      assign(s, Value::of(std::move(body)));
      break;
    }
    case JinjaStatement::Kind::Macro:
      scopes_.back()[s.text] = {Value::Type::Macro, nullptr, {}, &s, {}};
      break;
    case JinjaStatement::Kind::Filter: {
      std::string body;
      run(s.body, body);
      scopes_.emplace_back();
      scopes_.back()["*body*"] = Value::of(std::move(body));
      out += text(evaluate(*s.expression), s.line);
      scopes_.pop_back();
      break;
    }
    case JinjaStatement::Kind::Break: return Flow::Break;
    case JinjaStatement::Kind::Continue: return Flow::Continue;
    }
    return Flow::Next;
  }

  void assign(const JinjaStatement &s, Value value) {
    if (s.text.empty()) {
      scopes_.back()[s.names[0]] = std::move(value);
      return;
    }
    Value *target = find(s.names[0]);
    if (!target || target->type != Value::Type::Namespace)
      fault(s.line, fmt::format("\"{}\" is not a namespace", s.names[0]));
    (*target->object)[s.text] = std::move(value);
  }
  void runSet(const JinjaStatement &s) {
    Value value = evaluate(*s.expression);
    if (s.names.size() == 1)
      return assign(s, std::move(value));
    unpack(s, need(value, s.line), scopes_.back());
  }
  void unpack(const JinjaStatement &s, const JinjaData &value, Object &scope) {
    if (s.names.size() == 1) {
      scope[s.names[0]] = Value::of(value);
      return;
    }
    if (!value.is_array() || value.size() != s.names.size())
      fault(s.line, fmt::format("a value cannot be taken apart into {} names", s.names.size()));
    for (size_t i = 0; i < s.names.size(); ++i)
      scope[s.names[i]] = Value::of(value[i]);
  }

  void runFor(const JinjaStatement &s, std::string &out) {
    Value iterable = evaluate(*s.expression);
    JinjaData items = iterable.isUndefined() ? JinjaData::array() : jinjaItems(need(iterable, s.line), s.line);
    if (s.condition) {
      JinjaData kept = JinjaData::array();
      for (const JinjaData &item : items) {
        scopes_.emplace_back();
        unpack(s, item, scopes_.back());
        if (truth(evaluate(*s.condition)))
          kept.push_back(item);
        scopes_.pop_back();
      }
      items = std::move(kept);
    }
    if (items.empty()) {
      run(s.otherwise, out);
      return;
    }
    for (size_t i = 0; i < items.size(); ++i) {
      step(s.line);
      scopes_.emplace_back();
      unpack(s, items[i], scopes_.back());
      JinjaData loop = {{"index", i + 1},
                        {"index0", i},
                        {"revindex", items.size() - i},
                        {"revindex0", items.size() - i - 1},
                        {"first", i == 0},
                        {"last", i + 1 == items.size()},
                        {"length", items.size()}};
      if (i > 0)
        loop["previtem"] = items[i - 1];
      if (i + 1 < items.size())
        loop["nextitem"] = items[i + 1];
      scopes_.back()["loop"] = Value::of(std::move(loop));
      Flow flow = run(s.body, out);
      scopes_.pop_back();
      if (flow == Flow::Break)
        break;
    }
  }

  // --- Expressions

  Value evaluate(const JinjaExpression &e) {
    step(e.line);
    switch (e.kind) {
    case Kind::Literal: return Value::of(e.literal);
    case Kind::Name: {
      Value *found = find(e.text);
      return found ? *found : Value::undefined(e.text);
    }
    case Kind::List: {
      JinjaData list = JinjaData::array();
      for (const auto &child : e.children)
        list.push_back(need(evaluate(*child), e.line));
      return Value::of(std::move(list));
    }
    case Kind::Mapping: {
      JinjaData mapping = JinjaData::object();
      for (size_t i = 0; i < e.children.size(); i += 2)
        mapping[jinjaText(need(evaluate(*e.children[i]), e.line))] = need(evaluate(*e.children[i + 1]), e.line);
      return Value::of(std::move(mapping));
    }
    case Kind::Attribute: return attribute(evaluate(*e.children[0]), e.text, e.line);
    case Kind::Index: return index(e);
    case Kind::Slice: return slice(e);
    case Kind::Call: return call(e);
    case Kind::Filter: return filter(e);
    case Kind::Test: return Value::of(test(e) != e.negated);
    case Kind::Unary: {
      Value value = evaluate(*e.children[0]);
      if (e.text == "not")
        return Value::of(!truth(value));
      return Value::of(jinjaArithmetic("-", JinjaData(0), need(value, e.line), e.line));
    }
    case Kind::Binary: return binary(e);
    case Kind::Condition:
      if (truth(evaluate(*e.children[0])))
        return evaluate(*e.children[1]);
      return e.children[2] ? evaluate(*e.children[2]) : Value::undefined("the else of an inline if");
    }
    fault(e.line, "unknown expression");
  }

  Value attribute(const Value &of, const std::string &name, int line) {
    if (of.type == Value::Type::Namespace) {
      auto found = of.object->find(name);
      return found == of.object->end() ? Value::undefined(name) : found->second;
    }
    const JinjaData &data = need(of, line);
    if (data.is_object() && data.contains(name))
      return Value::of(data[name]);
    if (data.is_array() && !name.empty() && std::isdigit(static_cast<unsigned char>(name[0]))) {
      auto at = static_cast<size_t>(std::atoi(name.c_str()));
      return at < data.size() ? Value::of(data[at]) : Value::undefined(name);
    }
    if (jinjaHasMethod(data, name))
      return {Value::Type::Method, data, {}, nullptr, name};
    return Value::undefined(name);
  }

  Value index(const JinjaExpression &e) {
    Value of = evaluate(*e.children[0]);
    const JinjaData key = need(evaluate(*e.children[1]), e.line);
    if (of.type == Value::Type::Namespace && key.is_string())
      return attribute(of, key.get<std::string>(), e.line);
    const JinjaData &data = need(of, e.line);
    if (data.is_object() && key.is_string())
      return data.contains(key.get<std::string>()) ? Value::of(data[key.get<std::string>()])
                                                   : Value::undefined(key.get<std::string>());
    if (key.is_number_integer() && (data.is_array() || data.is_string())) {
      JinjaData list = data.is_string() ? jinjaCharacters(data.get<std::string>()) : data;
      auto at = key.get<int64_t>(), size = static_cast<int64_t>(list.size());
      at = at < 0 ? at + size : at;
      return at >= 0 && at < size ? Value::of(list[static_cast<size_t>(at)]) : Value::undefined("an index");
    }
    return Value::undefined(jinjaText(key));
  }

  Value slice(const JinjaExpression &e) {
    JinjaData data = need(evaluate(*e.children[0]), e.line);
    bool isText = data.is_string();
    JinjaData list = isText ? jinjaCharacters(data.get<std::string>()) : std::move(data);
    if (!list.is_array())
      fault(e.line, "only lists and strings can be sliced");
    auto bound = [&](size_t child) -> std::optional<int64_t> {
      if (!e.children[child])
        return std::nullopt;
      JinjaData value = need(evaluate(*e.children[child]), e.line);
      if (value.is_null())
        return std::nullopt;
      if (!value.is_number_integer())
        fault(e.line, "a bound of a slice is not an integer");
      return value.get<int64_t>();
    };
    auto size = static_cast<int64_t>(list.size());
    int64_t stride = bound(3).value_or(1);
    if (stride == 0)
      fault(e.line, "the step of a slice is 0");
    auto clip = [&](std::optional<int64_t> value, int64_t otherwise) {
      if (!value)
        return otherwise;
      int64_t at = *value < 0 ? *value + size : *value;
      return stride > 0 ? std::clamp<int64_t>(at, 0, size) : std::clamp<int64_t>(at, -1, size - 1);
    };
    int64_t begin = clip(bound(1), stride > 0 ? 0 : size - 1), end = clip(bound(2), stride > 0 ? size : -1);
    JinjaData out = JinjaData::array();
    for (int64_t i = begin; stride > 0 ? i < end : i > end; i += stride)
      out.push_back(list[static_cast<size_t>(i)]);
    if (!isText)
      return Value::of(std::move(out));
    std::string joined;
    for (const JinjaData &c : out)
      joined += c.get<std::string>();
    return Value::of(std::move(joined));
  }

  Value binary(const JinjaExpression &e) {
    if (e.text == "and" || e.text == "or") {
      Value left = evaluate(*e.children[0]);
      return truth(left) == (e.text == "and") ? evaluate(*e.children[1]) : left;
    }
    Value left = evaluate(*e.children[0]), right = evaluate(*e.children[1]);
    if (e.text == "~")
      return Value::of(text(left, e.line) + text(right, e.line));
    if (e.text == "==" || e.text == "!=") {
      bool equal = left.isUndefined() || right.isUndefined()
                       ? left.isUndefined() && right.isUndefined()
                       : jinjaEqual(need(left, e.line), need(right, e.line));
      return Value::of(equal == (e.text == "=="));
    }
    if (e.text == "in")
      return Value::of(!right.isUndefined() &&
                       jinjaContains(need(right, e.line), need(left, e.line), e.line));
    return Value::of(jinjaArithmetic(e.text, need(left, e.line), need(right, e.line), e.line));
  }

  Arguments evaluateArguments(const std::vector<JinjaArgument> &arguments) {
    Arguments out;
    for (const JinjaArgument &argument : arguments) {
      if (argument.name.empty())
        out.positional.push_back(evaluate(*argument.value));
      else
        out.named[argument.name] = evaluate(*argument.value);
    }
    return out;
  }
  JinjaArguments plain(const Arguments &arguments, int line) const {
    JinjaArguments out;
    for (const Value &value : arguments.positional)
      out.positional.push_back(value.isUndefined() ? JinjaData(nullptr) : need(value, line));
    for (const auto &[name, value] : arguments.named)
      out.named[name] = value.isUndefined() ? JinjaData(nullptr) : need(value, line);
    return out;
  }

  Value filter(const JinjaExpression &e) {
    Value value = evaluate(*e.children[0]);
    Arguments arguments = evaluateArguments(e.arguments);
    if (e.text == "default" || e.text == "d") {
      bool wide = arguments.positional.size() > 1 && truth(arguments.positional[1]);
      if (auto named = arguments.named.find("boolean"); named != arguments.named.end())
        wide = truth(named->second);
      if (!value.isUndefined() && (!wide || truth(value)))
        return value;
      if (auto named = arguments.named.find("default_value"); named != arguments.named.end())
        return named->second;
      return arguments.positional.empty() ? Value::of("") : arguments.positional[0];
    }
    JinjaData input = value.isUndefined() && (e.text == "list" || e.text == "length" || e.text == "join" ||
                                              e.text == "trim" || e.text == "string")
                          ? JinjaData(e.text == "trim" || e.text == "string" ? JinjaData("")
                                                                             : JinjaData::array())
                          : need(value, e.line);
    return Value::of(jinjaFilter(e.text, input, plain(arguments, e.line), e.line));
  }

  bool test(const JinjaExpression &e) {
    Value value = evaluate(*e.children[0]);
    if (e.text == "defined")
      return !value.isUndefined();
    if (e.text == "undefined")
      return value.isUndefined();
    if (e.text == "callable")
      return value.type == Value::Type::Macro || value.type == Value::Type::Function ||
             value.type == Value::Type::Method;
    if (value.isUndefined())
      return false;
    if (value.type != Value::Type::Data)
      return e.text == "mapping" && value.type == Value::Type::Namespace;
    return jinjaTest(e.text, value.data, plain(evaluateArguments(e.arguments), e.line), e.line);
  }

  Value call(const JinjaExpression &e) {
    // A method that changes a list must change the variable, not a copy of it.
    const JinjaExpression &target = *e.children[0];
    if (target.kind == Kind::Attribute && target.children[0]->kind == Kind::Name &&
        (target.text == "append" || target.text == "pop" || target.text == "update")) {
      Value *variable = find(target.children[0]->text);
      if (variable && variable->type == Value::Type::Data)
        return Value::of(jinjaMutate(variable->data, target.text, plain(evaluateArguments(e.arguments), e.line),
                                     e.line));
    }
    Value callee = evaluate(target);
    Arguments arguments = evaluateArguments(e.arguments);
    switch (callee.type) {
    case Value::Type::Macro: return callMacro(*callee.macro, arguments, e.line);
    case Value::Type::Method:
      return Value::of(jinjaMethod(callee.text, callee.data, plain(arguments, e.line), e.line));
    case Value::Type::Function: return callFunction(callee.text, arguments, e.line);
    default: fault(e.line, fmt::format("\"{}\" cannot be called", target.text));
    }
  }

  Value callMacro(const JinjaStatement &macro, const Arguments &arguments, int line) {
    if (++calls_ > kMaxCalls)
      fault(line, "macros call each other too deeply");
    Object scope;
    for (size_t i = 0; i < macro.names.size(); ++i) {
      auto named = arguments.named.find(macro.names[i]);
      if (i < arguments.positional.size())
        scope[macro.names[i]] = arguments.positional[i];
      else if (named != arguments.named.end())
        scope[macro.names[i]] = named->second;
      else
        scope[macro.names[i]] =
            macro.defaults[i] ? evaluate(*macro.defaults[i]) : Value::undefined(macro.names[i]);
    }
    // A macro sees what is global, not what surrounds the call.
    std::vector<Object> saved = std::move(scopes_);
    scopes_.clear();
    scopes_.push_back(saved.front());
    scopes_.push_back(std::move(scope));
    std::string out;
    run(macro.body, out);
    scopes_ = std::move(saved);
    --calls_;
    return Value::of(std::move(out));
  }

  Value callFunction(const std::string &name, const Arguments &arguments, int line) {
    if (name == "namespace" || name == "dict") {
      auto object = std::make_shared<Object>(arguments.named);
      if (!arguments.positional.empty())
        for (const auto &[key, value] : need(arguments.positional[0], line).items())
          object->emplace(key, Value::of(value));
      if (name == "namespace")
        return {Value::Type::Namespace, nullptr, std::move(object), nullptr, {}};
      JinjaData mapping = JinjaData::object();
      for (const auto &[key, value] : *object)
        mapping[key] = need(value, line);
      return Value::of(std::move(mapping));
    }
    JinjaArguments values = plain(arguments, line);
    if (name == "raise_exception")
      fault(line, values.positional.empty() ? "raise_exception" : jinjaText(values.positional[0]));
    if (name == "strftime_now") {
      std::string format = values.positional.empty() ? "%Y-%m-%d" : jinjaText(values.positional[0]);
      std::time_t now = std::time(nullptr);
      std::tm parts{};
      ::localtime_r(&now, &parts);
      char buffer[256];
      size_t length = std::strftime(buffer, sizeof buffer, format.c_str(), &parts);
      return Value::of(std::string(buffer, length));
    }
    // range
    int64_t bounds[3] = {0, 0, 1};
    size_t count = values.positional.size();
    if (count < 1 || count > 3)
      fault(line, fmt::format("range has [{}] arguments; 1 to 3 are expected", count));
    for (size_t i = 0; i < count; ++i) {
      if (!values.positional[i].is_number_integer())
        fault(line, "an argument of range is not an integer");
      bounds[count == 1 ? 1 : i] = values.positional[i].get<int64_t>();
    }
    if (bounds[2] == 0 || std::abs((bounds[1] - bounds[0]) / bounds[2]) > 1'000'000)
      fault(line, "range has no end or too many elements");
    JinjaData list = JinjaData::array();
    for (int64_t i = bounds[0]; bounds[2] > 0 ? i < bounds[1] : i > bounds[1]; i += bounds[2])
      list.push_back(i);
    return Value::of(std::move(list));
  }

  std::vector<Object> scopes_;
  uint64_t steps_ = 0;
  int calls_ = 0;
};

template <class F> auto guarded(F &&run) -> Result<decltype(run())> {
  try {
    return run();
  } catch (const JinjaFailure &failure) {
    return fail(ErrorKind::Validation, "The chat template fails in line {}: {}.", failure.line, failure.message);
  } catch (const nlohmann::json::exception &failure) {
    return fail(ErrorKind::Validation, "The chat template fails: {}.", failure.what());
  }
}

} // namespace

JinjaTemplate::~JinjaTemplate() = default;

Result<std::shared_ptr<const JinjaTemplate>> JinjaTemplate::parse(std::string_view text) {
  auto out = std::shared_ptr<JinjaTemplate>(new JinjaTemplate);
  PEWTER_TRY(JinjaBlock body, guarded([&] { return parseJinja(text); }));
  out->body_ = std::make_unique<JinjaBlock>(std::move(body));
  return out;
}

Result<std::string> JinjaTemplate::render(const JinjaData &variables) const {
  return guarded([&] { return Renderer(variables).render(*body_); });
}

} // namespace pewter::muse
