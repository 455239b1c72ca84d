// SPDX-License-Identifier: Apache-2.0
// Tested by Jinja_test.cpp.
#include "muse/JinjaFilters.h"
#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <functional>
#include <set>

namespace pewter::muse {
namespace {

[[noreturn]] void fault(int line, std::string message) { throw JinjaFailure{line, std::move(message)}; }

/// A string as Python's repr prints it.
std::string quoted(const std::string &text) {
  char quote = text.find('\'') != text.npos && text.find('"') == text.npos ? '"' : '\'';
  std::string out(1, quote);
  for (char c : text) {
    if (c == quote || c == '\\')
      out += '\\';
    if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\r')
      out += "\\r";
    else
      out += c;
  }
  return out + quote;
}
std::string repr(const JinjaData &value) {
  return value.is_string() ? quoted(value.get<std::string>()) : jinjaText(value);
}

std::string number(double value) {
  if (std::isfinite(value) && value == std::floor(value) && std::fabs(value) < 1e16)
    return fmt::format("{:.1f}", value);
  return fmt::format("{}", value);
}

std::string mapLetters(std::string text, int (*map)(int)) {
  for (char &c : text)
    if (static_cast<unsigned char>(c) < 128)
      c = static_cast<char>(map(static_cast<unsigned char>(c)));
  return text;
}
std::string capitalized(const std::string &text) {
  std::string out = mapLetters(text, ::tolower);
  if (!out.empty())
    out[0] = mapLetters(out.substr(0, 1), ::toupper)[0];
  return out;
}
std::string titled(std::string text) {
  bool start = true;
  for (char &c : text) {
    bool letter = std::isalpha(static_cast<unsigned char>(c)) || static_cast<unsigned char>(c) >= 128;
    c = static_cast<char>(start ? std::toupper(static_cast<unsigned char>(c))
                                : std::tolower(static_cast<unsigned char>(c)));
    start = !letter && c != '\'';
  }
  return text;
}

std::string stripped(const std::string &text, const std::string &set, bool left, bool right) {
  size_t begin = 0, end = text.size();
  while (left && begin < end && set.find(text[begin]) != set.npos)
    ++begin;
  while (right && end > begin && set.find(text[end - 1]) != set.npos)
    --end;
  return text.substr(begin, end - begin);
}
constexpr char kSpace[] = " \t\n\r\f\v";

std::string replaced(const std::string &text, const std::string &from, const std::string &to, int64_t most) {
  if (from.empty())
    return text;
  std::string out;
  size_t at = 0;
  while (most != 0) {
    size_t found = text.find(from, at);
    if (found == text.npos)
      break;
    out += text.substr(at, found - at) + to;
    at = found + from.size();
    --most;
  }
  return out + text.substr(at);
}

/// JSON with Python's separators, keys in their order.
void toJson(const JinjaData &value, int indent, int depth, std::string &out) {
  auto newline = [&](int level) {
    if (indent >= 0)
      out += "\n" + std::string(static_cast<size_t>(indent) * static_cast<size_t>(level), ' ');
  };
  if (!value.is_structured() || value.empty()) {
    out += value.dump(-1, ' ', false, JinjaData::error_handler_t::replace);
    return;
  }
  out += value.is_array() ? "[" : "{";
  bool first = true;
  for (const auto &[key, element] : value.items()) {
    if (!first)
      out += indent >= 0 ? "," : ", ";
    first = false;
    newline(depth + 1);
    if (value.is_object())
      out += JinjaData(key).dump(-1, ' ', false, JinjaData::error_handler_t::replace) + ": ";
    toJson(element, indent, depth + 1, out);
  }
  newline(depth);
  out += value.is_array() ? "]" : "}";
}

const JinjaData *attributeOf(const JinjaData &value, const std::string &path) {
  const JinjaData *at = &value;
  for (size_t begin = 0; begin <= path.size();) {
    size_t dot = std::min(path.find('.', begin), path.size());
    std::string name = path.substr(begin, dot - begin);
    if (!at->is_object() || !at->contains(name))
      return nullptr;
    at = &(*at)[name];
    begin = dot + 1;
  }
  return at;
}

bool lessThan(const JinjaData &a, const JinjaData &b) {
  if (a.is_string() && b.is_string())
    return mapLetters(a.get<std::string>(), ::tolower) < mapLetters(b.get<std::string>(), ::tolower);
  return a < b;
}

JinjaData lengthOf(const JinjaData &value, int line) {
  if (value.is_string())
    return jinjaCharacters(value.get<std::string>()).size();
  if (!value.is_structured())
    fault(line, "a value without a length is measured");
  return value.size();
}

/// select, reject, selectattr and rejectattr.
JinjaData selected(const std::string &name, const JinjaData &value, const JinjaArguments &arguments, int line) {
  bool byAttribute = name.ends_with("attr"), keep = name.starts_with("select");
  JinjaArguments rest;
  size_t used = byAttribute ? 1 : 0;
  std::string attribute = byAttribute && !arguments.positional.empty() ? jinjaText(arguments.positional[0]) : "";
  std::string test = arguments.positional.size() > used ? jinjaText(arguments.positional[used]) : "";
  for (size_t i = used + 1; i < arguments.positional.size(); ++i)
    rest.positional.push_back(arguments.positional[i]);
  JinjaData out = JinjaData::array();
  for (const JinjaData &item : jinjaItems(value, line)) {
    const JinjaData *seen = byAttribute ? attributeOf(item, attribute) : &item;
    bool yes = test.empty()         ? seen && jinjaTruth(*seen)
               : test == "defined"   ? seen != nullptr
               : test == "undefined" ? seen == nullptr
                                     : seen && jinjaTest(test, *seen, rest, line);
    if (yes == keep)
      out.push_back(item);
  }
  return out;
}

JinjaData mapped(const JinjaData &value, const JinjaArguments &arguments, int line) {
  JinjaData out = JinjaData::array();
  auto attribute = arguments.named.find("attribute");
  for (const JinjaData &item : jinjaItems(value, line)) {
    if (attribute != arguments.named.end()) {
      const JinjaData *found = attributeOf(item, jinjaText(attribute->second));
      const JinjaData *otherwise = arguments.find(SIZE_MAX, "default");
      out.push_back(found ? *found : otherwise ? *otherwise : JinjaData(nullptr));
      continue;
    }
    if (arguments.positional.empty())
      fault(line, "map has no filter");
    JinjaArguments rest;
    rest.positional.assign(arguments.positional.begin() + 1, arguments.positional.end());
    out.push_back(jinjaFilter(jinjaText(arguments.positional[0]), item, rest, line));
  }
  return out;
}

std::string indented(const std::string &text, const JinjaArguments &arguments) {
  const JinjaData *width = arguments.find(0, "width"), *first = arguments.find(1, "first");
  std::string pad = width && width->is_string() ? width->get<std::string>()
                                                : std::string(width ? width->get<size_t>() : 4, ' ');
  std::string out = first && jinjaTruth(*first) ? pad : "";
  for (size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] == '\n' && i + 1 < text.size() && text[i + 1] != '\n')
      out += pad;
  }
  return out;
}

