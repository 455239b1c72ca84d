// SPDX-License-Identifier: Apache-2.0
//
// Looks at whole trees of additions, because earlier passes chain the sums of several products. A call stands
// where its last product stood, so that products which were interleaved to hide latency stay so.
// Tested by FindDots_test.cpp.
#include "cpu/codegen/transform/FindDots.h"
#include "cpu/abi/DotAbi.h"
#include <llvm/ADT/MapVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/IR/ValueHandle.h>
#include <llvm/Transforms/Utils/Local.h>
#include <tuple>

using namespace llvm;
using namespace llvm::PatternMatch;

namespace pewter::cpu::codegen {
namespace {

bool isSum(const Value *value) {
  auto *add = dyn_cast<BinaryOperator>(value);
  return add && add->getOpcode() == Instruction::Add && add->getType()->isIntegerTy(32);
}

/// Where a byte comes from: `source` is an i32 or a <4 x i8>.
struct Byte {
  Value *source = nullptr;
  unsigned index = 0;
  bool isSigned = false;
};

bool isFourBytes(const Value *value) {
  auto *type = dyn_cast<FixedVectorType>(value->getType());
  return type && type->getNumElements() == 4 && type->getElementType()->isIntegerTy(8);
}

/// The byte of a word that a value of 32 bits is.
std::optional<Byte> byteOf(Value *value) {
  Value *source;
  uint64_t index, amount;
  if (match(value, m_ZExtOrSExt(m_ExtractElt(m_Value(source), m_ConstantInt(index)))) && isFourBytes(source) &&
      index < 4)
    return Byte{source, unsigned(index), isa<SExtInst>(value)};
  auto atByte = [&](uint64_t bits) { return bits % 8 == 0 && bits < 32 && source->getType()->isIntegerTy(32); };
  if (match(value, m_ZExtOrSExt(m_Trunc(m_LShr(m_Value(source), m_ConstantInt(amount))))) ||
      match(value, m_ZExtOrSExt(m_Trunc(m_AShr(m_Value(source), m_ConstantInt(amount)))))) {
    if (cast<CastInst>(value)->getSrcTy()->isIntegerTy(8) && atByte(amount))
      return Byte{source, unsigned(amount / 8), isa<SExtInst>(value)};
    return std::nullopt;
  }
  if (match(value, m_ZExtOrSExt(m_Trunc(m_Value(source)))) &&
      cast<CastInst>(value)->getSrcTy()->isIntegerTy(8) && source->getType()->isIntegerTy(32))
    return Byte{source, 0, isa<SExtInst>(value)};
  if (match(value, m_And(m_Shr(m_Value(source), m_ConstantInt(amount)), m_SpecificInt(255))) && atByte(amount))
    return Byte{source, unsigned(amount / 8), false};
  if (match(value, m_And(m_Value(source), m_SpecificInt(255))))
    return Byte{source, 0, false};
  if (match(value, m_AShr(m_Shl(m_Value(source), m_ConstantInt(amount)), m_SpecificInt(24))) && atByte(amount))
    return Byte{source, unsigned(3 - amount / 8), true};
  if (match(value, m_Shr(m_Value(source), m_SpecificInt(24))) && source->getType()->isIntegerTy(32))
    return Byte{source, 3, cast<Instruction>(value)->getOpcode() == Instruction::AShr};
  return std::nullopt;
}

/// The product of one byte of each of two words.
struct Product {
  Byte a, b;
  Instruction *last; ///< The product itself.
};

std::optional<Product> productOf(Value *leaf) {
  Value *vector;
  uint64_t index;
  if (match(leaf, m_ExtractElt(m_Value(vector), m_ConstantInt(index)))) {
    Value *left, *right;
    if (!match(vector, m_Mul(m_Value(left), m_Value(right))) || index >= 4)
      return std::nullopt;
    auto side = [&](Value *value) -> std::optional<Byte> {
      Value *source;
      if (!match(value, m_ZExtOrSExt(m_Value(source))) || !isFourBytes(source))
        return std::nullopt;
      return Byte{source, unsigned(index), isa<SExtInst>(value)};
    };
    auto a = side(left), b = side(right);
    if (!a || !b)
      return std::nullopt;
    return Product{*a, *b, cast<Instruction>(leaf)};
  }
  Value *left, *right;
  if (!match(leaf, m_Mul(m_Value(left), m_Value(right))))
    return std::nullopt;
  auto a = byteOf(left), b = byteOf(right);
  if (!a || !b || a->index != b->index)
    return std::nullopt;
  return Product{*a, *b, cast<Instruction>(leaf)};
}

/// Two words, in an order that does not depend on which came first, and how their bytes widen.
using DotKey = std::tuple<Value *, unsigned, Value *, unsigned>;

DotKey keyOf(const Product &product) {
  DotKey straight{product.a.source, product.a.isSigned, product.b.source, product.b.isSigned};
  DotKey turned{product.b.source, product.b.isSigned, product.a.source, product.a.isSigned};
  return std::min(straight, turned);
}

struct Dot {
  Product first;
  unsigned bytes = 0; ///< Bits: which were found. More than 15: one of them twice.
  Instruction *last = nullptr;
};

void flatten(Value *value, BinaryOperator *root, SmallVectorImpl<Value *> &leaves) {
  if (value == root || (isSum(value) && value->hasOneUse())) {
    auto *add = cast<BinaryOperator>(value);
    flatten(add->getOperand(0), root, leaves);
    flatten(add->getOperand(1), root, leaves);
  } else {
    leaves.push_back(value);
  }
}

/// The four bytes as a word. What is loaded for this alone is loaded as a word.
Value *wordOf(const Byte &byte, IRBuilder<> &builder) {
  if (byte.source->getType()->isIntegerTy(32))
    return byte.source;
  auto *load = dyn_cast<LoadInst>(byte.source);
  if (!load || !load->isSimple())
    return builder.CreateBitCast(byte.source, builder.getInt32Ty());
  auto *made = dyn_cast_or_null<LoadInst>(load->getPrevNode());
  if (made && made->getType()->isIntegerTy(32) && made->getPointerOperand() == load->getPointerOperand() && made->isSimple())
    return made;
  IRBuilder<> before(load);
  LoadInst *word = before.CreateAlignedLoad(before.getInt32Ty(), load->getPointerOperand(), load->getAlign());
  word->copyMetadata(*load, {LLVMContext::MD_invariant_load, LLVMContext::MD_nontemporal});
  return word;
}

Value *callDot(const Product &product, Value *sum, IRBuilder<> &builder) {
  Byte a = product.a, b = product.b;
  if (a.isSigned && !b.isSigned)
    std::swap(a, b);
  Type *word = builder.getInt32Ty();
  std::string name = std::string(kDotPrefix) + (a.isSigned ? "s" : "u") + (b.isSigned ? "s" : "u") + ".i32";
  FunctionCallee function = builder.GetInsertBlock()->getModule()->getOrInsertFunction(
      name, FunctionType::get(word, {word, word, word}, false));
  auto *callee = cast<Function>(function.getCallee());
  callee->setDoesNotAccessMemory();
  callee->setDoesNotThrow();
  callee->addFnAttr(Attribute::WillReturn);
  callee->addFnAttr(Attribute::Speculatable);
  return builder.CreateCall(function, {wordOf(a, builder), wordOf(b, builder), sum});
}

unsigned rewrite(BinaryOperator &root) {
  SmallVector<Value *> leaves, rest;
  flatten(&root, &root, leaves);
  MapVector<DotKey, Dot> dots;
  SmallVector<std::optional<DotKey>> keys;
  for (Value *leaf : leaves) {
    auto product = productOf(leaf);
    keys.push_back(product ? std::optional(keyOf(*product)) : std::nullopt);
    if (!product)
      continue;
    Dot &dot = dots.try_emplace(*keys.back(), Dot{*product, 0, product->last}).first->second;
    unsigned bit = 1u << product->a.index;
    dot.bytes = dot.bytes & bit ? ~0u : dot.bytes | bit;
    if (dot.last->getParent() == product->last->getParent() && dot.last->comesBefore(product->last))
      dot.last = product->last;
  }
  dots.remove_if([&](const auto &entry) {
    return entry.second.bytes != 15 || entry.second.last->getParent() != root.getParent();
  });
  if (dots.empty())
    return 0;
  // What comes early is added first: then no call waits for more than it must.
  Instruction *position = nullptr;
  IRBuilder<> builder(&root);
  Value *sum = nullptr;
  for (auto [leaf, key] : zip_equal(leaves, keys)) {
    if (key && dots.contains(*key))
      continue;
    auto *defined = dyn_cast<Instruction>(leaf);
    if (defined && defined->getParent() == root.getParent() && !isa<PHINode>(defined) &&
        (!position || position->comesBefore(defined)))
      position = defined;
    rest.push_back(leaf);
  }
  if (position)
    builder.SetInsertPoint(position->getNextNode());
  else
    builder.SetInsertPoint(root.getParent(), root.getParent()->getFirstInsertionPt());
  for (Value *leaf : rest)
    sum = sum ? builder.CreateAdd(sum, leaf) : leaf;
  if (!sum)
    sum = builder.getInt32(0);
  SmallVector<Dot *> order;
  for (auto &[key, dot] : dots)
    order.push_back(&dot);
  llvm::sort(order, [](const Dot *left, const Dot *right) { return left->last->comesBefore(right->last); });
  for (Dot *dot : order) {
    auto *before = dyn_cast<Instruction>(sum);
    bool isLater = before && before->getParent() == root.getParent() && !isa<PHINode>(before) &&
                   dot->last->comesBefore(before);
    builder.SetInsertPoint((isLater ? before : dot->last)->getNextNode());
    sum = callDot(dot->first, sum, builder);
  }
  root.replaceAllUsesWith(sum);
  RecursivelyDeleteTriviallyDeadInstructions(&root);
  return unsigned(order.size());
}

} // namespace

unsigned findDots(Function &kernel) {
  SmallVector<WeakVH> roots; // One may die with another that was rewritten.
  for (Instruction &instruction : instructions(kernel))
    if (isSum(&instruction) && !(instruction.hasOneUse() && isSum(*instruction.user_begin())))
      roots.push_back(&instruction);
  unsigned count = 0;
  for (const WeakVH &root : roots)
    if (root)
      count += rewrite(*cast<BinaryOperator>(root));
  return count;
}

} // namespace pewter::cpu::codegen
