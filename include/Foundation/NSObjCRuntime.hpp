// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "NSDefines.hpp"
#include "NSTypes.hpp"

namespace NS {

enum ComparisonResult : Integer {
  OrderedAscending = -1,
  OrderedSame = 0,
  OrderedDescending = 1,
};

const Integer NotFound = IntegerMax;

} // namespace NS
