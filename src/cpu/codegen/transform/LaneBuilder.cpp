// SPDX-License-Identifier: Apache-2.0
//
// Splats, masks and shuffles over all lanes. De-interleaving runs in log2(count) rounds of even/odd
// splits of register pairs: every shuffle has two register-sized inputs and one output.
// Tested through tests/kernels.
#include "cpu/codegen/transform/LaneBuilder.h"
#include <llvm/IR/Constants.h>
#include <numeric>

using namespace llvm;

namespace pewter::cpu::codegen {

Constant *LaneBuilder::patternVector(const LanePattern *pattern, Type *element, int64_t addend) {
  SmallVector<Constant *> elements;
  for (unsigned lane = 0; lane < lanes_; ++lane)
    elements.push_back(ConstantInt::get(
        element, uint64_t(addend) + (pattern ? uint64_t((*pattern)[lane]) : 0), /*IsSigned=*/true,
        /*ImplicitTrunc=*/true));
  return ConstantVector::get(elements);
}

bool LaneBuilder::isFull(const Value *bits) {
  auto *constant = dyn_cast<Constant>(bits);
  return constant && constant->isAllOnesValue();
}

Value *LaneBuilder::bitsOf(Value *vector) {
  if (auto *constant = dyn_cast<Constant>(vector)) {
    APInt bits(lanes_, 0);
    bool known = true;
    for (unsigned lane = 0; lane < lanes_; ++lane) {
      Constant *element = constant->getAggregateElement(lane);
      if (auto *integer = dyn_cast_or_null<ConstantInt>(element))
        bits.setBitVal(lane, integer->isOne());
      else
        known &= isa_and_nonnull<UndefValue>(element);
    }
    if (known)
      return ConstantInt::get(bitsType(), bits);
  }
  return CreateBitCast(CreateFreeze(vector), bitsType());
}

Value *LaneBuilder::vectorOfBits(Value *bits) {
  if (auto *constant = dyn_cast<ConstantInt>(bits)) {
    SmallVector<Constant *> elements;
    for (unsigned lane = 0; lane < lanes_; ++lane)
      elements.push_back(getInt1(constant->getValue()[lane]));
    return ConstantVector::get(elements);
  }
  return CreateBitCast(bits, maskType());
}

Value *LaneBuilder::bits(LaneMask &mask) {
  if (!mask.bits)
    mask.bits = bitsOf(mask.vector);
  return mask.bits;
}

Value *LaneBuilder::vector(LaneMask &mask) {
  if (!mask.vector)
    mask.vector = vectorOfBits(mask.bits);
  return mask.vector;
}

Value *LaneBuilder::any(Value *bits) {
  return CreateICmpNE(bits, ConstantInt::get(bitsType(), 0));
}

Value *LaneBuilder::lowestLane(Value *bits) {
  return CreateZExtOrTrunc(CreateBinaryIntrinsic(Intrinsic::cttz, bits, getTrue()), getInt32Ty());
}

Value *LaneBuilder::highestLane(Value *bits) {
  Value *zeros = CreateBinaryIntrinsic(Intrinsic::ctlz, bits, getTrue());
  return CreateSub(getInt32(lanes_ - 1), CreateZExtOrTrunc(zeros, getInt32Ty()));
}

Value *LaneBuilder::shuffleLanes(Value *vector, const std::function<int(unsigned)> &sourceOf) {
  SmallVector<int> mask;
  bool identity = true;
  for (unsigned lane = 0; lane < lanes_; ++lane) {
    mask.push_back(sourceOf(lane));
    identity &= mask.back() == int(lane);
  }
  return identity ? vector : CreateShuffleVector(vector, mask);
}

static unsigned elementCount(Value *vector) {
  return cast<FixedVectorType>(vector->getType())->getNumElements();
}

Value *LaneBuilder::concatenate(ArrayRef<Value *> vectors) {
  Values level(vectors.begin(), vectors.end());
  while (level.size() > 1) {
    Values next;
    for (unsigned i = 0; i + 1 < level.size(); i += 2) {
      unsigned left = elementCount(level[i]), right = elementCount(level[i + 1]);
      unsigned width = std::max(left, right);
      auto widened = [&](Value *value, unsigned count) {
        if (count == width)
          return value;
        SmallVector<int> mask(width, -1);
        std::iota(mask.begin(), mask.begin() + count, 0);
        return CreateShuffleVector(value, mask);
      };
      SmallVector<int> mask;
      for (unsigned k = 0; k < left; ++k)
        mask.push_back(int(k));
      for (unsigned k = 0; k < right; ++k)
        mask.push_back(int(width + k));
      next.push_back(
          CreateShuffleVector(widened(level[i], left), widened(level[i + 1], right), mask));
    }
    if (level.size() % 2)
      next.push_back(level.back());
    level = std::move(next);
  }
  return level[0];
}

Value *LaneBuilder::slice(Value *vector, unsigned begin, unsigned count) {
  if (begin == 0 && count == elementCount(vector))
    return vector;
  SmallVector<int> mask(count);
  std::iota(mask.begin(), mask.end(), int(begin));
  return CreateShuffleVector(vector, mask);
}

unsigned LaneBuilder::registerElements(Type *element) const {
  unsigned bytes = std::max(1u, element->getScalarSizeInBits() / 8);
  return std::min(lanes_, std::max(4u, registerBytes_ / bytes));
}

// Eight lanes of four 32-bit elements, as four registers of lane pairs (0,4), (1,5), (2,6), (3,7):
// two rounds of shuffles that stay inside 128-bit halves.
LaneBuilder::Values LaneBuilder::transpose4(const Values &r) {
  auto shuffle = [&](Value *a, Value *b, ArrayRef<int> mask) {
    return CreateShuffleVector(a, b, mask);
  };
  const int low[] = {0, 8, 1, 9, 4, 12, 5, 13}, high[] = {2, 10, 3, 11, 6, 14, 7, 15};
  const int even[] = {0, 1, 8, 9, 4, 5, 12, 13}, odd[] = {2, 3, 10, 11, 6, 7, 14, 15};
  Value *t0 = shuffle(r[0], r[1], low), *t1 = shuffle(r[0], r[1], high);
  Value *t2 = shuffle(r[2], r[3], low), *t3 = shuffle(r[2], r[3], high);
  return {shuffle(t0, t2, even), shuffle(t0, t2, odd), shuffle(t1, t3, even),
          shuffle(t1, t3, odd)};
}

LaneBuilder::Values LaneBuilder::deinterleaveRegisters(Values registers, unsigned count) {
  if (count == 1)
    return {concatenate(registers)};
  unsigned width = elementCount(registers[0]);
  SmallVector<int> even, odd;
  for (unsigned i = 0; i < width; ++i) {
    even.push_back(int(2 * i));
    odd.push_back(int(2 * i + 1));
  }
  Values evens, odds;
  for (unsigned i = 0; i < registers.size(); i += 2) {
    evens.push_back(CreateShuffleVector(registers[i], registers[i + 1], even));
    odds.push_back(CreateShuffleVector(registers[i], registers[i + 1], odd));
  }
  Values left = deinterleaveRegisters(evens, count / 2);
  Values right = deinterleaveRegisters(odds, count / 2);
  Values result;
  for (unsigned i = 0; i < count / 2; ++i) {
    result.push_back(left[i]);
    result.push_back(right[i]);
  }
  return result;
}

SmallVector<Value *, 4> LaneBuilder::deinterleave(Value *wide, unsigned count) {
  if (count == 1)
    return {wide};
  Type *element = cast<VectorType>(wide->getType())->getElementType();
  SmallVector<Value *, 4> result;
  if (!isPowerOf2_32(count)) {
    for (unsigned i = 0; i < count; ++i) {
      SmallVector<int> mask;
      for (unsigned lane = 0; lane < lanes_; ++lane)
        mask.push_back(int(lane * count + i));
      result.push_back(CreateShuffleVector(wide, mask));
    }
    return result;
  }
  if (count == 4 && element->getScalarSizeInBits() == 32 && registerBytes_ == 32) {
    Values columns[4];
    for (unsigned lane = 0; lane < lanes_; lane += 8) {
      Values pairs;
      for (unsigned k = 0; k < 4; ++k) {
        SmallVector<int> mask;
        for (unsigned half : {lane + k, lane + k + 4})
          for (unsigned i = 0; i < 4; ++i)
            mask.push_back(int(half * 4 + i));
        pairs.push_back(CreateShuffleVector(wide, mask));
      }
      Values done = transpose4(pairs);
      for (unsigned i = 0; i < 4; ++i)
        columns[i].push_back(done[i]);
    }
    for (Values &column : columns)
      result.push_back(concatenate(column));
    return result;
  }
  unsigned width = registerElements(element);
  Values registers;
  for (unsigned begin = 0; begin < lanes_ * count; begin += width)
    registers.push_back(slice(wide, begin, width));
  Values parts = deinterleaveRegisters(std::move(registers), count);
  result.append(parts.begin(), parts.end());
  return result;
}

// registers: `count` columns of n registers each, column after column -> one row of count * n.
LaneBuilder::Values LaneBuilder::interleaveRegisters(Values registers, unsigned count) {
  if (count == 1)
    return registers;
  // Columns i and i + count / 2 are zipped first, so that the last round puts neighbours together.
  unsigned each = registers.size() / count, width = elementCount(registers[0]);
  SmallVector<int> low, high;
  for (unsigned i = 0; i < width / 2; ++i) {
    low.append({int(i), int(width + i)});
    high.append({int(width / 2 + i), int(width + width / 2 + i)});
  }
  Values zipped;
  for (unsigned i = 0; i < count / 2; ++i)
    for (unsigned k = 0; k < each; ++k) {
      Value *left = registers[i * each + k], *right = registers[(i + count / 2) * each + k];
      zipped.push_back(CreateShuffleVector(left, right, low));
      zipped.push_back(CreateShuffleVector(left, right, high));
    }
  return interleaveRegisters(std::move(zipped), count / 2);
}

Value *LaneBuilder::interleave(ArrayRef<Value *> vectors) {
  unsigned count = vectors.size();
  if (count == 1)
    return vectors[0];
  Type *element = cast<VectorType>(vectors[0]->getType())->getElementType();
  if (!isPowerOf2_32(count)) {
    Value *all = concatenate(vectors);
    SmallVector<int> mask;
    for (unsigned lane = 0; lane < lanes_; ++lane)
      for (unsigned i = 0; i < count; ++i)
        mask.push_back(int(i * lanes_ + lane));
    return CreateShuffleVector(all, mask);
  }
  unsigned width = registerElements(element);
  Values registers;
  for (Value *vector : vectors)
    for (unsigned begin = 0; begin < lanes_; begin += width)
      registers.push_back(slice(vector, begin, width));
  return concatenate(interleaveRegisters(std::move(registers), count));
}

} // namespace pewter::cpu::codegen
