// SPDX-License-Identifier: Apache-2.0
//
// Atomic operations: one scalar operation for each active lane, in order of the lanes. A load from
// one address is done once.
#include "cpu/codegen/transform/KernelEmitter.h"
#include <llvm/IR/Constants.h>

using namespace llvm;

namespace pewter::cpu::codegen {

static AtomicOrdering orderOf(const Value *value) {
  auto *literal = dyn_cast<ConstantInt>(value);
  switch (literal ? literal->getZExtValue() : 5) {
  case 0:
    return AtomicOrdering::Monotonic;
  case 2:
    return AtomicOrdering::Acquire;
  case 3:
    return AtomicOrdering::Release;
  case 4:
    return AtomicOrdering::AcquireRelease;
  default:
    return AtomicOrdering::SequentiallyConsistent;
  }
}

bool KernelEmitter::emitAtomicCall(CallInst &call, StringRef name) {
  name.consume_front("air.atomic.");
  if (name.starts_with("fence")) {
    builder_.CreateFence(AtomicOrdering::SequentiallyConsistent);
    return true;
  }
  if (!name.consume_front("global.") && !name.consume_front("local."))
    return false;
  auto [operation, type] = name.split('.');
  bool isSigned = type.starts_with("s.");
  LanePart pointer = part(call.getArgOperand(0));
  Value *addresses = pointer.shape.isUniform() ? nullptr : spill(fullAddresses(pointer));
  auto addressOf = [&](Value *lane) -> Value * {
    if (!addresses)
      return pointer.scalar;
    return builder_.CreateIntToPtr(elementAt(addresses, builder_.getInt64Ty(), lane),
                                   pointer.scalar->getType());
  };
  auto valuesOf = [&](const Value *operand) { return spill(vectorOf(operand)); };

  if (operation == "load") {
    AtomicOrdering order = orderOf(call.getArgOperand(1));
    Type *element = call.getType();
    auto load = [&](Value *address) {
      LoadInst *loaded = builder_.CreateAlignedLoad(element, address,
                                                    Align(layout_.getTypeStoreSize(element)));
      loaded->setAtomic(order);
      return loaded;
    };
    if (!addresses) {
      defineUniform(call, load(pointer.scalar));
      return true;
    }
    Value *results = stack(builder_.vectorOf(element));
    forEachLane(builder_.bits(mask_), [&](Value *lane) {
      builder_.CreateStore(load(addressOf(lane)),
                           builder_.CreateInBoundsGEP(element, results, lane));
    });
    defineVectors(call, {builder_.CreateLoad(builder_.vectorOf(element), results)});
    return true;
  }

  if (operation == "store") {
    Type *element = call.getArgOperand(1)->getType();
    Value *values = valuesOf(call.getArgOperand(1));
    AtomicOrdering order = orderOf(call.getArgOperand(2));
    forEachLane(builder_.bits(mask_), [&](Value *lane) {
      StoreInst *stored =
          builder_.CreateAlignedStore(elementAt(values, element, lane), addressOf(lane),
                                      Align(layout_.getTypeStoreSize(element)));
      stored->setAtomic(order);
    });
    return true;
  }

  if (operation == "cmpxchg") {
    Type *element = call.getArgOperand(2)->getType();
    uint64_t bytes = layout_.getTypeStoreSize(element);
    Type *integer = builder_.getIntNTy(unsigned(bytes * 8));
    const Value *expectedPointer = call.getArgOperand(1);
    LanePart expectedAddress = laneAddress(part(expectedPointer), expectedPointer);
    Access access{element, 1, bytes, Align(bytes), false};
    Value *expected = expectedAddress.shape.isUniform()
                          ? builder_.splat(builder_.CreateLoad(element, expectedAddress.scalar))
                          : loadParts(expectedAddress, access)[0];
    Value *expectedValues = spill(expected), *desired = valuesOf(call.getArgOperand(2));
    AtomicOrdering order = orderOf(call.getArgOperand(3));
    AtomicOrdering failure = AtomicCmpXchgInst::getStrongestFailureOrdering(order);
    Value *results = stack(builder_.vectorOf(element));
    forEachLane(builder_.bits(mask_), [&](Value *lane) {
      AtomicCmpXchgInst *exchange = builder_.CreateAtomicCmpXchg(
          addressOf(lane), elementAt(expectedValues, integer, lane),
          elementAt(desired, integer, lane), Align(bytes), order, failure);
      builder_.CreateStore(builder_.CreateExtractValue(exchange, 0),
                           builder_.CreateInBoundsGEP(integer, results, lane));
    });
    Value *old = builder_.CreateLoad(builder_.vectorOf(element), results);
    if (expectedAddress.shape.isUniform())
      scatter(expectedAddress, access, {old});
    else
      storeParts(expectedAddress, access, {old});
    defineVectors(call, {old});
    return true;
  }

  Type *element = call.getArgOperand(1)->getType();
  bool isFloat = element->isFloatingPointTy();
  AtomicRMWInst::BinOp binary;
  if (operation == "xchg")
    binary = AtomicRMWInst::Xchg;
  else if (operation == "add")
    binary = isFloat ? AtomicRMWInst::FAdd : AtomicRMWInst::Add;
  else if (operation == "sub")
    binary = isFloat ? AtomicRMWInst::FSub : AtomicRMWInst::Sub;
  else if (operation == "and")
    binary = AtomicRMWInst::And;
  else if (operation == "or")
    binary = AtomicRMWInst::Or;
  else if (operation == "xor")
    binary = AtomicRMWInst::Xor;
  else if (operation == "min")
    binary = isFloat ? AtomicRMWInst::FMin : isSigned ? AtomicRMWInst::Min : AtomicRMWInst::UMin;
  else if (operation == "max")
    binary = isFloat ? AtomicRMWInst::FMax : isSigned ? AtomicRMWInst::Max : AtomicRMWInst::UMax;
  else
    return false;
  AtomicOrdering order = orderOf(call.getArgOperand(2));
  Value *values = valuesOf(call.getArgOperand(1));
  bool hasResult = !call.getType()->isVoidTy() && !call.use_empty();
  Value *results = hasResult ? stack(builder_.vectorOf(element)) : nullptr;
  forEachLane(builder_.bits(mask_), [&](Value *lane) {
    Value *old = builder_.CreateAtomicRMW(binary, addressOf(lane), elementAt(values, element, lane),
                                          Align(layout_.getTypeStoreSize(element)), order);
    if (hasResult)
      builder_.CreateStore(old, builder_.CreateInBoundsGEP(element, results, lane));
  });
  if (hasResult)
    defineVectors(call, {builder_.CreateLoad(builder_.vectorOf(element), results)});
  return true;
}

} // namespace pewter::cpu::codegen
