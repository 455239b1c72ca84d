// SPDX-License-Identifier: Apache-2.0
//
// Refusal: an error with the HTTP status that says whose fault it is. Errors of the engine turn into one
// by their kind. Answer<T> is what a step of a request gives.
#pragma once
#include "base/Error.h"
#include <string>

namespace pewter::serve {

struct Refusal {
  int status = 500;
  std::string message;
  Refusal(int status, std::string message) : status(status), message(std::move(message)) {}
  // NOLINTNEXTLINE: errors pass through PEWTER_TRY.
  Refusal(const Error &error) : status(statusOf(error.kind())), message(error.message()) {}
  /// The words that clients of OpenAI's interface look for.
  const char *type() const {
    return status == 401   ? "authentication_error"
           : status == 404 ? "not_found_error"
           : status == 429 ? "rate_limit_error"
           : status < 500  ? "invalid_request_error"
           : status == 503 ? "unavailable_error"
                           : "server_error";
  }

private:
  static int statusOf(ErrorKind kind) {
    return kind == ErrorKind::Validation    ? 400
           : kind == ErrorKind::Unsupported ? 400
           : kind == ErrorKind::Timeout     ? 499
                                            : 500;
  }
};

template <class T> using Answer = std::expected<T, Refusal>;

template <class... Args>
std::unexpected<Refusal> refuse(int status, fmt::format_string<Args...> format, Args &&...args) {
  return std::unexpected(Refusal(status, fmt::format(format, std::forward<Args>(args)...)));
}

} // namespace pewter::serve
