// SPDX-License-Identifier: Apache-2.0
//
// Moves between lanes. With a distance that is known at compile time a move is one shuffle; else the
// vector goes to the stack and comes back by a gather. A lane without a source keeps its own value,
// as Metal defines it; reading from an inactive lane gives whatever that lane holds.
#include "cpu/codegen/transform/KernelEmitter.h"
#include <llvm/IR/Constants.h>

using namespace llvm;

namespace pewter::cpu::codegen {

/// Lane l takes element sources[l] of vector, or element sources[l] - lanes of filler.
Value *KernelEmitter::shuffleLiteral(Value *vector, Value *filler, const LanePattern &sources) {
  SmallVector<int> mask;
  for (unsigned lane = 0; lane < lanes(); ++lane)
    mask.push_back(int(sources[lane]));
  if (filler)
    return builder_.CreateShuffleVector(vector, filler, mask);
  return builder_.shuffleLanes(vector, [&](unsigned lane) { return mask[lane]; });
}

/// `sources` is <lanes x i32>, each within the vector.
Value *KernelEmitter::shuffleVarying(Value *vector, Value *sources) {
  Type *type = vector->getType(), *element = type->getScalarType();
  unsigned bits = element->getScalarSizeInBits();
  Type *integers = builder_.vectorOf(builder_.getIntNTy(bits));
  Value *data = bits == 1 ? vector : builder_.CreateBitCast(vector, integers);
  unsigned stored = std::max(32u, bits);
  Type *wide = builder_.vectorOf(builder_.getIntNTy(stored));
  Value *memory = spill(builder_.CreateZExt(data, wide));
  Value *addresses = builder_.CreateGEP(
      builder_.getIntNTy(stored), memory,
      builder_.CreateSExt(sources, builder_.vectorOf(builder_.getInt64Ty())));
  Value *loaded = builder_.CreateMaskedGather(
      wide, addresses, Align(stored / 8), Constant::getAllOnesValue(builder_.maskType()),
      PoisonValue::get(wide));
  return builder_.CreateBitCast(builder_.CreateTrunc(loaded, integers), type);
}

bool KernelEmitter::emitShuffle(CallInst &call, StringRef operation, unsigned width) {
  Type *type = call.getType();
  unsigned count = componentsOf(type);
  bool merged = uniformity_.model().isMerged();
  const Value *input = call.getArgOperand(0);

  if (operation == "broadcast_first") {
    SmallVector<Value *, 4> results;
    for (unsigned i = 0; i < count; ++i) {
      Value *vector = vectorOf(input, i);
      if (width == 4 || merged) {
        // Lowest active lane of each group of lanes: a minimum over their numbers.
        LanePattern own = *uniformity_.pool().affine(1);
        Value *numbers = builder_.patternVector(&own, builder_.getInt32Ty());
        Reduction lowest;
        lowest.combine = Combine::Min;
        lowest.width = width;
        numbers = withInactive(numbers, builder_.getInt32(uint32_t(-1)));
        Value *sources = reduce(lowest, numbers, /*toScalar=*/false);
        sources = builder_.CreateAnd(sources, builder_.splat(builder_.getInt32(lanes() - 1)));
        results.push_back(shuffleVarying(vector, sources));
      } else {
        results.push_back(builder_.CreateExtractElement(
            vector, builder_.lowestLane(builder_.bits(mask_))));
      }
    }
    if (width == 4 || merged) {
      defineVectors(call, results);
      return true;
    }
    Value *whole = results[0];
    if (type->isVectorTy()) {
      whole = PoisonValue::get(type);
      for (unsigned i = 0; i < count; ++i)
        whole = builder_.CreateInsertElement(whole, results[i], i);
    }
    defineUniform(call, whole);
    return true;
  }

  bool fills = operation.starts_with("shuffle_and_fill");
  const Value *distance = call.getArgOperand(fills ? 2 : 1);
  const Shape &distanceShape = uniformity_.shapeOf(distance)[0];
  const Value *modulo = fills && call.arg_size() > 3 ? call.getArgOperand(3) : nullptr;
  unsigned segment = width;
  bool isKnown = distanceShape.constant;
  if (modulo) {
    const Shape &shape = uniformity_.shapeOf(modulo)[0];
    if (!shape.constant || !shape.isUniform() || shape.base < 1 || shape.base > 32)
      return false;
    segment = unsigned(shape.base);
  }

  if (uniformity_.isUniform(&call)) {
    if (uniformity_.isUniform(input)) {
      defineUniform(call, uniform(input));
      return true;
    }
    Value *lane = builder_.CreateZExtOrTrunc(uniform(distance), builder_.getInt32Ty());
    lane = builder_.CreateAnd(lane, 31);
    Value *whole = PoisonValue::get(type);
    for (unsigned i = 0; i < count; ++i) {
      Value *element = builder_.CreateExtractElement(vectorOf(input, i), lane);
      whole = type->isVectorTy() ? builder_.CreateInsertElement(whole, element, i) : element;
    }
    defineUniform(call, whole);
    return true;
  }

  // Source lane of lane l within its group of `width`, or -1 for none (own value or filler).
  int direction = operation.ends_with("_up") ? -1 : 1;
  enum { Absolute, Xor, Shift, Rotate } form = Absolute;
  if (operation == "shuffle_xor")
    form = Xor;
  else if (operation.contains("rotate"))
    form = Rotate;
  else if (operation.ends_with("_up") || operation.ends_with("_down"))
    form = Shift;
  else if (operation != "shuffle" && operation != "broadcast")
    return false;

  if (isKnown) {
    LanePattern distances = literalsOf(distanceShape, lanes());
    LanePattern sources(lanes());
    for (unsigned lane = 0; lane < lanes(); ++lane) {
      int64_t d = distances[lane] & 0xFFFF, own = lane % width, group = lane - own;
      int64_t inSegment = own % segment, start = own - inSegment;
      switch (form) {
      case Absolute:
        sources[lane] = group + d % width;
        break;
      case Xor:
        sources[lane] = group + (own ^ d) % width;
        break;
      case Rotate:
        sources[lane] = group + ((own + direction * d) % int64_t(width) + width) % width;
        break;
      case Shift: {
        int64_t wanted = inSegment + direction * d;
        bool inside = wanted >= 0 && wanted < int64_t(segment);
        int64_t wrapped = ((wanted % int64_t(segment)) + segment) % segment;
        sources[lane] = inside  ? group + start + wanted
                        : fills ? int64_t(lanes()) + group + start + wrapped
                                : int64_t(lane);
        break;
      }
      }
    }
    SmallVector<Value *, 4> results;
    for (unsigned i = 0; i < count; ++i)
      results.push_back(shuffleLiteral(vectorOf(input, i),
                                       fills ? vectorOf(call.getArgOperand(1), i) : nullptr,
                                       sources));
    defineVectors(call, results);
    return true;
  }

  Type *i32 = builder_.getInt32Ty();
  Value *d = builder_.CreateZExtOrTrunc(vectorOf(distance), builder_.vectorOf(i32));
  auto lanesBy = [&](auto &&valueOf) {
    LanePattern values(lanes());
    for (unsigned lane = 0; lane < lanes(); ++lane)
      values[lane] = valueOf(lane);
    return builder_.patternVector(&values, i32);
  };
  auto splat32 = [&](unsigned value) { return builder_.splat(builder_.getInt32(value)); };
  Value *own = lanesBy([&](unsigned lane) { return lane % width; });
  Value *group = lanesBy([&](unsigned lane) { return lane - lane % width; });
  Value *sources, *inside = nullptr, *wrapped = nullptr;
  switch (form) {
  case Absolute:
    sources = builder_.CreateAnd(d, splat32(width - 1));
    break;
  case Xor:
    sources = builder_.CreateAnd(builder_.CreateXor(own, d), splat32(width - 1));
    break;
  case Rotate:
    sources = direction > 0 ? builder_.CreateAdd(own, d) : builder_.CreateSub(own, d);
    sources = builder_.CreateAnd(sources, splat32(width - 1));
    break;
  case Shift: {
    Value *inSegment = lanesBy([&](unsigned lane) { return lane % width % segment; });
    Value *start = lanesBy([&](unsigned lane) { return lane % width - lane % width % segment; });
    Value *wanted =
        direction > 0 ? builder_.CreateAdd(inSegment, d) : builder_.CreateSub(inSegment, d);
    inside = builder_.CreateICmpULT(wanted, splat32(segment));
    // Distances are below the segment's length where the result is defined.
    wrapped = direction > 0 ? builder_.CreateSub(wanted, splat32(segment))
                            : builder_.CreateAdd(wanted, splat32(segment));
    wrapped = builder_.CreateAnd(builder_.CreateAdd(start, wrapped), splat32(width - 1));
    sources = builder_.CreateSelect(inside, builder_.CreateAdd(start, wanted), own);
    break;
  }
  }
  sources = builder_.CreateFreeze(builder_.CreateAdd(sources, group));
  if (wrapped)
    wrapped = builder_.CreateFreeze(builder_.CreateAdd(wrapped, group));
  SmallVector<Value *, 4> results;
  for (unsigned i = 0; i < count; ++i) {
    Value *result = shuffleVarying(vectorOf(input, i), sources);
    if (fills)
      result = builder_.CreateSelect(
          inside, result, shuffleVarying(vectorOf(call.getArgOperand(1), i), wrapped));
    results.push_back(result);
  }
  defineVectors(call, results);
  return true;
}

} // namespace pewter::cpu::codegen
