// SPDX-License-Identifier: Apache-2.0
//
// Shape: what is known at compile time about how a scalar differs from lane to lane.
//
//   Uniform   the same in all active lanes
//   Pattern   value(lane) = base + pattern[lane] modulo 2^bits, the pattern being a constant with
//             pattern[0] = 0; exact for every lane, active or not
//   Varying   anything
//
// `constant` says that the base is a literal too, so that the whole value is known: `lane / 4`.
// `alignment` says that the base is a multiple of 2^alignment; a pattern below it cannot carry.
//
// An extension of a Pattern that may wrap in its narrow type carries a correction: lanes whose
// wrapSource is greater than a run-time distance are too large by wrapAmount. The distance is a
// value of the generated code; everything else is here.
//
// Patterns are interned in a PatternPool: equal patterns are equal pointers. Not thread-safe.
#pragma once
#include <cstdint>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Support/raw_ostream.h>
#include <set>
#include <vector>

namespace pewter::cpu::codegen {

using LanePattern = std::vector<int64_t>;

class PatternPool {
public:
  explicit PatternPool(unsigned lanes) : lanes_(lanes) {}
  unsigned lanes() const { return lanes_; }
  const LanePattern *intern(LanePattern pattern) { return &*patterns_.insert(std::move(pattern)).first; }
  /// step * lane.
  const LanePattern *affine(int64_t step);

private:
  unsigned lanes_;
  std::set<LanePattern> patterns_;
};

struct Shape {
  enum Kind : uint8_t { Unknown, Uniform, Pattern, Varying };
  Kind kind = Unknown;
  bool constant = false;
  uint8_t alignment = 0;
  int64_t base = 0; ///< When constant.
  const LanePattern *pattern = nullptr;    ///< When Pattern.
  const LanePattern *wrapSource = nullptr; ///< All entries >= 0; null when nothing wraps.
  int64_t wrapAmount = 0;

  static Shape uniform(uint8_t alignment = 0) {
    Shape shape;
    shape.kind = Uniform;
    shape.alignment = alignment;
    return shape;
  }
  static Shape varying() {
    Shape shape;
    shape.kind = Varying;
    return shape;
  }
  bool isUnknown() const { return kind == Unknown; }
  bool isUniform() const { return kind == Uniform; }
  bool isPattern() const { return kind == Pattern; }
  bool isVarying() const { return kind == Varying; }
  bool wraps() const { return wrapSource != nullptr; }
  /// The pattern's entry; 0 for a uniform value.
  int64_t at(unsigned lane) const { return pattern ? (*pattern)[lane] : 0; }
  int64_t minimum() const;
  int64_t maximum() const;
  /// True when the pattern lies below the alignment of the base: base + pattern = base | pattern.
  bool isDisjoint() const;

  bool operator==(const Shape &) const = default;
};

/// Shapes of the components of a vector; one for a scalar or a matrix.
using ValueShape = llvm::SmallVector<Shape, 1>;

bool allUniform(const ValueShape &shape);
bool anyUnknown(const ValueShape &shape);

/// The shape with literal values `values` (sign-extended) in the lanes.
Shape literalShape(PatternPool &pool, LanePattern values);
/// base + pattern, for `values` up to a common base that is not known.
Shape patternShape(PatternPool &pool, LanePattern values, uint8_t alignment = 0);
/// The literal in each lane of a constant shape.
LanePattern literalsOf(const Shape &shape, unsigned lanes);
/// The least shape that covers both, for a phi or select with a uniform choice.
Shape join(const Shape &left, const Shape &right);

void print(llvm::raw_ostream &out, const Shape &shape);

} // namespace pewter::cpu::codegen
