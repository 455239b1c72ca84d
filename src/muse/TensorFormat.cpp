// SPDX-License-Identifier: Apache-2.0
// Tested by Dequantize_test.cpp and Quantize_test.cpp.
#include "muse/TensorFormat.h"
#include "base/Check.h"
#include <algorithm>
#include <cctype>

namespace pewter::muse {
namespace {

constexpr TensorFormat kFormats[] = {
    {0, "F32", 1, 4, true},          {1, "F16", 1, 2, true},
    {2, "Q4_0", 32, 18, true},       {3, "Q4_1", 32, 20, false},
    {6, "Q5_0", 32, 22, false},      {7, "Q5_1", 32, 24, false},
    {8, "Q8_0", 32, 34, true},       {9, "Q8_1", 32, 36, false},
    {10, "Q2_K", 256, 84, false},    {11, "Q3_K", 256, 110, false},
    {12, "Q4_K", 256, 144, true},    {13, "Q5_K", 256, 176, true},
    {14, "Q6_K", 256, 210, true},    {15, "Q8_K", 256, 292, false},
    {16, "IQ2_XXS", 256, 66, false}, {17, "IQ2_XS", 256, 74, false},
    {18, "IQ3_XXS", 256, 98, false}, {19, "IQ1_S", 256, 50, false},
    {20, "IQ4_NL", 32, 18, true},    {21, "IQ3_S", 256, 110, false},
    {22, "IQ2_S", 256, 82, false},   {23, "IQ4_XS", 256, 136, false},
    {24, "I8", 1, 1, false},         {25, "I16", 1, 2, false},
    {26, "I32", 1, 4, false},        {27, "I64", 1, 8, false},
    {28, "F64", 1, 8, false},        {29, "IQ1_M", 256, 56, false},
    {30, "BF16", 1, 2, true},        {34, "TQ1_0", 256, 54, false},
    {35, "TQ2_0", 256, 66, false},   {39, "MXFP4", 32, 17, true},
    {1000, "NVFP4_E2M1", 2, 1, true}, {1001, "F8_E4M3FN", 1, 1, true},
};

bool equalIgnoringCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) {
    return std::toupper(x) == std::toupper(y);
  });
}

} // namespace

std::span<const TensorFormat> allTensorFormats() { return kFormats; }

const TensorFormat *findTensorFormat(uint32_t id) {
  const auto *found = std::ranges::lower_bound(kFormats, id, {}, &TensorFormat::id);
  return found != std::end(kFormats) && found->id == id ? found : nullptr;
}

const TensorFormat *findTensorFormat(std::string_view name) {
  for (const TensorFormat &format : kFormats)
    if (equalIgnoringCase(format.name, name))
      return &format;
  return equalIgnoringCase(name, "NVFP4") ? findTensorFormat(1000u) : nullptr;
}

const TensorFormat &formatOf(TensorType type) {
  const TensorFormat *format = findTensorFormat(static_cast<uint32_t>(type));
  PEWTER_CHECK(format);
  return *format;
}

std::optional<uint64_t> rowBytes(const TensorFormat &format, uint64_t elements) {
  if (elements % format.blockElements)
    return std::nullopt;
  uint64_t blocks = elements / format.blockElements, bytes = 0;
  if (__builtin_mul_overflow(blocks, uint64_t(format.blockBytes), &bytes))
    return std::nullopt;
  return bytes;
}

} // namespace pewter::muse
