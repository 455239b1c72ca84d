// SPDX-License-Identifier: Apache-2.0
#include "serve/HttpClient.h"
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace pewter::testing {

std::vector<Json> HttpAnswer::events() const {
  std::vector<Json> out;
  for (size_t at = 0; at < body.size();) {
    size_t end = std::min(body.find("\n\n", at), body.size());
    std::string_view line = std::string_view(body).substr(at, end - at);
    at = end + 2;
    if (line.starts_with("data: ") && line != "data: [DONE]")
      out.push_back(Json::parse(line.substr(6), nullptr, false));
  }
  return out;
}

HttpClient::HttpClient(uint16_t port, int seconds) {
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  timeval patience{seconds, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<sockaddr *>(&address), sizeof address) != 0)
    close();
}
HttpClient::~HttpClient() { close(); }

void HttpClient::close() {
  if (socket_ >= 0)
    ::close(socket_);
  socket_ = -1;
}
void HttpClient::reset() {
  linger hard{1, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  close();
}

bool HttpClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t put = socket_ < 0 ? -1 : ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (put < 0 && socket_ >= 0 && errno == EINTR)
      continue;
    if (put <= 0)
      return false;
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

bool HttpClient::fill(std::string &buffer) {
  char part[16384];
  // A process that was frozen and thawed finds its timed calls interrupted.
  ssize_t got;
  while ((got = socket_ < 0 ? -1 : ::recv(socket_, part, sizeof part, 0)) < 0 && socket_ >= 0 && errno == EINTR)
    ;
  if (got > 0)
    buffer.append(part, static_cast<size_t>(got));
  return got > 0;
}

HttpAnswer HttpClient::readAnswer(const std::function<bool(std::string_view)> &onBody) {
  HttpAnswer answer;
  size_t end;
  while ((end = buffer_.find("\r\n\r\n")) == buffer_.npos)
    if (!fill(buffer_))
      return answer;
  answer.head = buffer_.substr(0, end + 2);
  buffer_.erase(0, end + 4);
  if (answer.head.size() > 12)
    answer.status = std::atoi(answer.head.c_str() + 9);
  std::string lower = answer.head;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  auto take = [&](size_t count) { // `count` bytes of the body
    while (count) {
      if (buffer_.empty() && !fill(buffer_))
        return false;
      size_t part = std::min(count, buffer_.size());
      answer.body.append(buffer_, 0, part);
      if (onBody && !onBody(std::string_view(buffer_).substr(0, part)))
        return false;
      buffer_.erase(0, part);
      count -= part;
    }
    return true;
  };
  if (lower.find("transfer-encoding: chunked") != lower.npos) {
    while (true) {
      while ((end = buffer_.find("\r\n")) == buffer_.npos)
        if (!fill(buffer_))
          return answer;
      size_t size = std::strtoul(buffer_.c_str(), nullptr, 16);
      buffer_.erase(0, end + 2);
      if (!take(size))
        return answer;
      while (buffer_.size() < 2)
        if (!fill(buffer_))
          return answer;
      buffer_.erase(0, 2);
      if (size == 0)
        break;
    }
    answer.complete = true;
  } else if (size_t at = lower.find("content-length: "); at != lower.npos) {
    answer.complete = take(std::strtoul(lower.c_str() + at + 16, nullptr, 10));
  } else {
    while (fill(buffer_))
      ;
    answer.body = std::move(buffer_);
    answer.complete = true;
  }
  return answer;
}

HttpAnswer HttpClient::request(const std::string &method, const std::string &path, const std::string &body,
                               const HttpHeaders &headers, const std::function<bool(std::string_view)> &onBody) {
  std::string text = method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n";
  for (const auto &[name, value] : headers)
    text += name + ": " + value + "\r\n";
  if (method == "POST")
    text += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  if (!send(text + "\r\n" + body))
    return {};
  return readAnswer(onBody);
}

} // namespace pewter::testing
