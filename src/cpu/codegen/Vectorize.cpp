// SPDX-License-Identifier: Apache-2.0
//
// The steps of vectorisation and why they stand in this order:
//   retarget           the analyses need the data layout of the machine
//   choose lanes       merging turns barriers into nothing, which decides what entries there are
//   prepare            sizes that are literals first: they decide loops and divergence
//   find dots          while lanes have vectors; what is loaded changes its type
//   insert prefetches  on the loops that are left; an address like any other for what follows
//   analyse and emit   (Uniformity, KernelEmitter), once for full calls, once for all others
//   drop the kernel    nothing refers to it any more
//   optimise           slots to SSA form, clean-up
// Tested by tests/kernels.
#include "cpu/codegen/Vectorize.h"
#include "cpu/codegen/target/Target.h"
#include "cpu/codegen/transform/EntryPoints.h"
#include "cpu/codegen/transform/FindDots.h"
#include "cpu/codegen/transform/InsertPrefetches.h"
#include "cpu/codegen/transform/Optimize.h"
#include "cpu/codegen/transform/Prepare.h"
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Transforms/Utils/Cloning.h>

using namespace llvm;

namespace pewter::cpu::codegen {

using Kind = compiler::ThreadgroupShape::Kind;

namespace {

struct KernelTraits {
  bool hasBarrier = false, hasMatrix = false, hasLaneOperations = false;
};

KernelTraits traitsOf(const Function &kernel) {
  KernelTraits traits;
  for (const Instruction &instruction : instructions(kernel)) {
    auto *call = dyn_cast<CallInst>(&instruction);
    if (!call || !call->getCalledFunction())
      continue;
    StringRef name = call->getCalledFunction()->getName();
    traits.hasBarrier |= name.starts_with("air.wg.barrier");
    traits.hasMatrix |= name.starts_with("air.simdgroup_matrix");
    traits.hasLaneOperations |= name.starts_with("air.simd_") || name.starts_with("air.quad_");
  }
  return traits;
}

/// The most lanes that one call may have: registers run out long before, memory traffic does not.
constexpr uint32_t kMaxMergedLanes = 128;

LaneModel modelFor(const KernelTraits &traits, const compiler::ThreadgroupShape &shape) {
  LaneModel model;
  model.alignedRows = shape.kind == Kind::RowMultiple;
  if (shape.kind != Kind::Exact)
    return model;
  model.size = {shape.size[0], shape.size[1], shape.size[2]};
  auto [width, height, depth] = shape.size;
  uint32_t threads = width * height * depth;
  bool merge = traits.hasBarrier && !traits.hasMatrix &&
               (threads == 64 || threads == kMaxMergedLanes);
  if (merge)
    model.lanes = threads;
  if (threads == model.lanes) {
    model.layout = LaneModel::Layout::Whole;
  } else if (width % 32 == 0) {
    model.alignedRows = true;
  } else if (32 % width == 0 && width * height % 32 == 0) {
    model.layout = LaneModel::Layout::Rows;
  }
  return model;
}

ThreadgroupLayout layOutThreadgroup(const Module &module) {
  ThreadgroupLayout layout;
  for (const GlobalVariable &variable : module.globals()) {
    if (variable.getAddressSpace() != 3 || variable.use_empty())
      continue;
    uint64_t alignment = std::max<uint64_t>(16, variable.getAlign().valueOrOne().value());
    layout.size = alignTo(layout.size, alignment);
    layout.offsets[&variable] = layout.size;
    layout.size +=
        module.getDataLayout().getTypeAllocSize(variable.getValueType()).getFixedValue();
  }
  layout.size = alignTo(layout.size, 16);
  return layout;
}

unsigned registerBytesOf(compiler::TargetKind kind) { return vectorBits(kind) / 8; }

} // namespace

Result<GeneratedKernel> vectorize(air::ir::CanonicalKernel canonical,
                                  const VectorizeOptions &options, TargetMachine &machine) {
  Module &module = *canonical.module;
  Function *kernel = canonical.function;
  for (const air::Argument &argument : canonical.reflection.arguments)
    if (argument.used && argument.kind == air::ArgumentKind::Unsupported &&
        argument.parameter < kernel->arg_size() && !kernel->getArg(argument.parameter)->use_empty())
      return fail(ErrorKind::Unsupported,
                  "Kernel \"{}\" has argument \"{}\" of kind {}, which the CPU device does not have.",
                  canonical.reflection.name, argument.name, argument.metadataKind);
  PEWTER_TRY_VOID(retarget(module, machine, options.target));

  KernelTraits traits = traitsOf(*kernel);
  EntryOptions entry;
  entry.full = modelFor(traits, options.shape);
  bool oneCall = entry.full.size && entry.full.threads() <= entry.full.lanes;
  entry.hasRange = !traits.hasBarrier || oneCall;
  entry.emitter.registerBytes = registerBytesOf(options.target);
  entry.emitter.fastCopies = options.fastCopies;

  // The device runs the edges of a grid with images for any shape, so others meet partial or oddly
  // placed calls only when their own exact size has them: a last SIMD group that is not full, or one
  // that begins in one row and ends in the next.
  const auto &[width, height, depth] = options.shape.size;
  bool exactIsRagged = options.shape.kind == Kind::Exact &&
                       (uint64_t(width) * height * depth % air::kSimdWidth != 0 ||
                        (width % air::kSimdWidth != 0 && air::kSimdWidth % width != 0));
  entry.hasGeneral = options.shape.kind == Kind::Any || exactIsRagged;
  ThreadgroupLayout threadgroup = layOutThreadgroup(module);
  Function *general = nullptr;
  if (entry.hasGeneral) {
    ValueToValueMapTy values;
    general = CloneFunction(kernel, values);
    general->setName("general");
    LaneModel model = entry.full;
    model.body = LaneModel::Body::General;
    prepareKernel(*general, canonical.reflection, model);
    findDots(*general);
  }
  prepareKernel(*kernel, canonical.reflection, entry.full);
  findDots(*kernel);
  if (traits.hasMatrix)
    prefetchNextTiles(*kernel, canonical.reflection);
  else
    insertPrefetches(*kernel, canonical.reflection);
  std::string name = kernel->getName().str();
  PEWTER_TRY_VOID(
      makeEntryPoints(*kernel, general, canonical.reflection, threadgroup, entry));
  if (general)
    general->eraseFromParent();
  kernel->eraseFromParent();
  for (GlobalVariable &variable : make_early_inc_range(module.globals()))
    if (variable.getAddressSpace() == 3 && variable.use_empty())
      variable.eraseFromParent();
  std::string problem;
  raw_string_ostream stream(problem);
  if (verifyModule(module, &stream))
    return fail(ErrorKind::Internal, "The vector code of kernel \"{}\" is malformed: {}",
                name, problem);
  if (options.optimize)
    optimizeGenerated(module, machine);

  GeneratedKernel generated;
  generated.lanesPerCall = entry.full.lanes;
  generated.prefersExactShape =
      traits.hasBarrier && !traits.hasMatrix && options.shape.kind != Kind::Exact;
  generated.reflection = std::move(canonical.reflection);
  generated.reflection.staticThreadgroupBytes = uint32_t(threadgroup.size);
  generated.module = std::move(canonical.module);
  return generated;
}

Result<std::string> shapeReport(air::ir::CanonicalKernel canonical,
                                const VectorizeOptions &options) {
  LaneModel model = modelFor(traitsOf(*canonical.function), options.shape);
  prepareKernel(*canonical.function, canonical.reflection, model);
  PatternPool pool(model.lanes);
  Uniformity uniformity(*canonical.function, canonical.reflection, model, pool);
  std::string text;
  raw_string_ostream stream(text);
  uniformity.print(stream);
  return text;
}

} // namespace pewter::cpu::codegen
