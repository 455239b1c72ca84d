// SPDX-License-Identifier: Apache-2.0
//
// What lanes do together, in plain C++: the meaning of each air.simd_*, air.quad_* and matrix call
// for the oracle. The order in which floats are combined is the one stated in
// cpu/codegen/Vectorize.h.
#pragma once
#include "base/Error.h"
#include <array>
#include <string>
#include <vector>

namespace pewter::testing {

enum class Format : uint8_t { None, I1, I8, I16, I32, I64, F16, BF16, F32, Address };

struct ValueType {
  Format format = Format::None;
  uint32_t count = 1;
  uint32_t elementBytes() const;
};

/// A parsed site text (cpu/abi/OracleAbi.h).
struct Site {
  std::string name; ///< "air.simd_sum.f32"
  ValueType result;
  std::vector<ValueType> operands;
};
Result<Site> parseSite(const char *text);

/// The operands and the result of one lane; null for a lane that does not take part.
struct LaneCall {
  const void *const *operands = nullptr;
  void *result = nullptr;
};

/// Computes the call for all lanes that take part. An unknown name is an error.
Result<void> evaluate(const Site &site, const std::array<LaneCall, 32> &lanes);

} // namespace pewter::testing
