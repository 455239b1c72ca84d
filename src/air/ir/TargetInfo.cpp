// SPDX-License-Identifier: Apache-2.0
// Unrolling: a loop that asks for it is unrolled up to a size no real kernel reaches; a loop whose
// constant trip count is at most 32 and which indexes thread memory with something that changes per
// iteration likewise; others up to LLVM's aggressive threshold. Run-time trip counts are never
// unrolled here: the remainder loop would be one more divergent loop.
#include "air/ir/TargetInfo.h"
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Analysis/TargetTransformInfoImpl.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/LoopUtils.h>
#include <llvm/Transforms/Utils/UnrollLoop.h>

namespace pewter::air::ir {
using namespace llvm;

namespace {

constexpr unsigned kForcedThreshold = 32768;
constexpr unsigned kPlainThreshold = 300;
constexpr unsigned kMaxArrayTrips = 32;

/// Does `loop` access thread memory at an address that depends on its iteration?
bool indexesThreadMemory(const Loop &loop) {
  for (const BasicBlock *block : loop.blocks())
    for (const Instruction &instruction : *block) {
      const Value *pointer = getLoadStorePointerOperand(&instruction);
      if (pointer && !loop.isLoopInvariant(pointer) &&
          isa<AllocaInst>(getUnderlyingObject(pointer, /*MaxLookup=*/16)))
        return true;
    }
  return false;
}

class AirMachine final : public TargetTransformInfoImplCRTPBase<AirMachine> {
public:
  explicit AirMachine(const DataLayout &layout) : TargetTransformInfoImplCRTPBase(layout) {}

  void getUnrollingPreferences(Loop *loop, ScalarEvolution &evolution,
                               TargetTransformInfo::UnrollingPreferences &preferences,
                               OptimizationRemarkEmitter *) const override {
    preferences.Partial = false;
    preferences.Runtime = false;
    preferences.UpperBound = false;
    preferences.AllowExpensiveTripCount = false;
    preferences.Threshold = kPlainThreshold;
    preferences.PartialThreshold = kPlainThreshold;
    const unsigned trips = evolution.getSmallConstantTripCount(loop);
    const bool asked = hasUnrollTransformation(loop) == TM_ForcedByUser;
    if (asked || (trips && trips <= kMaxArrayTrips && indexesThreadMemory(*loop)))
      preferences.Threshold = kForcedThreshold;
  }
};

} // namespace

void registerTargetAnalyses(FunctionAnalysisManager &functions) {
  functions.registerPass([] {
    return TargetIRAnalysis([](const Function &function) {
      return TargetTransformInfo(std::make_unique<AirMachine>(function.getDataLayout()));
    });
  });
  functions.registerPass([] {
    TargetLibraryInfoImpl none{Triple()};
    none.disableAllFunctions();
    return TargetLibraryAnalysis(none);
  });
}

AnalysisManagers::AnalysisManagers(PassInstrumentationCallbacks *callbacks)
    : builder(/*TM=*/nullptr, PipelineTuningOptions(), std::nullopt, callbacks) {
  registerTargetAnalyses(functions);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
}

} // namespace pewter::air::ir
