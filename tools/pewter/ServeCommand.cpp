// SPDX-License-Identifier: Apache-2.0
// `pewter serve`: a model behind HTTP, for clients of OpenAI's and of llama.cpp's interfaces.
#include "base/Bytes.h"
#include "pewter/Commands.h"
#include "pewter/EngineOptions.h"
#include "serve/Service.h"
#include <csignal>
#include <cstdio>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/stat.h>
#include <thread>

namespace pewter::tools {
namespace {

struct ServeFlags {
  EngineFlags engine;
  SamplerFlags sampler;
  serve::HttpServerOptions http;
  serve::ServiceOptions service;
  std::string keyFile;
  std::vector<std::string> keys;
  uint32_t queueSeconds = 30, requestSeconds = 600, stopSeconds = 30, headSeconds = 10, bodySeconds = 30,
           writeSeconds = 5, idleSeconds = 30, bodyMegabytes = 64;
  bool open = false;
};

/// One key a line; "#" begins a comment. Nobody but the owner may read the file.
Result<std::vector<std::string>> readKeys(const std::string &path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) == 0 && (status.st_mode & 077))
    return fail(ErrorKind::Validation, "The key file [{}] has mode {:o}; 600 is expected.", path,
                status.st_mode & 0777);
  PEWTER_TRY(Bytes bytes, readFile(path));
  std::vector<std::string> keys;
  std::string_view text = textOf(bytes);
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())))
      line.remove_suffix(1);
    if (!line.empty() && line.front() != '#')
      keys.emplace_back(line);
  }
  if (keys.empty())
    return fail(ErrorKind::Validation, "The key file [{}] has no keys; one a line is expected.", path);
  return keys;
}

bool isLoopback(const std::string &host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

Result<void> run(ServeFlags &flags) {
  PEWTER_TRY(flags.service.defaults, flags.sampler.build());
  for (const std::string &key : flags.keys)
    if (key.empty())
      return fail(ErrorKind::Validation, "An API key is empty; a secret text is expected.");
  flags.service.apiKeys = flags.keys;
  if (!flags.keyFile.empty()) {
    PEWTER_TRY(auto keys, readKeys(flags.keyFile));
    flags.service.apiKeys.insert(flags.service.apiKeys.end(), keys.begin(), keys.end());
  }
  if (!isLoopback(flags.http.host) && !flags.open &&
      (flags.service.apiKeys.empty() || flags.http.certificate.empty()))
    return fail(ErrorKind::Validation,
                "Address [{}] can be reached from other machines, but there is no {}. Give it, or say --open if "
                "something in front protects the server.",
                flags.http.host, flags.service.apiKeys.empty() ? "API key" : "TLS certificate");
  using std::chrono::seconds;
  flags.service.patience = seconds(flags.queueSeconds);
  flags.service.requestTime = seconds(flags.requestSeconds);
  flags.http.limits.head = seconds(flags.headSeconds);
  flags.http.limits.body = seconds(flags.bodySeconds);
  flags.http.limits.write = seconds(flags.writeSeconds);
  flags.http.limits.idle = seconds(flags.idleSeconds);
  flags.http.limits.bodyBytes = size_t(flags.bodyMegabytes) << 20;

  // Before any thread is made: only the one that waits below gets these signals.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);

  PEWTER_TRY(auto engine, makeEngine(flags.engine));
  PEWTER_TRY(auto service, serve::Service::create(engine, flags.service));
  PEWTER_TRY(auto http, serve::HttpServer::create(flags.http, service->handlers()));
  std::string host = flags.http.host.find(':') == std::string::npos ? flags.http.host : "[" + flags.http.host + "]";
  fmt::print("listening on {}://{}:{}\n", flags.http.certificate.empty() ? "http" : "https", host, http->port());
  std::fflush(stdout);

  std::atomic<bool> ended = false;
  std::thread stopper([&] {
    int signal = 0;
    sigwait(&signals, &signal);
    if (ended)
      return;
    if (!flags.engine.quiet)
      fmt::print(stderr, "pewter: stopping; a second signal ends the answers that still run\n");
    service->beginStop();
    http->stop();
    timespec patience{static_cast<time_t>(flags.stopSeconds), 0};
    while (!ended && ::sigtimedwait(&signals, nullptr, &patience) < 0 && errno == EINTR)
      ;
    service->cancelAll();
  });
  http->run();
  ended = true;
  pthread_kill(stopper.native_handle(), SIGTERM);
  stopper.join();
  return {};
}

} // namespace

void addServe(CLI::App &app, int &status) {
  CLI::App *command = app.add_subcommand("serve", "Serve a model over HTTP (docs/serving.md)");
  auto flags = std::make_shared<ServeFlags>();
  flags->engine.addTo(*command);
  flags->sampler.addTo(*command);
  command->add_option("--host", flags->http.host, "Address to listen on")->capture_default_str();
  command->add_option("--port", flags->http.port, "Port; 0 takes a free one")->capture_default_str();
  command->add_option("--slots,--parallel", flags->service.slots, "Requests that are answered at a time, 1 to 4")
      ->check(CLI::Range(1, 4))
      ->capture_default_str();
  command->add_option("--ctx", flags->service.context, "Longest sequence of a slot (default: the model's)");
  command->add_option("--alias", flags->service.alias, "The model's name for clients");
  command->add_option("--slot-save-path", flags->service.sessionFolder, "Folder in which slots' sessions are kept");
  command->add_flag("--lenient", flags->service.lenient, "Ignore fields that are not known");
  command->add_option("--api-key", flags->keys, "A key that clients must show; may be repeated");
  command->add_option("--api-key-file", flags->keyFile, "File of keys, one a line, mode 600");
  command->add_option("--tls-cert", flags->http.certificate, "PEM certificate chain");
  command->add_option("--tls-key", flags->http.key, "PEM key");
  command->add_flag("--open", flags->open, "Listen on any address without a key or TLS");
  auto seconds = [&](const char *name, uint32_t &value, const char *what) {
    command->add_option(name, value, what)->check(CLI::Range(1, 86400))->capture_default_str();
  };
  seconds("--queue-seconds", flags->queueSeconds, "How long a request waits for a slot");
  seconds("--request-seconds", flags->requestSeconds, "How long an answer may take");
  seconds("--head-seconds", flags->headSeconds, "How long a client may take to send a head");
  seconds("--body-seconds", flags->bodySeconds, "How long a client may take to send a body");
  seconds("--write-seconds", flags->writeSeconds, "How long a write may wait for a slow client");
  seconds("--idle-seconds", flags->idleSeconds, "How long a connection may be idle");
  seconds("--stop-seconds", flags->stopSeconds, "How long running answers may go on after a signal");
  command->add_option("--max-connections", flags->http.limits.connections, "Connections at a time")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  command->add_option("--body-megabytes", flags->bodyMegabytes, "Size of a request's body")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->callback([flags, &status] {
    auto result = run(*flags);
    status = result ? 0 : report(result.error());
  });
}

} // namespace pewter::tools
