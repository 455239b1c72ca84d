// SPDX-License-Identifier: Apache-2.0
#include "compiler/Compiler.h"

extern "C" const pewter::compiler::EntryPoints *pewterCompilerEntryPoints() {
  static const pewter::compiler::EntryPoints points{"another-build", nullptr, nullptr,
                                                    nullptr,         nullptr, nullptr};
  return &points;
}
