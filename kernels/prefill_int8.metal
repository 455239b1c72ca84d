// SPDX-License-Identifier: Apache-2.0
//
// Y = W X for many rows of activations that have become integers: what prefill uses instead of
// prefill_matmul.metal when the engine is told so. quantize_tiles cuts each row into blocks of 32 elements, each
// with a scale of its own and integers of -127 to 127; matmul_<format>_int8_32o32r multiplies those with the codes
// of the weights as they are, four products to an instruction, and scales the sum of a block. The error is that
// of the activations alone: half a step is 1/254 of the largest of 32.
//
// A lane owns a row, as everywhere in prefill. A block of a tile of 32 rows is 352 words: eight times 32 words of
// four elements each, 32 scales, and 32 sums of the integers for either half. Blocks of a tile lie one behind the
// other.
//
// Launch of a product: as in prefill_matmul.metal, with args.rows the batch rounded up to tiles. Like there,
// matmul_<format>_int8_32o32r_2 sums two outputs at a time, for registers of fewer than 512 bits.
#include "formats.metal"

constant constexpr uint kInt8Block = 352, kInt8Scales = 256, kInt8Sums = 288;

/// Tiles of floats to blocks. Grid (tiles, width / 32). A row that is not finite has a scale that is not.
struct QuantizeArguments {
  uint width; ///< A multiple of 32.
};
kernel void quantize_tiles(device const float *x [[buffer(0)]], device uint *out [[buffer(1)]],
                           constant QuantizeArguments &args [[buffer(2)]],
                           uint2 group [[threadgroup_position_in_grid]],
                           uint lane [[thread_index_in_simdgroup]]) {
  x += (ulong(group.x) * args.width + group.y * 32u) * 32u + lane;
  out += (ulong(group.x) * (args.width / 32u) + group.y) * kInt8Block + lane;
  uint most = 0;
  for (uint i = 0; i < 32u; ++i)
    most = max(most, as_type<uint>(x[i * 32u]) & 0x7fffffffu); // As integers: what is not a number is the largest.
  const float scale = as_type<float>(most) / 127.0f;
  // From 2^-117 the inverse is finite; what is smaller counts as nothing.
  const float inverse = most < 0x7f800000u && most >= 0x05000000u ? 1.0f / scale : 0.0f;
  int sums[2] = {0, 0};
  for (uint k = 0; k < 8u; ++k) {
    uint word = 0;
    for (uint i = 0; i < 4u; ++i) {
      // This leaves the nearest integer in the low bits.
      const int code = as_type<int>(x[(4u * k + i) * 32u] * inverse + 12582912.0f) - 0x4b400000;
      sums[k / 4u] += code;
      word |= (uint(code) & 255u) << (8u * i);
    }
    out[k * 32u] = word;
  }
  out[kInt8Scales] = as_type<uint>(scale);
  for (uint h = 0; h < 2u; ++h)
    out[kInt8Sums + h * 32u] = as_type<uint>(sums[h]);
}

/// sum + the dot product of four unsigned codes and four signed elements.
static inline int dotCodes(uint codes, uint elements, int sum) {
  const int4 products = int4(as_type<uchar4>(codes)) * int4(as_type<char4>(elements));
  return sum + ((products.x + products.y) + (products.z + products.w));
}

// Weights as unsigned codes of eight bits: an element is factor * (code - kZero) - minimum. A factor is for
// 32 / kFactors elements. `code` gives that of element `lane` of a chunk; `factor` and `minimum` may differ from
// lane to lane in all that they are given.
template <typename Format, int kZeroCode, uint kFactorsOfChunk = 1, bool kMinimum = false> struct Codes {
  enum { kBytes = Format::kBytes, kChunks = Format::kChunks, kZero = kZeroCode };
  static constant constexpr uint kFactors = kFactorsOfChunk;
  static constant constexpr bool kHasMinima = kMinimum;
  static float minimum(device const uchar *, uint) { return 0.0f; }
};

struct CodesQ8_0 : Codes<FormatQ8_0, 128> {
  static uchar code(device const uchar *block, uint, uint lane) { return block[2u + lane] ^ uchar(128); }
  static float factor(device const uchar *block, uint, uint) { return float(*(device const half *)block); }
};

static inline uchar nibbleOf(device const uchar *codes, uint lane) {
  uchar pair = codes[lane & 15u];
  return lane & 16u ? pair >> 4u : pair & 15u;
}
struct CodesQ4_0 : Codes<FormatQ4_0, 8> {
  static uchar code(device const uchar *block, uint, uint lane) { return nibbleOf(block + 2, lane); }
  static float factor(device const uchar *block, uint, uint) { return float(*(device const half *)block); }
};

constant uchar kIq4nlCodes[16] = {0, 23, 44, 62, 78, 92, 105, 117, 128, 140, 152, 165, 180, 196, 216, 240};
struct CodesIQ4_NL : Codes<FormatIQ4_NL, 127> {
  static uchar code(device const uchar *block, uint, uint lane) { return kIq4nlCodes[nibbleOf(block + 2, lane)]; }
  static float factor(device const uchar *block, uint, uint) { return float(*(device const half *)block); }
};

