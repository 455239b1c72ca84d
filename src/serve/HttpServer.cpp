// SPDX-License-Identifier: Apache-2.0
//
// cpp-httplib 0.11 parses requests, reads bodies and writes answers. What it has no setting for is done
// through its own extension points: process_and_close_socket is overridden, so that every connection is a
// Connection (bounds, deadlines, TLS, a client that leaves) and has a thread of its own; the listening
// socket gets a longer queue. Heads are admitted before bodies are read; a refused request's body is never
// read, so its connection is closed.
//
// Tested by tests/serve/Hostile.cpp.
#include "serve/HttpServer.h"
#include "serve/Connection.h"
#include <condition_variable>
#include <openssl/ssl.h>
#include <sys/eventfd.h>

namespace pewter::serve {
namespace {

using httplib::Request;
using httplib::Response;

constexpr int kBacklog = 512;

/// The connection whose request this thread handles.
thread_local Connection *current = nullptr;
/// No thread could be made for a connection: it is closed by the one that accepts.
thread_local bool noThread = false;

std::string_view reasonOf(Head head) {
  switch (head) {
  case Head::TimedOut: return "Request Timeout";
  case Head::TooLarge: return "Request Header Fields Too Large";
  case Head::TargetTooLong: return "URI Too Long";
  default: return "Bad Request";
  }
}
int statusOf(Head head) {
  switch (head) {
  case Head::TimedOut: return 408;
  case Head::TooLarge: return 431;
  case Head::TargetTooLong: return 414;
  default: return 400;
  }
}

/// A thread per connection; the library's own pool would let a few idle clients hold up everybody.
class ConnectionThreads final : public httplib::TaskQueue {
public:
  void enqueue(std::function<void()> work) override {
    {
      std::lock_guard lock(mutex_);
      ++running_;
    }
    try {
      std::thread([this, work = std::move(work)] {
        work();
        std::lock_guard lock(mutex_);
        if (--running_ == 0)
          idle_.notify_all();
      }).detach();
    } catch (const std::system_error &) {
      noThread = true; // then the work only closes its socket
      work();
      noThread = false;
      std::lock_guard lock(mutex_);
      --running_;
    }
  }
  void shutdown() override {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [&] { return running_ == 0; });
  }

private:
  std::mutex mutex_;
  std::condition_variable idle_;
  size_t running_ = 0;
};

class Stream final : public ResponseStream {
public:
  explicit Stream(httplib::DataSink &sink) : sink_(sink) {}
  bool write(std::string_view text) override { return good_ = good_ && sink_.write(text.data(), text.size()); }

private:
  httplib::DataSink &sink_;
  bool good_ = true;
};

class Server final : public httplib::Server, public HttpServer {
public:
  Server(HttpServerOptions options, HttpHandlers handlers)
      : options_(std::move(options)), handlers_(std::move(handlers)) {}
  ~Server() override {
    if (tls_)
      SSL_CTX_free(tls_);
    if (wake_ >= 0)
      ::close(wake_);
  }
  pewter::Result<void> open();

  uint16_t port() const override { return port_; }
  void run() override { listen_after_bind(); }
  void stop() override {
    stopping_ = true;
    uint64_t one = 1;
    static_cast<void>(!::write(wake_, &one, sizeof one)); // never read: every idle connection sees it
    httplib::Server::stop();
  }
  uint32_t connections() const override { return connections_; }

private:
  bool process_and_close_socket(socket_t socket) override;
  void serve(Connection &connection);
  HttpRequest translate(const Request &from) const;
  void answer(const Request &request, Response &response, HttpReply reply);
  void handle(const Request &request, Response &response, const httplib::ContentReader *reader);
  pewter::Result<void> loadCertificate();

