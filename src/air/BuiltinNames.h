// SPDX-License-Identifier: Apache-2.0
//
// The AIR names of a kernel's by-value inputs ("air.thread_position_in_grid"). Values; any thread.
#pragma once
#include "air/Reflection.h"
#include <string_view>

namespace pewter::air {

/// Builtin::None when `airName` is not one of them. Older spellings are accepted.
Builtin builtinNamed(std::string_view airName);
/// The current spelling; "" for None.
std::string_view airNameOf(Builtin builtin);

} // namespace pewter::air
