// SPDX-License-Identifier: Apache-2.0
//
// The arguments of one kernel: what each parameter is bound to, and the rules for that.
#pragma once
#include "msl/frontend/KernelTable.h"

namespace pewter::msl {

/// Fills the arguments and gates of `entry`; reports what MSL does not allow.
void readArguments(clang::ASTContext &context, const clang::FunctionDecl &kernel,
                   clang::CodeGenerator &generator, Diagnostics &diagnostics, KernelEntry &entry);

} // namespace pewter::msl