std::string escaped(const std::string &text) {
  std::string out;
  for (char c : text)
    switch (c) {
    case '&': out += "&amp;"; break;
    case '<': out += "&lt;"; break;
    case '>': out += "&gt;"; break;
    case '"': out += "&#34;"; break;
    case '\'': out += "&#39;"; break;
    default: out += c;
    }
  return out;
}

double toDouble(const JinjaData &value) {
  if (value.is_string())
    return std::strtod(value.get<std::string>().c_str(), nullptr);
  return value.is_number() ? value.get<double>() : value.is_boolean() ? value.get<bool>() : 0.0;
}

JinjaData pairs(const JinjaData &value, int line) {
  if (!value.is_object())
    fault(line, "the items of something that is not a mapping are asked for");
  JinjaData out = JinjaData::array();
  for (const auto &[key, element] : value.items())
    out.push_back(JinjaData::array({key, element}));
  return out;
}

} // namespace

const JinjaData *JinjaArguments::find(size_t index, const char *name) const {
  if (index < positional.size())
    return &positional[index];
  auto found = named.find(name);
  return found == named.end() ? nullptr : &found->second;
}

bool jinjaTruth(const JinjaData &value) {
  if (value.is_boolean())
    return value.get<bool>();
  if (value.is_number())
    return value.get<double>() != 0;
  if (value.is_string())
    return !value.get_ref<const std::string &>().empty();
  return !value.is_null() && !value.empty();
}

std::string jinjaText(const JinjaData &value) {
  if (value.is_string())
    return value.get<std::string>();
  if (value.is_null())
    return "None";
  if (value.is_boolean())
    return value.get<bool>() ? "True" : "False";
  if (value.is_number_float())
    return number(value.get<double>());
  if (!value.is_structured())
    return value.dump();
  std::string out = value.is_array() ? "[" : "{";
  bool first = true;
  for (const auto &[key, element] : value.items()) {
    out += first ? "" : ", ";
    first = false;
    out += (value.is_object() ? quoted(key) + ": " : "") + repr(element);
  }
  return out + (value.is_array() ? "]" : "}");
}

