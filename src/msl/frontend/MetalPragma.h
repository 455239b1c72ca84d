// SPDX-License-Identifier: Apache-2.0
//
// `#pragma METAL fp math_mode(safe|relaxed|fast)` and `fp contract(off|on|fast)`: entered again as
// the clang pragmas of the same meaning. `#pragma METAL internals` has no meaning here and is
// accepted.
#pragma once
#include <clang/Lex/Pragma.h>

namespace pewter::msl {

/// The handler; the preprocessor that it is added to owns it.
clang::PragmaHandler *makeMetalPragma();

} // namespace pewter::msl
