// SPDX-License-Identifier: Apache-2.0
//
// HttpClient: one connection to the server under test, as plain as it gets, so that a test decides every
// byte that is sent and when the connection goes away.
//
//   HttpClient client(port);
//   client.send("GET /health HTTP/1.1\r\n\r\n");
//   HttpAnswer answer = client.readAnswer();
#pragma once
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pewter::testing {

using Json = nlohmann::ordered_json;
using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpAnswer {
  int status = 0;           ///< 0: no answer.
  std::string head, body;   ///< The body without its framing.
  bool complete = false;    ///< Its end was seen.
  Json json() const { return Json::parse(body, nullptr, /*allow_exceptions=*/false); }
  /// The values of "data: " lines; "[DONE]" is left out.
  std::vector<Json> events() const;
  bool done() const { return body.find("data: [DONE]\n\n") != std::string::npos; }
};

class HttpClient {
public:
  explicit HttpClient(uint16_t port, int seconds = 60);
  ~HttpClient();
  HttpClient(const HttpClient &) = delete;
  HttpClient &operator=(const HttpClient &) = delete;

  bool connected() const { return socket_ >= 0; }
  bool send(std::string_view bytes);
  /// One answer. `onBody` sees the body as it comes, and ends reading with false.
  HttpAnswer readAnswer(const std::function<bool(std::string_view)> &onBody = {});
  HttpAnswer request(const std::string &method, const std::string &path, const std::string &body,
                     const HttpHeaders &headers = {}, const std::function<bool(std::string_view)> &onBody = {});
  void close();
  /// With a reset instead of a farewell.
  void reset();

private:
  bool fill(std::string &buffer);
  int socket_ = -1;
  std::string buffer_;
};

} // namespace pewter::testing
