// SPDX-License-Identifier: Apache-2.0
//
// Connection: one client's socket, plain or TLS, as a stream for the HTTP library. The library bounds
// neither the size of a head nor the time that a client takes, so this class does: it reads a whole head
// within its limits before the library sees a byte of it, refuses heads that two parsers could read in
// two ways, and ends reads and writes at a deadline.
//
// Belongs to the connection's thread.
#pragma once
#include "serve/HttpServer.h"
#include <httplib.h>

namespace pewter::serve {

/// What a head was, or why there is none.
enum class Head { Ready, Closed, Stopping, TimedOut, TooLarge, TargetTooLong, Malformed };

class Connection final : public httplib::Stream {
public:
  /// `wake` becomes readable when the server stops. `tls` may be null; the connection owns it.
  Connection(int socket, SSL *tls, const HttpLimits &limits, int wake);
  ~Connection() override;

  /// The TLS handshake, within the time of a head.
  bool handshake();
  /// Waits for the next request and reads its head.
  Head readHead();
  /// Whether the client has closed or reset its side.
  bool peerGone() const;
  /// An answer without the library, for heads that it never sees.
  void answer(int status, std::string_view reason, std::string_view body);
  /// After the present request the connection is of no more use.
  void closeAfterwards() { closing_ = true; }
  bool closing() const { return closing_; }
  /// Closes so that the client still gets what was written, even when it is still sending.
  void close();

  bool is_readable() const override { return true; }
  bool is_writable() const override { return !failed_ && !peerGone(); }
  ssize_t read(char *to, size_t size) override;
  ssize_t write(const char *from, size_t size) override;
  void get_remote_ip_and_port(std::string &ip, int &port) const override;
  void get_local_ip_and_port(std::string &ip, int &port) const override;
  socket_t socket() const override { return socket_; }

private:
  using Clock = std::chrono::steady_clock;
  /// Bytes from the socket, at most `size`; 0 at the end, -1 on an error or at the deadline.
  ssize_t receive(char *to, size_t size, Clock::time_point deadline);
  bool waitFor(short events, Clock::time_point deadline);
  Head checkHead(std::string_view head);

  int socket_;
  SSL *tls_;
  const HttpLimits &limits_;
  int wake_;
  std::string buffer_;   ///< Read from the socket, not yet given to the library.
  size_t given_ = 0;     ///< Of the buffer.
  uint64_t bodyRead_ = 0;
  Clock::time_point bodyDeadline_;
  bool closing_ = false, failed_ = false, timedOut_ = false;
};

} // namespace pewter::serve
