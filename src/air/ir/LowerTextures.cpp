// SPDX-License-Identifier: Apache-2.0
//
// A call's name says what it does and with which kind of texture; docs/msl.md has the operands. The
// library knows texels by (x, y, z, slice, level) and samples by (dimensions, u, v, w, slice, offset,
// level): this file turns one list of operands into the other.
//
// Tested by tests/lit/air/lower-textures and tests/api/KernelTextures_test.cpp.
#include "air/ir/LowerTextures.h"
#include "air/TextureAbi.h"
#include "air/ir/AirCalls.h"
#include "air/ir/AirModule.h"
#include "air/ir/MathLibrary.h"
#include "air/ir/PassError.h"
#include "air/ir/TextureLibrary.h"
#include <bit>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>

namespace pewter::air::ir {
using namespace llvm;

namespace {

constexpr unsigned kCubeDimensions = 4; ///< As the library counts them.

struct TextureKind {
  StringRef name;
  unsigned coordinates; ///< Of a read.
  unsigned dimensions;  ///< Of a sample; 0: cannot be sampled.
  bool isArray = false;
  bool isDepth = false;
};

constexpr TextureKind kKinds[] = {
    {"texture_1d", 1, 1},
    {"texture_1d_array", 1, 1, true},
    {"texture_2d", 2, 2},
    {"texture_2d_array", 2, 2, true},
    {"texture_3d", 3, 3},
    {"texture_cube", 2, kCubeDimensions},
    {"texture_cube_array", 2, kCubeDimensions, true},
    {"texture_buffer_1d", 1, 0},
    {"depth_2d", 2, 2, false, true},
    {"depth_2d_array", 2, 2, true, true},
    {"depth_cube", 2, kCubeDimensions, false, true},
    {"depth_cube_array", 2, kCubeDimensions, true, true},
};

enum class Operation {
  Read,
  Write,
  Sample,
  SampleCompare,
  SampleGradient,
  Gather,
  GatherCompare,
  Width,
  Height,
  Depth,
  ArraySize,
  Levels,
  Samples,
  Fence,
};

struct TextureCall {
  Operation operation;
  const TextureKind *kind;
};

/// Nothing for calls that have no body here.
std::optional<TextureCall> parseTextureCall(StringRef name) {
  static constexpr std::pair<StringRef, Operation> kOperations[] = {
      {"read_", Operation::Read},
      {"write_", Operation::Write},
      {"sample_compare_", Operation::SampleCompare},
      {"sample_", Operation::Sample},
      {"gather_compare_", Operation::GatherCompare},
      {"gather_", Operation::Gather},
      {"get_width_", Operation::Width},
      {"get_height_", Operation::Height},
      {"get_depth_", Operation::Depth},
      {"get_array_size_", Operation::ArraySize},
      {"get_num_mip_levels_", Operation::Levels},
      {"get_num_samples_", Operation::Samples},
      {"fence_", Operation::Fence},
  };
  if (!name.consume_front("air."))
    return std::nullopt;
  for (const auto &[prefix, operation] : kOperations) {
    if (!name.starts_with(prefix))
      continue;
    StringRef rest = name.substr(prefix.size());
    StringRef texture = rest.take_until([](char c) { return c == '.'; });
    TextureCall call{operation, nullptr};
    if (operation == Operation::Sample && texture.consume_back("_grad"))
      call.operation = Operation::SampleGradient;
    for (const TextureKind &kind : kKinds)
      if (kind.name == texture)
        call.kind = &kind;
    // "depth" is a query as well as a kind.
    if (call.kind)
      return call;
  }
  return std::nullopt;
}

class TextureLowering {
public:
  TextureLowering(CallInst &call, const TextureCall &what)
      : call_(call), kind_(*what.kind), operation_(what.operation), build_(&call) {}

  /// False after reporting an operand that is not as expected.
  bool run() {
    texture_ = take();
    Value *result = lower();
    if (failed_ || !result)
      return failed_ ? problem() : true;
    if (result != &call_ && !call_.getType()->isVoidTy())
      call_.replaceAllUsesWith(result);
    call_.eraseFromParent();
    return true;
  }

private:
  bool problem() {
    report(call_.getContext(), ErrorKind::Unsupported,
           "Kernel \"{}\" calls \"{}\" with operands that are not supported.",
           call_.getFunction()->getName().str(), call_.getCalledFunction()->getName().str());
    return false;
  }

