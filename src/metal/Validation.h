// SPDX-License-Identifier: Apache-2.0
//
// Reports misuse of the API (the policy stands in include/Pewter/Pewter.hpp).
#pragma once
#include "base/Error.h"

namespace pewter::metal {

/// Hands a message to the installed handler; aborts if the toggle abort_on_misuse is on.
void reportMisuse(const Error &error);

/// For calls that belong to no command buffer.
template <class... Args> void misuse(fmt::format_string<Args...> format, Args &&...args) {
  reportMisuse(Error(ErrorKind::Validation, fmt::format(format, std::forward<Args>(args)...)));
}
/// A valid call that Pewter does not do.
template <class... Args> void unsupported(fmt::format_string<Args...> format, Args &&...args) {
  reportMisuse(Error(ErrorKind::Unsupported, fmt::format(format, std::forward<Args>(args)...)));
}

} // namespace pewter::metal
