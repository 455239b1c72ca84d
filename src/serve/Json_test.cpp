// SPDX-License-Identifier: Apache-2.0
#include "serve/Json.h"
#include <gtest/gtest.h>

namespace pewter::serve {
namespace {

TEST(Json, NestingIsBounded) {
  std::string deep = std::string(64, '[') + std::string(64, ']');
  EXPECT_TRUE(parseJson(deep));
  EXPECT_FALSE(parseJson("[" + deep + "]"));
  EXPECT_TRUE(parseJson("\"" + std::string(500, '[') + "\"")); // inside a string it is text
  EXPECT_TRUE(parseJson(R"(["\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["])"));
}

TEST(Json, FieldsSayWhatIsWrong) {
  Json object = Json::parse(R"({"a": 1, "b": "x", "c": 2.5, "d": null})");
  {
    Fields fields(object, "", false);
    EXPECT_EQ(fields.integer("a", 0, 0, 10), 1);
    EXPECT_EQ(fields.string("b", ""), "x");
    EXPECT_EQ(fields.number("c", 0, 0, 10), 2.5);
    EXPECT_EQ(fields.integer("d", 7, 0, 10), 7);
    EXPECT_TRUE(fields.finish());
  }
  auto messageOf = [&](auto read) {
    Fields fields(object, "outer", false);
    read(fields);
    auto finished = fields.finish();
    return finished ? std::string() : finished.error().message();
  };
  EXPECT_EQ(messageOf([](Fields &f) { f.integer("a", 0, 2, 3); }),
            "Field \"outer.a\" is [1]; a whole number from 2 to 3 is expected.");
  EXPECT_EQ(messageOf([](Fields &f) { f.integer("c", 0, 0, 3); }),
            "Field \"outer.c\" is [2.5]; a whole number from 0 to 3 is expected.");
  EXPECT_EQ(messageOf([](Fields &f) { f.boolean("b", false); }),
            "Field \"outer.b\" is [\"x\"]; true or false is expected.");
  EXPECT_NE(messageOf([](Fields &f) { f.ignore({"a", "b", "d"}); }).find("\"outer.c\" is unknown"), std::string::npos);
  Fields lenient(object, "", true);
  EXPECT_TRUE(lenient.finish());
}

} // namespace
} // namespace pewter::serve
