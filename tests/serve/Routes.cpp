// SPDX-License-Identifier: Apache-2.0
// The program's routes with the shipped model, over a socket.
#include "serve/ServerProcess.h"
#include <csignal>
#include <gtest/gtest.h>

namespace pewter {
namespace {

using testing::HttpAnswer;
using testing::HttpClient;
using testing::Json;
using testing::ServerProcess;

class Routes : public ::testing::Test {
protected:
  static void SetUpTestSuite() { server = new ServerProcess({"--slots", "2", "--queue-seconds", "5"}); }
  static void TearDownTestSuite() {
    delete server;
    server = nullptr;
  }
  void SetUp() override { ASSERT_TRUE(server->running()) << server->errors(); }
  static ServerProcess *server;
};
ServerProcess *Routes::server = nullptr;

const Json kQuestion = Json::array({{{"role", "user"}, {"content", "What is 7 plus 5?"}}});

TEST_F(Routes, HealthAndModels) {
  HttpAnswer health = server->get("/health");
  EXPECT_EQ(health.status, 200);
  EXPECT_EQ(health.json()["status"], "ok");
  Json models = server->get("/v1/models").json();
  EXPECT_EQ(models["object"], "list");
  EXPECT_EQ(models["data"][0]["id"], "glimmer-tiny");
  EXPECT_EQ(models["data"][0]["meta"]["n_vocab"], 2048);
}

TEST_F(Routes, ChatAnswersAndSplitsReasoningFromContent) {
  Json out = server->post("/v1/chat/completions", {{"messages", kQuestion}, {"temperature", 0}}).json();
  ASSERT_TRUE(out.contains("choices")) << out;
  EXPECT_EQ(out["object"], "chat.completion");
  EXPECT_EQ(out["choices"][0]["message"]["role"], "assistant");
  EXPECT_EQ(out["choices"][0]["message"]["content"], "7 plus 5 makes 12.");
  EXPECT_EQ(out["choices"][0]["message"]["reasoning_content"], "7 + 5 = 12");
  EXPECT_EQ(out["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(out["usage"]["prompt_tokens"], 15);
  EXPECT_EQ(out["usage"]["total_tokens"].get<int>(),
            15 + out["usage"]["completion_tokens"].get<int>());
}

TEST_F(Routes, ChatStreamsWhatItAnswers) {
  Json request = {{"messages", kQuestion}, {"temperature", 0}, {"stream", true},
                  {"stream_options", {{"include_usage", true}}}, {"logprobs", true}, {"top_logprobs", 2}};
  HttpAnswer answer = server->post("/v1/chat/completions", request);
  ASSERT_EQ(answer.status, 200);
  EXPECT_TRUE(answer.complete && answer.done());
  std::string content, fromTokens;
  int finishes = 0, usages = 0;
  for (const Json &event : answer.events()) {
    EXPECT_EQ(event["object"], "chat.completion.chunk");
    if (event["choices"].empty()) {
      ++usages;
      EXPECT_EQ(event["usage"]["prompt_tokens"], 15);
      continue;
    }
    const Json &choice = event["choices"][0];
    content += choice["delta"].value("content", "");
    finishes += choice["finish_reason"] == "stop";
    if (choice["logprobs"].is_object())
      for (const Json &token : choice["logprobs"]["content"]) {
        fromTokens += token["token"];
        EXPECT_LE(token["logprob"].get<double>(), 0);
        EXPECT_EQ(token["top_logprobs"].size(), 2u);
        EXPECT_EQ(token["top_logprobs"][0]["token"], token["token"]); // greedy
      }
  }
  EXPECT_EQ(content, "7 plus 5 makes 12.");
  EXPECT_EQ(fromTokens, content);
  EXPECT_EQ(finishes, 1);
  EXPECT_EQ(usages, 1);
}

TEST_F(Routes, CompletionsStopAtStringsLimitsAndEcho) {
  Json plain = {{"prompt", "Once upon a time"}, {"temperature", 0}, {"max_tokens", 20}};
  Json whole = server->post("/v1/completions", plain).json();
  ASSERT_TRUE(whole.contains("choices")) << whole;
  std::string text = whole["choices"][0]["text"];
  EXPECT_EQ(whole["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(whole["usage"]["completion_tokens"], 20);
  size_t at = text.find(" who");
  ASSERT_NE(at, text.npos) << text;
  for (bool stream : {false, true}) {
    Json stopping = plain;
    stopping["stop"] = Json::array({"zzz", " who"});
    stopping["stream"] = stream;
    HttpAnswer answer = server->post("/v1/completions", stopping);
    std::string got;
    if (stream)
      for (const Json &event : answer.events())
        got += event["choices"][0]["text"].get<std::string>();
    else
      got = answer.json()["choices"][0]["text"];
    EXPECT_EQ(got, text.substr(0, at)) << stream;
  }
  plain["echo"] = true;
  plain["n"] = 2;
  Json echoed = server->post("/v1/completions", plain).json();
  ASSERT_EQ(echoed["choices"].size(), 2u);
  EXPECT_EQ(echoed["choices"][0]["text"], "Once upon a time" + text);
  EXPECT_EQ(echoed["choices"][1]["text"], "Once upon a time" + text); // greedy
}

TEST_F(Routes, SeedsDecideTheText) {
  auto run = [&](int seed) {
    Json request = {{"prompt", "Once upon a time"}, {"temperature", 1.5}, {"top_k", 0}, {"top_p", 1},
                    {"min_p", 0}, {"max_tokens", 24}, {"seed", seed}};
    return server->post("/v1/completions", request).json()["choices"][0]["text"].get<std::string>();
  };
  EXPECT_EQ(run(5), run(5));
  EXPECT_NE(run(5), run(6));
}

TEST_F(Routes, LogitBiasForbidsAndForces) {
  Json ids = server->post("/tokenize", {{"content", " fox"}}).json()["tokens"];
  ASSERT_EQ(ids.size(), 1u);
  Json request = {{"prompt", "Once upon a time"}, {"temperature", 0}, {"max_tokens", 3},
                  {"logit_bias", {{std::to_string(ids[0].get<int>()), 100}}}};
  EXPECT_EQ(server->post("/v1/completions", request).json()["choices"][0]["text"], " fox fox fox");
}

TEST_F(Routes, LlamaCompletionAnswersAndStreams) {
  Json request = {{"prompt", "Once upon a time"}, {"temperature", 0}, {"n_predict", 12}, {"n_probs", 3},
                  {"return_tokens", true}};
  Json whole = server->post("/completion", request).json();
  EXPECT_EQ(whole["stop"], true);
  EXPECT_EQ(whole["stop_type"], "limit");
  EXPECT_EQ(whole["tokens_predicted"], 12);
  EXPECT_EQ(whole["tokens"].size(), 12u);
  EXPECT_EQ(whole["completion_probabilities"].size(), 12u);
  EXPECT_EQ(whole["completion_probabilities"][0]["top_logprobs"].size(), 3u);
  request["stream"] = true;
  std::string text;
  auto events = server->post("/completion", request).events();
  ASSERT_FALSE(events.empty());
  for (const Json &event : events)
    text += event["content"].get<std::string>();
  EXPECT_EQ(text, whole["content"].get<std::string>());
  EXPECT_EQ(events.back()["stop"], true);
}

TEST_F(Routes, TokenizeAndBack) {
  std::string text = "Once upon a time — naïve 🙂\n";
  Json tokens = server->post("/tokenize", {{"content", text}}).json()["tokens"];
  EXPECT_GT(tokens.size(), 4u);
  EXPECT_EQ(server->post("/detokenize", {{"tokens", tokens}}).json()["content"], text);
  Json pieces = server->post("/tokenize", {{"content", text}, {"with_pieces", true}}).json()["tokens"];
  ASSERT_EQ(pieces.size(), tokens.size());
  EXPECT_EQ(pieces[0]["id"], tokens[0]);
}

TEST_F(Routes, UnknownFieldsAreRefusedByName) {
  auto refused = [&](const std::string &path, Json body, const std::string &name) {
    HttpAnswer answer = server->post(path, body);
    EXPECT_EQ(answer.status, 400) << answer.body;
    EXPECT_NE(answer.body.find(name), std::string::npos) << answer.body;
    EXPECT_EQ(answer.json()["error"]["type"], "invalid_request_error");
  };
  refused("/v1/chat/completions", {{"messages", kQuestion}, {"temprature", 1}}, "temprature");
  refused("/v1/chat/completions", {{"messages", Json::array({{{"role", "user"}, {"content", "x"}, {"mood", 1}}})}},
          "messages[0].mood");
  refused("/v1/completions", {{"prompt", "x"}, {"stream_options", {{"sprinkles", true}}}}, "stream_options.sprinkles");
  refused("/completion", {{"prompt", "x"}, {"temp", 1}}, "temp");
  refused("/v1/completions", {{"prompt", "x"}, {"temperature", "hot"}}, "temperature");
  refused("/v1/completions", {{"prompt", "x"}, {"top_p", 1.5}}, "top_p");
  refused("/v1/completions", Json::object(), "prompt");
  refused("/v1/completions", {{"prompt", Json::array({1, 2, 99999})}}, "prompt");
  refused("/v1/completions", {{"prompt", "x"}, {"n", 5}}, "\\\"n\\\"");
  refused("/tokenize", {{"content", "x"}, {"zap", 1}}, "zap");
}

TEST_F(Routes, PromptsThatDoNotFitAreRefused) {
  std::vector<int> tokens(2049, 5);
  HttpAnswer answer = server->post("/completion", {{"prompt", tokens}});
  EXPECT_EQ(answer.status, 400);
  EXPECT_NE(answer.body.find("[2049]"), std::string::npos) << answer.body;
  tokens.resize(2040);
  Json full = server->post("/completion", {{"prompt", tokens}, {"ignore_eos", true}}).json();
  EXPECT_EQ(full["truncated"], true) << full;
  EXPECT_EQ(full["tokens_predicted"], 9); // eight are fed, and the last comes out of the full context
}

TEST_F(Routes, RoutesAndMethodsThatAreNotThere) {
  EXPECT_EQ(server->get("/v1/nothing").status, 404);
  EXPECT_EQ(server->get("/v1/completions").status, 405);
  EXPECT_EQ(server->post("/health", Json::object()).status, 405);
  HttpClient client(server->port());
  client.send("POST /completion HTTP/1.1\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}");
  EXPECT_EQ(client.readAnswer().status, 415);
}

TEST_F(Routes, AConnectionServesManyRequests) {
  HttpClient client(server->port());
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(client.request("GET", "/health", "").status, 200);
    EXPECT_EQ(client.request("POST", "/tokenize", R"({"content":"a"})").status, 200);
  }
}

TEST(ServeProcess, StopsAtASignalAndFinishesWhatRuns) {
  ServerProcess server({"--slots", "1"});
  ASSERT_TRUE(server.running()) << server.errors();
  HttpClient client(server.port());
  bool signalled = false;
  std::string body = Json{{"prompt", "Once upon a time"}, {"n_predict", 200}, {"ignore_eos", true}, {"stream", true}}.dump();
  HttpAnswer answer = client.request("POST", "/completion", body, {}, [&](std::string_view) {
    if (!signalled)
      server.signal(SIGTERM);
    signalled = true;
    return true;
  });
  ASSERT_TRUE(answer.complete);
  auto events = answer.events();
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back()["tokens_predicted"], 200);
  EXPECT_EQ(server.wait(), 0) << server.errors();
}

} // namespace
} // namespace pewter
