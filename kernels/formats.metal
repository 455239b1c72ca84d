// SPDX-License-Identifier: Apache-2.0
//
// How the blocks of each weight format decode, in the shape that all matrix kernels share: a format
// has blocks of kBytes bytes that hold kChunks runs of 32 elements; `open` reads what is common to a
// block (uniform over the SIMD group), `at` gives element `lane` of run `chunk`. Lanes read
// consecutive bytes. A kernel that goes through all runs of a block with all its lanes active calls
// `whole` first, which works out all of the block's scales at once, and `at` of the result; the
// elements have the same bits. The engine concatenates its files in an order in which each include
// has gone before; alone, a file includes what it needs.
#ifndef PEWTER_FORMATS
#define PEWTER_FORMATS
#include <metal_stdlib>
using namespace metal;

struct FormatF32 {
  enum { kBytes = 128, kChunks = 1 };
  struct Head {
    device const float *values;
  };
  static Head open(device const uchar *block) { return {(device const float *)block}; }
  static Head whole(Head head, uint lane) { return head; }
  static float at(Head head, uint chunk, uint lane) { return head.values[lane]; }
};

struct FormatF16 {
  enum { kBytes = 64, kChunks = 1 };
  struct Head {
    device const half *values;
  };
  static Head open(device const uchar *block) { return {(device const half *)block}; }
  static Head whole(Head head, uint lane) { return head; }
  static float at(Head head, uint chunk, uint lane) { return float(head.values[lane]); }
};

struct FormatBF16 {
  enum { kBytes = 64, kChunks = 1 };
  struct Head {
    device const ushort *values;
  };
  static Head open(device const uchar *block) { return {(device const ushort *)block}; }
  static Head whole(Head head, uint lane) { return head; }
  static float at(Head head, uint chunk, uint lane) {
    return as_type<float>(uint(head.values[lane]) << 16);
  }
};

struct FormatQ8_0 {
  enum { kBytes = 34, kChunks = 1 };
  struct Head {
    float d;
    device const char *codes;
  };
  static Head open(device const uchar *block) {
    return {float(*(device const half *)block), (device const char *)(block + 2)};
  }
  static Head whole(Head head, uint lane) { return head; }
  static float at(Head head, uint chunk, uint lane) { return head.d * float(head.codes[lane]); }
};

struct FormatQ4_0 {
  enum { kBytes = 18, kChunks = 1 };
  struct Head {
    float d;
    device const uchar *codes;
  };
  static Head open(device const uchar *block) { return {float(*(device const half *)block), block + 2}; }
  static Head whole(Head head, uint lane) { return head; }
  static float at(Head head, uint chunk, uint lane) {
    uint code = head.codes[lane & 15u] >> (lane & 16u ? 4u : 0u) & 15u;
    return head.d * float(int(code) - 8);
  }
};