bool jinjaEqual(const JinjaData &a, const JinjaData &b) {
  if ((a.is_boolean() || a.is_number()) && (b.is_boolean() || b.is_number()))
    return toDouble(a) == toDouble(b);
  return a == b;
}

bool jinjaContains(const JinjaData &container, const JinjaData &value, int line) {
  if (container.is_string() && value.is_string())
    return container.get_ref<const std::string &>().find(value.get_ref<const std::string &>()) !=
           std::string::npos;
  if (container.is_object())
    return value.is_string() && container.contains(value.get<std::string>());
  if (!container.is_array())
    fault(line, "\"in\" looks into something that holds nothing");
  return std::ranges::any_of(container, [&](const JinjaData &element) { return jinjaEqual(element, value); });
}

JinjaData jinjaArithmetic(const std::string &op, const JinjaData &a, const JinjaData &b, int line) {
  auto compare = [&](auto less) { return less(a, b); };
  if (op == "<" || op == ">" || op == "<=" || op == ">=") {
    if (a.is_string() != b.is_string() || a.is_structured() != b.is_structured() || a.is_null() || b.is_null())
      fault(line, fmt::format("{} and {} have no order", a.type_name(), b.type_name()));
    return op == "<"    ? compare(std::less{})
           : op == ">"  ? compare(std::greater{})
           : op == "<=" ? !compare(std::greater{})
                        : !compare(std::less{});
  }
  if (op == "+" && a.is_string() && b.is_string())
    return a.get<std::string>() + b.get<std::string>();
  if (op == "+" && a.is_array() && b.is_array()) {
    JinjaData out = a;
    out.insert(out.end(), b.begin(), b.end());
    return out;
  }
  if (op == "*" && a.is_string() && b.is_number_integer()) {
    std::string out;
    int64_t times = b.get<int64_t>();
    if (times > 0 && static_cast<uint64_t>(times) * a.get_ref<const std::string &>().size() > (64u << 20))
      fault(line, "a string grows past 64 MiB");
    for (int64_t i = 0; i < times; ++i)
      out += a.get_ref<const std::string &>();
    return out;
  }
  auto isNumber = [](const JinjaData &v) { return v.is_number() || v.is_boolean(); };
  if (!isNumber(a) || !isNumber(b))
    fault(line, fmt::format("{} \"{}\" {} has no meaning", a.type_name(), op, b.type_name()));
  bool whole = !a.is_number_float() && !b.is_number_float();
  double x = toDouble(a), y = toDouble(b);
  if ((op == "/" || op == "//" || op == "%") && y == 0)
    fault(line, "a number is divided by zero");
  if (op == "/")
    return x / y;
  double result = op == "+"    ? x + y
                  : op == "-"  ? x - y
                  : op == "*"  ? x * y
                  : op == "//" ? std::floor(x / y)
                  : op == "%"  ? x - y * std::floor(x / y)
                               : std::pow(x, y);
  if (whole && std::fabs(result) < 9e15)
    return static_cast<int64_t>(result);
  return result;
}

JinjaData jinjaCharacters(const std::string &text) {
  JinjaData out = JinjaData::array();
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
      ++end;
    out.push_back(text.substr(i, end - i));
    i = end;
  }
  return out;
}

JinjaData jinjaItems(const JinjaData &value, int line) {
  if (value.is_array())
    return value;
  if (value.is_string())
    return jinjaCharacters(value.get<std::string>());
  if (!value.is_object())
    fault(line, fmt::format("a loop goes over {}", value.type_name()));
  JinjaData keys = JinjaData::array();
  for (const auto &[key, element] : value.items())
    keys.push_back(key);
  return keys;
}

