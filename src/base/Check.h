// SPDX-License-Identifier: Apache-2.0
//
// Invariants. PEWTER_CHECK is always on and guards memory safety; PEWTER_ASSERT exists in debug
// builds only and never becomes a promise to the optimiser; PEWTER_UNREACHABLE always traps. None
// of them is for what a user can cause: that is an Error.
#pragma once

namespace pewter {
[[noreturn]] void checkFailed(const char *expression, const char *file, int line);
}

#define PEWTER_CHECK(condition)                                                                    \
  do {                                                                                             \
    if (!(condition)) [[unlikely]]                                                                 \
      ::pewter::checkFailed(#condition, __FILE__, __LINE__);                                       \
  } while (false)

#ifdef NDEBUG
#define PEWTER_ASSERT(condition) static_cast<void>(sizeof(!(condition)))
#else
#define PEWTER_ASSERT(condition) PEWTER_CHECK(condition)
#endif

#define PEWTER_UNREACHABLE() ::pewter::checkFailed("unreachable", __FILE__, __LINE__)
