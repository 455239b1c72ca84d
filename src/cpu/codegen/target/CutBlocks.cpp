// SPDX-License-Identifier: Apache-2.0
//
// A value that crosses a cut is a virtual register, and what is selected together must be in one block. So a cut
// is where least crosses, among the places that its distance from the last one allows. An address that crosses
// counts for more: a gather whose base is in another block is given a full address for each lane.
//
// Tested by CutBlocks_test.cpp.
#include "cpu/codegen/target/CutBlocks.h"
#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Instructions.h>
#include <vector>

using namespace llvm;

namespace pewter::cpu::codegen {
namespace {

unsigned costOfCrossing(const Instruction &value) {
  if (isa<GetElementPtrInst>(value))
    return 64;
  auto *type = dyn_cast<FixedVectorType>(value.getType());
  return type ? 1 + type->getPrimitiveSizeInBits().getFixedValue() / 512 : 1;
}

/// What crosses the place before each instruction, by the registers that it takes. What leaves the block would cross
/// the places behind it anyhow.
std::vector<unsigned> crossings(ArrayRef<Instruction *> order) {
  DenseMap<const Instruction *, unsigned> places;
  for (unsigned i = 0; i < order.size(); ++i)
    places[order[i]] = i;
  std::vector<int> changes(order.size() + 1, 0);
  for (unsigned i = 0; i < order.size(); ++i) {
    unsigned last = i;
    for (const User *user : order[i]->users())
      if (auto place = places.find(cast<Instruction>(user)); place != places.end())
        last = std::max(last, place->second);
    const int cost = int(costOfCrossing(*order[i]));
    changes[i + 1] += cost;
    changes[last + 1] -= cost;
  }
  std::vector<unsigned> result;
  int sum = 0;
  for (unsigned i = 0; i < order.size(); ++i)
    result.push_back(unsigned(sum += changes[i]));
  return result;
}

} // namespace

bool cutBlocks(Function &function, unsigned longest, unsigned length) {
  SmallVector<BasicBlock *> blocks;
  for (BasicBlock &block : function)
    if (block.size() > longest)
      blocks.push_back(&block);
  bool isChanged = false;
  for (BasicBlock *block : blocks) {
    std::vector<Instruction *> order;
    size_t last = 0; // A variable of the entry block stays there, or it would be made at run time.
    for (Instruction &instruction : *block) {
      order.push_back(&instruction);
      if (isa<AllocaInst>(instruction) || isa<PHINode>(instruction))
        last = order.size();
    }
    const std::vector<unsigned> costs = crossings(order);
    while (order.size() - last > 2 * size_t(length)) {
      auto from = costs.begin() + ptrdiff_t(last + length), to = from + ptrdiff_t(length);
      last = size_t(std::min_element(from, to) - costs.begin());
      block = block->splitBasicBlock(order[last]);
      isChanged = true;
    }
  }
  return isChanged;
}

} // namespace pewter::cpu::codegen
