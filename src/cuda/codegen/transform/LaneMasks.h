// SPDX-License-Identifier: Apache-2.0
//
// LaneMasks: which lanes make each SIMD-group operation together, as a value that the program computes.
// A warp's threads need not come together again where lanes of a SIMD group do, and asking which of them
// happen to be active gives what the hardware did. So where lanes may come apart the control flow is
// structured first (LLVM's StructurizeCFG: every branch then has a place where exactly its lanes meet),
// and masks follow it: a ballot on the way into a branch, the mask from before it where it ends, a phi
// around a loop. The threads of such a mask all come to the operation, so it may wait for them.
//
// Kernels whose operations all lanes reach together, which are most, keep their control flow and get
// constants. Must run after inlining and before optimisation, while the operations are calls of AIR's.
#pragma once
#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PassManager.h>

namespace pewter::cuda::codegen {

struct LaneMask {
  llvm::Value *active;  ///< i32: the lanes that take part. Defined before the operation.
  llvm::Value *waited;  ///< i32: what the instruction waits for: the same, or all lanes, where those that do
                        ///< not exist are not waited for.
};

/// A mask for each SIMD-group operation of the kernel; may change its control flow.
llvm::DenseMap<llvm::CallInst *, LaneMask> computeLaneMasks(llvm::Function &kernel,
                                                            llvm::FunctionAnalysisManager &analyses);

} // namespace pewter::cuda::codegen
