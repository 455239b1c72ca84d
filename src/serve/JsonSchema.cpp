// SPDX-License-Identifier: Apache-2.0
//
// A rule per schema. An object's properties come in the schema's order; the ones that are not required may
// be left out. Per property there are two rules: what can follow when nothing has been written yet, and what
// can follow behind a comma, so the grammar grows with the number of properties and not with its power set.
//
// Tested by JsonSchema_test.cpp and tests/serve/Json.cpp.
#include "serve/JsonSchema.h"
#include <algorithm>
#include <map>

namespace pewter::serve {
namespace {

constexpr const char *kCommon = R"(
ws ::= "" | " " | "\n" [ \t]{0,20}
any ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws (string ws ":" ws any ws ("," ws string ws ":" ws any ws)*)? "}"
array ::= "[" ws (any ws ("," ws any ws)*)? "]"
character ::= [^"\\\x00-\x1f\x7f] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4})
string ::= "\"" character* "\""
integer ::= "-"? ("0" | [1-9] [0-9]{0,15})
number ::= integer ("." [0-9]{1,16})? ([eE] [-+]? [0-9]{1,3})?
boolean ::= "true" | "false"
null ::= "null"
)";

/// A string of GBNF that stands for exactly `text`.
std::string literal(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      out += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + "\"";
}

class SchemaReader {
public:
  SchemaReader(const Json &root, bool lenient) : root_(root), lenient_(lenient) {}

  Result<std::string> read() {
    PEWTER_TRY(std::string top, rule(root_, "schema"));
    return "root ::= ws " + top + " ws\n" + rules_ + kCommon;
  }

private:
  std::string define(const std::string &body) {
    std::string name = fmt::format("r{}", count_++);
    rules_ += name + " ::= " + body + "\n";
    return name;
  }
  std::unexpected<Error> wrong(const std::string &path, std::string_view what, const Json &value) const {
    return fail(ErrorKind::Validation, "The JSON schema at \"{}\" has {} [{}].", path, what,
                dumpJson(value).substr(0, 80));
  }

  /// The name of a rule, or a terminal, for a schema.
  Result<std::string> rule(const Json &schema, const std::string &path) {
    if (depth_ == kMostDepth) // a chain of references is as long as the request
      return fail(ErrorKind::Validation, "The JSON schema at \"{}\" is more than [{}] levels deep.", path, kMostDepth);
    ++depth_;
    auto made = ruleBelow(schema, path);
    --depth_;
    return made;
  }
  Result<std::string> ruleBelow(const Json &schema, const std::string &path) {
    if (schema.is_boolean() && schema.get<bool>())
      return std::string("any");
    if (!schema.is_object())
      return wrong(path, "no object but", schema);
    if (rules_.size() > (1 << 19))
      return fail(ErrorKind::Validation, "The JSON schema is too large to become a grammar.");
    if (auto reference = schema.find("$ref"); reference != schema.end())
      return referenced(*reference, path);
    for (const char *name : {"anyOf", "oneOf"})
      if (auto choices = schema.find(name); choices != schema.end()) {
        PEWTER_TRY_VOID(checkKeywords(schema, path, {name}));
        return alternatives(*choices, path + "." + name);
      }
    if (auto all = schema.find("allOf"); all != schema.end() && all->is_array() && all->size() == 1) {
      PEWTER_TRY_VOID(checkKeywords(schema, path, {"allOf"}));
      return rule((*all)[0], path + ".allOf[0]");
    }
    if (auto constant = schema.find("const"); constant != schema.end()) {
      PEWTER_TRY_VOID(checkKeywords(schema, path, {"const", "type"}));
      return define(literal(dumpJson(*constant)));
    }
    if (auto values = schema.find("enum"); values != schema.end()) {
      PEWTER_TRY_VOID(checkKeywords(schema, path, {"enum", "type"}));
      if (!values->is_array() || values->empty())
        return wrong(path, "an enum that is no list of values:", *values);
      std::string body;
      for (const Json &value : *values)
        body += (body.empty() ? "" : " | ") + literal(dumpJson(value));
      return define(body);
    }
    auto type = schema.find("type");
    if (type == schema.end())
      return schema.contains("properties") ? objectRule(schema, path)
             : schema.contains("items")    ? arrayRule(schema, path)
                                           : untyped(schema, path);
    if (type->is_array()) {
      if (type->size() > 7 || !std::ranges::all_of(*type, [](const Json &each) { return each.is_string(); }))
        return wrong(path, "a list of types that are not JSON's seven:", *type);
      std::string body;
      for (const Json &each : *type) {
        Json one = schema;
        one["type"] = each;
        // A keyword belongs to one of the types.
        for (const char *name : {"properties", "required", "additionalProperties"})
          if (each != "object")
            one.erase(name);
        for (const char *name : {"items", "minItems", "maxItems"})
          if (each != "array")
            one.erase(name);
        for (const char *name : {"minLength", "maxLength"})
          if (each != "string")
            one.erase(name);
        PEWTER_TRY(std::string part, rule(one, path));
        body += (body.empty() ? "" : " | ") + part;
      }
      return body.empty() ? Result<std::string>(wrong(path, "no type in", *type)) : define(body);
    }
    return typed(schema, type->is_string() ? type->get<std::string>() : dumpJson(*type), path);
  }

