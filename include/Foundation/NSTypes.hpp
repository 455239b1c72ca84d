// SPDX-License-Identifier: Apache-2.0
//
// Numbers in Foundation's spelling.
#pragma once
#include "NSDefines.hpp"
#include <cstdint>

using CFTimeInterval = double;

namespace NS {

using TimeInterval = double;
using Integer = std::intptr_t;
using UInteger = std::uintptr_t;

const Integer IntegerMax = INTPTR_MAX;
const Integer IntegerMin = INTPTR_MIN;
const UInteger UIntegerMax = UINTPTR_MAX;

struct OperatingSystemVersion {
  Integer majorVersion;
  Integer minorVersion;
  Integer patchVersion;
} _NS_PACKED;

} // namespace NS
