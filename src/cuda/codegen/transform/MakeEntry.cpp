// SPDX-License-Identifier: Apache-2.0
// The body is cloned with a type map that sends pointers of space 2 to space 1, because that is the
// supported way to change the type of a value; globals of space 2 are made again in space 1 first.
// Tested by codegen/Pipeline_test.cpp.
#include "cuda/codegen/transform/MakeEntry.h"
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/Transforms/Utils/Cloning.h>

namespace pewter::cuda::codegen {
using namespace llvm;

namespace {

class SpaceMap : public ValueMapTypeRemapper {
public:
  Type *remapType(Type *type) override {
    if (auto *pointer = dyn_cast<PointerType>(type))
      return pointer->getAddressSpace() == 2 ? PointerType::get(type->getContext(), 1) : type;
    if (auto *array = dyn_cast<ArrayType>(type))
      return ArrayType::get(remapType(array->getElementType()), array->getNumElements());
    if (auto *vector = dyn_cast<FixedVectorType>(type))
      return FixedVectorType::get(remapType(vector->getElementType()), vector->getNumElements());
    if (auto *record = dyn_cast<StructType>(type); record && record->isLiteral()) {
      SmallVector<Type *> fields;
      for (Type *field : record->elements())
        fields.push_back(remapType(field));
      return StructType::get(type->getContext(), fields, record->isPacked());
    }
    return type;
  }
};

using air::Argument;
using air::Builtin;

/// Computes built-in values; every read of a register is emitted once.
class Builtins {
public:
  Builtins(IRBuilder<> &builder, Value *grid) : builder_(builder), grid_(grid) {}

  /// One component of a three-component built-in, or a scalar one for `axis` 0; i32.
  Value *get(Builtin builtin, unsigned axis) {
    switch (builtin) {
    case Builtin::ThreadPositionInGrid:
      return builder_.CreateAdd(builder_.CreateMul(get(Builtin::ThreadgroupPositionInGrid, axis),
                                                   gridField(9 + axis)),
                                get(Builtin::ThreadPositionInThreadgroup, axis));
    case Builtin::ThreadgroupPositionInGrid:
      return builder_.CreateAdd(gridField(axis), read(kBlock[axis]));
    case Builtin::ThreadPositionInThreadgroup:
      return read(kThread[axis]);
    case Builtin::ThreadIndexInThreadgroup: {
      Value *index = read(kThread[2]);
      index = builder_.CreateAdd(builder_.CreateMul(index, read(kSize[1])), read(kThread[1]));
      return builder_.CreateAdd(builder_.CreateMul(index, read(kSize[0])), read(kThread[0]));
    }
    case Builtin::ThreadsPerGrid:
    case Builtin::GridSize:
      return gridField(6 + axis);
    case Builtin::ThreadgroupsPerGrid:
      return gridField(3 + axis);
    case Builtin::ThreadsPerThreadgroup:
      return read(kSize[axis]);
    case Builtin::DispatchThreadsPerThreadgroup:
      return gridField(9 + axis);
    case Builtin::ThreadIndexInSimdgroup:
      return builder_.CreateAnd(get(Builtin::ThreadIndexInThreadgroup, 0), 31);
    case Builtin::SimdgroupIndexInThreadgroup:
      return builder_.CreateLShr(get(Builtin::ThreadIndexInThreadgroup, 0), 5);
    case Builtin::SimdgroupsPerThreadgroup:
      return groupsOf(total(Builtin::ThreadsPerThreadgroup), 32);
    case Builtin::DispatchSimdgroupsPerThreadgroup:
      return groupsOf(total(Builtin::DispatchThreadsPerThreadgroup), 32);
    case Builtin::ThreadsPerSimdgroup:
      return builder_.getInt32(32);
    case Builtin::ThreadIndexInQuadgroup:
      return builder_.CreateAnd(get(Builtin::ThreadIndexInThreadgroup, 0), 3);
    case Builtin::QuadgroupIndexInThreadgroup:
      return builder_.CreateLShr(get(Builtin::ThreadIndexInThreadgroup, 0), 2);
    case Builtin::QuadgroupsPerThreadgroup:
      return groupsOf(total(Builtin::ThreadsPerThreadgroup), 4);
    case Builtin::DispatchQuadgroupsPerThreadgroup:
      return groupsOf(total(Builtin::DispatchThreadsPerThreadgroup), 4);
    case Builtin::GridOrigin:
      return builder_.getInt32(0);
    case Builtin::None:
      break;
    }
    return nullptr;
  }

private:
  static constexpr Intrinsic::ID kBlock[3] = {Intrinsic::nvvm_read_ptx_sreg_ctaid_x,
                                              Intrinsic::nvvm_read_ptx_sreg_ctaid_y,
                                              Intrinsic::nvvm_read_ptx_sreg_ctaid_z};
  static constexpr Intrinsic::ID kThread[3] = {Intrinsic::nvvm_read_ptx_sreg_tid_x,
                                               Intrinsic::nvvm_read_ptx_sreg_tid_y,
                                               Intrinsic::nvvm_read_ptx_sreg_tid_z};
  static constexpr Intrinsic::ID kSize[3] = {Intrinsic::nvvm_read_ptx_sreg_ntid_x,
                                             Intrinsic::nvvm_read_ptx_sreg_ntid_y,
                                             Intrinsic::nvvm_read_ptx_sreg_ntid_z};
  Value *read(Intrinsic::ID id) { return builder_.CreateIntrinsic(id, ArrayRef<Type *>(), ArrayRef<Value *>()); }
  Value *gridField(unsigned index) { return builder_.CreateExtractValue(grid_, index); }
  Value *total(Builtin size) {
    return builder_.CreateMul(builder_.CreateMul(get(size, 0), get(size, 1)), get(size, 2));
  }
  Value *groupsOf(Value *threads, uint32_t width) {
    return builder_.CreateUDiv(builder_.CreateAdd(threads, builder_.getInt32(width - 1)), builder_.getInt32(width));
  }

