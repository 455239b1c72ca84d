// SPDX-License-Identifier: Apache-2.0
//
// Stops macros that multiply. An argument is expanded whole before it is put into a macro's body, so that
// `TEN(TEN(TEN(...)))` fills the memory before the first token comes out to be counted. Here each call is
// judged before it is expanded: the tokens that a macro gives are a linear function of the tokens that its
// arguments give. A call that is too large is an error and gives nothing.
#pragma once
#include <clang/Lex/PPCallbacks.h>
#include <memory>

namespace clang {
class Preprocessor;
}

namespace pewter::msl {

std::unique_ptr<clang::PPCallbacks> makeMacroGrowth(clang::Preprocessor &preprocessor,
                                                    size_t mostTokens);

} // namespace pewter::msl
