// SPDX-License-Identifier: Apache-2.0
//
// Block formats with a minimum (Q4_K, Q5_K) model 32 values as scale * code - min; the others as
// scale * code. Both searches try a handful of rounding grids, and for each grid solve the weighted
// least-squares problem for the scale (and the minimum) in closed form.
//
// Tested by Quantize_test.cpp.
#include "muse/Quantize.h"
#include "base/Check.h"
#include "base/Half.h"
#include "muse/Dequantize.h"
#include "muse/SmallFloats.h"
#include <cstring>

namespace pewter::muse {
namespace {

/// Rounds to nearest even. Adding 1.5 * 2^23 leaves the integer in the low bits of the sum, which is
/// much faster than a call of nearbyint; values far outside every code range are cut first.
int nearest(float x) {
  float sum = std::clamp(x, -1e6f, 1e6f) + 12582912.0f;
  return static_cast<int>(std::bit_cast<uint32_t>(sum) & 0x7fffff) - 0x400000;
}
void put16(uint8_t *at, uint16_t bits) { std::memcpy(at, &bits, 2); }

void encodeQ8_0(const float *x, uint8_t *block) {
  float most = 0;
  for (int i = 0; i < 32; ++i)
    most = std::max(most, std::fabs(x[i]));
  float d = most / 127, inverse = d ? 1 / d : 0;
  put16(block, halfFromFloat(d));
  for (int i = 0; i < 32; ++i)
    block[2 + i] = static_cast<uint8_t>(static_cast<int8_t>(std::round(x[i] * inverse)));
}

/// The value of largest magnitude, sign kept.
float signedExtreme(const float *x, int n) {
  float best = 0;
  for (int i = 0; i < n; ++i)
    if (std::fabs(x[i]) > std::fabs(best))
      best = x[i];
  return best;
}

void encodeQ4_0(const float *x, uint8_t *block) {
  float d = signedExtreme(x, 32) / -8, inverse = d ? 1 / d : 0;
  put16(block, halfFromFloat(d));
  auto code = [&](float v) { return std::clamp(static_cast<int>(v * inverse + 8.5f), 0, 15); };
  for (int i = 0; i < 16; ++i)
    block[2 + i] = static_cast<uint8_t>(code(x[i]) | code(x[i + 16]) << 4);
}

int nearestIq4nl(float x) {
  int low = 0, high = 15; // the nearest is in [low, high]
  while (low < high) {
    int middle = (low + high) / 2;
    if (2 * x > static_cast<float>(kIq4nlValues[middle] + kIq4nlValues[middle + 1]))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

void encodeIq4nl(const float *x, uint8_t *block) {
  float extreme = signedExtreme(x, 32), bestScale = 0, bestGain = -1;
  for (int attempt = -7; attempt <= 7 && extreme != 0; ++attempt) {
    // Grids that put the extreme at or near the end of the code book, on its long side.
    float inverse = (attempt - 127.0f) / extreme, sumXq = 0, sumQq = 0;
    for (int i = 0; i < 32; ++i) {
      float q = kIq4nlValues[nearestIq4nl(x[i] * inverse)], w = x[i] * x[i];
      sumXq += w * x[i] * q;
      sumQq += w * q * q;
    }
    if (sumQq > 0 && sumXq * sumXq > bestGain * sumQq) {
      bestScale = sumXq / sumQq;
      bestGain = sumXq * sumXq / sumQq;
    }
  }
  put16(block, halfFromFloat(bestScale));
  float d = floatFromHalf(halfFromFloat(bestScale)), inverse = d ? 1 / d : 0;
  for (int i = 0; i < 16; ++i)
    block[2 + i] = static_cast<uint8_t>(nearestIq4nl(x[i] * inverse) |
                                        nearestIq4nl(x[i + 16] * inverse) << 4);
}

void encodeMxfp4(const float *x, uint8_t *block) {
  float most = std::fabs(signedExtreme(x, 32));
  // The largest value lands in [4, 8) of a code book that ends at 6.
  int exponent = most > 0 ? std::ilogb(most) - 2 : -127;
  block[0] = static_cast<uint8_t>(std::clamp(exponent + 127, 0, 254));
  float d = fromE8M0(block[0]);
  for (int i = 0; i < 16; ++i)
    block[1 + i] = static_cast<uint8_t>(toE2M1(x[i] / d) | toE2M1(x[i + 16] / d) << 4);
}

struct Fit {
  float scale = 0, min = 0; ///< value = scale * code - min, min >= 0.
};

/// The scale and minimum with the least weighted error for codes 0..most.
Fit fitWithMin(const float *x, int most) {
  float low = 0, high = x[0], meanSquare = 0;
  for (int i = 0; i < 32; ++i) {
    low = std::min(low, x[i]);
    high = std::max(high, x[i]);
    meanSquare += x[i] * x[i] / 32;
  }
  if (high <= low)
    return {0, -low};
  float base = std::sqrt(meanSquare);
  Fit best{(high - low) / static_cast<float>(most), -low};
  auto errorOf = [&](const Fit &fit) {
    float error = 0;
    for (int i = 0; i < 32; ++i) {
      int code = std::clamp(nearest((x[i] + fit.min) / fit.scale), 0, most);
      float off = fit.scale * static_cast<float>(code) - fit.min - x[i];
      error += (base + std::fabs(x[i])) * off * off;
    }
    return error;
  };
  float bestError = errorOf(best);
  for (int attempt = 0; attempt <= 20; ++attempt) {
    float inverse = (static_cast<float>(most) - 1 + 0.1f * static_cast<float>(attempt)) / (high - low);
    float sw = 0, sx = 0, sq = 0, sqq = 0, sxq = 0;
    for (int i = 0; i < 32; ++i) {
      auto q = static_cast<float>(std::clamp(nearest((x[i] - low) * inverse), 0, most));
      float w = base + std::fabs(x[i]);
      sw += w, sx += w * x[i], sq += w * q, sqq += w * q * q, sxq += w * x[i] * q;
    }
    float determinant = sw * sqq - sq * sq;
    if (determinant <= 0)
      continue;
    Fit fit{(sw * sxq - sx * sq) / determinant, -(sqq * sx - sq * sxq) / determinant};
    if (fit.min < 0)
      fit = {sqq > 0 ? sxq / sqq : 0, 0};
    if (fit.scale <= 0)
      continue;
    float error = errorOf(fit);
    if (error < bestError)
      best = fit, bestError = error;
  }
  return best;
}

/// Q4_K when `high` is null, else Q5_K.
void encodeQ45K(const float *x, uint8_t *block, uint8_t *high, uint8_t *nibbles) {
  int most = high ? 31 : 15;
  Fit fits[8];
  float mostScale = 0, mostMin = 0;
  for (int j = 0; j < 8; ++j) {
    fits[j] = fitWithMin(x + 32 * j, most);
    mostScale = std::max(mostScale, fits[j].scale);
    mostMin = std::max(mostMin, fits[j].min);
  }
  uint16_t dBits = halfFromFloat(mostScale / 63), minBits = halfFromFloat(mostMin / 63);
  float d = floatFromHalf(dBits), dmin = floatFromHalf(minBits);
  uint8_t scales[8], mins[8];
  for (int j = 0; j < 8; ++j) {
    scales[j] = static_cast<uint8_t>(d ? std::clamp(nearest(fits[j].scale / d), 0, 63) : 0);
    mins[j] = static_cast<uint8_t>(dmin ? std::clamp(nearest(fits[j].min / dmin), 0, 63) : 0);
  }
  put16(block, dBits);
  put16(block + 2, minBits);
  packScaleMin(scales, mins, block + 4);
  std::memset(nibbles, 0, 128);
  if (high)
    std::memset(high, 0, 32);
  for (int j = 0; j < 8; ++j) {
    float scale = d * scales[j], min = dmin * mins[j];
    for (int l = 0; l < 32; ++l) {
      int code = scale ? std::clamp(nearest((x[32 * j + l] + min) / scale), 0, most) : 0;
      nibbles[32 * (j / 2) + l] |= static_cast<uint8_t>((code & 15) << 4 * (j % 2));
      if (high)
        high[l] |= static_cast<uint8_t>(code >> 4 << j);
    }
  }
}

/// The scale with the least error for codes -32..31, weighted by the square of the value.
float fitSymmetric(const float *x) {
  float extreme = signedExtreme(x, 16), best = 0, bestGain = -1;
  for (int attempt = -9; attempt <= 9 && extreme != 0; ++attempt) {
    float inverse = -(32 + 0.1f * static_cast<float>(attempt)) / extreme, sxq = 0, sqq = 0;
    for (int i = 0; i < 16; ++i) {
      auto q = static_cast<float>(std::clamp(nearest(x[i] * inverse), -32, 31));
      float w = x[i] * x[i];
      sxq += w * x[i] * q, sqq += w * q * q;
    }
    if (sqq > 0 && sxq * sxq > bestGain * sqq)
      best = sxq / sqq, bestGain = sxq * sxq / sqq;
  }
  return best;
}

void encodeQ6K(const float *x, uint8_t *block) {
  float scales[16];
  for (int j = 0; j < 16; ++j)
    scales[j] = fitSymmetric(x + 16 * j);
  std::memset(block, 0, 208);
  uint16_t dBits = halfFromFloat(signedExtreme(scales, 16) / -128);
  float d = floatFromHalf(dBits);
  put16(block + 208, dBits);
  for (int e = 0; e < 256; ++e) {
    int stored = d ? std::clamp(nearest(scales[e / 16] / d), -128, 127) : 0;
    block[192 + e / 16] = static_cast<uint8_t>(static_cast<int8_t>(stored));
    float scale = d * static_cast<float>(stored);
    int code = 32 + (scale ? std::clamp(nearest(x[e] / scale), -32, 31) : 0);
    int g = e / 128, quarter = e % 128 / 32, l = e % 32;
    block[64 * g + 32 * (quarter & 1) + l] |=
        static_cast<uint8_t>((code & 15) << (quarter < 2 ? 0 : 4));
    block[128 + 32 * g + l] |= static_cast<uint8_t>(code >> 4 << 2 * quarter);
  }
}

} // namespace

void packScaleMin(const uint8_t scales[8], const uint8_t mins[8], uint8_t packed[12]) {
  for (int j = 0; j < 4; ++j) {
    packed[j] = static_cast<uint8_t>(scales[j] | scales[j + 4] >> 4 << 6);
    packed[j + 4] = static_cast<uint8_t>(mins[j] | mins[j + 4] >> 4 << 6);
    packed[j + 8] = static_cast<uint8_t>((scales[j + 4] & 15) | (mins[j + 4] & 15) << 4);
  }
}

Bytes quantizeBlocks(TensorType type, std::span<const float> values) {
  const TensorFormat &format = formatOf(type);
  PEWTER_CHECK(values.size() % format.blockElements == 0 && type != TensorType::NVFP4_E2M1);
  Bytes bytes(values.size() / format.blockElements * format.blockBytes);
  auto *out = reinterpret_cast<uint8_t *>(bytes.data());
  const float *x = values.data();
  for (size_t i = 0; i < values.size();
       i += format.blockElements, x += format.blockElements, out += format.blockBytes) {
    switch (type) {
    case TensorType::F32: std::memcpy(out, x, 4); break;
    case TensorType::F16: put16(out, halfFromFloat(*x)); break;
    case TensorType::BF16: put16(out, bfloatFromFloat(*x)); break;
    case TensorType::Q8_0: encodeQ8_0(x, out); break;
    case TensorType::Q4_0: encodeQ4_0(x, out); break;
    case TensorType::IQ4_NL: encodeIq4nl(x, out); break;
    case TensorType::MXFP4: encodeMxfp4(x, out); break;
    case TensorType::Q4_K: encodeQ45K(x, out, nullptr, out + 16); break;
    case TensorType::Q5_K: encodeQ45K(x, out, out + 16, out + 48); break;
    case TensorType::Q6_K: encodeQ6K(x, out); break;
    case TensorType::F8_E4M3: *out = toE4M3(*x); break;
    case TensorType::NVFP4_E2M1: PEWTER_UNREACHABLE();
    }
  }
  return bytes;
}

Nvfp4 quantizeNvfp4(std::span<const float> values) {
  PEWTER_CHECK(values.size() % 16 == 0);
  Nvfp4 out;
  out.codes.resize(values.size() / 2);
  out.scales.resize(values.size() / 16);
  float most = 0;
  for (float v : values)
    most = std::max(most, std::fabs(v));
  out.scale = most > 0 ? most / (448.0f * 6.0f) : 1.0f;
  for (size_t b = 0; b < out.scales.size(); ++b) {
    const float *x = values.data() + 16 * b;
    uint8_t code = toE4M3(std::fabs(signedExtreme(x, 16)) / 6 / out.scale);
    float scale = fromE4M3(code) * out.scale, inverse = scale ? 1 / scale : 0;
    out.scales[b] = std::byte(code);
    for (int i = 0; i < 8; ++i)
      out.codes[8 * b + i] =
          std::byte(toE2M1(x[2 * i] * inverse) | toE2M1(x[2 * i + 1] * inverse) << 4);
  }
  return out;
}

} // namespace pewter::muse
