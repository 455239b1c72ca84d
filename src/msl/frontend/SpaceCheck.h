// SPDX-License-Identifier: Apache-2.0
//
// The one rule of address spaces that the target hook (AirTarget.h) gives up: a pointer or reference
// to thread memory does not accept device, constant or threadgroup memory. This looks for implicit
// conversions of that kind in the user's functions, after parsing.
#pragma once
#include "msl/frontend/Diagnostics.h"
#include <clang/AST/ASTContext.h>

namespace pewter::msl {

void checkSpaces(clang::ASTContext &context, const std::vector<clang::Decl *> &declarations,
                 Diagnostics &diagnostics);

} // namespace pewter::msl