  Value *take() {
    if (at_ < call_.arg_size())
      return call_.getArgOperand(at_++);
    failed_ = true;
    return build_.getInt32(0);
  }
  Value *index(Value *value) {
    if (!value->getType()->isIntegerTy()) {
      failed_ = true;
      return build_.getInt32(0);
    }
    return build_.CreateZExtOrTrunc(value, build_.getInt32Ty());
  }
  /// The components of the next operand, as i32 or float; those it has not are 0.
  SmallVector<Value *, 3> takeVector(unsigned count, bool isFloat) {
    Value *value = take();
    auto *vector = dyn_cast<FixedVectorType>(value->getType());
    SmallVector<Value *, 3> parts;
    for (unsigned i = 0; i < 3; ++i) {
      Value *part = isFloat ? static_cast<Value *>(ConstantFP::get(build_.getFloatTy(), 0.0))
                            : build_.getInt32(0);
      if (i < count) {
        if ((vector ? vector->getNumElements() : 1) != count) {
          failed_ = true;
          return {part, part, part};
        }
        Value *taken = vector ? build_.CreateExtractElement(value, i) : value;
        if (taken->getType()->isFloatTy() != isFloat)
          failed_ = true;
        else
          part = isFloat ? taken : index(taken);
      }
      parts.push_back(part);
    }
    return parts;
  }
  bool isCube() const { return kind_.dimensions == kCubeDimensions; }
  bool isBuffer() const { return kind_.dimensions == 0; }

  Value *library(const Twine &operation, Type *result, ArrayRef<Value *> values) {
    SmallVector<Type *, 16> types;
    for (Value *value : values)
      types.push_back(value->getType());
    FunctionCallee callee = call_.getModule()->getOrInsertFunction(
        ("pewter_texture_" + operation).str(), FunctionType::get(result, types, false));
    return build_.CreateCall(callee, values);
  }
  Type *floats() { return FixedVectorType::get(build_.getFloatTy(), 4); }
  Type *integers() { return FixedVectorType::get(build_.getInt32Ty(), 4); }

  /// The element of a texel; null when the call returns none.
  Type *texelType() {
    auto *result = dyn_cast<StructType>(call_.getType());
    if (!result || result->getNumElements() != 2) {
      failed_ = true;
      return build_.getFloatTy();
    }
    return result->getElementType(0);
  }
  /// {value of the texel's type, resident} of four floats or integers.
  Value *texel(Value *value) {
    Type *type = texelType();
    Type *element = type->getScalarType();
    const bool isVector = type->isVectorTy();
    if (!isVector && value->getType()->isVectorTy())
      value = build_.CreateExtractElement(value, uint64_t(0));
    if (element->isHalfTy())
      value = build_.CreateFPTrunc(value, type);
    else if (element->isIntegerTy(16))
      value = build_.CreateTrunc(value, type);
    if (value->getType() != type) {
      failed_ = true;
      return nullptr;
    }
    Value *result = build_.CreateInsertValue(PoisonValue::get(call_.getType()), value, 0);
    Type *resident = cast<StructType>(call_.getType())->getElementType(1);
    return build_.CreateInsertValue(result, ConstantInt::get(resident, 1), 1);
  }
  StringRef family(Type *type) {
    return type->getScalarType()->isIntegerTy() ? "int" : "float";
  }
  Type *familyType(Type *type) { return type->getScalarType()->isIntegerTy() ? integers() : floats(); }

  /// x, y, z, slice of a read or write.
  SmallVector<Value *, 6> takePlace() {
    SmallVector<Value *, 6> place{texture_};
    for (Value *part : takeVector(kind_.coordinates, /*isFloat=*/false))
      place.push_back(part);
    Value *slice = build_.getInt32(0);
    if (isCube()) {
      Value *face = index(take());
      // A bad face must not reach into the next cube.
      slice = build_.CreateSelect(build_.CreateICmpULT(face, build_.getInt32(6)), face,
                                  build_.getInt32(~0u));
    }
    if (kind_.isArray) {
      Value *array = index(take());
      if (isCube()) {
        Value *whole = build_.CreateAdd(build_.CreateMul(array, build_.getInt32(6)), slice);
        Value *good = build_.CreateAnd(build_.CreateICmpULT(array, build_.getInt32(1 << 16)),
                                       build_.CreateICmpNE(slice, build_.getInt32(~0u)));
        slice = build_.CreateSelect(good, whole, build_.getInt32(~0u));
      } else {
        slice = array;
      }
    }
    place.push_back(slice);
    return place;
  }

