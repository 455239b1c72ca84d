// SPDX-License-Identifier: Apache-2.0
//
// Error and Result: how a failure travels through Pewter. An Error says what kind of failure it is
// (which one file, metal/ErrorDomain.cpp, maps to NS::Error codes), one full sentence in the present
// tense that names the object, the value in brackets and the limit, and the call path as "- While"
// lines that callers add while the error passes them.
//
//   Result<Slice> sliceOf(const Buffer &buffer, uint64_t offset, uint64_t length) {
//     if (offset > buffer.length())
//       return fail(ErrorKind::Validation, "Offset ({}) is past the end of buffer \"{}\" ({} bytes).",
//                   offset, buffer.label(), buffer.length());
//     ...
//   }
//
// Values; no locks, any thread.
#pragma once
#include <expected>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pewter {

enum class ErrorKind {
  Validation,  ///< The caller passed something that the called function does not accept.
  Compile,     ///< Source or AIR that cannot be turned into code; the message is a diagnostic text.
  Unsupported, ///< A valid request for something that Pewter does not do; the message names it.
  Io,          ///< A file or system call failed.
  OutOfMemory, ///< Memory could not be had.
  Timeout,     ///< A deadline passed.
  DeviceLost,  ///< The device faulted or vanished while work was on it.
  Internal,    ///< A fault in Pewter.
};

std::string_view nameOf(ErrorKind kind);

class [[nodiscard]] Error {
public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}

  ErrorKind kind() const { return kind_; }
  const std::string &message() const { return message_; }

  /// Adds one "- While ..." line: what the caller was doing.
  Error &&whileDoing(std::string what) && {
    path_.push_back(std::move(what));
    return std::move(*this);
  }

  /// The message and its "- While ..." lines.
  std::string describe() const;

private:
  ErrorKind kind_;
  std::string message_;
  std::vector<std::string> path_;
};

template <class T> using Result = std::expected<T, Error>;

/// Makes the unexpected side of a Result. The format string is checked at compile time.
template <class... Args>
std::unexpected<Error> fail(ErrorKind kind, fmt::format_string<Args...> format, Args &&...args) {
  return std::unexpected(Error(kind, fmt::format(format, std::forward<Args>(args)...)));
}

} // namespace pewter

#define PEWTER_CONCAT_INNER(a, b) a##b
#define PEWTER_CONCAT(a, b) PEWTER_CONCAT_INNER(a, b)

/// PEWTER_TRY(declaration, expression): unwraps a Result or returns its error.
#define PEWTER_TRY(declaration, ...)                                                               \
  auto PEWTER_CONCAT(result_, __LINE__) = (__VA_ARGS__);                                           \
  if (!PEWTER_CONCAT(result_, __LINE__))                                                           \
    return std::unexpected(std::move(PEWTER_CONCAT(result_, __LINE__)).error());                   \
  declaration = std::move(*PEWTER_CONCAT(result_, __LINE__))

/// PEWTER_TRY_VOID(expression): the same for Result<void>.
#define PEWTER_TRY_VOID(...)                                                                       \
  do {                                                                                             \
    auto pewterResult = (__VA_ARGS__);                                                             \
    if (!pewterResult)                                                                             \
      return std::unexpected(std::move(pewterResult).error());                                     \
  } while (false)
