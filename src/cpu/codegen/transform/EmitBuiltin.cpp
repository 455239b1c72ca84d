// SPDX-License-Identifier: Apache-2.0
//
// The by-value inputs of a kernel, and calls into the runtime: barriers and logging.
#include "cpu/abi/KernelAbi.h"
#include "cpu/codegen/transform/KernelEmitter.h"
#include <llvm/IR/Constants.h>
#include <cstddef>

using namespace llvm;

namespace pewter::cpu::codegen {

using air::Builtin;

LaneValue KernelEmitter::builtinValue(const Argument &argument) {
  Type *type = argument.getType();
  Builtin builtin = uniformity_.builtinOf(argument);
  if (argument.use_empty() || builtin == Builtin::None)
    return {PoisonValue::get(type), {}};
  const ValueShape &shapes = uniformity_.shapeOf(&argument);
  LaneValue value;
  for (unsigned i = 0; i < shapes.size(); ++i)
    value.parts.push_back(builtinPart(builtin, i, type->getScalarType(), shapes[i]));
  if (!allUniform(shapes))
    return value;
  if (!type->isVectorTy())
    return {value.parts[0].scalar, {}};
  Value *whole = PoisonValue::get(type);
  for (unsigned i = 0; i < shapes.size(); ++i)
    whole = builder_.CreateInsertElement(whole, value.parts[i].scalar, i);
  return {whole, {}};
}

LanePart KernelEmitter::builtinPart(Builtin builtin, unsigned component, Type *type,
                                    const Shape &shape) {
  LanePart part;
  part.shape = shape;
  if (shape.constant) {
    part.scalar = ConstantInt::get(type, uint64_t(shape.base), true, true);
    return part;
  }
  auto perGroup = [&](Value *const (&size)[3], unsigned width) {
    Value *threads = builder_.CreateMul(builder_.CreateMul(size[0], size[1]), size[2]);
    return builder_.CreateUDiv(builder_.CreateAdd(threads, builder_.getInt32(width - 1)),
                               builder_.getInt32(width));
  };
  auto at = [&](Value *const (&values)[3], unsigned missing) -> Value * {
    return component < 3 ? values[component] : builder_.getInt32(missing);
  };
  Value *scalar = nullptr;
  switch (builtin) {
  case Builtin::ThreadPositionInGrid:
  case Builtin::ThreadPositionInThreadgroup: {
    Value *origin = builtin == Builtin::ThreadPositionInGrid
                        ? builder_.CreateMul(launch_->position[component],
                                             launch_->dispatchSize[component])
                        : builder_.getInt32(0);
    if (!shape.isVarying()) {
      scalar = builder_.CreateAdd(origin, launch_->local[component]);
      break;
    }
    // Anywhere in the threadgroup: from the linear index. 16 bits hold it, which divides fast.
    Type *i16 = builder_.getInt16Ty();
    Value *first = builder_.CreateMul(launch_->simdgroup, builder_.getInt32(32));
    Value *index = builder_.CreateAdd(
        builder_.splat(builder_.CreateTrunc(first, i16)),
        builder_.patternVector(uniformity_.pool().affine(1), i16));
    auto size = [&](unsigned i) {
      return builder_.splat(builder_.CreateTrunc(launch_->size[i], i16));
    };
    Value *local = index;
    if (component == 0) {
      local = divide(Instruction::URem, index, size(0));
    } else {
      local = divide(Instruction::UDiv, index, size(0));
      local = divide(component == 1 ? Instruction::URem : Instruction::UDiv, local, size(1));
    }
    Value *wide = builder_.CreateZExt(local, builder_.vectorOf(builder_.getInt32Ty()));
    wide = builder_.CreateAdd(wide, builder_.splat(origin));
    part.vector = builder_.CreateZExtOrTrunc(wide, builder_.vectorOf(type));
    return part;
  }
  case Builtin::ThreadIndexInThreadgroup:
    scalar = builder_.CreateMul(launch_->simdgroup, builder_.getInt32(32));
    break;
  case Builtin::QuadgroupIndexInThreadgroup:
    scalar = builder_.CreateMul(launch_->simdgroup, builder_.getInt32(8));
    break;
  case Builtin::SimdgroupIndexInThreadgroup:
    scalar = launch_->simdgroup;
    break;
  case Builtin::ThreadgroupPositionInGrid:
    scalar = at(launch_->position, 0);
    break;
  case Builtin::ThreadsPerGrid:
  case Builtin::GridSize:
    scalar = at(launch_->threadsPerGrid, 1);
    break;
  case Builtin::ThreadsPerThreadgroup:
    scalar = at(launch_->size, 1);
    break;
  case Builtin::ThreadgroupsPerGrid:
    scalar = at(launch_->threadgroupsPerGrid, 1);
    break;
  case Builtin::DispatchThreadsPerThreadgroup:
    scalar = at(launch_->dispatchSize, 1);
    break;
  case Builtin::SimdgroupsPerThreadgroup:
    scalar = perGroup(launch_->size, 32);
    break;
  case Builtin::DispatchSimdgroupsPerThreadgroup:
    scalar = perGroup(launch_->dispatchSize, 32);
    break;
  case Builtin::QuadgroupsPerThreadgroup:
    scalar = perGroup(launch_->size, 4);
    break;
  case Builtin::DispatchQuadgroupsPerThreadgroup:
    scalar = perGroup(launch_->dispatchSize, 4);
    break;
  case Builtin::ThreadsPerSimdgroup:
    scalar = builder_.getInt32(32);
    break;
  case Builtin::GridOrigin:
  case Builtin::ThreadIndexInSimdgroup:
  case Builtin::ThreadIndexInQuadgroup:
  case Builtin::None:
    scalar = builder_.getInt32(0);
    break;
  }
  part.scalar = builder_.CreateZExtOrTrunc(scalar, type);
  return part;
}

static Value *runtimeFunction(LaneBuilder &builder, const Launch &launch, uint64_t offset) {
  Type *pointer = builder.getPtrTy();
  Value *place = builder.CreatePtrAdd(launch.context, builder.getInt64(offsetof(KernelContext, runtime)));
  Value *table = builder.CreateLoad(pointer, place);
  return builder.CreateLoad(pointer, builder.CreatePtrAdd(table, builder.getInt64(offset)));
}

// Lanes of one call run in lock step, so a SIMD-group barrier is nothing; so is a threadgroup
// barrier when the whole threadgroup is one call.
void KernelEmitter::emitBarrier(CallInst &call, StringRef name) {
  const LaneModel &model = uniformity_.model();
  if (name.starts_with("air.simdgroup.barrier") || model.isMerged() ||
      (model.size && model.threads() <= model.lanes))
    return;
  Value *function = runtimeFunction(builder_, *launch_, offsetof(RuntimeTable, barrier));
  auto *type = FunctionType::get(builder_.getVoidTy(), {builder_.getPtrTy()}, false);
  builder_.CreateCall(type, function, {launch_->context});
}

// air.os_log(subsystem, category, type, format, arguments, bytes): one call a lane.
void KernelEmitter::emitLog(CallInst &call) {
  if (call.arg_size() < 6)
    return unsupported(call, "this form of logging");
  Type *pointer = builder_.getPtrTy();
  auto text = [&](unsigned operand) {
    return builder_.CreateAddrSpaceCast(uniform(call.getArgOperand(operand)), pointer);
  };
  Value *subsystem = text(0), *category = text(1), *format = text(3);
  Value *level = builder_.CreateZExtOrTrunc(uniform(call.getArgOperand(2)), builder_.getInt32Ty());
  LanePart arguments = part(call.getArgOperand(4));
  Value *count = builder_.CreateTrunc(
      builder_.CreateUDiv(uniform(call.getArgOperand(5)), builder_.getInt64(8)),
      builder_.getInt32Ty());
  Value *addresses = spill(fullAddresses(arguments));
  Value *function = runtimeFunction(builder_, *launch_, offsetof(RuntimeTable, log));
  Type *number = builder_.getInt32Ty();
  auto *type = FunctionType::get(
      builder_.getVoidTy(), {pointer, number, pointer, pointer, pointer, pointer, number}, false);
  forEachLane(builder_.bits(mask_), [&](Value *lane) {
    Value *place = builder_.CreateIntToPtr(elementAt(addresses, builder_.getInt64Ty(), lane), pointer);
    builder_.CreateCall(type, function,
                        {launch_->context, level, subsystem, category, format, place, count});
  });
}

} // namespace pewter::cpu::codegen
