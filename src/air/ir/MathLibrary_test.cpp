// SPDX-License-Identifier: Apache-2.0
//
// The rules that math/Support.h states, read off the embedded bitcode.
#include "air/ir/MathLibrary.h"
#include <gtest/gtest.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <set>

namespace pewter::air::ir {
namespace {

using namespace llvm;

class MathLibrary : public testing::Test {
protected:
  void SetUp() override {
    module = loadMathLibrary(context);
    ASSERT_FALSE(errorToBool(module->materializeAll()));
  }
  LLVMContext context;
  std::unique_ptr<Module> module;
};

TEST_F(MathLibrary, HasNoBranches) {
  int functions = 0;
  for (const Function &function : *module)
    if (!function.isDeclaration()) {
      ++functions;
      EXPECT_EQ(function.size(), 1u) << function.getName().str();
      EXPECT_TRUE(function.getName().starts_with("pewter_")) << function.getName().str();
    }
  EXPECT_GT(functions, 50);
}

TEST_F(MathLibrary, CallsOnlyInlineIntrinsics) {
  const std::set<Intrinsic::ID> allowed = {
      Intrinsic::fabs, Intrinsic::copysign, Intrinsic::sqrt,     Intrinsic::floor,
      Intrinsic::trunc, Intrinsic::fma,     Intrinsic::smax,     Intrinsic::smin,
      Intrinsic::umax, Intrinsic::umin,     Intrinsic::usub_sat, Intrinsic::is_fpclass,
      Intrinsic::abs,  Intrinsic::fshl};
  for (const Function &function : *module)
    for (const Instruction &instruction : instructions(function))
      if (const auto *call = dyn_cast<CallBase>(&instruction))
        EXPECT_TRUE(allowed.contains(call->getIntrinsicID()))
            << function.getName().str() << " calls " << call->getCalledFunction()->getName().str();
}

TEST_F(MathLibrary, HasNoPermissions) {
  for (const Function &function : *module)
    for (const Instruction &instruction : instructions(function))
      if (isa<FPMathOperator>(instruction))
        EXPECT_TRUE(instruction.getFastMathFlags().none()) << function.getName().str();
}

TEST_F(MathLibrary, HasNoGlobals) { EXPECT_TRUE(module->global_empty()); }

TEST_F(MathLibrary, KnowsItsNames) {
  EXPECT_TRUE(hasMathFunction("pewter_math_exp"));
  EXPECT_TRUE(hasMathFunction("pewter_soft_fma_f32"));
  EXPECT_FALSE(hasMathFunction("pewter_fast_asin"));
  EXPECT_FALSE(hasMathFunction("exp"));
}

} // namespace
} // namespace pewter::air::ir
