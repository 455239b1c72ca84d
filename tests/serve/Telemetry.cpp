// SPDX-License-Identifier: Apache-2.0
// What the server tells of itself.
#include "serve/ServerProcess.h"
#include <gtest/gtest.h>

namespace pewter {
namespace {

using testing::HttpAnswer;
using testing::Json;
using testing::ServerProcess;

TEST(Telemetry, NumbersFollowWhatHappens) {
  ServerProcess server({"--slots", "2", "--alias", "tiny"});
  ASSERT_TRUE(server.running()) << server.errors();
  Json props = server.get("/props").json();
  EXPECT_EQ(props["total_slots"], 2);
  EXPECT_EQ(props["model_alias"], "tiny");
  EXPECT_NE(props["chat_template"].get<std::string>().find("messages"), std::string::npos);

  server.get("/telemetry"); // from now on somebody watches
  server.post("/completion", {{"prompt", "Once upon a time"}, {"n_predict", 7}, {"ignore_eos", true}});
  server.post("/completion", {{"prompt", 3}});
  std::string metrics = server.get("/metrics").body;
  EXPECT_NE(metrics.find("pewter_completion_tokens_total 7"), std::string::npos) << metrics;
  EXPECT_NE(metrics.find("route=\"/completion\",status=\"400\""), std::string::npos) << metrics;
  EXPECT_NE(metrics.find("pewter_decode_steps_total{rows=\"1\"} 6"), std::string::npos) << metrics;
  EXPECT_NE(metrics.find("pewter_slots_busy 0"), std::string::npos) << metrics;

  Json slots = server.get("/slots").json();
  ASSERT_EQ(slots.size(), 2u);
  EXPECT_EQ(slots[0]["is_processing"], false);
  Json now = server.get("/telemetry").json();
  EXPECT_EQ(now["steps"][0], 6);
  EXPECT_GT(now["gigabytes_per_second"].get<double>(), 0);
  EXPECT_GT(now["timeline"].size(), 50u); // the groups of a token
  Json prompt = server.post("/apply-template", {{"messages", Json::array({{{"role", "user"}, {"content", "Hi"}}})}}).json();
  EXPECT_EQ(prompt["prompt"], "<|start|>user<|message|>Hi<|eot|><|start|>assistant");
}

TEST(Telemetry, ThePageNeedsNothingFromElsewhere) {
  ServerProcess server({"--slots", "1", "--api-key", "k"});
  ASSERT_TRUE(server.running()) << server.errors();
  HttpAnswer page = server.get("/");
  EXPECT_EQ(page.status, 200);
  EXPECT_NE(page.head.find("Content-Security-Policy: default-src 'none'"), std::string::npos) << page.head;
  for (const char *outside : {"https://", "src=", "@import", "url("})
    EXPECT_EQ(page.body.find(outside), std::string::npos) << outside;
  EXPECT_EQ(server.get("/telemetry").status, 401);
  EXPECT_EQ(server.get("/telemetry", {{"Authorization", "Bearer k"}}).status, 200);
}

} // namespace
} // namespace pewter
