// SPDX-License-Identifier: Apache-2.0
//
// DataType: the numbers that Metal gives to value types (MTLDataType), as they stand in .metallib
// files and in the API. Only the types of compute functions are here. Values; any thread.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace pewter::air {

enum class DataType : uint16_t {
  None = 0,
  Struct = 1,
  Array = 2,
  Float = 3,
  Float2,
  Float3,
  Float4,
  Float2x2 = 7,
  Float2x3,
  Float2x4,
  Float3x2,
  Float3x3,
  Float3x4,
  Float4x2,
  Float4x3,
  Float4x4,
  Half = 16,
  Half2,
  Half3,
  Half4,
  Half2x2 = 20,
  Half2x3,
  Half2x4,
  Half3x2,
  Half3x3,
  Half3x4,
  Half4x2,
  Half4x3,
  Half4x4,
  Int = 29,
  Int2,
  Int3,
  Int4,
  UInt = 33,
  UInt2,
  UInt3,
  UInt4,
  Short = 37,
  Short2,
  Short3,
  Short4,
  UShort = 41,
  UShort2,
  UShort3,
  UShort4,
  Char = 45,
  Char2,
  Char3,
  Char4,
  UChar = 49,
  UChar2,
  UChar3,
  UChar4,
  Bool = 53,
  Bool2,
  Bool3,
  Bool4,
  Texture = 58,
  Sampler = 59,
  Pointer = 60,
  Long = 81,
  Long2,
  Long3,
  Long4,
  ULong = 85,
  ULong2,
  ULong3,
  ULong4,
  BFloat = 121,
  BFloat2,
  BFloat3,
  BFloat4,
};

/// The MSL spelling ("float4", "uchar"); "" for a number that is none of the above.
std::string_view nameOf(DataType type);
/// The inverse, for scalar, vector and matrix types.
std::optional<DataType> dataTypeNamed(std::string_view mslName);
/// Size in bytes of a scalar or vector as it stands in memory (bool is 1; three components take
/// the room of four); 0 for types without a fixed size.
uint32_t sizeOf(DataType type);
uint32_t alignmentOf(DataType type);
/// Component type and count: Float4 -> {Float, 4}; a scalar has count 1.
struct Components {
  DataType scalar;
  uint32_t count;
};
Components componentsOf(DataType type);

} // namespace pewter::air