constant float kIq4nl[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

struct FormatIQ4_NL {
  enum { kBytes = 18, kChunks = 1 };
  struct Head {
    float d;
    device const uchar *codes;
  };
  static Head open(device const uchar *block) { return {float(*(device const half *)block), block + 2}; }
  static Head whole(Head head, uint lane) { return head; }
  static float at(Head head, uint chunk, uint lane) {
    uint code = head.codes[lane & 15u] >> (lane & 16u ? 4u : 0u) & 15u;
    return head.d * kIq4nl[code];
  }
};

/// A four-bit float: sign, two exponent bits, one mantissa bit.
static inline float decodeE2M1(uint code) {
  uint magnitude = code & 7u;
  // 0, 0.5, then 1 1.5 2 3 4 6 as a float with the mantissa bit at the top.
  uint bits = magnitude < 2u ? (magnitude == 0u ? 0u : 0x3f000000u) : 0x3f000000u + (magnitude << 22);
  return as_type<float>(bits | (code & 8u) << 28);
}
/// An eight-bit float: sign, four exponent bits, three mantissa bits; no infinities.
static inline float decodeE4M3(uint code) {
  uint magnitude = code & 127u;
  float value = magnitude < 8u ? float(magnitude) * 0.001953125f
                               : as_type<float>((magnitude << 20) + (120u << 23));
  return code & 128u ? -value : value;
}

struct FormatMXFP4 {
  enum { kBytes = 17, kChunks = 1 };
  struct Head {
    float d;
    device const uchar *codes;
  };
  static Head open(device const uchar *block) {
    uint exponent = block[0];
    return {as_type<float>(exponent == 0u ? 0x400000u : exponent << 23), block + 1};
  }
  static Head whole(Head head, uint lane) { return head; }
  static float at(Head head, uint chunk, uint lane) {
    uint code = head.codes[lane & 15u] >> (lane & 16u ? 4u : 0u) & 15u;
    return head.d * decodeE2M1(code);
  }
};

/// The eight scales and the eight minima that scaleMin gives one by one, times d and dmin.
struct ScalesAndMinima {
  float4 scales[2], minima[2];
};
static inline ScalesAndMinima allScales(device const uchar *packed, float d, float dmin) {
  device const uint *words = (device const uint *)packed;
  const uint a = words[0], b = words[1], c = words[2];
  const uint high = 0x03030303u, low = 0x0f0f0f0fu;
  return {{d * float4(as_type<uchar4>(a & 0x3f3f3f3fu)),
           d * float4(as_type<uchar4>((c & low) | (a >> 6u & high) << 4u))},
          {dmin * float4(as_type<uchar4>(b & 0x3f3f3f3fu)),
           dmin * float4(as_type<uchar4>((c >> 4u & low) | (b >> 6u & high) << 4u))}};
}

/// Scale and minimum `j` of the twelve packed bytes of Q4_K and Q5_K.
static inline uint2 scaleMin(device const uchar *packed, uint j) {
  if (j < 4u)
    return uint2(packed[j] & 63u, packed[j + 4u] & 63u);
  return uint2((packed[j + 4u] & 15u) | (packed[j - 4u] >> 6u) << 4u,
               packed[j + 4u] >> 4u | (packed[j] >> 6u) << 4u);
}

struct FormatQ4_K {
  enum { kBytes = 144, kChunks = 8 };
  struct Head {
    float d, dmin;
    device const uchar *block;
  };
  static Head open(device const uchar *block) {
    return {float(((device const half *)block)[0]), float(((device const half *)block)[1]), block};
  }
  static float at(Head head, uint chunk, uint lane) {
    uint2 sm = scaleMin(head.block + 4, chunk);
    uint code = head.block[16u + 32u * (chunk >> 1u) + lane] >> (chunk & 1u ? 4u : 0u) & 15u;
    return head.d * float(sm.x) * float(code) - head.dmin * float(sm.y);
  }
  struct Whole {
    ScalesAndMinima factors;
    device const uchar *block;
  };
  static Whole whole(Head head, uint lane) {
    return {allScales(head.block + 4, head.d, head.dmin), head.block};
  }
  static float at(Whole whole, uint chunk, uint lane) {
    uint code = whole.block[16u + 32u * (chunk >> 1u) + lane] >> (chunk & 1u ? 4u : 0u) & 15u;
    return whole.factors.scales[chunk >> 2u][chunk & 3u] * float(code) -
           whole.factors.minima[chunk >> 2u][chunk & 3u];
  }
};

struct FormatQ5_K {
  enum { kBytes = 176, kChunks = 8 };
  struct Head {
    float d, dmin;
    device const uchar *block;
  };
  static Head open(device const uchar *block) {
    return {float(((device const half *)block)[0]), float(((device const half *)block)[1]), block};
  }
  static float at(Head head, uint chunk, uint lane) {
    uint2 sm = scaleMin(head.block + 4, chunk);
    uint code = head.block[48u + 32u * (chunk >> 1u) + lane] >> (chunk & 1u ? 4u : 0u) & 15u;
    code |= (head.block[16u + lane] >> chunk & 1u) << 4u;
    return head.d * float(sm.x) * float(code) - head.dmin * float(sm.y);
  }
  struct Whole {
    ScalesAndMinima factors;
    device const uchar *block;
  };
  static Whole whole(Head head, uint lane) {
    return {allScales(head.block + 4, head.d, head.dmin), head.block};
  }
  static float at(Whole whole, uint chunk, uint lane) {
    uchar low = whole.block[48u + 32u * (chunk >> 1u) + lane];
    uchar high = whole.block[16u + lane];
    low = chunk & 1u ? low >> 4u : low & 15u;
    uchar code = low | uchar((uchar(high >> chunk) & 1u) << 4u);
    return whole.factors.scales[chunk >> 2u][chunk & 3u] * float(code) -
           whole.factors.minima[chunk >> 2u][chunk & 3u];
  }
};

struct FormatQ6_K {
  enum { kBytes = 210, kChunks = 8 };
  struct Head {
    float d;
    device const uchar *block;
  };
  static Head open(device const uchar *block) {
    return {float(*(device const half *)(block + 208)), block};
  }
  static float at(Head head, uint chunk, uint lane) {
    uint g = chunk >> 2u, quarter = chunk & 3u;
    uint code = head.block[64u * g + 32u * (quarter & 1u) + lane] >> (quarter & 2u ? 4u : 0u) & 15u;
    code |= (head.block[128u + 32u * g + lane] >> (2u * quarter) & 3u) << 4u;
    device const char *scales = (device const char *)(head.block + 192);
    float low = head.d * float(scales[2u * chunk]), high = head.d * float(scales[2u * chunk + 1u]);
    return (lane < 16u ? low : high) * float(int(code) - 32);
  }
  struct Whole {
    float scale; ///< Lane j < 16 has that of elements 16 j to 16 j + 15.
    device const uchar *block;
  };
  static Whole whole(Head head, uint lane) {
    device const char *scales = (device const char *)(head.block + 192);
    return {head.d * float(scales[lane & 15u]), head.block};
  }
  static float at(Whole whole, uint chunk, uint lane) {
    uint g = chunk >> 2u, quarter = chunk & 3u;
    // In bytes: a vector processor then does four times as many at once.
    uchar low = whole.block[64u * g + 32u * (quarter & 1u) + lane];
    uchar high = whole.block[128u + 32u * g + lane];
    low = quarter & 2u ? low >> 4u : low & 15u;
    high = uchar(high >> (2u * quarter)) & 3u;
    char code = char(uchar(low | uchar(high << 4u)) - 32u);
    float scale = simd_shuffle(whole.scale, ushort(2u * chunk + (lane >> 4u)));
    return scale * float(code);
  }
};

struct MatrixArguments {
  uint inputs;     ///< A multiple of 32 and of the format's block.
  uint outputs;
  uint rowBytes;
  uint rows;       ///< Of the batch.
  float scale;     ///< NVFP4: the tensor's outer scale. Others: 1.
};

/// The first tile of rows of a threadgroup of a prefill matmul, and the first that is not its own.
static inline uint2 tilesOf(constant MatrixArguments &args, uint part, uint parts) {
  const uint tiles = args.rows / 32u, each = (tiles + parts - 1u) / parts;
  return uint2(min(part * each, tiles), min((part + 1u) * each, tiles));
}
#endif
