// SPDX-License-Identifier: Apache-2.0
// Sessions on disk: the same tokens after a restore, and never a file that loads wrongly.
#include "TemporaryFolder.h"
#include "serve/ServerProcess.h"
#include <csignal>
#include <gtest/gtest.h>
#include <thread>

namespace pewter {
namespace {

using testing::HttpAnswer;
using testing::Json;
using testing::ServerProcess;

std::string longPrompt() {
  std::string text = "Once upon a time";
  for (int i = 0; i < 6; ++i) // short enough for a ring that has not wrapped, so that its rows are used again
    text += " there was a brave fox who lived near the river and";
  return text;
}

TEST(Sessions, ARestoredSlotGoesOnAsTheFirstDid) {
  testing::TemporaryFolder folder;
  std::vector<std::string> flags = {"--slots", "1", "--slot-save-path", folder.path().string()};
  Json request = {{"prompt", longPrompt()}, {"n_predict", 20}, {"temperature", 0}, {"return_tokens", true}};
  Json expected;
  {
    ServerProcess server(flags);
    ASSERT_TRUE(server.running()) << server.errors();
    expected = server.post("/completion", request).json()["tokens"];
    Json saved = server.post("/slots/0?action=save", {{"filename", "one"}}).json();
    EXPECT_GT(saved.value("n_saved", 0), 60) << saved;
    EXPECT_EQ(server.post("/slots/0?action=save", {{"filename", "../one"}}).status, 400);
    EXPECT_EQ(server.post("/slots/7?action=save", {{"filename", "x"}}).status, 400);
    EXPECT_EQ(server.post("/slots/0?action=burn", {{"filename", "x"}}).status, 400);
  }
  ServerProcess server(flags);
  ASSERT_TRUE(server.running()) << server.errors();
  Json restored = server.post("/slots/0?action=restore", {{"filename", "one"}}).json();
  EXPECT_GT(restored.value("n_restored", 0), 60) << restored;
  Json again = server.post("/completion", request).json();
  EXPECT_EQ(again["tokens"], expected);
  EXPECT_GT(again.value("tokens_cached", 0), 30) << again;
  EXPECT_EQ(server.post("/slots/0?action=restore", {{"filename", "two"}}).status, 404);
  EXPECT_EQ(server.post("/slots/0?action=erase", Json::object()).status, 200);
  ServerProcess other({"--slots", "1", "--slot-save-path", folder.path().string(), "--kv", "f32"});
  ASSERT_TRUE(other.running()) << other.errors();
  HttpAnswer refused = other.post("/slots/0?action=restore", {{"filename", "one"}});
  EXPECT_EQ(refused.status, 409);
  EXPECT_NE(refused.body.find("another cache"), std::string::npos) << refused.body;
}

TEST(Sessions, AKillDuringASaveLeavesAWholeFileOrNone) {
  testing::TemporaryFolder folder;
  std::vector<std::string> flags = {"--slots", "1", "--slot-save-path", folder.path().string()};
  int whole = 0;
  for (int round = 0; round < 4; ++round) {
    ServerProcess server(flags);
    ASSERT_TRUE(server.running()) << server.errors();
    if (std::filesystem::exists(folder.path() / "one")) { // of an earlier round
      HttpAnswer restored = server.post("/slots/0?action=restore", {{"filename", "one"}});
      EXPECT_EQ(restored.status, 200) << restored.body;
      whole += restored.status == 200;
    }
    ASSERT_EQ(server.post("/completion", {{"prompt", longPrompt()}, {"n_predict", 2 + round}}).status, 200);
    std::thread saver([&] {
      for (int i = 0; i < 500; ++i)
        if (server.post("/slots/0?action=save", {{"filename", "one"}}).status != 200)
          return;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(30 + 17 * round));
    server.signal(SIGKILL);
    saver.join();
  }
  EXPECT_GT(whole, 0);
}

} // namespace
} // namespace pewter
