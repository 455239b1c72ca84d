// SPDX-License-Identifier: Apache-2.0
// Answers that have to follow a grammar or a JSON schema.
#include "serve/ServerProcess.h"
#include <gtest/gtest.h>

namespace pewter {
namespace {

using testing::HttpAnswer;
using testing::Json;
using testing::ServerProcess;

class JsonAnswers : public ::testing::Test {
protected:
  static void SetUpTestSuite() { server = new ServerProcess({"--slots", "2"}); }
  static void TearDownTestSuite() {
    delete server;
    server = nullptr;
  }
  void SetUp() override { ASSERT_TRUE(server->running()) << server->errors(); }
  static ServerProcess *server;
};
ServerProcess *JsonAnswers::server = nullptr;

const Json kMessages = Json::array({{{"role", "user"}, {"content", "Describe a fox."}}});

TEST_F(JsonAnswers, SchemasDecideTheShape) {
  Json schema = {{"type", "object"},
                 {"properties",
                  {{"name", {{"type", "string"}, {"maxLength", 12}}},
                   {"colour", {{"enum", {"red", "grey"}}}},
                   {"legs", {{"type", "array"}, {"items", {{"type", "boolean"}}}, {"minItems", 1}, {"maxItems", 3}}}}},
                 {"required", {"name", "colour", "legs"}},
                 {"additionalProperties", false}};
  for (int seed = 0; seed < 6; ++seed)
    for (bool stream : {false, true}) {
      Json request = {{"messages", kMessages}, {"seed", seed}, {"temperature", seed ? 1.2 : 0.0}, {"stream", stream},
                      {"response_format", {{"type", "json_schema"}, {"json_schema", {{"name", "fox"}, {"strict", true}, {"schema", schema}}}}}};
      HttpAnswer answer = server->post("/v1/chat/completions", request);
      ASSERT_EQ(answer.status, 200) << answer.body;
      std::string content;
      if (stream)
        for (const Json &event : answer.events())
          content += event["choices"][0]["delta"].value("content", "");
      else
        content = answer.json()["choices"][0]["message"]["content"];
      Json value = Json::parse(content, nullptr, false);
      ASSERT_TRUE(value.is_object()) << content;
      EXPECT_TRUE(value["name"].is_string());
      EXPECT_TRUE(value["colour"] == "red" || value["colour"] == "grey") << content;
      EXPECT_TRUE(value["legs"].size() >= 1 && value["legs"].size() <= 3) << content;
      EXPECT_EQ(value.size(), 3u);
    }
}

TEST_F(JsonAnswers, JsonModeMakesAnObjectOrIsCutByTheLimit) {
  Json request = {{"messages", kMessages}, {"temperature", 0}, {"max_tokens", 300}, {"response_format", {{"type", "json_object"}}}};
  Json out = server->post("/v1/chat/completions", request).json();
  std::string content = out["choices"][0]["message"]["content"];
  ASSERT_FALSE(content.empty());
  EXPECT_EQ(content[content.find_first_not_of(" \n\t")], '{');
  if (out["choices"][0]["finish_reason"] == "stop") {
    EXPECT_TRUE(Json::parse(content, nullptr, false).is_object()) << content;
  }
}

TEST_F(JsonAnswers, GrammarsDecideEveryToken) {
  Json request = {{"prompt", "Once upon a time"}, {"grammar", "root ::= \" \" (\"fox\" | \"hen\") \", \" [0-9]{3} \"é🙂\""},
                  {"temperature", 1}, {"seed", 4}, {"top_k", 5}};
  Json out = server->post("/completion", request).json();
  std::string text = out["content"];
  EXPECT_TRUE(text.starts_with(" fox, ") || text.starts_with(" hen, ")) << out;
  EXPECT_TRUE(text.ends_with("é🙂")) << text;
  EXPECT_EQ(out["stop_type"], "eos");
  EXPECT_EQ(server->post("/completion", request).json()["content"], text); // the seed's
}

TEST_F(JsonAnswers, BadGrammarsAndSchemasAreRefused) {
  EXPECT_EQ(server->post("/completion", {{"prompt", "x"}, {"grammar", "root ::= ("}}).status, 400);
  EXPECT_EQ(server->post("/completion", {{"prompt", "x"}, {"json_schema", {{"type", "string"}, {"pattern", "a"}}}}).status, 400);
  EXPECT_EQ(server->post("/completion", {{"prompt", "x"}, {"grammar", "root ::= \"a\""}, {"json_schema", Json::object()}}).status, 400);
  EXPECT_EQ(server->post("/v1/chat/completions", {{"messages", kMessages}, {"response_format", {{"type", "xml"}}}}).status, 400);
  EXPECT_EQ(server->get("/health").status, 200);
}

} // namespace
} // namespace pewter
