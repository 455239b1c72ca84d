// SPDX-License-Identifier: Apache-2.0
//
// The MSL standard library that is built into libpewter-compiler. Read-only; any thread.
#pragma once
#include "msl/frontend/Session.h"

namespace pewter::msl {

Prelude embeddedPrelude();

} // namespace pewter::msl
