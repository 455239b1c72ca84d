// SPDX-License-Identifier: Apache-2.0
//
// The dot product of four bytes as the two halves of the code generator hand it on: a call of
// pewter.dot.SIGNS.TYPE(a, b, sum) on words of four bytes each, or on vectors of them, with no effects. SIGNS
// says how the bytes of a and of b are widened to 32 bits: "us", "ss" or "uu". The sum wraps around.
#pragma once
#include <string_view>

namespace pewter::cpu {

inline constexpr std::string_view kDotPrefix = "pewter.dot.";

} // namespace pewter::cpu
