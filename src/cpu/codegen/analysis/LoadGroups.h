// SPDX-License-Identifier: Apache-2.0
//
// LoadGroups: loads of one block that read neighbouring bytes of each lane, with no write between
// them: the fields and elements of a quantised block. They are fetched together, as 32-bit words, at
// the first of them; 8- and 16-bit loads one by one would each be a gather. A value.
#pragma once
#include "cpu/codegen/analysis/Uniformity.h"

namespace pewter::cpu::codegen {

struct LoadGroup {
  const llvm::LoadInst *first = nullptr; ///< In program order: where the group is fetched.
  int64_t firstOffset = 0;               ///< Its offset from the group's root.
  int64_t begin = 0, end = 0;            ///< Bytes of each lane, from the root.
  std::vector<std::pair<const llvm::LoadInst *, int64_t>> members;
};

/// The groups of `block` with more than one member or with small elements.
std::vector<LoadGroup> findLoadGroups(const llvm::BasicBlock &block, const Uniformity &uniformity);

} // namespace pewter::cpu::codegen
