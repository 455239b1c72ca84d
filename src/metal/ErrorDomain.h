// SPDX-License-Identifier: Apache-2.0
//
// Turns errors into NS::Error: the only place that knows Metal's domains and codes.
#pragma once
#include "base/Error.h"
#include <Foundation/NSError.hpp>

namespace pewter::metal {

enum class ErrorDomain {
  Library,
  Pipeline,
  CommandBuffer,
  BinaryArchive,
  Counter,
  LogState,
  Capture
};

/// An error that the caller owns.
NS::Error *newError(ErrorDomain domain, const Error &error);
/// Stores an autoreleased error where the caller of the API asked for one.
void setError(NS::Error **out, ErrorDomain domain, const Error &error);

} // namespace pewter::metal
