// SPDX-License-Identifier: Apache-2.0
// What nobody should send: every request ends with a proper status or a closed connection, in time, and the
// server goes on.
#include "serve/ServerProcess.h"
#include <chrono>
#include <gtest/gtest.h>
#include <thread>

namespace pewter {
namespace {

using testing::HttpAnswer;
using testing::HttpClient;
using testing::Json;
using testing::ServerProcess;

class Hostile : public ::testing::Test {
protected:
  static void SetUpTestSuite() {
    server = new ServerProcess({"--slots", "1", "--head-seconds", "1", "--body-seconds", "1", "--write-seconds", "1",
                                "--body-megabytes", "1", "--max-connections", "32"});
  }
  static void TearDownTestSuite() {
    delete server;
    server = nullptr;
  }
  void SetUp() override { ASSERT_TRUE(server->running()) << server->errors(); }
  void TearDown() override {
    HttpAnswer answer = server->post("/completion", {{"prompt", "Once"}, {"n_predict", 2}});
    EXPECT_EQ(answer.status, 200) << answer.body;
  }
  /// The status of what is sent as it stands.
  static int statusOf(const std::string &bytes) {
    HttpClient client(server->port(), 10);
    client.send(bytes);
    return client.readAnswer().status;
  }
  static std::string post(const std::string &path, const std::string &body, const std::string &headers = "") {
    return "POST " + path + " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" + headers +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  static ServerProcess *server;
};
ServerProcess *Hostile::server = nullptr;

TEST_F(Hostile, BadJson) {
  for (const char *body : {"", "{", "{]", "nul", "{\"prompt\":", "{\"prompt\":\"x\"}}", "[1]", "7", "\"x\"", "null",
                           "{\"prompt\":\"x\",\"temperature\":1e999}", "{\"prompt\":\"x\",\"n_predict\":1e18}",
                           "{\"prompt\":\"\\ud800\"}", "{\"prompt\":{\"a\":1}}", "{'prompt':1}", "\xef\xbb\xbf{"})
    for (const char *path : {"/completion", "/v1/completions", "/v1/chat/completions", "/tokenize"})
      EXPECT_EQ(statusOf(post(path, body)), 400) << path << " " << body;
}

TEST_F(Hostile, InvalidUtf8) {
  for (const char *text : {"\xff", "\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\xaf", "a\x80z"})
    EXPECT_EQ(statusOf(post("/completion", std::string("{\"prompt\":\"") + text + "\"}")), 400);
}

TEST_F(Hostile, DeepNesting) {
  for (int depth : {65, 10'000, 500'000}) {
    std::string deep(static_cast<size_t>(depth), '[');
    EXPECT_EQ(statusOf(post("/v1/chat/completions", "{\"messages\":" + deep)), 400) << depth;
    EXPECT_EQ(statusOf(post("/tokenize", deep + std::string(static_cast<size_t>(depth), ']'))), 400) << depth;
  }
}

TEST_F(Hostile, HugeHeads) {
  EXPECT_EQ(statusOf("GET /health HTTP/1.1\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n"), 431);
  std::string many = "GET /health HTTP/1.1\r\n";
  for (int i = 0; i < 20'000; ++i)
    many += "X" + std::to_string(i) + ": y\r\n";
  EXPECT_EQ(statusOf(many + "\r\n"), 431);
  EXPECT_EQ(statusOf("GET /" + std::string(5000, 'a') + " HTTP/1.1\r\n\r\n"), 414);
  EXPECT_EQ(statusOf(std::string(200'000, 'G')), 431);
}

TEST_F(Hostile, HeadsThatTwoParsersReadInTwoWays) {
  for (const char *head : {"GET /health HTTP/1.1\nHost: x\r\n\r\n", "GET  /health HTTP/1.1\r\n\r\n",
                           "GET /health HTTP/2.0\r\n\r\n", "GET health HTTP/1.1\r\n\r\n", "\r\n\r\n",
                           "GET /health HTTP/1.1\r\nHost : x\r\n\r\n", "GET /health HTTP/1.1\r\nHost\r\n\r\n",
                           "GET /health HTTP/1.1\r\n folded: x\r\n\r\n",
                           "GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
                           "GET /health HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
                           "POST /tokenize HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
                           "POST /tokenize HTTP/1.1\r\nContent-Length: -2\r\n\r\n{}",
                           "POST /tokenize HTTP/1.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
                           "POST /tokenize HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n{}",
                           "POST /tokenize HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n{}"})
    EXPECT_EQ(statusOf(head), 400) << head;
  EXPECT_EQ(statusOf(std::string("GET /health HTTP/1.1\r\nX: a\0b\r\n\r\n", 33)), 400);
}

TEST_F(Hostile, BodiesOfTheWrongSize) {
  EXPECT_EQ(statusOf(post("/tokenize", "{\"content\":\"" + std::string(2 << 20, 'x') + "\"}")), 413);
  // In chunks, so that nobody knows beforehand.
  HttpClient client(server->port(), 10);
  client.send("POST /tokenize HTTP/1.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
  std::string chunk = "10000\r\n" + std::string(65536, ' ') + "\r\n";
  for (int i = 0; i < 40 && client.send(chunk); ++i)
    ;
  EXPECT_EQ(client.readAnswer().status, 413);
  // A good one in chunks.
  EXPECT_EQ(statusOf("POST /tokenize HTTP/1.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                     "5\r\n{\"con\r\n9\r\ntent\":\"a\"\r\n1\r\n}\r\n0\r\n\r\n"),
            200);
  EXPECT_EQ(statusOf("POST /tokenize HTTP/1.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                     "zz\r\n{}\r\n0\r\n\r\n"),
            400);
}

TEST_F(Hostile, CompressedBodiesAreRefused) {
  EXPECT_EQ(statusOf(post("/tokenize", "x", "Content-Encoding: gzip\r\n")), 415);
}

// A range of eight thousand digits kills a backtracking matcher's stack.
TEST_F(Hostile, RangesAreIgnored) {
  std::string range = "bytes=" + std::string(7000, '1') + "-";
  EXPECT_EQ(statusOf("GET /health HTTP/1.1\r\nRange: " + range + "\r\n\r\n"), 200);
}

TEST_F(Hostile, SlowHeadsAndBodiesRunOutOfTime) {
  auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> clients;
  std::array<int, 16> statuses{};
  for (size_t i = 0; i < statuses.size(); ++i)
    clients.emplace_back([&, i] {
      HttpClient client(server->port(), 10);
      std::string bytes = i % 2 ? "GET /health HTTP/1.1\r\nX: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"
                                : post("/tokenize", "{\"content\":\"aaaaaaaaaaaaaaaaaaaaaaaaaa\"}");
      for (char c : bytes) { // a byte every 60 ms
        if (!client.send(std::string_view(&c, 1)))
          break;
        if (i % 2 || c == '{')
          std::this_thread::sleep_for(std::chrono::milliseconds(60));
        if (c == '{')
          break;
      }
      statuses[i] = client.readAnswer().status;
    });
  // Meanwhile others are served.
  EXPECT_EQ(server->get("/health").status, 200);
  for (std::thread &client : clients)
    client.join();
  for (size_t i = 0; i < statuses.size(); ++i)
    EXPECT_EQ(statuses[i], i % 2 ? 408 : 400) << i;
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(8));
}

TEST_F(Hostile, MoreConnectionsThanAllowedAreTold) {
  std::vector<std::unique_ptr<HttpClient>> idle;
  int served = 0, refused = 0;
  for (int i = 0; i < 48; ++i) {
    idle.push_back(std::make_unique<HttpClient>(server->port(), 10));
    HttpAnswer answer = idle.back()->request("GET", "/health", "");
    served += answer.status == 200;
    refused += answer.status == 503;
  }
  EXPECT_GE(served, 30);
  EXPECT_EQ(served + refused, 48);
  idle.clear();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
}

TEST_F(Hostile, ARefusedBodyIsNeverReadAsARequest) {
  HttpClient client(server->port(), 10);
  client.send("POST /nowhere HTTP/1.1\r\nContent-Length: 36\r\n\r\nGET /health HTTP/1.1\r\nHost: inner\r\n\r\n");
  EXPECT_EQ(client.readAnswer().status, 404);
  EXPECT_EQ(client.readAnswer().status, 0); // the connection is closed
}

// A client that stops reading must not keep the slot for long.
TEST_F(Hostile, AClientThatDoesNotReadLosesItsSlot) {
  HttpClient client(server->port(), 10);
  std::string body = Json{{"prompt", "Once upon a time"}, {"n_predict", 100000}, {"ignore_eos", true}, {"stream", true},
                          {"n_probs", 100}}.dump();
  client.send(post("/completion", body)); // fills the socket's buffers and never reads
  HttpAnswer other = server->post("/completion", {{"prompt", "Once"}, {"n_predict", 2}});
  EXPECT_EQ(other.status, 200) << other.body;
}

TEST(HostileKeys, OnlyKnownKeysAreServed) {
  ServerProcess server({"--slots", "1", "--api-key", "secret-one", "--api-key", "secret-two"});
  ASSERT_TRUE(server.running()) << server.errors();
  Json body = {{"prompt", "Once"}, {"n_predict", 1}};
  EXPECT_EQ(server.get("/health").status, 200);
  EXPECT_EQ(server.get("/v1/models").status, 401);
  EXPECT_EQ(server.post("/completion", body).status, 401);
  for (const char *wrong : {"Bearer secret-on", "Bearer secret-one2", "Bearer ", "Basic secret-one", "secret-one", ""})
    EXPECT_EQ(server.post("/completion", body, {{"Authorization", wrong}}).status, 401) << wrong;
  EXPECT_EQ(server.post("/completion", body, {{"Authorization", "Bearer secret-one"}}).status, 200);
  EXPECT_EQ(server.post("/completion", body, {{"authorization", "bearer secret-two"}}).status, 200);
}

TEST(HostileKeys, OtherMachinesNeedAKeyAndTls) {
  ServerProcess server({"--host", "0.0.0.0"});
  EXPECT_FALSE(server.running());
  EXPECT_NE(server.errors().find("0.0.0.0"), std::string::npos) << server.errors();
}

} // namespace
} // namespace pewter
