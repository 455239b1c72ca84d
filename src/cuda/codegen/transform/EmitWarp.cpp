// SPDX-License-Identifier: Apache-2.0
// A shuffle moves 32 bits. Narrower values are widened, wider ones go in pieces, vectors whole when
// they fill words. Values cross lanes, poison must not: each is frozen first.
// Tested by codegen/Pipeline_test.cpp.
#include "cuda/codegen/transform/EmitWarp.h"
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

namespace pewter::cuda::codegen {
using namespace llvm;

Value *EmitWarp::lane() {
  return builder_.CreateIntrinsic(Intrinsic::nvvm_read_ptx_sreg_laneid, ArrayRef<Type *>(), ArrayRef<Value *>());
}

Value *EmitWarp::ballot(Value *predicate, Value *mask) {
  return builder_.CreateIntrinsic(Intrinsic::nvvm_vote_ballot_sync, ArrayRef<Type *>(), {mask, builder_.CreateFreeze(predicate)});
}

Value *EmitWarp::shuffleWord(Value *word, Value *source, Value *mask) {
  // The clamp operand 31 lets the source be any lane of the warp.
  return builder_.CreateIntrinsic(Intrinsic::nvvm_shfl_sync_idx_i32, ArrayRef<Type *>(), {mask, word, source, builder_.getInt32(31)});
}

Value *EmitWarp::shuffle(Value *value, Value *source, Value *mask) {
  Type *type = value->getType();
  const DataLayout &layout = builder_.GetInsertBlock()->getModule()->getDataLayout();
  if (type->isPointerTy()) {
    Value *bits = builder_.CreatePtrToInt(value, layout.getIntPtrType(type));
    return builder_.CreateIntToPtr(shuffle(bits, source, mask), type);
  }
  value = builder_.CreateFreeze(value);
  uint64_t bits = type->getPrimitiveSizeInBits();
  if (type->isVectorTy() && type->getScalarSizeInBits() == 1) {
    auto *bytes = VectorType::get(builder_.getInt8Ty(), cast<VectorType>(type));
    Value *moved = shuffle(builder_.CreateZExt(value, bytes), source, mask);
    return builder_.CreateTrunc(moved, type);
  }
  Type *integer = builder_.getIntNTy(bits);
  Value *asInteger = builder_.CreateBitCast(value, integer);
  uint64_t words = (bits + 31) / 32;
  Type *padded = builder_.getIntNTy(words * 32);
  asInteger = builder_.CreateZExt(asInteger, padded);
  Value *result = nullptr;
  for (uint64_t i = 0; i < words; ++i) {
    Value *word = builder_.CreateTrunc(builder_.CreateLShr(asInteger, 32 * i), builder_.getInt32Ty());
    Value *moved = builder_.CreateZExt(shuffleWord(word, source, mask), padded);
    moved = builder_.CreateShl(moved, 32 * i);
    result = result ? builder_.CreateOr(result, moved) : moved;
  }
  return builder_.CreateBitCast(builder_.CreateTrunc(result, integer), type);
}

Value *EmitWarp::maskFromBit(Value *word, unsigned bit) {
  // LLVM would turn shifts and masks back into a select.
  Type *i32 = builder_.getInt32Ty();
  auto *extract = InlineAsm::get(FunctionType::get(i32, {i32}, false),
                                 fmt::format("bfe.s32 $0, $1, {}, 1;", bit), "=r,r", false);
  return builder_.CreateCall(extract, {word});
}

Value *EmitWarp::choose(Value *mask, Value *a, Value *b) {
  Type *type = a->getType();
  Type *integer = builder_.getIntNTy(unsigned(type->getPrimitiveSizeInBits()));
  Value *wide = builder_.CreateSExtOrTrunc(mask, integer);
  Value *ofA = builder_.CreateAnd(builder_.CreateBitCast(a, integer), wide);
  Value *ofB = builder_.CreateAnd(builder_.CreateBitCast(b, integer), builder_.CreateNot(wide));
  return builder_.CreateBitCast(builder_.CreateOr(ofA, ofB), type);
}

} // namespace pewter::cuda::codegen