  Result<std::string> typed(const Json &schema, const std::string &type, const std::string &path) {
    if (type == "object")
      return objectRule(schema, path);
    if (type == "array")
      return arrayRule(schema, path);
    if (type == "string")
      return stringRule(schema, path);
    if (type == "integer" || type == "number" || type == "boolean" || type == "null") {
      PEWTER_TRY_VOID(checkKeywords(schema, path, {"type"}));
      return type;
    }
    return fail(ErrorKind::Validation, "The JSON schema at \"{}\" has the type [{}], which is none of JSON's.", path,
                type);
  }
  Result<std::string> untyped(const Json &schema, const std::string &path) {
    PEWTER_TRY_VOID(checkKeywords(schema, path, {}));
    return std::string("any");
  }

  Result<void> checkKeywords(const Json &schema, const std::string &path, std::initializer_list<std::string_view> known) {
    static constexpr std::string_view kNotes[] = {"title", "description", "default", "examples", "$schema", "$id",
                                                  "$comment", "$defs", "definitions", "format", "deprecated",
                                                  "readOnly", "writeOnly", "$anchor"};
    for (const auto &[name, value] : schema.items())
      if (!lenient_ && std::ranges::find(known, name) == known.end() && std::ranges::find(kNotes, name) == std::end(kNotes))
        return fail(ErrorKind::Unsupported, "The JSON schema at \"{}\" has the keyword [{}], which a grammar cannot say.",
                    path, name);
    return {};
  }

  Result<std::string> referenced(const Json &reference, const std::string &path) {
    if (!reference.is_string() || !reference.get_ref<const std::string &>().starts_with("#"))
      return wrong(path, "a reference to another document:", reference);
    const std::string &target = reference.get_ref<const std::string &>();
    if (auto known = references_.find(target); known != references_.end())
      return known->second;
    const Json *schema = nullptr;
    try {
      schema = &root_.at(Json::json_pointer(target.substr(1)));
    } catch (const Json::exception &) {
      return wrong(path, "a reference to nothing:", reference);
    }
    std::string name = references_[target] = fmt::format("r{}", count_++); // before reading: it may refer to itself
    PEWTER_TRY(std::string inner, rule(*schema, target));
    rules_ += name + " ::= " + inner + "\n";
    return name;
  }

  Result<std::string> alternatives(const Json &choices, const std::string &path) {
    if (!choices.is_array() || choices.empty())
      return wrong(path, "no list of schemas but", choices);
    std::string body;
    for (size_t i = 0; i < choices.size(); ++i) {
      PEWTER_TRY(std::string part, rule(choices[i], fmt::format("{}[{}]", path, i)));
      body += (body.empty() ? "" : " | ") + part;
    }
    return define(body);
  }

  Result<uint32_t> bound(const Json &schema, const char *name, uint32_t otherwise, const std::string &path) {
    auto value = schema.find(name);
    if (value == schema.end())
      return otherwise;
    if (!value->is_number_integer() || *value < 0 || *value > 2000)
      return fail(ErrorKind::Validation, "The JSON schema at \"{}\" has {} [{}]; 0 to 2000 is expected.", path, name,
                  dumpJson(*value));
    return value->get<uint32_t>();
  }
  static constexpr uint32_t kEndless = UINT32_MAX;
  static std::string times(uint32_t least, uint32_t most) {
    return most == kEndless ? fmt::format("{{{},}}", least) : fmt::format("{{{},{}}}", least, most);
  }

