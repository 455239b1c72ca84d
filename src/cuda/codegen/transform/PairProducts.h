// SPDX-License-Identifier: Apache-2.0
//
// PairProducts: products of 8 x 8 matrices as the matrix units take them: two below each other and two behind each
// other are one mma.m16n8k16, two below each other one m16n8k8, a single one half of that. Products are calls
// until then (emitProduct), so that LLVM unrolls loops over them first.
//
// After LLVM's own pipeline. The sum of an mma is rounded in its own way, so only fast math gets here.
#pragma once
#include <llvm/IR/IRBuilder.h>

namespace pewter::cuda::codegen {

/// sum + a * b for fragments in the layout of the matrix units: a and the sum by rows, b by columns; <2 x half> or
/// <2 x bfloat>, and <2 x float>.
llvm::Value *emitProduct(llvm::IRBuilder<> &builder, llvm::Value *a, llvm::Value *b, llvm::Value *sum);

void pairProducts(llvm::Module &module);

} // namespace pewter::cuda::codegen