  IRBuilder<> &builder_;
  Value *grid_;
};

Value *valueOf(IRBuilder<> &builder, Builtins &builtins, Builtin builtin, Type *type) {
  auto *vector = dyn_cast<FixedVectorType>(type);
  if (!vector) {
    Value *value = builtins.get(builtin, 0);
    return value ? builder.CreateZExtOrTrunc(value, type) : nullptr;
  }
  Value *result = PoisonValue::get(vector);
  for (unsigned i = 0; i < vector->getNumElements(); ++i) {
    Value *value = builtins.get(builtin, i);
    if (!value)
      return nullptr;
    result = builder.CreateInsertElement(
        result, builder.CreateZExtOrTrunc(value, vector->getElementType()), i);
  }
  return result;
}

} // namespace

Result<void> makeEntry(air::ir::CanonicalKernel &kernel) {
  Module &module = *kernel.module;
  LLVMContext &context = module.getContext();
  Function &original = *kernel.function;
  SpaceMap spaces;
  ValueToValueMapTy values;

  for (GlobalVariable &global : make_early_inc_range(module.globals())) {
    if (global.getAddressSpace() != 2)
      continue;
    auto *moved = new GlobalVariable(module, global.getValueType(), true, GlobalValue::PrivateLinkage,
                                     global.hasInitializer() ? global.getInitializer() : nullptr,
                                     global.getName() + ".device", nullptr,
                                     GlobalVariable::NotThreadLocal, 1);
    moved->setAlignment(global.getAlign());
    values[&global] = moved;
  }

  SmallVector<Type *> bodyTypes;
  for (const llvm::Argument &argument : original.args())
    bodyTypes.push_back(spaces.remapType(argument.getType()));
  auto *body = Function::Create(FunctionType::get(Type::getVoidTy(context), bodyTypes, false),
                                GlobalValue::InternalLinkage, original.getName() + ".body", module);
  for (unsigned i = 0; i < bodyTypes.size(); ++i)
    values[original.getArg(i)] = body->getArg(i);
  SmallVector<ReturnInst *> returns;
  CloneFunctionInto(body, &original, values, CloneFunctionChangeType::LocalChangesOnly, returns, "",
                    nullptr, &spaces);
  body->setAttributes({});
  body->addFnAttr(Attribute::AlwaysInline);
  body->addFnAttr(Attribute::NoUnwind);
  // Loads that were in constant space before the map: nothing writes there during a launch.
  for (auto [before, after] : values)
    if (auto *load = dyn_cast<LoadInst>(before); load && load->getPointerAddressSpace() == 2)
      if (auto *moved = dyn_cast_or_null<LoadInst>(static_cast<Value *>(after)))
        moved->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(context, {}));

