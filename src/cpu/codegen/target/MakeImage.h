// SPDX-License-Identifier: Apache-2.0
//
// makeImage: from a generated kernel to the image that the CPU device maps and runs. The kernel's
// module is consumed. Any thread.
#pragma once
#include "cpu/abi/KernelImage.h"
#include "cpu/codegen/target/GeneratedKernel.h"
#include "cpu/codegen/target/Target.h"

namespace pewter::cpu::codegen {

Result<KernelImage> makeImage(GeneratedKernel kernel, compiler::TargetKind kind,
                              const compiler::ThreadgroupShape &shape,
                              llvm::CodeGenOptLevel level = llvm::CodeGenOptLevel::Default);

} // namespace pewter::cpu::codegen
