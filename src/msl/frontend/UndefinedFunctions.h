// SPDX-License-Identifier: Apache-2.0
//
// Functions that a program calls and does not define. Whether that is an error is known only when a kernel
// is lowered: it may not reach the call, and a library to link against may have the function. By then the
// AST is gone, hence the message is made here.
#pragma once
#include "msl/frontend/KernelTable.h"

namespace pewter::msl {

/// By symbol; empty, at no cost, for a module without such functions.
std::map<std::string, UndefinedFunction>
findUndefined(clang::ASTContext &context, const std::vector<clang::Decl *> &declarations,
              clang::CodeGenerator &generator);

} // namespace pewter::msl
