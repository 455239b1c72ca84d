// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic on shapes that does not depend on the instruction. Tested by Uniformity_test.cpp.
#include "cpu/codegen/analysis/Shape.h"
#include <algorithm>
#include <bit>

namespace pewter::cpu::codegen {

const LanePattern *PatternPool::affine(int64_t step) {
  LanePattern pattern(lanes_);
  for (unsigned lane = 0; lane < lanes_; ++lane)
    pattern[lane] = step * int64_t(lane);
  return intern(std::move(pattern));
}

int64_t Shape::minimum() const {
  return pattern ? *std::min_element(pattern->begin(), pattern->end()) : 0;
}

int64_t Shape::maximum() const {
  return pattern ? *std::max_element(pattern->begin(), pattern->end()) : 0;
}

bool Shape::isDisjoint() const {
  if (!pattern || wraps())
    return false;
  int64_t low = minimum(), high = maximum();
  return low >= 0 && alignment < 63 && high < (int64_t(1) << alignment);
}

bool allUniform(const ValueShape &shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Shape &s) { return s.isUniform(); });
}

bool anyUnknown(const ValueShape &shape) {
  return shape.empty() ||
         std::any_of(shape.begin(), shape.end(), [](const Shape &s) { return s.isUnknown(); });
}

static uint8_t alignmentOf(int64_t value) {
  return value == 0 ? 62 : uint8_t(std::min(62, std::countr_zero(uint64_t(value))));
}

Shape literalShape(PatternPool &pool, LanePattern values) {
  Shape shape = patternShape(pool, values, alignmentOf(values[0]));
  shape.constant = true;
  shape.base = values[0];
  return shape;
}

Shape patternShape(PatternPool &pool, LanePattern values, uint8_t alignment) {
  Shape shape = Shape::uniform(alignment);
  int64_t base = values[0];
  bool differs = false;
  for (int64_t &value : values) {
    value = int64_t(uint64_t(value) - uint64_t(base));
    differs |= value != 0;
  }
  if (differs) {
    shape.kind = Shape::Pattern;
    shape.pattern = pool.intern(std::move(values));
  }
  return shape;
}

LanePattern literalsOf(const Shape &shape, unsigned lanes) {
  LanePattern values(lanes);
  for (unsigned lane = 0; lane < lanes; ++lane)
    values[lane] = int64_t(uint64_t(shape.base) + uint64_t(shape.at(lane)));
  return values;
}

Shape join(const Shape &left, const Shape &right) {
  if (left.isUnknown())
    return right;
  if (right.isUnknown() || left == right)
    return left;
  if (left.isVarying() || right.isVarying() || left.pattern != right.pattern || left.wraps() ||
      right.wraps())
    return Shape::varying();
  Shape result;
  result.kind = left.kind;
  result.pattern = left.pattern;
  result.alignment = std::min(left.alignment, right.alignment);
  result.constant = left.constant && right.constant && left.base == right.base;
  result.base = result.constant ? left.base : 0;
  return result;
}

void print(llvm::raw_ostream &out, const Shape &shape) {
  switch (shape.kind) {
  case Shape::Unknown:
    out << "unknown";
    return;
  case Shape::Varying:
    out << "varying";
    return;
  case Shape::Uniform:
    out << "uniform";
    break;
  case Shape::Pattern: {
    const LanePattern &pattern = *shape.pattern;
    bool affine = true;
    for (unsigned lane = 0; lane < pattern.size(); ++lane)
      affine &= pattern[lane] == pattern[1] * int64_t(lane);
    if (affine) {
      out << "lane*" << pattern[1];
    } else {
      out << "[";
      for (unsigned lane = 0; lane < pattern.size(); ++lane)
        out << (lane ? " " : "") << pattern[lane];
      out << "]";
    }
    break;
  }
  }
  if (shape.constant)
    out << " from " << shape.base;
  else if (shape.alignment)
    out << " align " << (uint64_t(1) << shape.alignment);
  if (shape.wraps())
    out << " may wrap";
}

} // namespace pewter::cpu::codegen
