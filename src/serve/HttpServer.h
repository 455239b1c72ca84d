// SPDX-License-Identifier: Apache-2.0
//
// HttpServer: HTTP/1.1 with or without TLS on one port, every side of a request bounded: size and time of
// the head, size and time of the body, connections, and how long a client may take to read an answer.
//
//   PEWTER_TRY(auto server, HttpServer::create(options, {.admit = ..., .handle = ...}));
//   server->run();   // until stop() from another thread
//
// Handlers run on a thread per connection. stop() may come from any thread; run() returns when the last
// request has been answered.
#pragma once
#include "base/Error.h"
#include "serve/Http.h"
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

namespace pewter::serve {

struct HttpLimits {
  size_t headBytes = 32 << 10;
  size_t targetBytes = 2 << 10;                ///< Of the request line.
  size_t bodyBytes = 64u << 20;
  uint32_t connections = 256;                  ///< More are told 503.
  std::chrono::milliseconds idle{30'000};      ///< Between requests of a connection.
  std::chrono::milliseconds head{10'000};      ///< From a head's first byte to its last.
  std::chrono::milliseconds body{30'000};
  std::chrono::milliseconds write{5'000};      ///< How long one write may wait for the client.
};

struct HttpServerOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 8080;                        ///< 0 takes a free one.
  std::string certificate, key;                ///< PEM files; both or none.
  HttpLimits limits = {};
};

struct HttpHandlers {
  /// Asked when the head is read and the body is not; a reply refuses the request.
  std::function<std::optional<HttpReply>(const HttpRequest &)> admit;
  std::function<HttpReply(const HttpRequest &)> handle;
  /// The body of an error that the HTTP layer itself answers.
  std::function<std::string(int status, std::string_view message)> errorBody;
};

class HttpServer {
public:
  virtual ~HttpServer() = default;
  /// Binds the port; connections are accepted from run() on.
  static Result<std::unique_ptr<HttpServer>> create(HttpServerOptions options, HttpHandlers handlers);
  virtual uint16_t port() const = 0;
  virtual void run() = 0;
  /// No new connections; idle ones are closed, requests that run are answered.
  virtual void stop() = 0;
  virtual uint32_t connections() const = 0;
};

} // namespace pewter::serve