  // Intrinsics that are overloaded on a pointer type carry it in their name.
  for (Instruction &instruction : instructions(*body))
    if (auto *call = dyn_cast<CallInst>(&instruction))
      if (Function *callee = call->getCalledFunction(); callee && callee->isIntrinsic()) {
        SmallVector<Type *> types;
        for (const Use &use : call->args())
          types.push_back(use->getType());
        auto *needed = FunctionType::get(call->getType(), types, false);
        if (callee->getFunctionType() != needed) {
          SmallVector<Type *> overloads;
          if (Intrinsic::getIntrinsicSignature(callee->getIntrinsicID(), needed, overloads))
            call->setCalledFunction(
                Intrinsic::getOrInsertDeclaration(&module, callee->getIntrinsicID(), overloads));
        }
      }

  std::string name = original.getName().str();
  original.replaceAllUsesWith(PoisonValue::get(original.getType()));
  if (NamedMDNode *kernels = module.getNamedMetadata("air.kernel"))
    module.eraseNamedMetadata(kernels);
  original.eraseFromParent();

  IRBuilder<> builder(context);
  auto *gridType = ArrayType::get(builder.getInt32Ty(), 12);
  SmallVector<Type *> entryTypes(bodyTypes.size(), builder.getInt64Ty());
  entryTypes.push_back(PointerType::get(context, 0));
  auto *entry = Function::Create(FunctionType::get(builder.getVoidTy(), entryTypes, false),
                                 GlobalValue::ExternalLinkage, name, module);
  entry->setCallingConv(CallingConv::PTX_Kernel);
  // The driver then gives a thread no more registers than let as many run.
  if (uint32_t most = kernel.reflection.maxTotalThreadsPerThreadgroup; most < 1024)
    entry->addFnAttr("nvvm.maxntid", fmt::format("{}", most));
  unsigned gridIndex = unsigned(bodyTypes.size());
  entry->addParamAttr(gridIndex, Attribute::getWithByValType(context, gridType));
  entry->addParamAttr(gridIndex, Attribute::getWithAlignment(context, Align(4)));
  entry->addParamAttr(gridIndex, Attribute::ReadOnly);
  builder.SetInsertPoint(BasicBlock::Create(context, "", entry));
  Value *grid = builder.CreateLoad(gridType, entry->getArg(gridIndex));
  Builtins builtins(builder, grid);

  GlobalVariable *dynamic = nullptr;
  SmallVector<Value *> arguments(bodyTypes.size(), nullptr);
  for (const Argument &argument : kernel.reflection.arguments) {
    Type *type = bodyTypes[argument.parameter];
    Value *raw = entry->getArg(argument.parameter);
    Value *&value = arguments[argument.parameter];
    switch (argument.kind) {
    case air::ArgumentKind::Buffer:
    case air::ArgumentKind::Texture:
    case air::ArgumentKind::Sampler:
      value = builder.CreateIntToPtr(raw, type);
      break;
    case air::ArgumentKind::ThreadgroupMemory:
      if (!dynamic) {
        dynamic = new GlobalVariable(module, ArrayType::get(builder.getInt8Ty(), 0), false,
                                     GlobalValue::ExternalLinkage, nullptr, "pewter_threadgroup", nullptr,
                                     GlobalVariable::NotThreadLocal, 3);
        dynamic->setAlignment(Align(128));
      }
      value = builder.CreateGEP(builder.getInt8Ty(), dynamic, raw);
      break;
    case air::ArgumentKind::Builtin:
      value = valueOf(builder, builtins, argument.builtin, type);
      break;
    case air::ArgumentKind::Unsupported:
      break;
    }
    if (!value)
      return fail(ErrorKind::Unsupported, "Kernel \"{}\": argument \"{}\" (air.{}) has no form in PTX.",
                  name, argument.name, argument.metadataKind);
  }
  for (unsigned i = 0; i < arguments.size(); ++i)
    if (!arguments[i])
      return fail(ErrorKind::Compile, "Kernel \"{}\": parameter {} has no metadata.", name, i);
  builder.CreateCall(body, arguments);
  builder.CreateRetVoid();
  kernel.function = entry;
  return {};
}

} // namespace pewter::cuda::codegen
