// SPDX-License-Identifier: Apache-2.0
//
// The metadata of AIR kernels as plain data: `!air.kernel` nodes become a KernelReflection, gates
// ("this argument exists only if that predicate is set") are kept beside it for the specialiser.
// Nodes of a shape that is not understood become errors naming the kernel and the operand; nothing
// traps. The grammar is written down where MetadataWriter makes it.
#pragma once
#include "air/ir/AirModule.h"
#include "air/ir/Canonicalize.h"

namespace pewter::air::ir {

/// An argument that exists only when the global `predicate` holds a value other than zero.
struct ArgumentGate {
  size_t argument = 0; ///< Index in KernelReflection::arguments.
  llvm::GlobalVariable *predicate = nullptr;
};

struct KernelMetadata {
  llvm::Function *function = nullptr;
  llvm::MDNode *node = nullptr;
  KernelReflection reflection; ///< Arguments and limits; the constants are read separately.
  std::vector<ArgumentGate> gates;
};

/// True when the predicate is known to be zero: after specialisation, the argument does not exist.
bool isGateClosed(const ArgumentGate &gate);

/// Every kernel of `!air.kernel`, in order.
Result<std::vector<KernelMetadata>> readKernels(const llvm::Module &module);

/// One kernel node.
Result<KernelMetadata> readKernel(llvm::MDNode &node);

/// A function for other modules to call: of `!air.visible`.
struct CalleeMetadata {
  llvm::Function *function = nullptr;
  std::string symbol;    ///< As callers know it; the function's own name where nothing is said.
  std::string signature; ///< "" where nothing is said.
};
std::vector<CalleeMetadata> readCallees(const llvm::Module &module);

/// Counts barriers, SIMD-group operations and threadgroup variables in what `kernel` can reach.
void readFeatures(const llvm::Function &kernel, KernelReflection &reflection);

} // namespace pewter::air::ir
