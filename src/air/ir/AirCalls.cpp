// SPDX-License-Identifier: Apache-2.0
#include "air/ir/AirCalls.h"
#include <llvm/IR/Attributes.h>

namespace pewter::air::ir {
using namespace llvm;

AirCall classify(StringRef name) {
  if (!name.consume_front("air."))
    return AirCall::None;
  if (name.starts_with("wg.barrier") || name.starts_with("simdgroup.barrier") ||
      name.starts_with("simdgroup_barrier") || name.starts_with("threadgroup.barrier"))
    return AirCall::Barrier;
  if (name.starts_with("simdgroup_matrix_8x8_")) {
    StringRef rest = name.substr(strlen("simdgroup_matrix_8x8_"));
    if (rest.starts_with("load"))
      return AirCall::MatrixLoad;
    if (rest.starts_with("store"))
      return AirCall::MatrixStore;
    return AirCall::MatrixValue;
  }
  if (name.starts_with("simd_") || name.starts_with("quad_") || name.starts_with("simdgroup_"))
    return AirCall::CrossLane;
  if (name.starts_with("atomic.fence"))
    return AirCall::Fence;
  if (name.starts_with("atomic."))
    return AirCall::Atomic;
  if (name.starts_with("is_function_constant_defined") ||
      name.starts_with("normalize_function_constant_predicate"))
    return AirCall::Constant;
  if (name.starts_with("os_log"))
    return AirCall::Log;
  if (name.contains("_texture_") || name.contains("_sampler") || name.contains("_depth_") ||
      name.starts_with("fence_texture") || name.starts_with("convert_sampler"))
    return AirCall::Texture;
  return AirCall::Math;
}

bool isLeftToBackEnds(AirCall call) {
  switch (call) {
  case AirCall::CrossLane:
  case AirCall::Barrier:
  case AirCall::MatrixValue:
  case AirCall::MatrixLoad:
  case AirCall::MatrixStore:
  case AirCall::Atomic:
  case AirCall::Fence:
  case AirCall::Log:
    return true;
  case AirCall::None:
  case AirCall::Math:
  case AirCall::Texture:
  case AirCall::Constant:
    return false;
  }
  return false;
}

void setCallAttributes(Function &declaration) {
  LLVMContext &context = declaration.getContext();
  AttrBuilder attributes(context);
  attributes.addAttribute(Attribute::NoUnwind);
  attributes.addAttribute(Attribute::NoCallback);
  attributes.addAttribute(Attribute::WillReturn);
  auto memory = [&](MemoryEffects effects) { attributes.addMemoryAttr(effects); };
  // A convergent call without memory effects may be moved within its block and deleted, but LLVM
  // merges two of them only inside one block, where the same lanes are active.
  switch (classify(declaration)) {
  case AirCall::None:
    return;
  case AirCall::Math:
    // A function that returns a second value through a pointer (sincos, modf, frexp) writes there.
    if (llvm::any_of(declaration.args(), [](Argument &a) { return a.getType()->isPointerTy(); }))
      memory(MemoryEffects::argMemOnly());
    else
      memory(MemoryEffects::none());
    break;
  case AirCall::Constant:
    memory(MemoryEffects::none());
    break;
  case AirCall::CrossLane:
  case AirCall::MatrixValue:
    attributes.addAttribute(Attribute::Convergent);
    memory(MemoryEffects::none());
    break;
  case AirCall::MatrixLoad:
    attributes.addAttribute(Attribute::Convergent);
    memory(MemoryEffects::argMemOnly(ModRefInfo::Ref));
    break;
  case AirCall::MatrixStore:
    attributes.addAttribute(Attribute::Convergent);
    memory(MemoryEffects::argMemOnly(ModRefInfo::Mod));
    break;
  case AirCall::Barrier:
    attributes.addAttribute(Attribute::Convergent);
    break;
  case AirCall::Atomic:
    memory(MemoryEffects::argMemOnly());
    break;
  case AirCall::Fence:
  case AirCall::Texture:
  case AirCall::Log:
    break;
  }
  declaration.setAttributes(AttributeList::get(context, AttributeList::FunctionIndex, attributes));
}

} // namespace pewter::air::ir