/// Twice a float of four bits, and 12: 0 to 24.
static inline uchar codeOfE2M1(uchar code) {
  uchar magnitude = code & 7u;
  uchar twice = magnitude < 4u ? magnitude : uchar((magnitude & 1u) + 2u) << ((magnitude >> 1u) - 1u);
  return code & 8u ? uchar(12u - twice) : uchar(12u + twice);
}
struct CodesMXFP4 : Codes<FormatMXFP4, 12> {
  static uchar code(device const uchar *block, uint, uint lane) { return codeOfE2M1(nibbleOf(block + 1, lane)); }
  static float factor(device const uchar *block, uint, uint) {
    const uint exponent = block[0]; // Half of the scale: codes are twice the elements.
    return as_type<float>(exponent < 2u ? 0x200000u << exponent : (exponent - 1u) << 23);
  }
};

struct CodesQ4_K : Codes<FormatQ4_K, 0, 1, true> {
  static uchar code(device const uchar *block, uint chunk, uint lane) {
    uchar pair = block[16u + 32u * (chunk >> 1u) + lane];
    return chunk & 1u ? pair >> 4u : pair & 15u;
  }
  static float factor(device const uchar *block, uint chunk, uint) {
    return float(((device const half *)block)[0]) * float(scaleMin(block + 4, chunk).x);
  }
  static float minimum(device const uchar *block, uint chunk) {
    return float(((device const half *)block)[1]) * float(scaleMin(block + 4, chunk).y);
  }
};

struct CodesQ5_K : Codes<FormatQ5_K, 0, 1, true> {
  static uchar code(device const uchar *block, uint chunk, uint lane) {
    uchar pair = block[48u + 32u * (chunk >> 1u) + lane], high = block[16u + lane];
    return (chunk & 1u ? pair >> 4u : pair & 15u) | uchar((uchar(high >> chunk) & 1u) << 4u);
  }
  static float factor(device const uchar *block, uint chunk, uint f) { return CodesQ4_K::factor(block, chunk, f); }
  static float minimum(device const uchar *block, uint chunk) { return CodesQ4_K::minimum(block, chunk); }
};

struct CodesQ6_K : Codes<FormatQ6_K, 32, 2> {
  static uchar code(device const uchar *block, uint chunk, uint lane) {
    const uint g = chunk >> 2u, quarter = chunk & 3u;
    uchar low = block[64u * g + 32u * (quarter & 1u) + lane], high = block[128u + 32u * g + lane];
    low = quarter & 2u ? low >> 4u : low & 15u;
    return low | uchar((uchar(high >> (2u * quarter)) & 3u) << 4u);
  }
  static float factor(device const uchar *block, uint chunk, uint f) {
    return float(*(device const half *)(block + 208)) * float(((device const char *)block)[192u + 2u * chunk + f]);
  }
};

constant constexpr uint kInt8Outputs = 32, kInt8Inputs = 256, kInt8Chunks = kInt8Inputs / 32u;

/// 32 outputs x 256 inputs of weights.
template <typename Codes> struct Int8Tile {
  uint codes[kInt8Outputs][kInt8Inputs / 4u];
  float factors[kInt8Chunks * Codes::kFactors][kInt8Outputs];
  float minima[Codes::kHasMinima ? kInt8Chunks : 1u][kInt8Outputs];
};

/// Adds `chunks` chunks of inputs to kOutputs outputs of one tile of rows, from output `o` of the tile of weights.
template <typename Codes, uint kOutputs>
static inline void multiplyInt8(threadgroup const Int8Tile<Codes> &tile, uint o, device const uint *x,
                                device float *out, uint chunks, bool begins) {
  if (begins)
    for (uint j = 0; j < kOutputs; ++j)
      out[j * 32u] = 0.0f;
  constexpr uint kWords = 8u / Codes::kFactors;
  for (uint c = 0; c < chunks; ++c, x += kInt8Block) {
    const float scale = as_type<float>(x[kInt8Scales]);
    const int halves[2] = {as_type<int>(x[kInt8Sums]), as_type<int>(x[kInt8Sums + 32u])};
    float sums[kOutputs];
    for (uint f = 0; f < Codes::kFactors; ++f) {
      const int start = -Codes::kZero * (Codes::kFactors == 2u ? halves[f] : halves[0] + halves[1]);
      int dots[kOutputs];
      for (uint j = 0; j < kOutputs; ++j)
        dots[j] = start;
      for (uint k = f * kWords; k < (f + 1u) * kWords; ++k) {
        const uint elements = x[k * 32u];
        for (uint j = 0; j < kOutputs; ++j)
          dots[j] = dotCodes(tile.codes[o + j][c * 8u + k], elements, dots[j]);
      }
      for (uint j = 0; j < kOutputs; ++j) {
        const float factor = tile.factors[c * Codes::kFactors + f][o + j];
        sums[j] = f == 0u ? float(dots[j]) * factor : fma(float(dots[j]), factor, sums[j]);
      }
    }
    if (Codes::kHasMinima) {
      const float total = float(halves[0] + halves[1]);
      for (uint j = 0; j < kOutputs; ++j)
        sums[j] = fma(-tile.minima[c][o + j], total, sums[j]);
    }
    for (uint j = 0; j < kOutputs; ++j)
      out[j * 32u] = fma(sums[j], scale, out[j * 32u]);
  }
}