JinjaData jinjaFilter(const std::string &name, const JinjaData &value, const JinjaArguments &arguments, int line) {
  auto text = [&] { return jinjaText(value); };
  if (name == "trim" || name == "strip") {
    const JinjaData *set = arguments.find(0, "chars");
    return stripped(text(), set ? jinjaText(*set) : kSpace, true, true);
  }
  if (name == "tojson") {
    const JinjaData *indent = arguments.find(0, "indent");
    std::string out;
    toJson(value, indent && indent->is_number_integer() ? indent->get<int>() : -1, 0, out);
    return out;
  }
  if (name == "upper")
    return mapLetters(text(), ::toupper);
  if (name == "lower")
    return mapLetters(text(), ::tolower);
  if (name == "capitalize")
    return capitalized(text());
  if (name == "title")
    return titled(text());
  if (name == "length" || name == "count")
    return lengthOf(value, line);
  if (name == "string")
    return text();
  if (name == "safe")
    return value;
  if (name == "escape" || name == "e")
    return escaped(text());
  if (name == "int")
    return static_cast<int64_t>(toDouble(value));
  if (name == "float")
    return toDouble(value);
  if (name == "abs")
    return value.is_number_float() ? JinjaData(std::fabs(toDouble(value)))
                                   : JinjaData(std::abs(value.get<int64_t>()));
  if (name == "round") {
    const JinjaData *digits = arguments.find(0, "precision");
    double factor = std::pow(10.0, digits ? toDouble(*digits) : 0);
    return std::nearbyint(toDouble(value) * factor) / factor;
  }
  if (name == "list")
    return jinjaItems(value, line);
  if (name == "items")
    return pairs(value, line);
  if (name == "first" || name == "last") {
    JinjaData items = jinjaItems(value, line);
    if (items.empty())
      fault(line, fmt::format("the {} of nothing is asked for", name));
    return name == "first" ? items.front() : items.back();
  }
  if (name == "join") {
    const JinjaData *between = arguments.find(0, "d"), *attribute = arguments.find(1, "attribute");
    std::string out;
    bool first = true;
    for (const JinjaData &item : jinjaItems(value, line)) {
      const JinjaData *shown = attribute ? attributeOf(item, jinjaText(*attribute)) : &item;
      out += (first || !between ? "" : jinjaText(*between)) + (shown ? jinjaText(*shown) : "");
      first = false;
    }
    return out;
  }
  if (name == "replace") {
    if (arguments.positional.size() < 2)
      fault(line, "replace needs two strings");
    const JinjaData *most = arguments.find(2, "count");
    return replaced(text(), jinjaText(arguments.positional[0]), jinjaText(arguments.positional[1]),
                    most && most->is_number_integer() ? most->get<int64_t>() : -1);
  }
  if (name == "indent")
    return indented(text(), arguments);
  if (name == "select" || name == "reject" || name == "selectattr" || name == "rejectattr")
    return selected(name, value, arguments, line);
  if (name == "map")
    return mapped(value, arguments, line);
  if (name == "reverse") {
    JinjaData items = jinjaItems(value, line);
    std::ranges::reverse(items);
    if (!value.is_string())
      return items;
    std::string out;
    for (const JinjaData &c : items)
      out += c.get<std::string>();
    return out;
  }
  if (name == "sort" || name == "unique" || name == "dictsort") {
    JinjaData items = name == "dictsort" ? pairs(value, line) : jinjaItems(value, line);
    const JinjaData *attribute = arguments.find(SIZE_MAX, "attribute"),
                    *down = arguments.find(name == "sort" ? 0 : SIZE_MAX, "reverse");
    auto key = [&](const JinjaData &item) -> JinjaData {
      if (name == "dictsort")
        return item[0];
      const JinjaData *found = attribute ? attributeOf(item, jinjaText(*attribute)) : &item;
      return found ? *found : JinjaData(nullptr);
    };
    if (name == "unique") {
      JinjaData out = JinjaData::array();
      std::set<std::string> seen;
      for (const JinjaData &item : items)
        if (seen.insert(key(item).dump(-1, ' ', false, JinjaData::error_handler_t::replace)).second)
          out.push_back(item);
      return out;
    }
    bool reverse = down && jinjaTruth(*down);
    std::vector<JinjaData> order(items.begin(), items.end());
    std::ranges::sort(order, [&](const JinjaData &a, const JinjaData &b) {
      return reverse ? lessThan(key(b), key(a)) : lessThan(key(a), key(b));
    });
    return order;
  }
  if (name == "sum" || name == "min" || name == "max") {
    JinjaData out = name == "sum" ? JinjaData(0) : JinjaData(nullptr);
    bool first = true;
    for (const JinjaData &item : jinjaItems(value, line)) {
      if (name == "sum")
        out = jinjaArithmetic("+", out, item, line);
      else if (first || (name == "min" ? lessThan(item, out) : lessThan(out, item)))
        out = item;
      first = false;
    }
    return out;
  }
  fault(line, fmt::format("the filter \"{}\" is not known", name));
}

