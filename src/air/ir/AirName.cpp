// SPDX-License-Identifier: Apache-2.0
#include "air/ir/AirName.h"
#include <llvm/ADT/STLExtras.h>

namespace pewter::air::ir {
using namespace llvm;

bool AirName::hasSuffix(StringRef text) const { return is_contained(rest, text); }

std::optional<AirName> parseAirName(StringRef name) {
  AirName parsed;
  if (name.consume_front("___metal_")) {
    parsed.fast = name.consume_front("fast_");
    auto [operation, types] = name.split('_');
    parsed.operation = operation;
    types.split(parsed.rest, '_');
    return parsed;
  }
  if (!name.consume_front("air."))
    return std::nullopt;
  name.split(parsed.rest, '.');
  parsed.operation = parsed.rest.front();
  parsed.fast = parsed.operation.consume_front("fast_");
  parsed.rest.erase(parsed.rest.begin());
  if (!parsed.rest.empty() && (parsed.rest[0] == "s" || parsed.rest[0] == "u")) {
    parsed.sign = parsed.rest[0][0];
    parsed.rest.erase(parsed.rest.begin());
  }
  return parsed;
}

} // namespace pewter::air::ir