/// Walks these tiles of rows with the weights of chunks [begin, begin + chunks).
template <typename Codes, uint kOutputs>
static inline void multiplyAllInt8(threadgroup const Int8Tile<Codes> &tile, device const uint *x, device float *y,
                                   constant MatrixArguments &args, uint first, uint2 tiles, uint begin,
                                   uint chunks, uint lane) {
  const uint outputs = min(kInt8Outputs, args.outputs - first);
  for (uint r = tiles.x; r < tiles.y; ++r) {
    device const uint *blocks = x + (ulong(r) * (args.inputs / 32u) + begin) * kInt8Block + lane;
    device float *out = y + (ulong(r) * args.outputs + first) * 32u + lane;
    uint o = 0;
    for (; o + kOutputs <= outputs; o += kOutputs)
      multiplyInt8<Codes, kOutputs>(tile, o, blocks, out + o * 32u, chunks, begin == 0u);
    for (; o < outputs; ++o)
      multiplyInt8<Codes, 1>(tile, o, blocks, out + o * 32u, chunks, begin == 0u);
  }
}

template <typename Codes, uint kOutputs>
static inline void matmulInt8(device const uchar *weights, device const uint *x, device float *y,
                              constant MatrixArguments &args, threadgroup Int8Tile<Codes> &tile, uint2 place,
                              uint2 grid, uint lane) {
  const uint first = place.x * kInt8Outputs;
  const uint2 tiles = tilesOf(args, place.y, grid.y);
  weights += ulong(first) * args.rowBytes;
  const uint last = args.outputs - 1u - first;
  for (uint begin = 0; begin < args.inputs / 32u; begin += kInt8Chunks) {
    const uint chunks = min(kInt8Chunks, args.inputs / 32u - begin);
    for (uint o = 0; o < kInt8Outputs; ++o) {
      device const uchar *row = weights + min(o, last) * args.rowBytes;
      threadgroup uchar *codes = (threadgroup uchar *)tile.codes[o];
      for (uint c = 0; c < chunks; ++c) {
        const uint chunk = begin + c;
        codes[c * 32u + lane] =
            Codes::code(row + chunk / Codes::kChunks * Codes::kBytes, chunk % Codes::kChunks, lane);
      }
    }
    // A lane works out what belongs to its output.
    device const uchar *own = weights + min(lane, last) * args.rowBytes;
    for (uint c = 0; c < chunks; ++c) {
      const uint chunk = begin + c;
      device const uchar *block = own + chunk / Codes::kChunks * Codes::kBytes;
      for (uint f = 0; f < Codes::kFactors; ++f)
        tile.factors[c * Codes::kFactors + f][lane] = Codes::factor(block, chunk % Codes::kChunks, f);
      if (Codes::kHasMinima)
        tile.minima[c][lane] = Codes::minimum(block, chunk % Codes::kChunks);
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    multiplyAllInt8<Codes, kOutputs>(tile, x, y, args, first, tiles, begin, chunks, lane);
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }
}

#define MATMUL_INT8_SHAPE(name, Codes, kOutputs)                                                     \
  kernel void name(                                                                                  \
      device const uchar *weights [[buffer(0)]], device const uint *x [[buffer(1)]],                 \
      device float *y [[buffer(2)]], constant MatrixArguments &args [[buffer(3)]],                   \
      uint2 place [[threadgroup_position_in_grid]], uint2 grid [[threadgroups_per_grid]],            \
      uint lane [[thread_index_in_simdgroup]]) {                                                     \
    threadgroup Int8Tile<Codes> tile;                                                                \
    matmulInt8<Codes, kOutputs>(weights, x, y, args, tile, place, grid, lane);                       \
  }
#define MATMUL_INT8(format, Codes)                                                                   \
  MATMUL_INT8_SHAPE(matmul_##format##_int8_32o32r, Codes, 8)                                         \
  MATMUL_INT8_SHAPE(matmul_##format##_int8_32o32r_2, Codes, 2)

MATMUL_INT8(q8_0, CodesQ8_0)
MATMUL_INT8(q4_0, CodesQ4_0)
MATMUL_INT8(iq4_nl, CodesIQ4_NL)
MATMUL_INT8(mxfp4, CodesMXFP4)
MATMUL_INT8(q4_k, CodesQ4_K)
MATMUL_INT8(q5_k, CodesQ5_K)
MATMUL_INT8(q6_k, CodesQ6_K)
