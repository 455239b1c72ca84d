// SPDX-License-Identifier: Apache-2.0
//
// KernelEmitter: writes the body of a kernel for all lanes at once into a function under
// construction. The idea: every value that crosses a block lives in stack slots, written where it is
// defined and read where it is used; mem2reg builds SSA form afterwards. So control flow can be
// rearranged, and a block be written twice, without repairing phis.
//
//   unmasked blocks  keep their branches.
//   masked blocks    form regions. Each region is a chain: blocks in order, each with a mask slot
//                    that says which lanes wait for it; a block runs if any does. Branches only OR
//                    into the mask slots of their targets. A loop runs again while its header's
//                    mask is not empty (Karrenberg and Hack; here with scalar masks).
//   fast copies      Beside the chain each region has a copy with real branches for the case that
//                    all lanes go the same way. Where they part, the fast copy fills in the mask
//                    slots and continues in the chain; where all meet again in a loop header, the
//                    chain returns to the fast copy. Loops over ragged data therefore run unmasked
//                    but for their last iteration.
//
// Files: KernelEmitter.cpp values and slots, EmitControl.cpp, EmitInstruction.cpp, EmitMemory.cpp,
// EmitLoadGroup.cpp, EmitSimdgroup.cpp, EmitMatrix.cpp, EmitMatrixMultiply.cpp, EmitAtomic.cpp, EmitBuiltin.cpp. Used once; one thread.
#pragma once
#include "base/Error.h"
#include "cpu/codegen/analysis/LoadGroups.h"
#include "cpu/codegen/analysis/Uniformity.h"
#include "cpu/codegen/transform/LaneBuilder.h"
#include "cpu/codegen/transform/Launch.h"
#include <llvm/ADT/MapVector.h>
#include <llvm/IR/GetElementPtrTypeIterator.h>
#include <map>
#include <optional>

namespace pewter::cpu::codegen {

struct EmitterOptions {
  unsigned registerBytes = 32;
  bool fastCopies = true;
};

/// From step to step of a product all left matrices move on by as many bytes, and all right ones; pairs of right
/// ones stand side by side throughout, or not.
struct SteadySteps {
  int64_t left = 0, right = 0;
  bool isSideBySide = false;
};

/// Bytes of the threadgroup variables and where each lies.
struct ThreadgroupLayout {
  llvm::DenseMap<const llvm::GlobalVariable *, uint64_t> offsets;
  uint64_t size = 0;
};

/// Eight rows of eight, transposed.
llvm::SmallVector<llvm::Value *, 8> transposeRows(llvm::IRBuilder<> &builder,
                                                  llvm::SmallVector<llvm::Value *, 8> rows);

class KernelEmitter {
public:
  KernelEmitter(const Uniformity &uniformity, const ThreadgroupLayout &threadgroup,
                llvm::Function &target, const EmitterOptions &options);

  /// Emits the body from `start` on (a block without terminator); every path ends at `done`.
  Result<void> emit(const Launch &launch, llvm::BasicBlock *start, llvm::BasicBlock *done);

private:
  // --- Values and slots (KernelEmitter.cpp).
  struct Slot {
    LaneValue prototype;
    llvm::SmallVector<llvm::AllocaInst *, 4> memory;
    llvm::AllocaInst *bits = nullptr; ///< For a varying i1: its bits.
    bool staysInMemory = false;       ///< A matrix that no register is kept for: one array,
    std::optional<unsigned> inPair;   ///< or the first or second half of each row of an array for two.
  };
  /// Ends the compilation: the analysis and the transformation disagree about `value`.
  [[noreturn]] static void failAt(llvm::StringRef what, const llvm::Value &value);
  LaneValue get(const llvm::Value *value);
  LaneValue constantValue(const llvm::Constant *constant);
  LaneValue loadSlot(const Slot &slot);
  void storeSlot(Slot &slot, const LaneValue &value);
  void poisonSlot(const Slot &slot);
  void forgetAtHeaders();
  Slot &slotFor(const llvm::Value *value, const LaneValue &prototype);
  void declarePhi(const llvm::PHINode &phi);
  void define(const llvm::Instruction &instruction, LaneValue value);
  void defineUniform(const llvm::Instruction &instruction, llvm::Value *whole);
  void defineVectors(const llvm::Instruction &instruction, llvm::ArrayRef<llvm::Value *> vectors);
  bool needsSlot(const llvm::Instruction &instruction) const;
  llvm::AllocaInst *stack(llvm::Type *type, const llvm::Twine &name = "");
  llvm::Value *uniform(const llvm::Value *value);
  LanePart part(const LaneValue &value, unsigned index);
  LanePart part(const llvm::Value *value, unsigned index = 0) { return part(get(value), index); }
  llvm::Value *vectorOf(const LanePart &part);
  llvm::Value *vectorOf(const llvm::Value *value, unsigned index = 0) {
    return vectorOf(part(value, index));
  }
  llvm::Value *wrapMask(const LanePart &part);
  /// A pointer as (base, <lanes x i64> byte offsets).
  std::pair<llvm::Value *, llvm::Value *> address(const LanePart &part);
  llvm::Value *wideOffsets(const LanePart &part);
  llvm::Value *fullAddresses(const LanePart &part);
  LanePart pointerPart(llvm::Value *base, llvm::Value *offsets, unsigned scale = 1);
  const llvm::DataLayout &layout() const { return layout_; }
  unsigned lanes() const { return builder_.lanes(); }

