// SPDX-License-Identifier: Apache-2.0
//
// The oracle: a canonical kernel compiled as it stands, for one lane, with the convention of
// cpu/abi/OracleAbi.h. What every vector form of the kernel is compared with, so it is made to be
// obviously right: no optimisation, no analysis but the order of the blocks. Fast-math permissions
// are dropped: the result is the strict one. Slow; for tests.
#pragma once
#include "air/ir/Canonicalize.h"
#include "cpu/codegen/target/GeneratedKernel.h"

namespace pewter::cpu::codegen {

/// Errors name the kernel and the call that the oracle does not know.
Result<GeneratedKernel> generateOracle(air::ir::CanonicalKernel kernel);

} // namespace pewter::cpu::codegen