  /// From AIR 2.8 on a read has a sampler behind the texture and an offset behind the place; the
  /// sampler says nothing that a read without one does not.
  Value *lowerRead() {
    const bool hasSampler = at_ < call_.arg_size() && call_.getArgOperand(at_)->getType()->isPointerTy();
    if (hasSampler)
      take();
    SmallVector<Value *, 8> operands = takePlace();
    if (hasSampler && !isCube() && !isBuffer()) {
      SmallVector<Value *, 3> offset = takeVector(kind_.coordinates, /*isFloat=*/false);
      for (unsigned i = 0; i < kind_.coordinates; ++i)
        operands[1 + i] = build_.CreateAdd(operands[1 + i], offset[i]);
    }
    operands.push_back(isBuffer() ? build_.getInt32(0) : index(take()));
    Type *type = texelType();
    return failed_ ? nullptr
                   : texel(library("read_" + family(type), familyType(type), operands));
  }

  Value *lowerWrite() {
    SmallVector<Value *, 8> operands = takePlace();
    Value *value = take();
    operands.push_back(isBuffer() ? build_.getInt32(0) : index(take()));
    auto *vector = dyn_cast<FixedVectorType>(value->getType());
    if (failed_ || !vector || vector->getNumElements() != 4) {
      failed_ = true;
      return nullptr;
    }
    Type *element = vector->getElementType();
    const bool isSigned = call_.getCalledFunction()->getName().contains(".s.v4");
    if (element->isHalfTy())
      value = build_.CreateFPExt(value, floats());
    else if (element->isIntegerTy(16))
      value = isSigned ? build_.CreateSExt(value, integers()) : build_.CreateZExt(value, integers());
    operands.push_back(value);
    return library("write_" + family(element), build_.getVoidTy(), operands);
  }

  /// A constant state word becomes a constant SamplerView.
  Value *sampler(Value *value) {
    auto *global = dyn_cast<GlobalVariable>(value->stripPointerCasts());
    if (!global || !global->hasInitializer())
      return value;
    const Constant *state = global->getInitializer();
    const auto *word = dyn_cast_or_null<ConstantInt>(
        state->getType()->isIntegerTy() ? state : state->getAggregateElement(0u));
    if (!word) {
      failed_ = true;
      return value;
    }
    return constantSampler(word->getZExtValue());
  }
  Constant *constantSampler(uint64_t state) {
    static constexpr uint8_t kAddresses[8] = {4, 0, 2, 3, 5, 0, 0, 0};
    static constexpr uint8_t kCompares[16] = {0, 1, 3, 4, 6, 2, 5, 7, 0};
    auto bits = [state](unsigned low, unsigned count) {
      return static_cast<uint8_t>(state >> low & ((1u << count) - 1));
    };
    auto half = [state](unsigned low) {
      APFloat value(APFloat::IEEEhalf(), APInt(16, state >> low & 0xffff));
      return value.convertToFloat();
    };
    if (bits(9, 2) > 1 || bits(11, 2) > 1)
      failed_ = true; // Bicubic.
    const SamplerView view{bits(11, 2), bits(9, 2), bits(13, 2), kAddresses[bits(0, 3)],
                           kAddresses[bits(3, 3)], kAddresses[bits(6, 3)], bits(56, 2),
                           kCompares[bits(16, 4)], bits(15, 1) == 0, half(24), half(40), 0};
    const auto raw = std::bit_cast<std::array<uint8_t, sizeof(SamplerView)>>(view);
    Module &module = *call_.getModule();
    Constant *content = ConstantDataArray::get(module.getContext(), ArrayRef<uint8_t>(raw));
    auto *made = new GlobalVariable(module, content->getType(), /*isConstant=*/true,
                                    GlobalValue::InternalLinkage, content, "sampler", nullptr,
                                    GlobalValue::NotThreadLocal, kConstantSpace);
    made->setAlignment(Align(8));
    return made;
  }

  /// texture, sampler, dimensions, u, v, w, slice.
  SmallVector<Value *, 16> takeSample() {
    SmallVector<Value *, 16> operands{texture_, sampler(take())};
    if (kind_.isDepth)
      take(); // Always 1.
    operands.push_back(build_.getInt32(kind_.dimensions));
    for (Value *part : takeVector(isCube() ? 3 : kind_.dimensions, /*isFloat=*/true))
      operands.push_back(part);
    operands.push_back(kind_.isArray ? index(take()) : build_.getInt32(0));
    return operands;
  }
  SmallVector<Value *, 3> takeOffset() {
    Value *zero = build_.getInt32(0);
    if (isCube())
      return {zero, zero, zero};
    take();
    return takeVector(kind_.dimensions, /*isFloat=*/false);
  }

  Value *lowerSample(bool isCompared) {
    SmallVector<Value *, 16> operands = takeSample();
    Value *reference = isCompared ? take() : nullptr;
    operands.append(takeOffset());
    take(); // Whether the next is a level or a bias: without derivatives the same.
    operands.push_back(take());
    operands.push_back(take());
    return finishSample(operands, reference);
  }
  Value *finishSample(SmallVector<Value *, 16> &operands, Value *reference) {
    Type *type = texelType();
    if (failed_)
      return nullptr;
    if (reference) {
      operands.push_back(reference);
      return texel(library("compare_float", build_.getFloatTy(), operands));
    }
    return texel(library("sample_" + family(type), familyType(type), operands));
  }

