// SPDX-License-Identifier: Apache-2.0
// Any bytes are refused or are exactly the encoding of what they decode to.
#include "air/Reflection.h"
#include "base/Check.h"
#include <algorithm>

using namespace pewter;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const ByteView bytes = std::as_bytes(std::span(data, size));
  if (auto reflection = air::decodeReflection(bytes))
    PEWTER_CHECK(std::ranges::equal(air::encode(*reflection), bytes));
  return 0;
}
