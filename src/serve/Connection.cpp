// SPDX-License-Identifier: Apache-2.0
//
// The socket never blocks: every wait is a poll with what is left of a deadline. A head is given to the
// library only when its last byte is here. A "Range" line is taken out: nothing here has ranges, and the
// library would match it with a backtracking expression.
//
// Tested by tests/serve/Hostile.cpp.
#include "serve/Connection.h"
#include <fcntl.h>
#include <openssl/ssl.h>
#include <poll.h>

namespace pewter::serve {
namespace {

bool isToken(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) || (c && std::strchr("!#$%&'*+-.^_`|~", c));
  });
}
bool sameName(std::string_view a, std::string_view lower) {
  return std::ranges::equal(a, lower, [](unsigned char x, unsigned char y) { return std::tolower(x) == y; });
}

} // namespace

Connection::Connection(int socket, SSL *tls, const HttpLimits &limits, int wake)
    : socket_(socket), tls_(tls), limits_(limits), wake_(wake) {
  ::fcntl(socket_, F_SETFL, ::fcntl(socket_, F_GETFL) | O_NONBLOCK);
  int on = 1;
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (tls_)
    SSL_set_fd(tls_, socket_);
}

Connection::~Connection() {
  if (tls_)
    SSL_free(tls_);
  ::close(socket_);
}

bool Connection::waitFor(short events, Clock::time_point deadline) {
  while (true) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd entry{socket_, events, 0};
    int ready = ::poll(&entry, 1, static_cast<int>(std::max<int64_t>(left, 0)));
    if (ready > 0)
      return true;
    if (ready == 0) {
      timedOut_ = true;
      return false;
    }
    if (errno != EINTR)
      return false;
  }
}

bool Connection::handshake() {
  auto deadline = Clock::now() + limits_.head;
  while (tls_) {
    ERR_clear_error();
    int done = SSL_accept(tls_);
    if (done == 1)
      return true;
    int why = SSL_get_error(tls_, done);
    if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE)
      return false;
    if (!waitFor(why == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, deadline))
      return false;
  }
  return true;
}

ssize_t Connection::receive(char *to, size_t size, Clock::time_point deadline) {
  while (!failed_) {
    short events = POLLIN;
    if (tls_) {
      ERR_clear_error();
      int got = SSL_read(tls_, to, static_cast<int>(std::min<size_t>(size, 1 << 20)));
      if (got > 0)
        return got;
      int why = SSL_get_error(tls_, got);
      if (why == SSL_ERROR_ZERO_RETURN)
        return 0;
      if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) {
        failed_ = true;
        return -1;
      }
      events = why == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
    } else {
      ssize_t got = ::recv(socket_, to, size, 0);
      if (got >= 0)
        return got;
      if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        failed_ = true;
        return -1;
      }
    }
    if (!waitFor(events, deadline))
      return -1;
  }
  return -1;
}

Head Connection::readHead() {
  buffer_.erase(0, given_);
  given_ = 0;
  bodyRead_ = 0;
  size_t looked = 0;
  if (buffer_.empty() && !(tls_ && SSL_pending(tls_) > 0)) {
    // Idle: the client's next request, or the server's stop.
    pollfd entries[2] = {{socket_, POLLIN, 0}, {wake_, POLLIN, 0}};
    int ready;
    while ((ready = ::poll(entries, 2, static_cast<int>(limits_.idle.count()))) < 0 && errno == EINTR)
      ;
    if (ready <= 0)
      return Head::Closed;
    if (!(entries[0].revents & POLLIN))
      return entries[1].revents ? Head::Stopping : Head::Closed;
  }
  auto deadline = Clock::now() + limits_.head;
  while (true) {
    size_t end = buffer_.find("\r\n\r\n", looked > 3 ? looked - 3 : 0);
    if (end != buffer_.npos && end + 4 <= limits_.headBytes) {
      Head head = checkHead(std::string_view(buffer_).substr(0, end + 2));
      bodyDeadline_ = Clock::now() + limits_.body;
      return head;
    }
    if (end != buffer_.npos || buffer_.size() > limits_.headBytes)
      return Head::TooLarge;
    looked = buffer_.size();
    char part[4096];
    ssize_t got = receive(part, sizeof part, deadline);
    if (got <= 0)
      return got < 0 && timedOut_ && !buffer_.empty() ? Head::TimedOut : Head::Closed;
    buffer_.append(part, static_cast<size_t>(got));
  }
}