  // --- Control flow (EmitControl.cpp).
  struct Region {
    std::vector<llvm::BasicBlock *> chain;
    llvm::BasicBlock *exit = nullptr;
    bool hasFastCopy = false;
  };
  struct PhiValue {
    const llvm::PHINode *phi;
    LaneValue value;
  };
  enum class Copy { Unmasked, Fast, Chain };
  Result<void> findRegions();
  void findFastBlocks();
  void findReachableLanes();
  void emitBlock(llvm::BasicBlock *block, Copy copy);
  void emitChainEntry(llvm::BasicBlock *block);
  void emitBody(llvm::BasicBlock *block);
  void emitTerminator(llvm::BasicBlock *block, Copy copy);
  void emitDispatch(llvm::BasicBlock *block, llvm::BranchInst &branch, Copy copy);
  void emitChainBranch(llvm::BasicBlock *block, llvm::BranchInst &branch);
  llvm::BasicBlock *chainNext(llvm::BasicBlock *block);
  void goTo(llvm::BasicBlock *from, llvm::BasicBlock *to, Copy copy);
  llvm::SmallVector<PhiValue, 4> collectPhis(llvm::BasicBlock *from, llvm::BasicBlock *to);
  void commitPhis(llvm::BasicBlock *to, llvm::ArrayRef<PhiValue> values, LaneMask *mask);
  void addToMask(llvm::BasicBlock *block, llvm::Value *bits);
  LaneMask conditionMask(const llvm::Value *condition);
  llvm::Value *uniformTest(const llvm::Value *condition, bool expected,
                           const llvm::BasicBlock *block, unsigned depth = 0);
  llvm::Value *compareTest(const llvm::ICmpInst &compare, bool expected);
  bool isWorthSkipping(const llvm::BasicBlock &block) const;
  llvm::BasicBlock *newBlock(const llvm::Twine &name);

  // --- Instructions (EmitInstruction.cpp, EmitBuiltin.cpp).
  void emitInstruction(llvm::Instruction &instruction);
  void emitUniform(llvm::Instruction &instruction);
  bool emitPattern(llvm::Instruction &instruction);
  void emitAddress(llvm::GetElementPtrInst &address);
  void emitVarying(llvm::Instruction &instruction);
  void emitSelect(llvm::SelectInst &select);
  void emitPointerSelect(llvm::SelectInst &select);
  void emitCompare(llvm::CmpInst &compare);
  void emitCast(llvm::CastInst &cast);
  void emitBitCast(llvm::CastInst &cast);
  void emitElement(llvm::Instruction &instruction);
  void emitBinary(llvm::BinaryOperator &operation);
  llvm::Value *divide(unsigned opcode, llvm::Value *left, llvm::Value *right);
  llvm::Value *extendPattern(llvm::CastInst &cast, const LanePart &operand, LanePart &result);
  void emitFreeze(llvm::FreezeInst &freeze);
  void emitCall(llvm::CallInst &call);
  void emitLaneByLane(llvm::Instruction &instruction);
  void emitDot(llvm::CallInst &call);
  LaneValue builtinValue(const llvm::Argument &argument);
  LanePart builtinPart(air::Builtin builtin, unsigned component, llvm::Type *type,
                       const Shape &shape);

