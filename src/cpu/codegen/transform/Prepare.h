// SPDX-License-Identifier: Apache-2.0
//
// prepareKernel: brings a canonical kernel into the form that the analyses and the emitter need:
// natural loops with one latch and closed SSA form, no switch, no intrinsic that returns a struct;
// built-in values that are known are literals, the others carry their range.
#pragma once
#include "air/Reflection.h"
#include "cpu/codegen/analysis/LaneModel.h"
#include <llvm/IR/Function.h>

namespace pewter::cpu::codegen {

void prepareKernel(llvm::Function &kernel, const air::KernelReflection &reflection,
                   const LaneModel &model);

} // namespace pewter::cpu::codegen
