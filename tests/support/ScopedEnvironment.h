// SPDX-License-Identifier: Apache-2.0
//
// ScopedEnvironment: sets an environment variable until the end of the scope.
#pragma once
#include <cstdlib>
#include <optional>
#include <string>

namespace pewter::testing {

class ScopedEnvironment {
public:
  ScopedEnvironment(const char *name, const std::string &value) : name_(name) {
    if (const char *old = std::getenv(name))
      old_ = old;
    ::setenv(name, value.c_str(), 1);
  }
  ~ScopedEnvironment() {
    if (old_)
      ::setenv(name_, old_->c_str(), 1);
    else
      ::unsetenv(name_);
  }
  ScopedEnvironment(const ScopedEnvironment &) = delete;
  ScopedEnvironment &operator=(const ScopedEnvironment &) = delete;

private:
  const char *name_;
  std::optional<std::string> old_;
};

} // namespace pewter::testing