  HttpServerOptions options_;
  HttpHandlers handlers_;
  SSL_CTX *tls_ = nullptr;
  int wake_ = -1;
  uint16_t port_ = 0;
  std::atomic<bool> stopping_ = false;
  std::atomic<uint32_t> connections_ = 0;
};

pewter::Result<void> Server::loadCertificate() {
  tls_ = SSL_CTX_new(TLS_server_method());
  if (!tls_)
    return fail(ErrorKind::Internal, "OpenSSL makes no TLS context.");
  SSL_CTX_set_min_proto_version(tls_, TLS1_2_VERSION);
  SSL_CTX_set_options(tls_, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(tls_, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  if (SSL_CTX_use_certificate_chain_file(tls_, options_.certificate.c_str()) != 1)
    return fail(ErrorKind::Io, "The TLS certificate [{}] cannot be read as a PEM chain.", options_.certificate);
  if (SSL_CTX_use_PrivateKey_file(tls_, options_.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(tls_) != 1)
    return fail(ErrorKind::Io, "The TLS key [{}] is not the PEM key of certificate [{}].", options_.key,
                options_.certificate);
  return {};
}

pewter::Result<void> Server::open() {
  if (!options_.certificate.empty())
    PEWTER_TRY_VOID(loadCertificate());
  wake_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (wake_ < 0)
    return fail(ErrorKind::Io, "No event descriptor can be made: {}.", std::strerror(errno));
  new_task_queue = [] { return new ConnectionThreads; };
  // The library's default would let two servers share the port without a word.
  set_socket_options([](socket_t socket) {
    int on = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  });
  set_keep_alive_timeout(std::chrono::duration_cast<std::chrono::seconds>(options_.limits.idle).count());
  set_keep_alive_max_count(100'000);
  set_payload_max_length(options_.limits.bodyBytes);
  auto plain = [this](const Request &request, Response &response) { handle(request, response, nullptr); };
  Get(".*", plain);
  Delete(".*", plain);
  Options(".*", plain);
  Post(".*", [this](const Request &request, Response &response, const httplib::ContentReader &reader) {
    handle(request, response, &reader);
  });
  set_error_handler(Handler([this](const Request &, Response &response) {
    if (response.body.empty())
      response.set_content(
          handlers_.errorBody(response.status, fmt::format("The request is refused with status [{}].", response.status)),
          "application/json");
  }));
  set_exception_handler([this](const Request &, Response &response, std::exception_ptr) {
    response.status = 500;
    response.set_content(handlers_.errorBody(500, "A fault in Pewter ended the request."), "application/json");
  });
  int port = options_.port;
  bool bound = port ? bind_to_port(options_.host, port) : (port = bind_to_any_port(options_.host)) > 0;
  if (!bound)
    return fail(ErrorKind::Io, "Address [{}:{}] cannot be bound: {}.", options_.host, options_.port,
                std::strerror(errno));
  port_ = static_cast<uint16_t>(port);
  ::listen(svr_sock_, kBacklog); // the library's own queue has room for 5
  return {};
}

bool Server::process_and_close_socket(socket_t socket) {
  if (noThread) {
    ::close(socket);
    return false;
  }
  SSL *tls = tls_ ? SSL_new(tls_) : nullptr;
  Connection connection(socket, tls, options_.limits, wake_);
  bool room = ++connections_ <= options_.limits.connections;
  if ((!tls_ || tls) && connection.handshake()) {
    if (room && !stopping_)
      serve(connection);
    else
      connection.answer(503, "Service Unavailable",
                        handlers_.errorBody(503, room ? "The server is stopping."
                                                      : "The server has as many connections as it takes."));
    connection.close();
  }
  --connections_;
  return true;
}

void Server::serve(Connection &connection) {
  current = &connection;
  while (!connection.closing()) {
    Head head = connection.readHead();
    if (head == Head::Closed || head == Head::Stopping)
      break;
    if (head != Head::Ready) {
      connection.answer(statusOf(head), reasonOf(head), handlers_.errorBody(statusOf(head), reasonOf(head)));
      break;
    }
    bool closed = false;
    if (!process_request(connection, /*close_connection=*/stopping_, closed, nullptr) || closed || stopping_)
      break;
  }
  current = nullptr;
}

HttpRequest Server::translate(const Request &from) const {
  HttpRequest to;
  to.method = from.method;
  to.path = from.path;
  to.query.insert(from.params.begin(), from.params.end());
  for (const auto &[name, value] : from.headers) {
    std::string lower = name;
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
    to.headers.try_emplace(std::move(lower), value);
  }
  to.remote = from.remote_addr;
  to.clientGone = [connection = current] { return connection->peerGone(); };
  return to;
}

void Server::answer(const Request &request, Response &response, HttpReply reply) {
  response.status = reply.status;
  for (const auto &[name, value] : reply.headers)
    response.set_header(name, value);
  if (!reply.stream) {
    response.set_content(std::move(reply.body), reply.contentType);
    return;
  }
  // All of the stream in one call: the library asks again only while it is not stopping.
  auto provide = [stream = std::move(reply.stream)](size_t, httplib::DataSink &sink) {
    Stream out(sink);
    stream(out);
    sink.done();
    return true;
  };
  if (request.version == "HTTP/1.0") {
    current->closeAfterwards();
    response.set_content_provider(reply.contentType, provide);
  } else {
    response.set_chunked_content_provider(reply.contentType, provide);
  }
}

void Server::handle(const Request &request, Response &response, const httplib::ContentReader *reader) {
  HttpRequest translated = translate(request);
  std::optional<HttpReply> refusal = handlers_.admit(translated);
  bool tooLarge = false;
  if (!refusal && reader) {
    bool whole = (*reader)([&](const char *data, size_t size) {
      tooLarge = translated.body.size() + size > options_.limits.bodyBytes;
      if (!tooLarge)
        translated.body.append(data, size);
      return !tooLarge;
    });
    if (tooLarge || response.status == 413)
      refusal = HttpReply{413, "application/json", handlers_.errorBody(413, "The body is larger than the server takes.")};
    else if (!whole)
      refusal = HttpReply{400, "application/json", handlers_.errorBody(400, "The body ends early or is not framed as it should be.")};
  }
  if (refusal && reader) {
    current->closeAfterwards();
    refusal->headers.emplace_back("Connection", "close");
  }
  answer(request, response, refusal ? std::move(*refusal) : handlers_.handle(translated));
}

} // namespace

pewter::Result<std::unique_ptr<HttpServer>> HttpServer::create(HttpServerOptions options, HttpHandlers handlers) {
  if (options.certificate.empty() != options.key.empty())
    return fail(ErrorKind::Validation, "A TLS certificate [{}] and a key [{}] are needed together.",
                options.certificate, options.key);
  auto server = std::make_unique<Server>(std::move(options), std::move(handlers));
  PEWTER_TRY_VOID(server->open());
  return server;
}

} // namespace pewter::serve
