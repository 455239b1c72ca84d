// SPDX-License-Identifier: Apache-2.0
//
// Which family of machine code this processor runs best: AVX-512 (x86-64-v4), AVX2 (v3), or the
// baseline (v2). PEWTER_CPU_TARGET (avx512, avx2, baseline) overrides it, for tests and
// comparisons; a family that the processor does not have is refused with a message.
#pragma once
#include "compiler/Compiler.h"
#include <string_view>

namespace pewter::cpu {

std::string_view nameOf(compiler::TargetKind target);
/// Whether this processor can run code of the family.
bool canRun(compiler::TargetKind target);
/// The best family, or the one that the environment asks for.
compiler::TargetKind chooseTarget();
/// The processor's name as it gives it, such as "AMD EPYC 7763".
std::string processorName();

} // namespace pewter::cpu