  // --- Memory (EmitMemory.cpp).
  struct Access {
    llvm::Type *element = nullptr; ///< As in memory: i64 for pointers.
    unsigned count = 1;
    uint64_t bytes = 0; ///< Of one element.
    llvm::Align alignment;
    bool isInvariant = false;
  };
  void emitLoad(llvm::LoadInst &load);
  void emitStore(llvm::StoreInst &store);
  void emitMemoryIntrinsic(llvm::CallInst &call);
  void emitPrefetch(llvm::CallInst &call);
  void prefetch(llvm::Value *place);
  llvm::SmallVector<llvm::Value *, 4> loadRecords(const LanePart &pointer, unsigned words);
  llvm::SmallVector<llvm::Value *, 4> loadScattered(const LanePart &pointer, llvm::Value *offsets,
                                                    unsigned words);
  const llvm::SmallVector<llvm::Value *, 8> &groupWords(const LoadGroup &group);
  void emitGroupedLoad(llvm::LoadInst &load, const LoadGroup &group, int64_t offset);
  LanePart laneAddress(const LanePart &pointer, const llvm::Value *original);
  LanePart offsetBy(const LanePart &pointer, int64_t bytes);
  llvm::SmallVector<llvm::Value *, 4> loadParts(const LanePart &pointer, const Access &access);
  llvm::SmallVector<llvm::Value *, 4> loadPattern(const LanePart &pointer, const Access &access);
  llvm::SmallVector<llvm::Value *, 4> loadShared(const LanePart &pointer, const Access &access);
  llvm::SmallVector<llvm::Value *, 4> loadPieces(const LanePart &pointer, const Access &access);
  llvm::Value *gather(const LanePart &pointer, const Access &access, unsigned component);
  llvm::Value *gatherSmall(const LanePart &pointer, const Access &access, unsigned component);
  void storeParts(const LanePart &pointer, const Access &access,
                  llvm::ArrayRef<llvm::Value *> values);
  bool storePattern(const LanePart &pointer, const Access &access,
                    llvm::ArrayRef<llvm::Value *> values);
  bool storeFewLanes(const LanePart &pointer, const Access &access,
                     llvm::ArrayRef<llvm::Value *> values);
  llvm::Value *asRecords(llvm::Value *wide, const Access &access);
  bool storeRuns(const LanePart &pointer, const Access &access, llvm::Value *wide);
  void scatter(const LanePart &pointer, const Access &access,
               llvm::ArrayRef<llvm::Value *> values);
  /// Runs `body` with the index (i32) of each active lane, lowest first.
  void forEachLane(llvm::Value *bits, llvm::function_ref<void(llvm::Value *)> body);
  llvm::Value *spill(llvm::Value *vector);
  llvm::Value *elementAt(llvm::Value *spilled, llvm::Type *element, llvm::Value *lane);
  bool isContiguous(const LanePart &pointer, uint64_t bytes) const;
  llvm::Value *memoryForm(llvm::Value *vector, llvm::Type *element);

  // --- SIMD-group operations (EmitSimdgroup.cpp, EmitShuffle.cpp).
  enum class Combine { Sum, Product, Min, Max, And, Or, Xor };
  struct Reduction {
    Combine combine = Combine::Sum;
    bool isSigned = false;
    unsigned width = 32; ///< 32 for the SIMD group, 4 for quads.
    llvm::FastMathFlags flags;
  };
  bool emitSimdCall(llvm::CallInst &call, llvm::StringRef name);
  bool emitReduction(llvm::CallInst &call, llvm::StringRef operation, bool isSigned,
                     unsigned width);
  llvm::Value *reduce(const Reduction &reduction, llvm::Value *vector, bool toScalar);
  llvm::Value *scan(const Reduction &reduction, llvm::Value *vector, bool isInclusive);
  llvm::Value *combine(const Reduction &reduction, llvm::Value *left, llvm::Value *right);
  llvm::Constant *identityOf(const Reduction &reduction, llvm::Type *element);
  llvm::Value *withInactive(llvm::Value *vector, llvm::Constant *filler);
  bool emitVote(llvm::CallInst &call, llvm::StringRef operation, unsigned width);
  llvm::SmallVector<llvm::Value *, 4> segmentBits(llvm::Value *bits);
  llvm::Value *fromSegments(llvm::ArrayRef<llvm::Value *> scalars);
  bool emitShuffle(llvm::CallInst &call, llvm::StringRef operation, unsigned width);
  llvm::Value *shuffleLiteral(llvm::Value *vector, llvm::Value *filler,
                              const LanePattern &sources);
  llvm::Value *shuffleVarying(llvm::Value *vector, llvm::Value *sources);

