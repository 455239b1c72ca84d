// SPDX-License-Identifier: Apache-2.0
#include "pewter/Commands.h"
#include <cstdio>

namespace pewter::tools {

int report(const Result<void> &result) {
  if (result)
    return 0;
  std::fprintf(stderr, "pewter: %s\n", result.error().describe().c_str());
  return 1;
}

} // namespace pewter::tools
