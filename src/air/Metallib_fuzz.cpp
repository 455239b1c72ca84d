// SPDX-License-Identifier: Apache-2.0
// Any bytes are refused or give a library whose views lie inside them, which written and read again
// is the same library.
#include "air/Metallib.h"
#include "base/Check.h"
#include <algorithm>

using namespace pewter;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const ByteView bytes = std::as_bytes(std::span(data, size));
  auto library = air::readMetallib(bytes);
  if (!library)
    return 0;
  for (const air::MetallibFunction &function : library->functions) {
    PEWTER_CHECK(function.module.empty() ||
                 (function.module.data() >= bytes.data() &&
                  function.module.data() + function.module.size() <= bytes.data() + bytes.size()));
    static_cast<void>(air::unwrapBitcode(function.module));
  }
  auto written = air::writeMetallib(*library);
  if (!written)
    return 0;
  auto again = air::readMetallib(*written);
  PEWTER_CHECK(again.has_value());
  PEWTER_CHECK(again->functions.size() == library->functions.size());
  for (size_t i = 0; i < again->functions.size(); ++i) {
    PEWTER_CHECK(again->functions[i].name == library->functions[i].name);
    PEWTER_CHECK(again->functions[i].constants == library->functions[i].constants);
    PEWTER_CHECK(air::hashMatches(again->functions[i]));
  }
  return 0;
}
