// SPDX-License-Identifier: Apache-2.0
//
// How the elements of a GGUF tensor are stored: the type numbers a file may carry, the size of a
// block, and which of them this engine can run. Element type ids are the file's own. Everything
// here is a table look-up; no state, any thread.
#pragma once
#include "base/Error.h"
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace pewter::muse {

enum class TensorType : uint32_t {
  F32 = 0,
  F16 = 1,
  Q4_0 = 2,
  Q8_0 = 8,
  Q4_K = 12,
  Q5_K = 13,
  Q6_K = 14,
  IQ4_NL = 20,
  BF16 = 30,
  MXFP4 = 39,
  NVFP4_E2M1 = 1000, ///< Four-bit codes; scales are tensors of their own.
  F8_E4M3 = 1001,    ///< The scales of an NVFP4 tensor.
};

struct TensorFormat {
  uint32_t id;
  std::string_view name;
  uint32_t blockElements;
  uint32_t blockBytes;
  /// Whether the engine dequantises and runs it. The others are known by size only, so that a file
  /// which holds them can be listed and refused by name.
  bool runnable;
  TensorType type() const { return static_cast<TensorType>(id); }
};

/// Every type number that may stand in a file, by ascending id.
std::span<const TensorFormat> allTensorFormats();
const TensorFormat *findTensorFormat(uint32_t id);
/// By name, upper or lower case; for command lines.
const TensorFormat *findTensorFormat(std::string_view name);
/// The format of a runnable type; never null.
const TensorFormat &formatOf(TensorType type);
inline std::string_view nameOf(TensorType type) { return formatOf(type).name; }

/// Bytes of one row of `elements` elements, or nothing when the row does not end on a block.
std::optional<uint64_t> rowBytes(const TensorFormat &format, uint64_t elements);

} // namespace pewter::muse
