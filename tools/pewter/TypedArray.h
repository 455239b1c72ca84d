// SPDX-License-Identifier: Apache-2.0
//
// TypedArray: a dense array with an element type and a shape, as the command line names it
// ("random:f32[4,6656]:7", "weights.npy") and as NumPy's .npy files hold it. What the file format
// lacks (bfloat16) is written as two-byte opaque elements. Host memory, C order, little-endian.
#pragma once
#include "base/Bytes.h"
#include <string>
#include <vector>

namespace pewter::tools {

enum class ElementType : uint8_t { F32, F16, BF16, I8, U8, I16, U16, I32, U32, I64, U64, Bool };

std::string_view nameOf(ElementType type);
/// "f32", "bf16", "u8", ...; the error lists the names there are.
Result<ElementType> elementTypeNamed(std::string_view name);
uint32_t sizeOf(ElementType type);

struct TypedArray {
  ElementType type = ElementType::F32;
  std::vector<uint64_t> shape;
  Bytes bytes; ///< product(shape) * sizeOf(type) bytes.

  uint64_t count() const;
};

/// A buffer as the command line gives it: FILE.npy, zeros:TYPE[SHAPE], or random:TYPE[SHAPE][:SEED].
/// Random floats are uniform in [-1, 1), integers uniform over their range, the same on every machine.
Result<TypedArray> arrayFromSpec(std::string_view spec);

/// A single value as the command line gives it: TYPE:VALUE or TYPE:V,V,... ("u32:6656").
Result<TypedArray> valueFromSpec(std::string_view spec);

Result<TypedArray> readNpy(const std::string &path);
Result<void> writeNpy(const std::string &path, const TypedArray &array);

/// One element as text.
std::string elementText(const TypedArray &array, uint64_t index);

/// "4,6656" or "4" -> {4, 6656}; `what` names the option in errors.
Result<std::vector<uint64_t>> numbersFrom(std::string_view text, std::string_view what);

} // namespace pewter::tools