/// `head` ends with the line end of its last line.
Head Connection::checkHead(std::string_view head) {
  size_t lineEnd = head.find("\r\n");
  std::string_view line = head.substr(0, lineEnd);
  if (line.size() > limits_.targetBytes)
    return Head::TargetTooLong;
  // METHOD SP target SP HTTP/1.x, printable ASCII only.
  size_t first = line.find(' '), second = line.rfind(' ');
  if (first == line.npos || second == first || !isToken(line.substr(0, first)) || line[first + 1] != '/' ||
      line.substr(first + 1, second - first - 1).find(' ') != line.npos ||
      (line.substr(second + 1) != "HTTP/1.1" && line.substr(second + 1) != "HTTP/1.0") ||
      !std::ranges::all_of(line, [](char c) { return c >= 0x20 && c < 0x7f; }))
    return Head::Malformed;
  bool takesBody = line.starts_with("POST ");
  int lengths = 0, encodings = 0, hosts = 0;
  bool hasBody = false;
  std::vector<std::pair<size_t, size_t>> drop;
  for (size_t at = lineEnd + 2; at < head.size();) {
    size_t end = head.find("\r\n", at);
    std::string_view text = head.substr(at, end - at);
    size_t colon = text.find(':');
    if (colon == text.npos || !isToken(text.substr(0, colon)) ||
        !std::ranges::all_of(text, [](unsigned char c) { return c == '\t' || (c >= 0x20 && c != 0x7f); }))
      return Head::Malformed;
    std::string_view name = text.substr(0, colon), value = text.substr(colon + 1);
    while (!value.empty() && (value.front() == ' ' || value.front() == '\t'))
      value.remove_prefix(1);
    while (!value.empty() && (value.back() == ' ' || value.back() == '\t'))
      value.remove_suffix(1);
    if (sameName(name, "content-length")) {
      ++lengths;
      if (value.empty() || value.size() > 18 ||
          !std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; }))
        return Head::Malformed;
      hasBody = hasBody || value.find_first_not_of('0') != value.npos;
    } else if (sameName(name, "transfer-encoding")) {
      ++encodings;
      hasBody = true;
      if (!sameName(value, "chunked"))
        return Head::Malformed;
    } else if (sameName(name, "host")) {
      ++hosts;
    } else if (sameName(name, "range") || sameName(name, "if-range")) {
      drop.emplace_back(at, end + 2 - at);
    }
    at = end + 2;
  }
  if (lengths + encodings > 1 || hosts > 1 || (hasBody && !takesBody))
    return Head::Malformed;
  for (auto it = drop.rbegin(); it != drop.rend(); ++it)
    buffer_.erase(it->first, it->second);
  return Head::Ready;
}

bool Connection::peerGone() const {
  pollfd entry{socket_, POLLRDHUP, 0};
  return ::poll(&entry, 1, 0) > 0 && (entry.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL));
}

ssize_t Connection::read(char *to, size_t size) {
  if (given_ < buffer_.size()) {
    size_t count = std::min(size, buffer_.size() - given_);
    std::memcpy(to, buffer_.data() + given_, count);
    given_ += count;
    return static_cast<ssize_t>(count);
  }
  // Chunk sizes and trailers come on top of the body; they must not be endless.
  if (bodyRead_ > limits_.bodyBytes + (1u << 20)) {
    closing_ = true;
    return -1;
  }
  // The library asks for single bytes of chunk sizes.
  char part[16384];
  ssize_t got = receive(part, sizeof part, bodyDeadline_);
  if (got <= 0) {
    closing_ = true;
    return got;
  }
  bodyRead_ += static_cast<uint64_t>(got);
  size_t count = std::min(size, static_cast<size_t>(got));
  std::memcpy(to, part, count);
  buffer_.assign(part + count, static_cast<size_t>(got) - count);
  given_ = 0;
  return static_cast<ssize_t>(count);
}

ssize_t Connection::write(const char *from, size_t size) {
  auto deadline = Clock::now() + limits_.write;
  size_t done = 0;
  while (done < size && !failed_) {
    short events = POLLOUT;
    if (tls_) {
      ERR_clear_error();
      int put = SSL_write(tls_, from + done, static_cast<int>(std::min<size_t>(size - done, 1 << 20)));
      if (put > 0) {
        done += static_cast<size_t>(put);
        continue;
      }
      int why = SSL_get_error(tls_, put);
      if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE)
        break;
      events = why == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
    } else {
      ssize_t put = ::send(socket_, from + done, size - done, MSG_NOSIGNAL);
      if (put >= 0) {
        done += static_cast<size_t>(put);
        continue;
      }
      if (errno == EINTR)
        continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK)
        break;
    }
    if (!waitFor(events, deadline))
      break;
  }
  if (done < size) {
    failed_ = closing_ = true;
    return -1;
  }
  return static_cast<ssize_t>(size);
}

void Connection::answer(int status, std::string_view reason, std::string_view body) {
  std::string text = fmt::format("HTTP/1.1 {} {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n"
                                 "Connection: close\r\n\r\n{}",
                                 status, reason, body.size(), body);
  closing_ = true;
  static_cast<void>(write(text.data(), text.size()));
}

void Connection::close() {
  if (tls_ && !failed_)
    SSL_shutdown(tls_);
  ::shutdown(socket_, SHUT_WR);
  // A close with unread bytes would reset the connection and take the answer away from the client.
  auto deadline = Clock::now() + std::chrono::milliseconds(closing_ && !failed_ ? 1000 : 0);
  char part[4096];
  size_t most = 1 << 20;
  while (most && Clock::now() < deadline) {
    ssize_t got = ::recv(socket_, part, sizeof part, 0);
    if (got > 0)
      most -= std::min<size_t>(most, static_cast<size_t>(got));
    else if (got == 0 || (errno != EAGAIN && errno != EINTR) || !waitFor(POLLIN, deadline))
      break;
  }
}

void Connection::get_remote_ip_and_port(std::string &ip, int &port) const {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  char host[NI_MAXHOST] = "", service[NI_MAXSERV] = "";
  if (::getpeername(socket_, reinterpret_cast<sockaddr *>(&address), &length) == 0 &&
      ::getnameinfo(reinterpret_cast<sockaddr *>(&address), length, host, sizeof host, service, sizeof service,
                    NI_NUMERICHOST | NI_NUMERICSERV) == 0) {
    ip = host;
    port = std::atoi(service);
  }
}
void Connection::get_local_ip_and_port(std::string &, int &) const {}

} // namespace pewter::serve
