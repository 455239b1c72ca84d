// SPDX-License-Identifier: Apache-2.0
//
// AirName: the name of an `air.*` math call in parts. `air.fast_exp.v4f32` is the operation "exp" with
// `fast`; `air.mul_hi.u.i32` the operation "mul_hi" with sign 'u'; what follows are the suffixes. The
// suffix types are not used for lowering: types come from the call. `___metal_frexp_float_pthreadint32`
// is the operation "frexp" as well.
#pragma once
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>
#include <optional>

namespace pewter::air::ir {

struct AirName {
  llvm::StringRef operation;
  bool fast = false;
  char sign = 0;                              ///< 's', 'u', or 0 where the name has none.
  llvm::SmallVector<llvm::StringRef, 6> rest; ///< The dot-separated parts after these.

  bool isUnsigned() const { return sign == 'u'; }
  bool hasSuffix(llvm::StringRef text) const;
};

/// Nothing for names of other forms.
std::optional<AirName> parseAirName(llvm::StringRef name);

} // namespace pewter::air::ir
