// SPDX-License-Identifier: Apache-2.0
//
// ServerProcess: the real program, `pewter serve`, on a free port, for as long as the object lives.
//
//   ServerProcess server({"--slots", "2"});
//   HttpAnswer answer = server.post("/completion", {{"prompt", "Once"}});
#pragma once
#include "serve/HttpClient.h"
#include <sys/types.h>

namespace pewter::testing {

class ServerProcess {
public:
  explicit ServerProcess(std::vector<std::string> flags = {});
  ~ServerProcess();
  ServerProcess(const ServerProcess &) = delete;
  ServerProcess &operator=(const ServerProcess &) = delete;

  uint16_t port() const { return port_; }
  pid_t pid() const { return pid_; }
  bool running() const { return pid_ > 0 && port_ != 0; }
  /// What the program wrote on standard error so far.
  std::string errors() const;
  void signal(int number) const;
  /// Waits for the end; the exit status, or -1 with the signal's number in `signal`.
  int wait(int *signal = nullptr);
  uint64_t residentBytes() const;

  HttpAnswer get(const std::string &path, const HttpHeaders &headers = {}) const;
  HttpAnswer post(const std::string &path, const Json &body, const HttpHeaders &headers = {}) const;

private:
  pid_t pid_ = -1;
  uint16_t port_ = 0;
  int output_ = -1;
  std::string errorFile_;
};

} // namespace pewter::testing
