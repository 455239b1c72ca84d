// SPDX-License-Identifier: Apache-2.0
//
// Vectors are cut into registers. What depends on one operand only (its offset, its sum, its even and odd bytes)
// is written for each call; machine passes find what is common and what does not change in a loop.
// Tested by LowerDots_test.cpp.
#include "cpu/codegen/target/LowerDots.h"
#include "cpu/abi/DotAbi.h"
#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsX86.h>

using namespace llvm;

namespace pewter::cpu::codegen {
namespace {

struct Signs {
  bool a, b;
};

class DotBuilder {
public:
  DotBuilder(IRBuilder<> &builder, Signs signs) : b_(builder), signs_(signs) {}

  Value *plain(Value *a, Value *b, Value *sum) {
    for (unsigned i = 0; i < 4; ++i)
      sum = b_.CreateAdd(sum, b_.CreateMul(byte(a, i, signs_.a), byte(b, i, signs_.b)));
    return sum;
  }

  /// One register.
  Value *pairs(Value *a, Value *b, Value *sum) {
    unsigned words = elements(sum);
    Type *halves = FixedVectorType::get(b_.getInt16Ty(), 2 * words);
    Intrinsic::ID id = words == 16  ? Intrinsic::x86_avx512_pmaddw_d_512
                       : words == 8 ? Intrinsic::x86_avx2_pmadd_wd
                                    : Intrinsic::x86_sse2_pmadd_wd;
    a = b_.CreateBitCast(a, halves);
    b = b_.CreateBitCast(b, halves);
    for (bool isOdd : {false, true}) {
      Value *products = b_.CreateIntrinsic(id, {half(a, isOdd, signs_.a), half(b, isOdd, signs_.b)});
      sum = b_.CreateAdd(sum, products);
    }
    return sum;
  }

  /// One register.
  Value *bytes(Value *a, Value *b, Value *sum) {
    if (signs_.a) { // And b: a call has the unsigned side first.
      Value *product = multiply(b_.CreateXor(a, all(sum, 0x80)), b, sum);
      return b_.CreateSub(product, multiply(all(sum, 0x80), b, Constant::getNullValue(sum->getType())));
    }
    if (signs_.b)
      return multiply(a, b, sum);
    sum = multiply(a, b_.CreateXor(b, all(sum, 0x80)), sum);
    for (int i = 0; i < 2; ++i) // 128 does not fit a signed byte.
      sum = multiply(a, all(sum, 0x40), sum);
    return sum;
  }

private:
  static unsigned elements(const Value *value) { return cast<FixedVectorType>(value->getType())->getNumElements(); }

  Value *all(const Value *like, uint8_t byte) { return ConstantInt::get(like->getType(), byte * 0x01010101ull); }

  Value *byte(Value *word, unsigned index, bool isSigned) {
    if (isSigned)
      return b_.CreateAShr(index == 3 ? word : b_.CreateShl(word, 24 - 8 * index), 24);
    return b_.CreateAnd(b_.CreateLShr(word, 8 * index), 255);
  }

  /// The even or odd bytes of words as 16-bit numbers.
  Value *half(Value *words, bool isOdd, bool isSigned) {
    if (isOdd)
      return isSigned ? b_.CreateAShr(words, 8) : b_.CreateLShr(words, 8);
    return isSigned ? b_.CreateAShr(b_.CreateShl(words, 8), 8) : b_.CreateAnd(words, 255);
  }

  Value *multiply(Value *a, Value *b, Value *sum) {
    unsigned words = elements(sum);
    Type *type = FixedVectorType::get(b_.getInt8Ty(), 4 * words);
    Intrinsic::ID id = words == 16  ? Intrinsic::x86_avx512_vpdpbusd_512
                       : words == 8 ? Intrinsic::x86_avx512_vpdpbusd_256
                                    : Intrinsic::x86_avx512_vpdpbusd_128;
    return b_.CreateIntrinsic(id, {sum, b_.CreateBitCast(a, type), b_.CreateBitCast(b, type)});
  }

  IRBuilder<> &b_;
  Signs signs_;
};

Value *lower(CallInst &call, DotSupport support, unsigned registerWords) {
  IRBuilder<> builder(&call);
  StringRef signs = call.getCalledFunction()->getName().drop_front(kDotPrefix.size());
  DotBuilder dots(builder, {signs[0] == 's', signs[1] == 's'});
  Value *a = call.getArgOperand(0), *b = call.getArgOperand(1), *sum = call.getArgOperand(2);
  auto *type = dyn_cast<FixedVectorType>(call.getType());
  unsigned count = type ? type->getNumElements() : 1, piece = std::min(count, registerWords);
  if (support == DotSupport::Plain || piece < 4 || !isPowerOf2_32(piece) || count % piece != 0)
    return dots.plain(a, b, sum);
  SmallVector<Value *, 8> parts;
  for (unsigned first = 0; first < count; first += piece) {
    auto cut = [&](Value *value) {
      if (count == piece)
        return value;
      if (Value *number = getSplatValue(value)) // Not a piece of a wide vector: a load then spreads it.
        return builder.CreateVectorSplat(piece, number);
      return builder.CreateShuffleVector(value, to_vector<16>(seq<int>(int(first), int(first + piece))));
    };
    parts.push_back(support == DotSupport::Bytes ? dots.bytes(cut(a), cut(b), cut(sum))
                                                 : dots.pairs(cut(a), cut(b), cut(sum)));
  }
  return concatenateVectors(builder, parts);
}

} // namespace

DotSupport dotSupport(compiler::TargetKind kind) {
  switch (kind) {
  case compiler::TargetKind::CpuAvx512Vnni:
    return DotSupport::Bytes;
  case compiler::TargetKind::CpuAvx512:
  case compiler::TargetKind::CpuAvx2:
  case compiler::TargetKind::CpuBaseline:
    return DotSupport::Pairs;
  default:
    return DotSupport::Plain;
  }
}

bool lowerDots(Module &module, DotSupport support, unsigned vectorBits) {
  SmallVector<Function *> functions;
  for (Function &function : module)
    if (function.isDeclaration() && function.getName().starts_with(kDotPrefix))
      functions.push_back(&function);
  for (Function *function : functions) {
    for (User *user : make_early_inc_range(function->users())) {
      auto *call = cast<CallInst>(user);
      call->replaceAllUsesWith(lower(*call, support, vectorBits / 32));
      call->eraseFromParent();
    }
    function->eraseFromParent();
  }
  return !functions.empty();
}

} // namespace pewter::cpu::codegen
