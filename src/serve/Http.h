// SPDX-License-Identifier: Apache-2.0
//
// What a handler sees of HTTP: a request, and the reply that it makes of it. A reply is whole (status and
// body) or a stream, which is written after the headers have gone out.
//
//   HttpReply answer(const HttpRequest &request) {
//     return {.status = 200, .body = R"({"status":"ok"})"};
//   }
//
// Plain values. Nothing here names the HTTP library.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pewter::serve {

struct HttpRequest {
  std::string method, path;                  ///< The path is decoded and has no query.
  std::multimap<std::string, std::string> query;
  std::map<std::string, std::string> headers; ///< Names in lower case; of equal ones the first.
  std::string body;
  std::string remote;                        ///< The client's address.
  /// Whether the client has closed its side; cheap enough to ask between tokens.
  std::function<bool()> clientGone = [] { return false; };

  std::string header(const std::string &name) const {
    auto found = headers.find(name);
    return found == headers.end() ? std::string() : found->second;
  }
};

class ResponseStream {
public:
  virtual ~ResponseStream() = default;
  /// False when the client is gone or too slow; then nothing more can be written.
  [[nodiscard]] virtual bool write(std::string_view text) = 0;
};

struct HttpReply {
  int status = 200;
  std::string contentType = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::function<void(ResponseStream &)> stream = {}; ///< Instead of the body.
};

} // namespace pewter::serve