bool jinjaTest(const std::string &name, const JinjaData &value, const JinjaArguments &arguments, int line) {
  auto argument = [&]() -> const JinjaData & {
    if (arguments.positional.empty())
      fault(line, fmt::format("the test \"{}\" needs an argument", name));
    return arguments.positional[0];
  };
  if (name == "none")
    return value.is_null();
  if (name == "string")
    return value.is_string();
  if (name == "number")
    return value.is_number();
  if (name == "integer")
    return value.is_number_integer();
  if (name == "float")
    return value.is_number_float();
  if (name == "boolean")
    return value.is_boolean();
  if (name == "true")
    return value.is_boolean() && value.get<bool>();
  if (name == "false")
    return value.is_boolean() && !value.get<bool>();
  if (name == "mapping")
    return value.is_object();
  if (name == "sequence" || name == "iterable")
    return value.is_structured() || value.is_string();
  if (name == "odd" || name == "even")
    return value.is_number_integer() && (value.get<int64_t>() % 2 != 0) == (name == "odd");
  if (name == "divisibleby")
    return toDouble(argument()) != 0 && std::fmod(toDouble(value), toDouble(argument())) == 0;
  if (name == "equalto" || name == "eq" || name == "sameas")
    return jinjaEqual(value, argument());
  if (name == "ne")
    return !jinjaEqual(value, argument());
  if (name == "in")
    return jinjaContains(argument(), value, line);
  if (name == "lt" || name == "gt" || name == "le" || name == "ge")
    return jinjaTruth(jinjaArithmetic(name == "lt"   ? "<"
                                      : name == "gt" ? ">"
                                      : name == "le" ? "<="
                                                     : ">=",
                                      value, argument(), line));
  if (name == "lower" || name == "upper")
    return value.is_string() &&
           value.get<std::string>() ==
               mapLetters(value.get<std::string>(), name == "lower" ? ::tolower : ::toupper);
  fault(line, fmt::format("the test \"{}\" is not known", name));
}

bool jinjaHasMethod(const JinjaData &value, const std::string &name) {
  static const std::set<std::string> kText = {"strip", "lstrip", "rstrip", "split", "rsplit", "splitlines",
                                              "startswith", "endswith", "upper", "lower", "title",
                                              "capitalize", "replace", "find", "count", "join", "isdigit",
                                              "isalpha", "isupper", "islower", "format", "removeprefix",
                                              "removesuffix"};
  static const std::set<std::string> kMapping = {"items", "keys", "values", "get"};
  static const std::set<std::string> kList = {"append", "pop", "index", "count"};
  return value.is_string() ? kText.contains(name)
         : value.is_object() ? kMapping.contains(name)
         : value.is_array()  ? kList.contains(name)
                             : false;
}