  Result<std::string> stringRule(const Json &schema, const std::string &path) {
    PEWTER_TRY_VOID(checkKeywords(schema, path, {"type", "minLength", "maxLength"}));
    PEWTER_TRY(uint32_t least, bound(schema, "minLength", 0, path));
    PEWTER_TRY(uint32_t most, bound(schema, "maxLength", kEndless, path));
    if (least == 0 && most == kEndless)
      return std::string("string");
    if (most < least)
      return wrong(path, "lengths that contradict each other:", schema);
    return define("\"\\\"\" character" + times(least, most) + " \"\\\"\"");
  }

  Result<std::string> arrayRule(const Json &schema, const std::string &path) {
    PEWTER_TRY_VOID(checkKeywords(schema, path, {"type", "items", "minItems", "maxItems"}));
    PEWTER_TRY(uint32_t least, bound(schema, "minItems", 0, path));
    PEWTER_TRY(uint32_t most, bound(schema, "maxItems", kEndless, path));
    if (most < least)
      return wrong(path, "numbers of items that contradict each other:", schema);
    std::string item = "any";
    if (auto items = schema.find("items"); items != schema.end()) {
      PEWTER_TRY(item, rule(*items, path + ".items"));
    }
    if (most == 0)
      return define(R"("[" ws "]")");
    std::string more = fmt::format("(\",\" ws {} ws){}", item,
                                   times(least ? least - 1 : 0, most == kEndless ? kEndless : most - 1));
    std::string body = fmt::format("{} ws {}", item, more);
    return define(least ? fmt::format("\"[\" ws {} \"]\"", body) : fmt::format("\"[\" ws ({})? \"]\"", body));
  }

  Result<std::string> objectRule(const Json &schema, const std::string &path) {
    PEWTER_TRY_VOID(checkKeywords(schema, path, {"type", "properties", "required", "additionalProperties"}));
    auto properties = schema.find("properties");
    auto additional = schema.find("additionalProperties");
    bool open = additional != schema.end() ? !(additional->is_boolean() && !additional->get<bool>())
                                           : properties == schema.end();
    std::string extra;
    if (open) {
      std::string value = "any";
      if (additional != schema.end() && additional->is_object()) {
        PEWTER_TRY(value, rule(*additional, path + ".additionalProperties"));
      }
      extra = define("string ws \":\" ws " + value + " ws");
    }
    std::map<std::string, bool, std::less<>> required;
    if (auto names = schema.find("required"); names != schema.end()) {
      if (!names->is_array())
        return wrong(path, "\"required\", which is no list of names:", *names);
      for (const Json &name : *names) {
        if (!name.is_string() || properties == schema.end() || !properties->is_object() ||
            !properties->contains(name.get<std::string>()))
          return wrong(path, "a required property that it does not describe:", name);
        required[name.get<std::string>()] = true;
      }
    }
    // From the last property to the first.
    std::string first = open ? define(extra + " (\",\" ws " + extra + ")* | \"\"") : define("\"\"");
    std::string later = open ? define("(\",\" ws " + extra + ")*") : first;
    if (properties != schema.end()) {
      if (!properties->is_object())
        return wrong(path, "\"properties\", which is no object:", *properties);
      std::vector<std::pair<std::string, const Json *>> list;
      for (const auto &[name, value] : properties->items())
        list.emplace_back(name, &value);
      for (auto it = list.rbegin(); it != list.rend(); ++it) {
        PEWTER_TRY(std::string value, rule(*it->second, path + "." + it->first));
        std::string pair = define(fmt::format("{} ws \":\" ws {} ws", literal(dumpJson(it->first)), value));
        bool optional = !required.contains(it->first);
        std::string nextFirst = define(pair + " " + later + (optional ? " | " + first : ""));
        later = define("\",\" ws " + pair + " " + later + (optional ? " | " + later : ""));
        first = nextFirst;
      }
    }
    return define("\"{\" ws " + first + " \"}\"");
  }

  static constexpr uint32_t kMostDepth = 200;
  const Json &root_;
  bool lenient_;
  std::string rules_;
  std::map<std::string, std::string> references_;
  uint32_t count_ = 0, depth_ = 0;
};

} // namespace

Result<std::string> grammarOfSchema(const Json &schema, bool lenient) { return SchemaReader(schema, lenient).read(); }

std::string grammarOfAnyObject() { return std::string("root ::= ws object ws\n") + kCommon; }

} // namespace pewter::serve
