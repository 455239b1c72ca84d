// SPDX-License-Identifier: Apache-2.0
//
// Uniformity: the shape of every value of a kernel, the masks of its blocks and the layout of its
// private memory, found together in one optimistic fixpoint: shapes decide which branches diverge,
// divergence makes joins varying, and a masked store gives an array one copy a lane.
//
// Needs a canonical kernel after prepareKernel (transform/Prepare.h). Keeps references to the
// function: neither changes nor outlives it. One thread.
#pragma once
#include "air/Reflection.h"
#include "cpu/codegen/analysis/ControlDivergence.h"
#include "cpu/codegen/analysis/LaneModel.h"
#include "cpu/codegen/analysis/PrivateMemory.h"
#include "cpu/codegen/analysis/Shape.h"
#include <llvm/IR/DataLayout.h>

namespace pewter::cpu::codegen {

/// Components that a value has for the lanes: the elements of a vector, 1 for scalars and matrices.
unsigned componentsOf(const llvm::Type *type);

class Uniformity {
public:
  Uniformity(llvm::Function &function, const air::KernelReflection &reflection,
             const LaneModel &model, PatternPool &pool);

  /// The shapes of the components of `value`.
  const ValueShape &shapeOf(const llvm::Value *value) const;
  bool isUniform(const llvm::Value *value) const { return allUniform(shapeOf(value)); }
  /// The conditional branch may go both ways at once.
  bool isDivergent(const llvm::BranchInst &branch) const;

  const ControlDivergence &control() const { return control_; }
  const PrivateMemory &memory() const { return memory_; }
  const LaneModel &model() const { return model_; }
  const air::KernelReflection &reflection() const { return reflection_; }
  PatternPool &pool() const { return pool_; }
  llvm::Function &function() const { return function_; }

  /// The built-in value that `argument` is; None for buffers.
  air::Builtin builtinOf(const llvm::Argument &argument) const;
  /// True when extending `value` lane by lane equals extending its base, whatever the mask; with
  /// `byFlags`, when this holds for active lanes if the base is taken from one of them.
  bool extendsExactly(const llvm::Value *value, bool isSigned, bool &byFlags) const;

  void print(llvm::raw_ostream &out) const;

private:
  using Operand = std::function<const Shape &(unsigned)>;

  void run();
  void reachFixpoint();
  bool settleUnknown();
  bool visit(llvm::Instruction &instruction);
  bool visitStore(llvm::StoreInst &store);
  ValueShape transfer(llvm::Instruction &instruction);
  ValueShape transferPhi(llvm::PHINode &phi);
  ValueShape transferCall(llvm::CallInst &call);
  ValueShape transferAirCall(llvm::CallInst &call, llvm::StringRef name);
  ValueShape transferLoad(llvm::LoadInst &load);
  Shape transferAddress(llvm::GetElementPtrInst &address);
  Shape transferScalar(llvm::Instruction &instruction, const Operand &operand);
  Shape transferInteger(llvm::Instruction &instruction, const Operand &operand);
  Shape transferBits(llvm::Instruction &instruction, const Operand &operand);
  Shape transferExtension(llvm::CastInst &cast, const Shape &value);
  bool foldLiterals(llvm::Instruction &instruction, const Operand &operand, Shape &result);
  ValueShape argumentShape(const llvm::Argument &argument) const;
  Shape builtinShape(air::Builtin builtin, unsigned component) const;
  Shape positionShape(unsigned component, bool inGrid) const;
  uint8_t alignmentOf(const llvm::Value *value, const Shape &shape) const;
  ValueShape all(const llvm::Type *type, const Shape &shape) const {
    return ValueShape(componentsOf(type), shape);
  }

  llvm::Function &function_;
  const air::KernelReflection &reflection_;
  LaneModel model_;
  PatternPool &pool_;
  const llvm::DataLayout &layout_;
  ControlDivergence control_;
  PrivateMemory memory_;
  llvm::DenseMap<const llvm::Value *, ValueShape> shapes_;
  mutable llvm::DenseMap<const llvm::Value *, ValueShape> constants_;
};

} // namespace pewter::cpu::codegen