JinjaData jinjaMethod(const std::string &name, const JinjaData &value, const JinjaArguments &arguments, int line) {
  auto argument = [&](size_t i) -> std::string {
    if (i >= arguments.positional.size())
      fault(line, fmt::format("\"{}\" needs {} arguments", name, i + 1));
    return jinjaText(arguments.positional[i]);
  };
  if (value.is_object()) {
    if (name == "items")
      return pairs(value, line);
    if (name == "keys")
      return jinjaItems(value, line);
    if (name == "values") {
      JinjaData out = JinjaData::array();
      for (const auto &[key, element] : value.items())
        out.push_back(element);
      return out;
    }
    std::string key = argument(0);
    const JinjaData *otherwise = arguments.find(1, "default");
    return value.contains(key) ? value[key] : otherwise ? *otherwise : JinjaData(nullptr);
  }
  if (value.is_array()) {
    int64_t count = 0, index = -1;
    for (size_t i = 0; i < value.size() && !arguments.positional.empty(); ++i)
      if (jinjaEqual(value[i], arguments.positional[0])) {
        index = index < 0 ? static_cast<int64_t>(i) : index;
        ++count;
      }
    if (name == "count")
      return count;
    if (name == "index" && index >= 0)
      return index;
    JinjaData copy = value;
    return jinjaMutate(copy, name, arguments, line);
  }
  std::string text = value.get<std::string>();
  if (name == "strip" || name == "lstrip" || name == "rstrip")
    return stripped(text, arguments.positional.empty() || arguments.positional[0].is_null() ? kSpace : argument(0),
                    name != "rstrip", name != "lstrip");
  if (name == "startswith" || name == "endswith") {
    JinjaData choices = !arguments.positional.empty() && arguments.positional[0].is_array()
                            ? arguments.positional[0]
                            : JinjaData::array({argument(0)});
    return std::ranges::any_of(choices, [&](const JinjaData &choice) {
      return name == "startswith" ? text.starts_with(jinjaText(choice)) : text.ends_with(jinjaText(choice));
    });
  }
  if (name == "removeprefix")
    return text.starts_with(argument(0)) ? text.substr(argument(0).size()) : text;
  if (name == "removesuffix")
    return text.ends_with(argument(0)) ? text.substr(0, text.size() - argument(0).size()) : text;
  if (name == "upper" || name == "lower" || name == "title" || name == "capitalize")
    return jinjaFilter(name, value, {}, line);
  if (name == "replace")
    return jinjaFilter(name, value, arguments, line);
  if (name == "find") {
    size_t at = text.find(argument(0));
    return at == text.npos ? -1 : static_cast<int64_t>(at);
  }
  if (name == "count") {
    int64_t count = 0;
    std::string part = argument(0);
    for (size_t at = 0; !part.empty() && (at = text.find(part, at)) != text.npos; at += part.size())
      ++count;
    return count;
  }
  if (name == "join") {
    if (arguments.positional.empty())
      fault(line, "\"join\" needs a list");
    return jinjaFilter("join", arguments.positional[0], {{value}, {}}, line);
  }
  if (name == "isdigit" || name == "isalpha" || name == "isupper" || name == "islower") {
    int (*is)(int) = name == "isdigit"   ? ::isdigit
                     : name == "isalpha" ? ::isalpha
                     : name == "isupper" ? ::isupper
                                         : ::islower;
    return !text.empty() && std::ranges::all_of(text, [&](unsigned char c) { return is(c) != 0; });
  }
  if (name == "split" || name == "rsplit" || name == "splitlines") {
    JinjaData out = JinjaData::array();
    const JinjaData *separator = arguments.find(0, "sep"), *most = arguments.find(1, "maxsplit");
    int64_t left = most && most->is_number_integer() ? most->get<int64_t>() : -1;
    if (name == "splitlines" || !separator || separator->is_null()) {
      std::string set = name == "splitlines" ? "\n" : kSpace;
      size_t at = 0;
      while (at < text.size()) {
        size_t begin = name == "splitlines" ? at : text.find_first_not_of(set, at);
        if (begin == text.npos)
          break;
        size_t end = left == 0 ? text.size() : std::min(text.find_first_of(set, begin), text.size());
        out.push_back(text.substr(begin, end - begin));
        at = end + 1;
        --left;
      }
      return out;
    }
    std::string between = jinjaText(*separator);
    if (between.empty())
      fault(line, "a string is split at nothing");
    if (name == "rsplit" && left >= 0) {
      std::vector<std::string> parts;
      size_t end = text.size(), at;
      while (left-- > 0 && end > 0 && (at = text.rfind(between, end - 1)) != text.npos) {
        parts.push_back(text.substr(at + between.size(), end - at - between.size()));
        end = at;
      }
      parts.push_back(text.substr(0, end));
      std::ranges::reverse(parts);
      return parts;
    }
    size_t at = 0, found;
    while (left-- != 0 && (found = text.find(between, at)) != text.npos) {
      out.push_back(text.substr(at, found - at));
      at = found + between.size();
    }
    out.push_back(text.substr(at));
    return out;
  }
  fault(line, fmt::format("the method \"{}\" is not known", name));
}

JinjaData jinjaMutate(JinjaData &value, const std::string &name, const JinjaArguments &arguments, int line) {
  if (name == "append" && value.is_array() && arguments.positional.size() == 1) {
    value.push_back(arguments.positional[0]);
    return nullptr;
  }
  if (name == "update" && value.is_object() && arguments.positional.size() == 1 &&
      arguments.positional[0].is_object()) {
    value.update(arguments.positional[0]);
    return nullptr;
  }
  if (name == "pop" && value.is_array() && !value.empty()) {
    auto at = arguments.positional.empty() ? static_cast<int64_t>(value.size()) - 1
                                           : arguments.positional[0].get<int64_t>();
    at = at < 0 ? at + static_cast<int64_t>(value.size()) : at;
    if (at >= 0 && at < static_cast<int64_t>(value.size())) {
      JinjaData taken = value[static_cast<size_t>(at)];
      value.erase(value.begin() + at);
      return taken;
    }
  }
  fault(line, fmt::format("\"{}\" cannot be done to {}", name, value.type_name()));
}

} // namespace pewter::muse
