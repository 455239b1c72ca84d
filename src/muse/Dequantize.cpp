// SPDX-License-Identifier: Apache-2.0
// Tested by Dequantize_test.cpp: worked numbers of each format.
#include "muse/Dequantize.h"
#include "base/Check.h"
#include "base/Half.h"
#include "muse/SmallFloats.h"
#include <cstring>

namespace pewter::muse {
namespace {

uint16_t half(const uint8_t *at) {
  uint16_t bits;
  std::memcpy(&bits, at, 2);
  return bits;
}

void decodeQ8_0(const uint8_t *block, float *y) {
  float d = floatFromHalf(half(block));
  for (int i = 0; i < 32; ++i)
    y[i] = d * static_cast<int8_t>(block[2 + i]);
}

void decodeQ4_0(const uint8_t *block, float *y) {
  float d = floatFromHalf(half(block));
  for (int i = 0; i < 16; ++i) {
    y[i] = d * (static_cast<int>(block[2 + i] & 15) - 8);
    y[i + 16] = d * (static_cast<int>(block[2 + i] >> 4) - 8);
  }
}

void decodeIq4nl(const uint8_t *block, float *y) {
  float d = floatFromHalf(half(block));
  for (int i = 0; i < 16; ++i) {
    y[i] = d * kIq4nlValues[block[2 + i] & 15];
    y[i + 16] = d * kIq4nlValues[block[2 + i] >> 4];
  }
}

void decodeMxfp4(const uint8_t *block, float *y) {
  float d = fromE8M0(block[0]);
  for (int i = 0; i < 16; ++i) {
    y[i] = d * fromE2M1(block[1 + i] & 15);
    y[i + 16] = d * fromE2M1(block[1 + i] >> 4);
  }
}

/// Q4_K, and with `high` (the 32 bytes of fifth bits) Q5_K.
void decodeQ45K(const uint8_t *block, const uint8_t *high, const uint8_t *nibbles, float *y) {
  float d = floatFromHalf(half(block)), dmin = floatFromHalf(half(block + 2));
  for (int j = 0; j < 8; ++j) {
    auto [scale, min] = unpackScaleMin(block + 4, j);
    float factor = d * scale, less = dmin * min;
    for (int l = 0; l < 32; ++l) {
      uint8_t pair = nibbles[32 * (j / 2) + l];
      int code = j % 2 ? pair >> 4 : pair & 15;
      if (high)
        code += (high[l] >> j & 1) << 4;
      y[32 * j + l] = factor * code - less;
    }
  }
}

void decodeQ6K(const uint8_t *block, float *y) {
  const uint8_t *low = block, *high = block + 128;
  const auto *scales = reinterpret_cast<const int8_t *>(block + 192);
  float d = floatFromHalf(half(block + 208));
  for (int e = 0; e < 256; ++e) {
    int g = e / 128, quarter = e % 128 / 32, l = e % 32;
    uint8_t pair = low[64 * g + 32 * (quarter & 1) + l];
    int code = quarter < 2 ? pair & 15 : pair >> 4;
    code |= (high[32 * g + l] >> 2 * quarter & 3) << 4;
    y[e] = d * scales[e / 16] * (code - 32);
  }
}

} // namespace

const int8_t kIq4nlValues[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                 1,    13,   25,  38,  53,  69,  89,  113};

ScaleMin unpackScaleMin(const uint8_t s[12], int j) {
  if (j < 4)
    return {static_cast<uint8_t>(s[j] & 63), static_cast<uint8_t>(s[j + 4] & 63)};
  return {static_cast<uint8_t>((s[j + 4] & 15) | s[j - 4] >> 6 << 4),
          static_cast<uint8_t>(s[j + 4] >> 4 | s[j] >> 6 << 4)};
}

void dequantizeBlocks(TensorType type, ByteView blocks, std::span<float> out) {
  const TensorFormat &format = formatOf(type);
  PEWTER_CHECK(out.size() % format.blockElements == 0);
  PEWTER_CHECK(blocks.size() >= out.size() / format.blockElements * format.blockBytes);
  const auto *in = reinterpret_cast<const uint8_t *>(blocks.data());
  float *y = out.data();
  for (size_t i = 0; i < out.size(); i += format.blockElements, in += format.blockBytes,
              y += format.blockElements) {
    switch (type) {
    case TensorType::F32: std::memcpy(y, in, 4); break;
    case TensorType::F16: *y = floatFromHalf(half(in)); break;
    case TensorType::BF16: *y = floatFromBfloat(half(in)); break;
    case TensorType::Q8_0: decodeQ8_0(in, y); break;
    case TensorType::Q4_0: decodeQ4_0(in, y); break;
    case TensorType::IQ4_NL: decodeIq4nl(in, y); break;
    case TensorType::MXFP4: decodeMxfp4(in, y); break;
    case TensorType::Q4_K: decodeQ45K(in, nullptr, in + 16, y); break;
    case TensorType::Q5_K: decodeQ45K(in, in + 16, in + 48, y); break;
    case TensorType::Q6_K: decodeQ6K(in, y); break;
    case TensorType::F8_E4M3: *y = fromE4M3(in[0]); break;
    case TensorType::NVFP4_E2M1: // codes alone, without their scales
      y[0] = fromE2M1(in[0] & 15);
      y[1] = fromE2M1(in[0] >> 4);
      break;
    }
  }
}

Result<std::vector<float>> dequantizeRows(const GgufModel &model, const GgufTensor &tensor, uint64_t row,
                                          uint64_t count) {
  if (!tensor.format->runnable)
    return fail(ErrorKind::Unsupported, "Tensor \"{}\" has the type {}, which cannot be decoded.",
                tensor.name, tensor.format->name);
  uint64_t width = tensor.dims[0], rows = tensor.elements() / width;
  if (row > rows || count > rows - row)
    return fail(ErrorKind::Validation, "Rows [{}, {}) of tensor \"{}\" were asked for; it has {}.", row,
                row + count, tensor.name, rows);
  uint64_t stride = tensor.bytes / rows;
  std::vector<float> values(width * count);
  dequantizeBlocks(tensor.format->type(),
                   model.dataOf(tensor).subspan(row * stride, count * stride), values);
  if (tensor.format->type() != TensorType::NVFP4_E2M1)
    return values;
  const GgufTensor *scales = model.findTensor(fmt::format("{}.nvfp4_scale", tensor.name));
  const GgufTensor *outer = model.findTensor(fmt::format("{}.nvfp4_scale2", tensor.name));
  if (!scales || !outer || scales->format->type() != TensorType::F8_E4M3 ||
      scales->dims[0] != width / 16 || scales->elements() != rows * (width / 16) ||
      outer->format->type() != TensorType::F32 || outer->elements() != 1)
    return fail(ErrorKind::Validation,
                "NVFP4 tensor \"{}\" needs the companions \"{}.nvfp4_scale\" (F8_E4M3FN, one per 16 "
                "inputs) and \"{}.nvfp4_scale2\" (F32, one value).",
                tensor.name, tensor.name, tensor.name);
  const auto *codes = reinterpret_cast<const uint8_t *>(model.dataOf(*scales).data());
  float last;
  std::memcpy(&last, model.dataOf(*outer).data(), 4);
  for (uint64_t i = 0; i < values.size(); ++i)
    values[i] = values[i] * fromE4M3(codes[(row * width + i) / 16]) * last;
  return values;
}

} // namespace pewter::muse
