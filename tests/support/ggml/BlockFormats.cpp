// SPDX-License-Identifier: Apache-2.0
#include "ggml/BlockFormats.h"
#include "base/Half.h"
#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

namespace pewter::testing {
namespace {

uint16_t word(const uint8_t *at) { return uint16_t(at[0] | at[1] << 8); }
uint32_t dword(const uint8_t *at) { return uint32_t(word(at)) | uint32_t(word(at + 2)) << 16; }
double half(const uint8_t *at) { return floatFromHalf(word(at)); }

void f32(const uint8_t *b, double *y) { y[0] = std::bit_cast<float>(dword(b)); }
void f16(const uint8_t *b, double *y) { y[0] = half(b); }
void bf16(const uint8_t *b, double *y) { y[0] = floatFromBfloat(word(b)); }

// The library takes a code in the high half of a byte sixteen times too large, and divides its
// scale by sixteen before: in half, which for a small scale loses digits.
template <bool asLibrary> double scaleOfHighCodes(double scale) {
  return asLibrary ? 16.0 * floatFromHalf(halfFromFloat(float(scale / 16))) : scale;
}

// Thirty-two elements: element j and element j + 16 share a byte, low half first.
template <bool asLibrary> void q4_0(const uint8_t *b, double *y) {
  for (int j = 0; j < 16; ++j) {
    y[j] = half(b) * ((b[2 + j] & 15) - 8);
    y[j + 16] = scaleOfHighCodes<asLibrary>(half(b)) * (b[2 + j] >> 4) - half(b) * 8;
  }
}
template <bool asLibrary> void q4_1(const uint8_t *b, double *y) {
  for (int j = 0; j < 16; ++j) {
    y[j] = half(b) * (b[4 + j] & 15) + half(b + 2);
    y[j + 16] = scaleOfHighCodes<asLibrary>(half(b)) * (b[4 + j] >> 4) + half(b + 2);
  }
}
// The fifth bits stand together in a 32-bit word.
void q5_0(const uint8_t *b, double *y) {
  for (int j = 0; j < 16; ++j) {
    y[j] = half(b) * (int((b[6 + j] & 15) | (dword(b + 2) >> j & 1) << 4) - 16);
    y[j + 16] = half(b) * (int((b[6 + j] >> 4) | (dword(b + 2) >> (j + 16) & 1) << 4) - 16);
  }
}
void q5_1(const uint8_t *b, double *y) {
  for (int j = 0; j < 16; ++j) {
    y[j] = half(b) * int((b[8 + j] & 15) | (dword(b + 4) >> j & 1) << 4) + half(b + 2);
    y[j + 16] = half(b) * int((b[8 + j] >> 4) | (dword(b + 4) >> (j + 16) & 1) << 4) + half(b + 2);
  }
}
void q8_0(const uint8_t *b, double *y) {
  for (int j = 0; j < 32; ++j)
    y[j] = half(b) * int8_t(b[2 + j]);
}
// Elements E2M1, shared exponent E8M0.
void mxfp4(const uint8_t *b, double *y) {
  static const double values[] = {0, .5, 1, 1.5, 2, 3, 4, 6};
  auto value = [&](int code) {
    return std::ldexp((code & 8 ? -1 : 1) * values[code & 7], b[0] - 127);
  };
  for (int j = 0; j < 16; ++j) {
    y[j] = value(b[1 + j] & 15);
    y[j + 16] = value(b[1 + j] >> 4);
  }
}

constexpr int kNonlinear[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                1,    13,   25,  38,  53,  69,  89,  113};
void iq4_nl(const uint8_t *b, double *y) {
  for (int j = 0; j < 16; ++j) {
    y[j] = half(b) * kNonlinear[b[2 + j] & 15];
    y[j + 16] = half(b) * kNonlinear[b[2 + j] >> 4];
  }
}
void iq4_xs(const uint8_t *b, double *y) {
  for (int group = 0; group < 8; ++group) {
    int scale = (b[4 + group / 2] >> 4 * (group % 2) & 15) | (word(b + 2) >> 2 * group & 3) << 4;
    for (int j = 0; j < 16; ++j) {
      int byte = b[8 + group * 16 + j];
      y[group * 32 + j] = half(b) * (scale - 32) * kNonlinear[byte & 15];
      y[group * 32 + j + 16] = half(b) * (scale - 32) * kNonlinear[byte >> 4];
    }
  }
}

// 256 elements in two halves of 128; a byte holds elements 32 apart.
void q2_K(const uint8_t *b, double *y) {
  for (int i = 0; i < 256; ++i) {
    int scale = b[i / 16], code = b[16 + i / 128 * 32 + i % 32] >> 2 * (i % 128 / 32) & 3;
    y[i] = half(b + 80) * (scale & 15) * code - half(b + 82) * (scale >> 4);
  }
}
void q3_K(const uint8_t *b, double *y) {
  const uint8_t *high = b, *low = b + 32, *packed = b + 96;
  for (int i = 0; i < 256; ++i) {
    int s = i / 16;
    int scale =
        (s < 8 ? packed[s] & 15 : packed[s - 8] >> 4) | (packed[8 + s % 4] >> 2 * (s / 4) & 3) << 4;
    int code = low[i / 128 * 32 + i % 32] >> 2 * (i % 128 / 32) & 3;
    code -= high[i % 32] >> (i / 32) & 1 ? 0 : 4;
    y[i] = half(b + 108) * (scale - 32) * code;
  }
}
void scaleAndMin(const uint8_t *packed, int j, int &scale, int &min) {
  if (j < 4) {
    scale = packed[j] & 63;
    min = packed[j + 4] & 63;
  } else {
    scale = (packed[j + 4] & 15) | (packed[j - 4] >> 6) << 4;
    min = (packed[j + 4] >> 4) | (packed[j] >> 6) << 4;
  }
}
template <bool asLibrary> void q4_K(const uint8_t *b, double *y) {
  for (int i = 0; i < 256; ++i) {
    int scale, min, group = i / 32, byte = b[16 + group / 2 * 32 + i % 32];
    scaleAndMin(b + 4, group, scale, min);
    y[i] =
        (group % 2 ? scaleOfHighCodes<asLibrary>(half(b)) * (byte >> 4) : half(b) * (byte & 15)) *
            scale -
        half(b + 2) * min;
  }
}
void q5_K(const uint8_t *b, double *y) {
  for (int i = 0; i < 256; ++i) {
    int scale, min, group = i / 32, byte = b[48 + group / 2 * 32 + i % 32];
    scaleAndMin(b + 4, group, scale, min);
    int code = (group % 2 ? byte >> 4 : byte & 15) | (b[16 + i % 32] >> group & 1) << 4;
    y[i] = half(b) * scale * code - half(b + 2) * min;
  }
}
void q6_K(const uint8_t *b, double *y) {
  for (int i = 0; i < 256; ++i) {
    int part = i / 128, quarter = i % 128 / 32, l = i % 32;
    int byte = b[part * 64 + (quarter % 2) * 32 + l];
    int code = (quarter / 2 ? byte >> 4 : byte & 15) | (b[128 + part * 32 + l] >> 2 * quarter & 3)
                                                           << 4;
    y[i] = half(b + 208) * int8_t(b[192 + i / 16]) * (code - 32);
  }
}

const Bytes &codeBook(const char *kernel, const char *name) {
  static std::map<std::string, Bytes> books;
  auto [at, isNew] = books.try_emplace(name);
  if (isNew) {
    at->second = constantArray(kernel, name);
    EXPECT_FALSE(at->second.empty()) << "no code book " << name << " in " << kernel;
    at->second.resize(at->second.size() + 65536); // A missing book must not crash the test.
  }
  return at->second;
}
int fromBook(const Bytes &book, size_t at) { return int(book[at]); }

/// Seven sign bits; the eighth makes their number even.
bool sign(uint32_t seven, int j) {
  uint32_t eight = seven | uint32_t(std::popcount(seven) & 1) << 7;
  return eight >> j & 1;
}

void iq2_xxs(const uint8_t *b, double *y) {
  const Bytes &book = codeBook("kernel_get_rows_iq2_xxs", "iq2xxs_grid");
  for (int group = 0; group < 8; ++group) {
    const uint8_t *q = b + 2 + group * 8;
    uint32_t tail = dword(q + 4);
    double scale = half(b) * (0.5 + (tail >> 28)) * 0.25;
    for (int l = 0; l < 4; ++l)
      for (int j = 0; j < 8; ++j)
        y[group * 32 + l * 8 + j] = scale * fromBook(book, size_t(q[l]) * 8 + size_t(j)) *
                                    (sign(tail >> 7 * l & 127, j) ? -1 : 1);
  }
}
void iq2_xs(const uint8_t *b, double *y) {
  const Bytes &book = codeBook("kernel_get_rows_iq2_xs", "iq2xs_grid");
  for (int i = 0; i < 256; ++i) {
    uint32_t code = word(b + 2 + i / 8 * 2);
    int nibble = b[66 + i / 32] >> (i % 32 / 16 * 4) & 15;
    y[i] = half(b) * (0.5 + nibble) * 0.25 *
           fromBook(book, size_t(code & 511) * 8 + size_t(i % 8)) *
           (sign(code >> 9, i % 8) ? -1 : 1);
  }
}
void iq2_s(const uint8_t *b, double *y) {
  const Bytes &book = codeBook("kernel_get_rows_iq2_s", "iq2s_grid");
  for (int i = 0; i < 256; ++i) {
    int l = i / 8 % 4, group = i / 32;
    size_t code = b[2 + i / 8] | size_t(b[66 + group] >> 2 * l & 3) << 8;
    int nibble = b[74 + group] >> (l / 2 * 4) & 15;
    y[i] = half(b) * (0.5 + nibble) * 0.25 * fromBook(book, code * 8 + size_t(i % 8)) *
           (b[34 + i / 8] >> (i % 8) & 1 ? -1 : 1);
  }
}
void iq3_xxs(const uint8_t *b, double *y) {
  const Bytes &book = codeBook("kernel_get_rows_iq3_xxs", "iq3xxs_grid");
  for (int i = 0; i < 256; ++i) {
    uint32_t tail = dword(b + 66 + i / 32 * 4);
    y[i] = half(b) * (0.5 + (tail >> 28)) * 0.5 *
           fromBook(book, size_t(b[2 + i / 4]) * 4 + size_t(i % 4)) *
           (sign(tail >> 7 * (i / 8 % 4) & 127, i % 8) ? -1 : 1);
  }
}
void iq3_s(const uint8_t *b, double *y) {
  const Bytes &book = codeBook("kernel_get_rows_iq3_s", "iq3s_grid");
  for (int i = 0; i < 256; ++i) {
    int group = i / 32;
    size_t code = b[2 + i / 4] | size_t(b[66 + group] >> (i / 4 % 8) & 1) << 8;
    int nibble = b[106 + group / 2] >> (group % 2 * 4) & 15;
    y[i] = half(b) * (1 + 2 * nibble) * fromBook(book, code * 4 + size_t(i % 4)) *
           (b[74 + i / 8] >> (i % 8) & 1 ? -1 : 1);
  }
}
/// Element j of an entry that packs eight ternary digits into the half bytes of a word: j and j + 4
/// share a byte.
int ternary(const Bytes &book, size_t entry, int j) {
  return fromBook(book, entry * 4 + size_t(j % 4)) >> (j / 4 * 4) & 15;
}
void iq1_s(const uint8_t *b, double *y) {
  const Bytes &book = codeBook("kernel_get_rows_iq1_s", "iq1s_grid");
  for (int i = 0; i < 256; ++i) {
    uint32_t high = word(b + 34 + i / 32 * 2);
    double scale = half(b) * (2 * (high >> 12 & 7) + 1), shift = high & 0x8000 ? -0.125 : 0.125;
    size_t code = b[2 + i / 8] | size_t(high >> 3 * (i / 8 % 4) & 7) << 8;
    y[i] = scale * (ternary(book, code, i % 8) - 1 + shift);
  }
}
void iq1_m(const uint8_t *b, double *y) {
  const Bytes &book = codeBook("kernel_get_rows_iq1_m", "iq1s_grid");
  uint16_t bits = 0; // The block's scale is spread over the top digits of four words.
  for (int k = 0; k < 4; ++k)
    bits = uint16_t(bits | (word(b + 48 + 2 * k) >> 12) << 4 * k);
  for (int i = 0; i < 256; ++i) {
    int eight = i / 8, group = i / 32;
    int nibble = b[32 + eight / 2] >> (eight % 2 * 4) & 15;
    int scale = word(b + 48 + group / 2 * 2) >> (6 * (group % 2) + 3 * (i / 16 % 2)) & 7;
    size_t code = b[eight] | size_t(nibble & 7) << 8;
    y[i] = floatFromHalf(bits) * (2 * scale + 1) *
           (ternary(book, code, i % 8) - 1 + (nibble & 8 ? -0.125 : 0.125));
  }
}

} // namespace

const std::vector<BlockFormat> &blockFormats() {
  static const std::vector<BlockFormat> formats{
      {"f32", 1, 4, f32, -1, -1},
      {"f16", 1, 2, f16, 0, -1},
      {"bf16", 1, 2, bf16, -1, -1},
      {"q4_0", 32, 18, q4_0<false>, 0, -1, q4_0<true>},
      {"q4_1", 32, 20, q4_1<false>, 0, 2, q4_1<true>},
      {"q5_0", 32, 22, q5_0, 0, -1},
      {"q5_1", 32, 24, q5_1, 0, 2},
      {"q8_0", 32, 34, q8_0, 0, -1},
      {"mxfp4", 32, 17, mxfp4, -1, -1},
      {"q2_K", 256, 84, q2_K, 80, 82},
      {"q3_K", 256, 110, q3_K, 108, -1},
      {"q4_K", 256, 144, q4_K<false>, 0, 2, q4_K<true>},
      {"q5_K", 256, 176, q5_K, 0, 2},
      {"q6_K", 256, 210, q6_K, 208, -1},
      {"iq2_xxs", 256, 66, iq2_xxs, 0, -1},
      {"iq2_xs", 256, 74, iq2_xs, 0, -1},
      {"iq2_s", 256, 82, iq2_s, 0, -1},
      {"iq3_xxs", 256, 98, iq3_xxs, 0, -1},
      {"iq3_s", 256, 110, iq3_s, 0, -1},
      {"iq1_s", 256, 50, iq1_s, 0, -1},
      {"iq1_m", 256, 56, iq1_m, -1, -1},
      {"iq4_nl", 32, 18, iq4_nl, 0, -1},
      {"iq4_xs", 256, 136, iq4_xs, 0, -1},
  };
  return formats;
}

const BlockFormat &blockFormat(const std::string &name) {
  for (const BlockFormat &format : blockFormats())
    if (format.name == name)
      return format;
  std::abort();
}

Bytes randomBlocks(const BlockFormat &format, int64_t elements, Numbers &numbers) {
  Bytes bytes(size_t(elements / format.elements * format.bytes));
  std::string name = format.name;
  for (size_t block = 0; block < bytes.size(); block += size_t(format.bytes)) {
    auto *at = reinterpret_cast<uint8_t *>(bytes.data() + block);
    for (int64_t i = 0; i < format.bytes; ++i)
      at[i] = uint8_t(numbers.bits() >> 13);
    auto put = [&](int offset, uint16_t value) { std::memcpy(at + offset, &value, 2); };
    auto value = [&] { return float(numbers.uniform(1, -1, 1)[0]); };
    if (name == "f32") {
      float f = value();
      std::memcpy(at, &f, 4);
    } else if (name == "bf16") {
      put(0, bfloatFromFloat(value()));
    } else if (name == "mxfp4") {
      at[0] = uint8_t(122 + numbers.below(6));
    } else if (name == "iq1_m") {
      uint16_t scale = halfFromFloat(0.05f + 0.05f * std::abs(value()));
      for (int k = 0; k < 4; ++k)
        put(48 + 2 * k, uint16_t((word(at + 48 + 2 * k) & 0xfff) | (scale >> 4 * k & 15) << 12));
    }
    if (format.scaleAt >= 0)
      put(format.scaleAt, halfFromFloat(name == "f16" ? value() : 0.02f + 0.02f * value()));
    if (format.secondScaleAt >= 0)
      put(format.secondScaleAt, halfFromFloat(0.1f * value()));
  }
  return bytes;
}

namespace {
std::vector<double> decodeWith(void (*decode)(const uint8_t *, double *), const BlockFormat &format,
                               const Bytes &bytes) {
  std::vector<double> values(bytes.size() / size_t(format.bytes) * size_t(format.elements));
  for (size_t block = 0; block < bytes.size() / size_t(format.bytes); ++block)
    decode(reinterpret_cast<const uint8_t *>(bytes.data()) + block * size_t(format.bytes),
           values.data() + block * size_t(format.elements));
  return values;
}
} // namespace

std::vector<double> decodeBlocks(const BlockFormat &format, const Bytes &bytes) {
  return decodeWith(format.decode, format, bytes);
}
std::vector<double> decodeAsLibrary(const BlockFormat &format, const Bytes &bytes) {
  return decodeWith(format.asLibrary ? format.asLibrary : format.decode, format, bytes);
}

} // namespace pewter::testing
