// SPDX-License-Identifier: Apache-2.0
// Tested by Error_test.cpp.
#include "base/Error.h"
#include "base/Check.h"

namespace pewter {

std::string_view nameOf(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::Validation:
    return "validation";
  case ErrorKind::Compile:
    return "compile";
  case ErrorKind::Unsupported:
    return "unsupported";
  case ErrorKind::Io:
    return "io";
  case ErrorKind::OutOfMemory:
    return "out of memory";
  case ErrorKind::Timeout:
    return "timeout";
  case ErrorKind::DeviceLost:
    return "device lost";
  case ErrorKind::Internal:
    return "internal";
  }
  PEWTER_UNREACHABLE();
}

std::string Error::describe() const {
  std::string text = message_;
  for (const std::string &step : path_)
    text += "\n - While " + step;
  return text;
}

} // namespace pewter
