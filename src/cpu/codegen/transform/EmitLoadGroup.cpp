// SPDX-License-Identifier: Apache-2.0
//
// Fetching a load group: `words` 32-bit words of each lane, which lie one behind the other. With all
// lanes active and a pattern address the lanes' records are read by whole registers, lane after lane,
// and taken apart by even/odd shuffles; else word by word with gathers. Elements are then cut out of
// words with shifts, which LLVM folds into sign and zero extensions.
#include "cpu/codegen/transform/KernelEmitter.h"
#include <llvm/IR/Constants.h>

using namespace llvm;

namespace pewter::cpu::codegen {

namespace {
/// A register is put together from at most this many loads.
constexpr unsigned kMaxPieces = 4;
} // namespace

/// The records as <lanes x i32> vectors, word after word; empty when the pattern is too scattered.
SmallVector<Value *, 4> KernelEmitter::loadRecords(const LanePart &pointer, unsigned words) {
  Type *i32 = builder_.getInt32Ty();
  unsigned width = builder_.registerElements(i32);
  auto load = [&](int64_t offset, unsigned count) -> Value * {
    Value *place = builder_.CreatePtrAdd(pointer.scalar, builder_.getInt64(uint64_t(offset)));
    return builder_.CreateAlignedLoad(FixedVectorType::get(i32, count), place, Align(1));
  };

  // Few records that many lanes share: fetch each once.
  std::map<int64_t, unsigned> places;
  for (unsigned lane = 0; lane < lanes(); ++lane)
    places.insert({pointer.shape.at(lane), 0});
  if (places.size() <= lanes() / 2 && places.size() * words <= 2 * width) {
    SmallVector<Value *, 8> records;
    for (auto &[offset, index] : places) {
      index = records.size();
      records.push_back(load(offset, words));
    }
    Value *all = builder_.concatenate(records);
    unsigned total = places.size() * words;
    Value *low = builder_.slice(all, 0, std::min(total, width));
    Value *high = total > width ? builder_.slice(all, width, total - width) : nullptr;
    SmallVector<Value *, 4> results;
    for (unsigned word = 0; word < words; ++word) {
      SmallVector<Value *, 8> registers;
      for (unsigned begin = 0; begin < lanes(); begin += width) {
        SmallVector<int> mask;
        for (unsigned lane = begin; lane < begin + width; ++lane)
          mask.push_back(int(places[pointer.shape.at(lane)] * words + word));
        if (!high) {
          registers.push_back(builder_.CreateShuffleVector(low, mask));
          continue;
        }
        SmallVector<int> widen(width, -1);
        for (unsigned i = 0; i < total - width; ++i)
          widen[i] = int(i);
        registers.push_back(builder_.CreateShuffleVector(
            low, builder_.CreateShuffleVector(high, widen), mask));
      }
      results.push_back(builder_.concatenate(registers));
    }
    return results;
  }

  // Pieces: [lane, word) runs that are contiguous in memory, cut at registers.
  struct Piece {
    int64_t offset;
    unsigned count;
  };
  std::vector<std::vector<Piece>> plan;
  for (unsigned begin = 0; begin < lanes() * words; begin += width) {
    std::vector<Piece> pieces;
    for (unsigned i = begin; i < begin + width; ++i) {
      int64_t offset = pointer.shape.at(i / words) + 4 * int64_t(i % words);
      if (!pieces.empty() && pieces.back().offset + 4 * pieces.back().count == offset)
        ++pieces.back().count;
      else
        pieces.push_back({offset, 1});
    }
    if (pieces.size() > kMaxPieces)
      return {};
    plan.push_back(std::move(pieces));
  }
  SmallVector<Value *, 16> registers;
  for (const auto &pieces : plan) {
    SmallVector<Value *, 4> parts;
    for (const Piece &piece : pieces)
      parts.push_back(load(piece.offset, piece.count));
    registers.push_back(builder_.concatenate(parts));
  }
  auto separated = builder_.deinterleaveRegisters(std::move(registers), words);
  return SmallVector<Value *, 4>(separated.begin(), separated.end());
}

/// The records of lanes that are anywhere: one load a lane, then as above. A gather takes as long for every
/// word as these loads take together.
SmallVector<Value *, 4> KernelEmitter::loadScattered(const LanePart &pointer, Value *offsets,
                                                     unsigned words) {
  Type *i32 = builder_.getInt32Ty();
  unsigned width = builder_.registerElements(i32);
  SmallVector<Value *, 16> registers;
  for (unsigned begin = 0; begin < lanes(); begin += width / words) {
    SmallVector<Value *, 4> records;
    for (unsigned lane = begin; lane < begin + width / words; ++lane) {
      Value *own = builder_.CreatePtrAdd(
          pointer.scalar, elementAt(offsets, builder_.getInt64Ty(), builder_.getInt64(lane)));
      records.push_back(
          builder_.CreateAlignedLoad(FixedVectorType::get(i32, words), own, Align(1)));
    }
    registers.push_back(builder_.concatenate(records));
  }
  auto separated = builder_.deinterleaveRegisters(std::move(registers), words);
  return SmallVector<Value *, 4>(separated.begin(), separated.end());
}

const SmallVector<Value *, 8> &KernelEmitter::groupWords(const LoadGroup &group) {
  auto &fetched = fetchedGroups_[&group];
  if (!fetched.empty())
    return fetched;
  LanePart pointer = offsetBy(part(group.first->getPointerOperand()),
                              group.begin - group.firstOffset);
  int64_t bytes = group.end - group.begin;
  bool byPattern = pointer.shape.isPattern() && LaneBuilder::isFull(mask_);
  Access word{builder_.getInt32Ty(), 1, 4, Align(1),
              group.first->getPointerAddressSpace() == 2};
  // Few words a lane are as quick to gather.
  bool byLane = pointer.shape.isVarying() && LaneBuilder::isFull(mask_) && bytes >= 16;
  Value *offsets = byLane ? spill(wideOffsets(pointer)) : nullptr;
  auto fetch = [&](int64_t offset, unsigned count) {
    LanePart place = offsetBy(pointer, offset);
    SmallVector<Value *, 4> words;
    if (byPattern)
      words = loadRecords(place, count);
    else if (byLane && count >= 4 && count <= builder_.registerElements(builder_.getInt32Ty()))
      words = loadScattered(place, offsets, count);
    for (unsigned i = 0; words.size() < count; ++i)
      words.push_back(gather(offsetBy(place, 4 * i), word, 0));
    fetched.append(words.begin(), words.end());
  };
  unsigned left = unsigned(bytes / 4);
  int64_t offset = 0;
  for (unsigned count = 8; count; count /= 2)
    for (; left >= count; left -= count, offset += 4 * count)
      fetch(offset, count);
  if (bytes % 4) // The last word overlaps the one before; nothing behind the group is read.
    fetch(bytes - 4, 1);
  return fetched;
}

void KernelEmitter::emitGroupedLoad(LoadInst &load, const LoadGroup &group, int64_t offset) {
  const auto &words = groupWords(group);
  int64_t bytes = group.end - group.begin;
  // Word at byte 4 * index of the record, zeros behind the end.
  auto wordAt = [&](int64_t index) -> Value * {
    if (4 * index + 4 <= bytes)
      return words[size_t(index)];
    return builder_.CreateLShr(words.back(), uint64_t(8 * (4 * index - (bytes - 4))));
  };
  auto bitsAt = [&](int64_t place) -> Value * { // 32 bits from byte `place` on.
    int64_t index = place / 4;
    uint64_t shift = uint64_t(place % 4) * 8;
    Value *low = wordAt(index);
    if (!shift)
      return low;
    low = builder_.CreateLShr(low, shift);
    return low;
  };
  auto spanning = [&](int64_t place, int64_t size) -> Value * {
    Value *low = bitsAt(place);
    if (place % 4 + size <= 4)
      return low;
    Value *high = builder_.CreateShl(wordAt(place / 4 + 1), uint64_t(32 - place % 4 * 8));
    return builder_.CreateOr(low, high);
  };
  Type *element = load.getType()->getScalarType();
  int64_t size = int64_t(layout_.getTypeStoreSize(element).getFixedValue());
  SmallVector<Value *, 4> vectors;
  for (unsigned i = 0; i < componentsOf(load.getType()); ++i) {
    int64_t place = offset - group.begin + int64_t(i) * size;
    Value *value;
    if (size == 8) {
      Type *wide = builder_.vectorOf(builder_.getInt64Ty());
      Value *low = builder_.CreateZExt(spanning(place, 4), wide);
      Value *high = builder_.CreateZExt(spanning(place + 4, 4), wide);
      value = builder_.CreateOr(low, builder_.CreateShl(high, 32));
    } else {
      value = spanning(place, size);
      if (size < 4)
        value = builder_.CreateTrunc(value, builder_.vectorOf(builder_.getIntNTy(unsigned(size * 8))));
    }
    vectors.push_back(builder_.CreateBitCast(value, builder_.vectorOf(element)));
  }
  defineVectors(load, vectors);
}

} // namespace pewter::cpu::codegen