  // --- Matrices (EmitMatrix.cpp, EmitMatrixMultiply.cpp).
  using Pieces = llvm::SmallVector<llvm::Value *, 8>;
  /// Rows in memory: element (r, c) is at address + r * pitch bytes + c elements, or (c, r) is.
  struct MatrixRows {
    llvm::Value *address = nullptr;
    llvm::Value *pitch = nullptr;
    llvm::Type *element = nullptr;
    bool isTransposed = false;
    const llvm::Value *root = nullptr; ///< The address is this and `offset` bytes, where that is known.
    int64_t offset = 0;
    bool isLike(const MatrixRows &other) const;
  };
  struct MatrixOperands;
  bool emitMatrixCall(llvm::CallInst &call, llvm::StringRef name);
  bool emitMatrixMemory(llvm::CallInst &call, bool isStore);
  llvm::Value *matrixElement(llvm::Value *matrix, unsigned index);
  llvm::Value *withMatrixElement(llvm::Value *matrix, llvm::Value *values, unsigned index);
  unsigned rowsPerPiece() const { return options_.registerBytes >= 64 ? 2 : 1; }
  Pieces piecesOf(llvm::Value *matrix);
  llvm::Value *matrixOf(const Pieces &pieces);
  Pieces widened(Pieces pieces);
  Pieces loadMatrix(const MatrixRows &rows);
  void storeMatrix(const MatrixRows &rows, const Pieces &pieces);
  MatrixRows matrixIn(const Slot &slot);
  llvm::Value *rowAddress(const MatrixRows &rows, unsigned row);
  void countMatrices();
  void pairSums();
  void addMultiplication(llvm::CallInst &call);
  bool endsMatrixWork(const llvm::Instruction &instruction) const;
  /// Emits what waits: see EmitMatrixMultiply.cpp.
  void emitMatrixWork();
  void emitChains(llvm::ArrayRef<llvm::ArrayRef<llvm::CallInst *>> chains,
                  MatrixOperands &operands);
  void callChains(llvm::ArrayRef<llvm::ArrayRef<llvm::CallInst *>> chains,
                  MatrixOperands &operands);
  static std::optional<int64_t> distance(const MatrixRows &from, const MatrixRows &to);
  static bool isPair(const MatrixRows &first, const MatrixRows &second);
  std::optional<SteadySteps> steadySteps(llvm::ArrayRef<MatrixRows> lefts,
                                         llvm::ArrayRef<MatrixRows> rights) const;
  llvm::Value *placesInTable(llvm::ArrayRef<MatrixRows> lefts, llvm::ArrayRef<MatrixRows> rights);
  llvm::Value *areSideBySide(llvm::ArrayRef<MatrixRows> rights, unsigned count);
  MatrixRows scratch(llvm::AllocaInst *&memory, unsigned index, bool inPairs);
  MatrixRows onStack(const llvm::Value *matrix, MatrixOperands &operands);
  void copyWidened(const llvm::Value *matrix, const MatrixRows &to, MatrixOperands &operands);
  bool matricesAreCalls() const;
  MatrixRows inPair(const llvm::Value *matrix, MatrixOperands &operands);
  llvm::SmallVector<MatrixRows, 32> copiesInRows(llvm::ArrayRef<const llvm::Value *> matrices,
                                                 MatrixOperands &operands);
  bool isReadInPlace(const llvm::Value *right, const MatrixOperands &operands) const;
  void multiplyPieces(llvm::ArrayRef<llvm::CallInst *> step, llvm::MutableArrayRef<Pieces> sums,
                      MatrixOperands &operands);
  void defineProduct(llvm::CallInst &call, const llvm::CallInst *next, const Pieces &pieces);
  const llvm::PHINode *sumItContinues(const llvm::CallInst &call) const;

