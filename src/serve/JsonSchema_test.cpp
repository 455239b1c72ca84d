// SPDX-License-Identifier: Apache-2.0
#include "serve/Grammar.h"
#include "serve/JsonSchema.h"
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace pewter::serve {
namespace {

void expectShape(const char *schema, std::initializer_list<const char *> good, std::initializer_list<const char *> bad) {
  auto text = grammarOfSchema(Json::parse(schema), false);
  ASSERT_TRUE(text) << schema << ": " << text.error().message();
  auto grammar = Grammar::parse(*text);
  ASSERT_TRUE(grammar) << grammar.error().message() << "\n" << *text;
  auto fits = [&](const char *value) {
    GrammarMatcher matcher(*grammar);
    return matcher.push(std::string_view(value)) && matcher.mayEnd();
  };
  for (const char *value : good)
    EXPECT_TRUE(fits(value)) << schema << " " << value;
  for (const char *value : bad)
    EXPECT_FALSE(fits(value)) << schema << " " << value;
}

TEST(JsonSchema, ObjectsHaveTheirProperties) {
  expectShape(R"({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}, "c": {"type": "boolean"}},
                  "required": ["a", "c"]})",
              {R"({"a":1,"c":true})", R"({"a": -12, "b": "x\n\u00e9", "c": false})"},
              {R"({"a":1})", R"({"c":true})", R"({"a":1,"c":true,"d":1})", R"({"c":true,"a":1})", R"({"a":01,"c":true})",
               R"({"a":1.5,"c":true})", R"({"a":1,"c":true,})", "{}", "[]"});
  expectShape(R"({"type": "object", "properties": {"a": {}, "b": {}}})", {"{}", R"({"a":1})", R"({"b":[]})", R"({"a":{},"b":null})"},
              {R"({"b":1,"a":1})", R"({,"b":1})", R"({"a":1 "b":1})"});
  expectShape(R"({"type": "object", "properties": {"a": {"type": "null"}}, "additionalProperties": {"type": "integer"}})",
              {"{}", R"({"a":null,"z":1,"y":2})", R"({"z":1})"}, {R"({"z":"x"})"});
  expectShape(R"({"type": "object"})", {"{}", R"({"any":[1,{"x":"y"}]})"}, {"[1]", "1"});
}

TEST(JsonSchema, ArraysStringsAndChoices) {
  expectShape(R"({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3})", {"[1]", "[1, 2,3]"},
              {"[]", "[1,2,3,4]", "[\"x\"]", "[1,]"});
  expectShape(R"({"type": "array", "items": {"type": "boolean"}})", {"[]", "[true,false]"}, {"[1]"});
  expectShape(R"({"type": "string", "minLength": 2, "maxLength": 3})", {"\"ab\"", "\"aé🙂\"", "\"\\n\\u0041\""},
              {"\"a\"", "\"abcd\"", "\"a\nb\""});
  expectShape(R"({"enum": ["red", 3, null, {"a": 1}]})", {"\"red\"", "3", "null", R"({"a":1})"}, {"\"blue\"", "4"});
  expectShape(R"({"const": "x\"y"})", {R"("x\"y")"}, {"\"x\""});
  expectShape(R"({"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "null"}}]})", {"1", "[null]"}, {"\"1\""});
  expectShape(R"({"type": ["string", "null"], "maxLength": 1})", {"null", "\"a\""}, {"\"ab\"", "1"});
}

TEST(JsonSchema, ReferencesMayRecur) {
  expectShape(R"({"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "properties": {"v": {"type": "integer"},
                  "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}}, "required": ["v", "next"]}}})",
              {R"({"v":1,"next":null})", R"({"v":1,"next":{"v":2,"next":null}})"}, {R"({"v":1})", R"({"v":1,"next":3})"});
}

TEST(JsonSchema, AChainOfReferencesEnds) {
  Json schema = {{"$ref", "#/$defs/0"}};
  for (int i = 0; i < 100'000; ++i)
    schema["$defs"].push_back({{"$ref", fmt::format("#/$defs/{}", i + 1)}});
  auto text = grammarOfSchema(schema, false);
  ASSERT_FALSE(text);
  EXPECT_NE(text.error().message().find("levels deep"), std::string::npos) << text.error().message();
  EXPECT_TRUE(grammarOfSchema(Json::parse(R"({"$ref": "#"})"), false));
}

TEST(JsonSchema, WhatAGrammarCannotSayIsNamed) {
  for (auto [schema, word] : {std::pair(R"({"type": "string", "pattern": "a+"})", "pattern"),
                              std::pair(R"({"type": "integer", "minimum": 3})", "minimum"),
                              std::pair(R"({"type": "array", "uniqueItems": true})", "uniqueItems"),
                              std::pair(R"({"type": "colour"})", "colour"), std::pair(R"({"$ref": "http://x"})", "http"),
                              std::pair(R"({"$ref": "#/nowhere"})", "nowhere"), std::pair(R"([])", "[]"),
                              std::pair(R"({"type": "object", "required": ["a"]})", "required"),
                              std::pair(R"({"type": "string", "minLength": 5, "maxLength": 2})", "contradict"),
                              std::pair(R"({"enum": []})", "enum"),
                              std::pair(R"({"type": [["null"]]})", "types")}) {
    auto text = grammarOfSchema(Json::parse(schema), false);
    ASSERT_FALSE(text) << schema;
    EXPECT_NE(text.error().message().find(word), std::string::npos) << text.error().message();
  }
  EXPECT_TRUE(grammarOfSchema(Json::parse(R"({"type": "string", "pattern": "a+"})"), true));
}

} // namespace
} // namespace pewter::serve
