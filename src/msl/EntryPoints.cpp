// SPDX-License-Identifier: Apache-2.0
//
// The entry point is a thunk; inlining (Lower.cpp) makes it absorb the body. Its allocas hold
// parameters that C++ passes by pointer; SROA takes them away again.
//
// Tested by: Compile_test.cpp (entry signatures).
#include "msl/EntryPoints.h"
#include <llvm/IR/IRBuilder.h>

namespace pewter::msl {

using namespace llvm;

namespace {

/// A struct of one member is that member: metal::vec<uint, 3> is {<3 x i32>}.
Type *unwrapped(Type *type) {
  while (auto *record = dyn_cast<StructType>(type)) {
    if (record->getNumElements() != 1)
      break;
    type = record->getElementType(0);
  }
  return type;
}

bool isResource(const air::Argument &argument) {
  return argument.kind == air::ArgumentKind::Texture || argument.kind == air::ArgumentKind::Sampler;
}

/// Several textures or samplers in one argument are a table in constant memory.
bool isResourceArray(const air::Argument &argument) {
  return isResource(argument) && argument.arrayLength > 1;
}

} // namespace

Result<Function *> makeEntryPoint(Module &module, const KernelEntry &kernel) {
  LLVMContext &context = module.getContext();
  const air::KernelReflection &reflection = kernel.reflection;
  Function *body = module.getFunction(kernel.symbol);
  if (!body || body->isDeclaration())
    return fail(ErrorKind::Internal, "Kernel \"{}\" has no body after code generation.",
                reflection.name);
  if (body->getName() == reflection.name)
    body->setName(reflection.name + ".body");
  if (body->arg_size() != reflection.arguments.size())
    return fail(ErrorKind::Internal,
                "Kernel \"{}\" has [{}] LLVM parameters for {} arguments of the source.",
                reflection.name, body->arg_size(), reflection.arguments.size());

  std::vector<Type *> types;
  for (const Argument &parameter : body->args()) {
    const air::Argument &argument = reflection.arguments[parameter.getArgNo()];
    Type *type = parameter.getType();
    if (isResourceArray(argument)) {
      type = PointerType::get(context, /*AddressSpace=*/2);
    } else if (isResource(argument)) {
      const unsigned space = argument.kind == air::ArgumentKind::Texture ? 1 : 2;
      type = PointerType::get(context, space);
    } else if (parameter.hasByValAttr()) {
      type = unwrapped(parameter.getParamByValType());
    } else {
      type = unwrapped(type);
    }
    types.push_back(type);
  }
  auto *entry = Function::Create(FunctionType::get(Type::getVoidTy(context), types, false),
                                 GlobalValue::ExternalLinkage, reflection.name, module);
  entry->addFnAttr(Attribute::Convergent);
  entry->addFnAttr(Attribute::NoUnwind);
  entry->addFnAttr(Attribute::MustProgress);

  IRBuilder<> builder(BasicBlock::Create(context, "", entry));
  std::vector<Value *> values;
  for (Argument &parameter : body->args()) {
    const unsigned index = parameter.getArgNo();
    const air::Argument &argument = reflection.arguments[index];
    Argument *incoming = entry->getArg(index);
    incoming->setName(argument.name);
    if (isResourceArray(argument) && parameter.hasByValAttr()) {
      // Nobody changes the table, so the body works on it rather than on a copy.
      body->removeParamAttr(index, Attribute::ByVal);
      values.push_back(builder.CreateAddrSpaceCast(incoming, parameter.getType()));
      continue;
    }
    if (parameter.hasByValAttr() || incoming->getType() != parameter.getType()) {
      Type *held = parameter.hasByValAttr() ? parameter.getParamByValType() : parameter.getType();
      AllocaInst *slot = builder.CreateAlloca(held);
      if (parameter.hasByValAttr())
        slot->setAlignment(parameter.getParamAlign().valueOrOne());
      builder.CreateStore(incoming, slot);
      values.push_back(parameter.hasByValAttr() ? static_cast<Value *>(slot)
                                                : builder.CreateLoad(held, slot));
      continue;
    }
    values.push_back(incoming);
    if (incoming->getType()->isPointerTy()) {
      AttrBuilder attributes(context, body->getAttributes().getParamAttrs(index));
      attributes.addAttribute("air-buffer-no-alias");
      entry->addParamAttrs(index, attributes);
    }
  }
  CallInst *call = builder.CreateCall(body, values);
  call->setCallingConv(body->getCallingConv());
  for (const Argument &parameter : body->args())
    if (parameter.hasByValAttr())
      call->addParamAttr(parameter.getArgNo(),
                         Attribute::getWithByValType(context, parameter.getParamByValType()));
  builder.CreateRetVoid();
  return entry;
}

} // namespace pewter::msl
