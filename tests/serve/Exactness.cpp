// SPDX-License-Identifier: Apache-2.0
// What an answer says depends on its request alone: not on the other slots, not on what its slot did
// before, not on clients that leave in the middle.
#include "serve/ServerProcess.h"
#include <cstdlib>
#include <gtest/gtest.h>
#include <mutex>
#include <random>
#include <thread>

namespace pewter {
namespace {

using testing::HttpAnswer;
using testing::HttpClient;
using testing::Json;
using testing::ServerProcess;

const char *const kWords[] = {"fox", "river", "Once upon a time", "What is 7 plus 5?", "the old miller", "\n\n",
                              "a brave girl named", "rain", "and then", "They walked home."};

/// A request like those that people send: some short, some longer than a window or a chunk.
Json randomRequest(std::mt19937 &random) {
  std::string prompt;
  uint32_t words = random() % 4 == 0 ? random() % 220 : random() % 30;
  for (uint32_t i = 0; i <= words; ++i)
    prompt += std::string(i ? " " : "") + kWords[random() % std::size(kWords)];
  Json request = {{"prompt", prompt}, {"n_predict", 1 + random() % 40}, {"return_tokens", true}, {"seed", random() % 1000}};
  if (random() % 3 == 0)
    request["temperature"] = 0;
  else
    request["temperature"] = 0.5 + double(random() % 100) / 50;
  if (random() % 4 == 0)
    request["ignore_eos"] = true;
  if (random() % 5 == 0)
    request["mirostat"] = 2;
  if (random() % 5 == 0)
    request["repeat_penalty"] = 1.3;
  return request;
}

struct Outcome {
  Json tokens;
  std::string text;
};

Outcome alone(ServerProcess &server, Json request) {
  request["cache_prompt"] = false;
  HttpAnswer answer = server.post("/completion", request);
  EXPECT_EQ(answer.status, 200) << request << answer.body << server.errors();
  Json out = answer.json();
  if (!out.is_object())
    return {};
  return {out["tokens"], out.value("content", "")};
}

/// `count` requests through four slots from six clients; every fourth client leaves in the middle.
void compare(uint32_t count, uint32_t seed) {
  ServerProcess single({"--slots", "1"}), server({"--slots", "4"});
  ASSERT_TRUE(single.running() && server.running()) << server.errors();
  std::mt19937 random(seed);
  std::vector<Json> requests;
  std::vector<Outcome> expected;
  for (uint32_t i = 0; i < count; ++i) {
    requests.push_back(randomRequest(random));
    if (i % 5 == 4) // the beginning of an earlier one, so that prefixes are used again
      requests.back()["prompt"] = requests[random() % i]["prompt"].get<std::string>() + " " + kWords[random() % std::size(kWords)];
    expected.push_back(alone(single, requests.back()));
    ASSERT_TRUE(expected.back().tokens.is_array()) << i;
  }
  std::mutex mutex;
  size_t next = 0, compared = 0, cancelled = 0;
  auto work = [&](uint32_t id) {
    std::mt19937 own(seed * 31 + id);
    while (true) {
      size_t i;
      {
        std::lock_guard lock(mutex);
        if (next == requests.size())
          return;
        i = next++;
      }
      if (own() % 4 == 0) {
        Json leaving = requests[i];
        leaving["stream"] = true;
        HttpClient client(server.port());
        uint32_t most = own() % 8;
        client.request("POST", "/completion", leaving.dump(), {}, [&](std::string_view) { return most-- > 0; });
        if (own() % 2)
          client.reset();
        client.close();
        std::lock_guard lock(mutex);
        ++cancelled;
      }
      HttpAnswer answer = server.post("/completion", requests[i]);
      Json out = answer.json();
      std::lock_guard lock(mutex);
      EXPECT_EQ(answer.status, 200) << answer.body << server.errors();
      if (answer.status != 200)
        continue;
      EXPECT_EQ(out["tokens"], expected[i].tokens) << "request " << i << ": " << requests[i];
      EXPECT_EQ(out.value("content", ""), expected[i].text);
      ++compared;
    }
  };
  std::vector<std::thread> clients;
  for (uint32_t id = 0; id < 6; ++id)
    clients.emplace_back(work, id);
  for (std::thread &client : clients)
    client.join();
  EXPECT_EQ(compared, requests.size());
  EXPECT_EQ(server.get("/health").status, 200);
  EXPECT_GT(cancelled, 0u);
}

// PEWTER_SERVE_REQUESTS=1000 for a long run.
TEST(Exactness, FourStreamsSayWhatTheySayAlone) {
  const char *count = std::getenv("PEWTER_SERVE_REQUESTS");
  compare(count ? static_cast<uint32_t>(std::atoi(count)) : 40, 7);
}

// One slot, one request after the other, so that what is in the cache is known.
TEST(Exactness, APrefixIsUsedAgainAndChangesNothing) {
  ServerProcess server({"--slots", "1"});
  ASSERT_TRUE(server.running()) << server.errors();
  std::string prompt = "Once upon a time";
  for (int i = 0; i < 6; ++i)
    prompt += " there was a brave fox who lived near the river and";
  for (const char *more : {"", " the old miller", " rain"})
    for (double temperature : {0.0, 1.0}) {
      Json first = {{"prompt", prompt}, {"n_predict", 8}, {"temperature", 0}};
      Json request = {{"prompt", prompt + more}, {"n_predict", 20}, {"temperature", temperature}, {"seed", 3}, {"return_tokens", true}};
      Outcome expected = alone(server, request);
      ASSERT_EQ(server.post("/completion", first).status, 200) << server.errors();
      Json out = server.post("/completion", request).json();
      EXPECT_GT(out.value("tokens_cached", 0), 30) << out;
      EXPECT_EQ(out["tokens"], expected.tokens) << request;
    }
}

} // namespace
} // namespace pewter
