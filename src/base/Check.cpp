// SPDX-License-Identifier: Apache-2.0
#include "base/Check.h"
#include <cstdio>
#include <cstdlib>

namespace pewter {

void checkFailed(const char *expression, const char *file, int line) {
  std::fprintf(stderr, "pewter: %s:%d: check failed: %s\n", file, line, expression);
  std::abort();
}

} // namespace pewter