  Value *lowerGradient() {
    SmallVector<Value *, 16> operands = takeSample();
    const unsigned count = isCube() ? 3 : kind_.dimensions;
    SmallVector<Value *, 12> gradient(operands.begin(), operands.begin() + 3);
    for (int i = 0; i < 2; ++i)
      gradient.append(takeVector(count, /*isFloat=*/true));
    Value *smallest = take();
    operands.append(takeOffset());
    if (failed_)
      return nullptr;
    operands.push_back(library("gradient_level", build_.getFloatTy(), gradient));
    operands.push_back(smallest);
    return finishSample(operands, nullptr);
  }

  Value *lowerGather(bool isCompared) {
    SmallVector<Value *, 16> operands = takeSample();
    Value *reference = isCompared ? take() : nullptr;
    SmallVector<Value *, 3> offset = takeOffset();
    operands.push_back(offset[0]);
    operands.push_back(offset[1]);
    Type *type = texelType();
    if (isCompared) {
      operands.push_back(reference);
      return failed_ ? nullptr : texel(library("gather_compare_float", floats(), operands));
    }
    operands.push_back(kind_.isDepth ? build_.getInt32(0) : index(take()));
    return failed_ ? nullptr
                   : texel(library("gather_" + family(type), familyType(type), operands));
  }

  Value *lower() {
    Type *number = build_.getInt32Ty();
    auto level = [&] { return isBuffer() ? build_.getInt32(0) : index(take()); };
    switch (operation_) {
    case Operation::Read:
      return lowerRead();
    case Operation::Write:
      return lowerWrite();
    case Operation::Sample:
      return lowerSample(/*isCompared=*/false);
    case Operation::SampleCompare:
      return lowerSample(/*isCompared=*/true);
    case Operation::SampleGradient:
      return lowerGradient();
    case Operation::Gather:
      return lowerGather(/*isCompared=*/false);
    case Operation::GatherCompare:
      return lowerGather(/*isCompared=*/true);
    case Operation::Width:
      return library("width", number, {texture_, level()});
    case Operation::Height:
      return library("height", number, {texture_, level()});
    case Operation::Depth:
      return library("depth", number, {texture_, level()});
    case Operation::ArraySize: {
      Value *slices = library("slices", number, {texture_});
      return isCube() ? build_.CreateUDiv(slices, build_.getInt32(6)) : slices;
    }
    case Operation::Levels:
      return library("levels", number, {texture_});
    case Operation::Samples:
      return build_.getInt32(1);
    case Operation::Fence:
      return &call_; // A thread sees its own writes in order.
    }
    return nullptr;
  }

  CallInst &call_;
  const TextureKind &kind_;
  Operation operation_;
  IRBuilder<> build_;
  Value *texture_ = nullptr;
  unsigned at_ = 0;
  bool failed_ = false;
};

} // namespace

PreservedAnalyses LowerTexturesPass::run(Module &module, ModuleAnalysisManager &) {
  bool changed = false;
  for (Function &function : make_early_inc_range(module)) {
    if (!function.isDeclaration() || classify(function) != AirCall::Texture)
      continue;
    if (function.getName() == "air.get_read_sampler") { // Reads need none.
      for (User *user : make_early_inc_range(function.users()))
        if (auto *call = dyn_cast<CallInst>(user); call && call->getCalledOperand() == &function) {
          call->replaceAllUsesWith(PoisonValue::get(call->getType()));
          call->eraseFromParent();
          changed = true;
        }
      if (function.use_empty())
        function.eraseFromParent();
      continue;
    }
    const std::optional<TextureCall> what = parseTextureCall(function.getName());
    if (!what)
      continue; // Named by the verifier, if it survives.
    for (User *user : make_early_inc_range(function.users()))
      if (auto *call = dyn_cast<CallInst>(user); call && call->getCalledOperand() == &function) {
        // What the runtime binds is never null.
        if (auto *argument = dyn_cast<llvm::Argument>(call->getArgOperand(0)))
          argument->addAttr(Attribute::NonNull);
        if (!TextureLowering(*call, *what).run())
          return PreservedAnalyses::none();
        changed = true;
      }
    if (function.use_empty())
      function.eraseFromParent();
  }
  if (!changed)
    return PreservedAnalyses::all();
  linkTextureFunctions(module);
  linkMathFunctions(module);
  return PreservedAnalyses::none();
}

} // namespace pewter::air::ir
