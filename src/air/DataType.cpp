// SPDX-License-Identifier: Apache-2.0
// One row per scalar family; vectors and matrices follow from Metal's numbering, where the members
// of a family are consecutive. Tested by DataType_test.cpp.
#include "air/DataType.h"
#include <array>
#include <string>

namespace pewter::air {

namespace {

struct Family {
  DataType scalar;
  std::string_view name;
  uint32_t size; ///< Bytes of the scalar.
};

constexpr Family kFamilies[] = {
    {DataType::Float, "float", 4}, {DataType::Half, "half", 2},   {DataType::Int, "int", 4},
    {DataType::UInt, "uint", 4},   {DataType::Short, "short", 2}, {DataType::UShort, "ushort", 2},
    {DataType::Char, "char", 1},   {DataType::UChar, "uchar", 1}, {DataType::Bool, "bool", 1},
    {DataType::Long, "long", 8},   {DataType::ULong, "ulong", 8}, {DataType::BFloat, "bfloat", 2},
};

struct MatrixFamily {
  DataType first; ///< 2x2; the others follow by columns, then rows.
  DataType scalar;
  std::string_view name;
};
constexpr MatrixFamily kMatrices[] = {{DataType::Float2x2, DataType::Float, "float"},
                                      {DataType::Half2x2, DataType::Half, "half"}};

constexpr uint32_t number(DataType type) { return static_cast<uint32_t>(type); }

const Family *familyOf(DataType type) {
  for (const Family &family : kFamilies)
    if (number(type) >= number(family.scalar) && number(type) < number(family.scalar) + 4)
      return &family;
  return nullptr;
}

const MatrixFamily *matrixOf(DataType type) {
  for (const MatrixFamily &matrix : kMatrices)
    if (number(type) >= number(matrix.first) && number(type) < number(matrix.first) + 9)
      return &matrix;
  return nullptr;
}

struct Named {
  std::string text;
  DataType type;
};

const std::array<Named, 66> &allNames() {
  static const std::array<Named, 66> names = [] {
    std::array<Named, 66> table;
    size_t at = 0;
    for (const Family &family : kFamilies)
      for (uint32_t i = 0; i < 4; ++i)
        table[at++] = {std::string(family.name) + (i ? std::to_string(i + 1) : ""),
                       static_cast<DataType>(number(family.scalar) + i)};
    for (const MatrixFamily &matrix : kMatrices)
      for (uint32_t i = 0; i < 9; ++i)
        table[at++] = {std::string(matrix.name) + std::to_string(2 + i / 3) + "x" +
                           std::to_string(2 + i % 3),
                       static_cast<DataType>(number(matrix.first) + i)};
    return table;
  }();
  return names;
}

} // namespace

std::string_view nameOf(DataType type) {
  switch (type) {
  case DataType::None:
    return "none";
  case DataType::Struct:
    return "struct";
  case DataType::Array:
    return "array";
  case DataType::Texture:
    return "texture";
  case DataType::Sampler:
    return "sampler";
  case DataType::Pointer:
    return "pointer";
  default:
    break;
  }
  for (const Named &named : allNames())
    if (named.type == type)
      return named.text;
  return "";
}

std::optional<DataType> dataTypeNamed(std::string_view mslName) {
  for (const Named &named : allNames())
    if (named.text == mslName)
      return named.type;
  // The C spellings that front-ends write into metadata.
  static constexpr std::pair<std::string_view, DataType> kAliases[] = {
      {"uint32_t", DataType::UInt},         {"int32_t", DataType::Int},
      {"uint16_t", DataType::UShort},       {"int16_t", DataType::Short},
      {"uint8_t", DataType::UChar},         {"int8_t", DataType::Char},
      {"uint64_t", DataType::ULong},        {"int64_t", DataType::Long},
      {"size_t", DataType::ULong},          {"unsigned int", DataType::UInt},
      {"unsigned short", DataType::UShort}, {"unsigned char", DataType::UChar},
      {"unsigned long", DataType::ULong},   {"signed char", DataType::Char}};
  for (const auto &[alias, type] : kAliases)
    if (alias == mslName)
      return type;
  return std::nullopt;
}

Components componentsOf(DataType type) {
  if (const Family *family = familyOf(type))
    return {family->scalar, number(type) - number(family->scalar) + 1};
  if (const MatrixFamily *matrix = matrixOf(type)) {
    const uint32_t i = number(type) - number(matrix->first);
    return {matrix->scalar, (2 + i / 3) * (2 + i % 3)};
  }
  return {type, 1};
}

uint32_t sizeOf(DataType type) {
  if (const Family *family = familyOf(type)) {
    const uint32_t count = componentsOf(type).count;
    return family->size * (count == 3 ? 4 : count);
  }
  if (const MatrixFamily *matrix = matrixOf(type)) {
    const uint32_t i = number(type) - number(matrix->first);
    const uint32_t columns = 2 + i / 3, rows = 2 + i % 3;
    return columns * (rows == 3 ? 4 : rows) * sizeOf(matrix->scalar);
  }
  return 0;
}

uint32_t alignmentOf(DataType type) {
  if (const MatrixFamily *matrix = matrixOf(type)) {
    const uint32_t rows = 2 + (number(type) - number(matrix->first)) % 3;
    return (rows == 3 ? 4 : rows) * sizeOf(matrix->scalar);
  }
  return sizeOf(type);
}

} // namespace pewter::air