  // --- Atomics (EmitAtomic.cpp), the runtime (EmitBuiltin.cpp).
  bool emitAtomicCall(llvm::CallInst &call, llvm::StringRef name);
  void emitBarrier(llvm::CallInst &call, llvm::StringRef name);
  void emitLog(llvm::CallInst &call);
  void unsupported(const llvm::Instruction &instruction, llvm::StringRef what);

  const Uniformity &uniformity_;
  const ThreadgroupLayout &threadgroup_;
  llvm::Function &target_;
  EmitterOptions options_;
  const llvm::DataLayout &layout_;
  llvm::LLVMContext &context_;
  LaneBuilder builder_;
  const Launch *launch_ = nullptr;
  llvm::BasicBlock *done_ = nullptr;

  llvm::DenseMap<const llvm::Value *, LaneValue> current_; ///< Values available in this block.
  llvm::DenseMap<const llvm::Value *, LaneValue> arguments_;
  llvm::MapVector<const llvm::Value *, Slot> slots_;
  llvm::DenseMap<const llvm::BasicBlock *, std::vector<const llvm::Value *>> definedIn_;
  std::vector<Region> regions_;
  llvm::DenseMap<const llvm::BasicBlock *, unsigned> regionOf_;
  llvm::DenseSet<const llvm::BasicBlock *> fastBlocks_;
  llvm::DenseMap<const llvm::BasicBlock *, llvm::APInt> reachableLanes_; ///< No other lane gets there.
  llvm::DenseMap<const llvm::BasicBlock *, llvm::BasicBlock *> labels_, fastLabels_;
  llvm::DenseMap<const llvm::BasicBlock *, llvm::AllocaInst *> maskSlots_;
  llvm::DenseMap<const llvm::BasicBlock *, llvm::BasicBlock *> chainNexts_;
  llvm::DenseMap<const llvm::BasicBlock *, std::vector<const llvm::PHINode *>> resets_;
  llvm::DenseMap<const llvm::Value *, Pieces> pieces_; ///< Of matrices put together from them.
  llvm::MapVector<const llvm::CallInst *, MatrixRows> waitingLoads_;
  llvm::SmallVector<llvm::CallInst *, 16> waitingProducts_;
  llvm::SmallVector<llvm::Value *, 16> waitingPrefetches_; ///< Of places; spread over the products.
  llvm::DenseSet<const llvm::Value *> waitingSums_; ///< What waiting products start from.
  llvm::DenseMap<const llvm::BasicBlock *, std::vector<LoadGroup>> groups_;
  llvm::DenseMap<const llvm::LoadInst *, std::pair<const LoadGroup *, int64_t>> groupOf_;
  std::map<const LoadGroup *, llvm::SmallVector<llvm::Value *, 8>> fetchedGroups_; ///< In this block.
  /// The lines that this block has prefetched, as offsets from a base and a distance.
  std::map<std::pair<llvm::Value *, llvm::Value *>, llvm::SmallVector<int64_t, 8>> prefetched_;
  unsigned products_ = 0; ///< Of matrices, in the kernel.
  bool matricesStayInMemory_ = false;
  /// Reused by each run of emitMatrixWork.
  llvm::AllocaInst *matrixScratch_ = nullptr, *pairScratch_ = nullptr, *rowScratch_ = nullptr,
                   *sumScratch_ = nullptr;
  /// Sums that stand side by side in memory: the first of the pair and which this is.
  llvm::DenseMap<const llvm::Value *, std::pair<const llvm::Value *, unsigned>> pairedSums_;
  llvm::DenseMap<const llvm::Value *, llvm::AllocaInst *> pairMemory_; ///< By the first.
  std::map<uint64_t, llvm::AllocaInst *> chainTables_; ///< By their entries.
  LaneMask mask_; ///< Of the block being emitted.
  llvm::BasicBlock *skip_ = nullptr;
  const llvm::BasicBlock *block_ = nullptr;
  std::optional<Error> error_;
};

} // namespace pewter::cpu::codegen
