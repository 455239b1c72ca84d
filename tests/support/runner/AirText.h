// SPDX-License-Identifier: Apache-2.0
//
// Kernels written as LLVM text in a test: parameters with their metadata, a body, and the case that
// runs it.
//
//   auto test = airKernel({device("out", 0), builtin("%lane", "i32", "thread_index_in_simdgroup")},
//                         "%p = getelementptr i32, ptr addrspace(1) %out, ...");
#pragma once
#include "runner/Executors.h"

namespace pewter::testing {

struct AirParameter {
  std::string declaration; ///< "ptr addrspace(1) %out"
  std::string metadata;    ///< What follows the parameter index in its node.
};

AirParameter device(const std::string &name, uint32_t slot);
AirParameter constant(const std::string &name, uint32_t slot);
AirParameter threadgroup(const std::string &name, uint32_t slot);
AirParameter builtin(const std::string &name, const std::string &type, const std::string &kind);

/// `globals` stands before the function: variables and declarations. Every air function that is
/// called must be declared there; #0 is "convergent nounwind".
KernelCase airKernel(const std::vector<AirParameter> &parameters, const std::string &body,
                     const std::string &globals = "");

/// Bitcode of LLVM text; a parse error ends the test program with the message.
std::shared_ptr<const Bytes> bitcodeOf(const std::string &text);

} // namespace pewter::testing
