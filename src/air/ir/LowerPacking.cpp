// SPDX-License-Identifier: Apache-2.0
//
// air.pack.* and air.unpack.*: normalised integers in one word, component 0 in the low bits.
//
//   unorm4x8 snorm4x8 (i32, 4), unorm2x16 snorm2x16 (i32, 2), unorm565 (i16, 3), unorm10a2 (i32, 4:
//   10, 10, 10 and 2 bits), and the sRGB form of unorm4x8, whose first three components are encoded.
//
// Packing clamps, scales and rounds to nearest even; NaN becomes 0. Unpacking divides, correctly
// rounded, and a signed value below -1 becomes -1.
#include "air/ir/MathCall.h"
#include <llvm/ADT/StringSwitch.h>

namespace pewter::air::ir {
using namespace llvm;

namespace {

struct Layout {
  bool isSigned = false, srgb = false;
  SmallVector<unsigned, 4> widths;
};

/// From the name's parts, in whatever order and grouping they stand.
std::optional<Layout> parseLayout(const AirName &name) {
  Layout layout;
  for (StringRef part : name.rest) {
    if (part.consume_front("snorm"))
      layout.isSigned = true;
    else
      part.consume_front("unorm");
    if (part.consume_front("_"))
      ;
    if (part.contains("srgb"))
      layout.srgb = true;
    if (part.starts_with("4x8"))
      layout.widths = {8, 8, 8, 8};
    else if (part.starts_with("2x16"))
      layout.widths = {16, 16};
    else if (part.starts_with("565") || part == "rgb565")
      layout.widths = {5, 6, 5};
    else if (part.starts_with("10a2") || part == "rgb10a2")
      layout.widths = {10, 10, 10, 2};
  }
  return layout.widths.empty() ? std::nullopt : std::optional(layout);
}

/// x^exponent, by the math library.
Value *power(MathCall &math, Value *x, double exponent) {
  return math.library("pow", x->getType(), {x, math.real(x, exponent)});
}

Value *encodeSrgb(MathCall &math, Value *x) {
  IRBuilder<> &build = math.build;
  Value *curve = build.CreateFSub(
      build.CreateFMul(power(math, x, 1 / 2.4), math.real(x, 1.055)), math.real(x, 0.055));
  Value *line = build.CreateFMul(x, math.real(x, 12.92));
  return math.select(build.CreateFCmpOLE(x, math.real(x, 0.0031308)), line, curve);
}

Value *decodeSrgb(MathCall &math, Value *x) {
  IRBuilder<> &build = math.build;
  Value *base = build.CreateFDiv(build.CreateFAdd(x, math.real(x, 0.055)), math.real(x, 1.055));
  Value *line = build.CreateFDiv(x, math.real(x, 12.92));
  return math.select(build.CreateFCmpOLE(x, math.real(x, 0.04045)), line, power(math, base, 2.4));
}

double largest(const Layout &layout, unsigned width) {
  return static_cast<double>((1u << (layout.isSigned ? width - 1 : width)) - 1);
}

Value *pack(MathCall &math, const Layout &layout) {
  IRBuilder<> &build = math.build;
  Value *values = math.widen(math.arg(0)), *word = ConstantInt::get(build.getInt32Ty(), 0);
  unsigned shift = 0;
  for (unsigned i = 0; i < layout.widths.size(); ++i) {
    Value *x = math.component(values, static_cast<int>(i));
    x = math.select(build.CreateFCmpORD(x, x), x, math.real(x, 0));
    x = math.intrinsic(Intrinsic::maxnum, {x, math.real(x, layout.isSigned ? -1 : 0)});
    x = math.intrinsic(Intrinsic::minnum, {x, math.real(x, 1)});
    if (layout.srgb && i < 3)
      x = encodeSrgb(math, x);
    x = build.CreateFMul(x, math.real(x, largest(layout, layout.widths[i])));
    Value *bits = build.CreateIntrinsic(Intrinsic::fptosi_sat, {build.getInt32Ty(), x->getType()},
                                        {math.intrinsic(Intrinsic::rint, {x})});
    bits = build.CreateAnd(bits, (uint64_t(1) << layout.widths[i]) - 1);
    word = build.CreateOr(word, build.CreateShl(bits, shift));
    shift += layout.widths[i];
  }
  return build.CreateZExtOrTrunc(word, math.type());
}

Value *unpack(MathCall &math, const Layout &layout) {
  IRBuilder<> &build = math.build;
  Value *word = build.CreateZExtOrTrunc(math.arg(0), build.getInt32Ty());
  Value *result = PoisonValue::get(withElement(math.type(), build.getFloatTy()));
  unsigned shift = 0;
  for (unsigned i = 0; i < layout.widths.size(); ++i) {
    unsigned width = layout.widths[i];
    Value *bits = build.CreateShl(word, 32 - width - shift);
    bits = layout.isSigned ? build.CreateAShr(bits, 32 - width) : build.CreateLShr(bits, 32 - width);
    Value *x = build.CreateSIToFP(bits, build.getFloatTy());
    x = build.CreateFDiv(x, math.real(x, largest(layout, width)));
    if (layout.isSigned)
      x = math.intrinsic(Intrinsic::maxnum, {x, math.real(x, -1)});
    if (layout.srgb && i < 3)
      x = decodeSrgb(math, x);
    result = build.CreateInsertElement(result, x, i);
    shift += width;
  }
  return math.narrow(result, math.type());
}

bool isFloatVector(Type *type, size_t count) {
  auto *vector = dyn_cast<FixedVectorType>(type);
  return vector && vector->getNumElements() == count &&
         (vector->getElementType()->isFloatTy() || vector->getElementType()->isHalfTy());
}

} // namespace

Value *lowerPacking(MathCall &math) {
  bool packs = math.is("pack");
  if ((!packs && !math.is("unpack")) || math.count() != 1)
    return nullptr;
  std::optional<Layout> layout = parseLayout(math.name);
  if (!layout)
    return nullptr;
  Type *word = packs ? math.type() : math.arg(0)->getType();
  Type *values = packs ? math.arg(0)->getType() : math.type();
  if (!word->isIntegerTy() || !isFloatVector(values, layout->widths.size()))
    return nullptr;
  return packs ? pack(math, *layout) : unpack(math, *layout);
}

} // namespace pewter::air::ir
