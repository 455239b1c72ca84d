// SPDX-License-Identifier: Apache-2.0
//
// y = W x for one row of activations, for a GPU: matvec_<format>_held. A thread keeps the activations of one
// place of a row in registers and goes down the rows of its threadgroup with them, so that memory brings
// nothing but weights: 16 bytes at a time, neighbouring threads neighbouring bytes. When a row has more
// places than the threadgroup has threads, it goes down the rows once for each part of the row.
//
// Launch: (args.rows, threadgroups) of any number of SIMD groups up to 32; a threadgroup makes as many
// outputs, a multiple of 4 up to 64, as it takes for the threadgroups to make all.
//
// Activations become 16-bit integers with a scale for each place, so that four products of bytes are one
// instruction and codes need no conversion. Weights and activations begin at multiples of 16 bytes, rows of
// Q4_K, Q5_K and Q8_0 too.
#include "formats.metal"

/// `at`, which is a multiple of 16, seen to be one: a GPU may then read 16 bytes at once without a look.
static inline uint4 read16(device const uchar *at) { return *(device const uint4 *)((ulong)at & ~15ul); }

/// Rows that a thread reads at a time.
constant constexpr uint kHeldRows = 4;
/// Rows of a threadgroup at most.
constant constexpr uint kHeldMost = 64;

/// Adds four values over the SIMD group: lanes 0, 8, 16 and 24 have the sums of x, y, z and w.
static inline float sumOfFour(float4 values, uint lane) {
  const bool isUpper = lane & 16u, isOdd = lane & 8u;
  float2 pair = isUpper ? values.zw : values.xy;
  pair += simd_shuffle_xor(isUpper ? values.xy : values.zw, 16);
  float sum = isOdd ? pair.y : pair.x;
  sum += simd_shuffle_xor(isOdd ? pair.x : pair.y, 8);
  sum += simd_shuffle_xor(sum, 4);
  sum += simd_shuffle_xor(sum, 2);
  return sum + simd_shuffle_xor(sum, 1);
}

/// sum + the dot product of four signed bytes each: one instruction on GPUs that have it.
static inline int dotBytes(uint a, uint b, int sum) {
  const int4 x = int4(as_type<char4>(a)), y = int4(as_type<char4>(b));
  const int4 products = x * y;
  return sum + ((products.x + products.y) + (products.z + products.w));
}

/// Activations as 16-bit multiples of a scale of their own: 256 high + low, of which each is a signed byte.
/// What that leaves out is 2^-16 of the largest of them.
template <uint kWords> struct Fixed {
  uint high[kWords], low[kWords]; ///< Four elements each.
  float scale;

  void take(thread const float4 *values) {
    float4 most4 = 0.0f;
    for (uint i = 0; i < kWords; ++i)
      most4 = max(most4, fabs(values[i]));
    const float most = max(max(most4.x, most4.y), max(most4.z, most4.w));
    const float inverse = most > 0.0f ? 32639.0f / most : 0.0f;
    scale = most * (1.0f / 32639.0f);
    for (uint i = 0; i < kWords; ++i) {
      const int4 whole = int4(rint(values[i] * inverse)), upper = (whole + 128) >> 8;
      high[i] = as_type<uint>(char4(upper));
      low[i] = as_type<uint>(char4(whole - (upper << 8)));
    }
  }
};

/// Activations as Fixed, in memory: a row is [inputs] high bytes, [inputs] low bytes, then the scale and the sum of
/// each run of 32. Rows begin at multiples of 16 bytes.
static inline uint fixedRowBytes(uint inputs) { return (inputs * 2u + inputs / 4u + 15u) & ~15u; }
/// A SIMD group puts a run there, of which each lane has an element.
static inline void storeFixed(device uchar *row, uint inputs, uint run, float value, uint lane) {
  // Of numbers that are not negative the bits are in the order of the values.
  const float most = as_type<float>(simd_max(as_type<uint>(fabs(value))));
  const float inverse = most > 0.0f ? 32639.0f / most : 0.0f;
  const int whole = int(rint(value * inverse)), upper = (whole + 128) >> 8;
  row[run * 32u + lane] = uchar(upper);
  row[inputs + run * 32u + lane] = uchar(whole - (upper << 8));
  const int sum = simd_sum(whole);
  const float scale = most * (1.0f / 32639.0f);
  if (lane == 0u)
    *(device float2 *)(row + inputs * 2u + run * 8u) = float2(scale, float(sum) * scale);
}

/// The dot product of codes, added up word by word, with fixed activations.
struct Dot {
  int high = 0, low = 0;
  template <uint kWords> void add(uint codes, thread const Fixed<kWords> &x, uint word) {
    high = dotBytes(codes, x.high[word], high);
    low = dotBytes(codes, x.low[word], low);
  }
  float value(float scale) const { return float(high * 256 + low) * scale; }
};

static inline float sumOf(float4 v) { return (v.x + v.y) + (v.z + v.w); }

/// Q4_K and, with kFive, Q5_K.
template <bool kFive> struct HeldK {
  /// A place is 32 bytes of codes: a sub-block in the low nibbles, the next in the high ones. Four make a block.
  /// Q5_K has the fifth bits of all sub-blocks in 32 bytes before them.
  Fixed<8> first, second;
  float firstSum, secondSum;
  uint head, codes, shift, fifth;
  bool isFirstHalf;

  static uint places(uint inputs) { return inputs / 64u; }
  void take(device const float *x, uint place) {
    device const float4 *from = (device const float4 *)(x + place * 64u);
    float4 values[8], others[8];
    float4 sum = 0.0f, otherSum = 0.0f;
    for (uint i = 0; i < 8; ++i) {
      values[i] = from[i];
      others[i] = from[8u + i];
      sum += values[i];
      otherSum += others[i];
    }
    first.take(values);
    second.take(others);
    firstSum = sumOf(sum);
    secondSum = sumOf(otherSum);
    find(place);
  }
  void takeFixed(device const uchar *row, uint inputs, uint place) {
    for (uint i = 0; i < 2; ++i) {
      const uint4 high = read16(row + place * 64u + i * 16u), low = read16(row + inputs + place * 64u + i * 16u);
      const uint4 highOther = read16(row + place * 64u + 32u + i * 16u);
      const uint4 lowOther = read16(row + inputs + place * 64u + 32u + i * 16u);
      for (uint j = 0; j < 4; ++j) {
        first.high[i * 4u + j] = high[j];
        first.low[i * 4u + j] = low[j];
        second.high[i * 4u + j] = highOther[j];
        second.low[i * 4u + j] = lowOther[j];
      }
    }
    const float4 factors = as_type<float4>(read16(row + inputs * 2u + place * 16u));
    first.scale = factors.x;
    firstSum = factors.y;
    second.scale = factors.z;
    secondSum = factors.w;
    find(place);
  }
  void find(uint place) {
    const uint block = place >> 2, pair = place & 3u;
    head = block * (kFive ? 176u : 144u);
    codes = head + (kFive ? 48u : 16u) + pair * 32u;
    fifth = pair * 2u;
    shift = (pair & 1u) * 16u;
    isFirstHalf = pair < 2u;
  }

  struct Bytes {
    uint4 head, codes[2], fifths[2];
  };
  Bytes read(device const uchar *row) const {
    Bytes bytes;
    bytes.head = read16(row + head);
    for (uint i = 0; i < 2; ++i) {
      bytes.codes[i] = read16(row + codes + 16u * i);
      bytes.fifths[i] = kFive ? read16(row + head + 16u + 16u * i) : uint4(0u);
    }
    return bytes;
  }
  float dot(Bytes bytes) const {
    Dot ofFirst, ofSecond;
    for (uint i = 0; i < 8; ++i) {
      const uint w = bytes.codes[i >> 2][i & 3u];
      const uint upper = kFive ? bytes.fifths[i >> 2][i & 3u] >> fifth : 0u;
      ofFirst.add((w & 0x0f0f0f0fu) | (upper << 4 & 0x10101010u), first, i);
      ofSecond.add((w >> 4 & 0x0f0f0f0fu) | (upper << 3 & 0x10101010u), second, i);
    }
    // Six-bit scales and minima of the two sub-blocks, in bytes 0 and 1.
    const uint4 moved = bytes.head >> uint4(0u, shift, shift, shift);
    const uint scales = select((moved.w & 0x0f0fu) | (moved.y >> 2 & 0x3030u), moved.y & 0x3f3fu, isFirstHalf);
    const uint minima = select((moved.w >> 4 & 0x0f0fu) | (moved.z >> 2 & 0x3030u), moved.z & 0x3f3fu, isFirstHalf);
    const float2 d = float2(as_type<half2>(moved.x));
    const float product = float(scales & 0xffu) * ofFirst.value(first.scale) + float(scales >> 8) * ofSecond.value(second.scale);
    const float offset = float(minima & 0xffu) * firstSum + float(minima >> 8) * secondSum;
    return d.x * product - d.y * offset;
  }
};

struct HeldQ6_K {
  /// A place is 16 columns of half a block: 64 elements, 16 of each of four sub-blocks. Four make a block, whose
  /// 210 bytes begin at multiples of 2; rows begin at multiples of 4.
  Fixed<16> x;
  float factors[4], sums[4]; ///< Of the four sub-blocks.
  uint low, high, scales, end, shift, scaleShift;

  static uint places(uint inputs) { return inputs / 64u; }
  void take(device const float *from, uint place) {
    const uint block = place >> 2, part = place >> 1 & 1u, column = (place & 1u) * 16u;
    float4 values[16];
    for (uint q = 0; q < 4; ++q) {
      device const float4 *at = (device const float4 *)(from + block * 256u + part * 128u + q * 32u + column);
      float4 sum = 0.0f;
      for (uint i = 0; i < 4; ++i) {
        values[4u * q + i] = at[i];
        sum += at[i];
      }
      sums[q] = -32.0f * sumOf(sum);
    }
    x.take(values);
    for (uint q = 0; q < 4; ++q)
      factors[q] = x.scale;
    find(place);
  }
  void takeFixed(device const uchar *row, uint inputs, uint place) {
    const uint run = (place >> 2) * 8u + (place >> 1 & 1u) * 4u, column = (place & 1u) * 16u;
    for (uint q = 0; q < 4; ++q) {
      const uint4 upper = read16(row + (run + q) * 32u + column), lower = read16(row + inputs + (run + q) * 32u + column);
      int sum = 0, lowSum = 0;
      for (uint i = 0; i < 4; ++i) {
        x.high[4u * q + i] = upper[i];
        x.low[4u * q + i] = lower[i];
        sum = dotBytes(0x01010101u, upper[i], sum);
        lowSum = dotBytes(0x01010101u, lower[i], lowSum);
      }
      factors[q] = *(device const float *)(row + inputs * 2u + (run + q) * 8u);
      sums[q] = -32.0f * (float(sum * 256 + lowSum) * factors[q]);
    }
    find(place);
  }
  void find(uint place) {
    const uint block = place >> 2, part = place >> 1 & 1u, column = (place & 1u) * 16u;
    const uint base = block * 210u;
    shift = (base & 2u) * 8u; // What is behind a multiple of 4; all runs below begin at the same.
    low = (base + part * 64u + column) & ~3u;
    high = (base + 128u + part * 32u + column) & ~3u;
    scales = (base + 192u + part * 8u) & ~3u;
    scaleShift = (place & 1u) * 8u;
    end = base + 208u;
  }

  struct Bytes {
    uint low[2][5], high[5], scales[3];
    half d;
  };
  Bytes read(device const uchar *row) const {
    Bytes bytes;
    for (uint i = 0; i < 5; ++i) {
      bytes.low[0][i] = *(device const uint *)(row + low + 4u * i);
      bytes.low[1][i] = *(device const uint *)(row + low + 32u + 4u * i);
      bytes.high[i] = *(device const uint *)(row + high + 4u * i);
    }
    for (uint i = 0; i < 3; ++i)
      bytes.scales[i] = *(device const uint *)(row + scales + 4u * i);
    bytes.d = *(device const half *)(row + end);
    return bytes;
  }
  /// Word `i` of a run that begins `shift` bits into its first word.
  static uint word(thread const uint *run, uint i, uint shift) { return shift ? run[i] >> 16 | run[i + 1u] << 16 : run[i]; }
  float dot(Bytes bytes) const {
    Dot dots[4];
    for (uint i = 0; i < 4; ++i) {
      const uint a = word(bytes.low[0], i, shift), b = word(bytes.low[1], i, shift), c = word(bytes.high, i, shift);
      dots[0].add((a & 0x0f0f0f0fu) | (c << 4 & 0x30303030u), x, i);
      dots[1].add((b & 0x0f0f0f0fu) | (c << 2 & 0x30303030u), x, 4u + i);
      dots[2].add((a >> 4 & 0x0f0f0f0fu) | (c & 0x30303030u), x, 8u + i);
      dots[3].add((b >> 4 & 0x0f0f0f0fu) | (c >> 2 & 0x30303030u), x, 12u + i);
    }
    float sum = 0.0f;
    for (uint q = 0; q < 4; ++q) {
      const uint pair = word(bytes.scales, q / 2u, shift) >> (q % 2u * 16u + scaleShift);
      sum += float(char(pair & 0xffu)) * (dots[q].value(factors[q]) + sums[q]);
    }
    return float(bytes.d) * sum;
  }
};

struct HeldQ8_0 {
  /// A place is 16 bytes of a row, in which a block of 34 may end and the next begin: `first` holds the
  /// activations of the codes before that, `second` of those behind, and zero elsewhere.
  Fixed<4> first, second;
  uint at, firstScale, secondScale;

  static uint places(uint inputs) { return inputs / 32u * 34u / 16u; }
  void take(device const float *x, uint place) {
    at = place * 16u;
    const uint block = at / 34u, end = (block + 1u) * 34u;
    firstScale = block * 34u;
    // Without a second block its activations are zero; its scale is the first's.
    secondScale = end < at + 16u ? end : firstScale;
    float4 before[4], behind[4];
    for (uint i = 0; i < 16; ++i) {
      const uint byte = at + i;
      const bool isFirst = byte < end;
      const uint in = isFirst ? byte - firstScale : byte - end;
      const float value = in < 2u ? 0.0f : x[(isFirst ? block : block + 1u) * 32u + in - 2u];
      before[i / 4u][i % 4u] = isFirst ? value : 0.0f;
      behind[i / 4u][i % 4u] = isFirst ? 0.0f : value;
    }
    first.take(before);
    second.take(behind);
  }
  void takeFixed(device const uchar *row, uint inputs, uint place) {
    at = place * 16u;
    const uint block = at / 34u, end = (block + 1u) * 34u;
    firstScale = block * 34u;
    secondScale = end < at + 16u ? end : firstScale;
    for (uint i = 0; i < 4; ++i)
      first.high[i] = first.low[i] = second.high[i] = second.low[i] = 0u;
    for (uint i = 0; i < 16; ++i) {
      const uint byte = at + i;
      const bool isFirst = byte < end;
      const uint in = isFirst ? byte - firstScale : byte - end;
      if (in >= 2u) {
        const uint element = (isFirst ? block : block + 1u) * 32u + in - 2u, move = i % 4u * 8u;
        const uint high = uint(row[element]) << move, low = uint(row[inputs + element]) << move;
        first.high[i / 4u] |= isFirst ? high : 0u;
        first.low[i / 4u] |= isFirst ? low : 0u;
        second.high[i / 4u] |= isFirst ? 0u : high;
        second.low[i / 4u] |= isFirst ? 0u : low;
      }
    }
    device const float *factors = (device const float *)(row + inputs * 2u);
    first.scale = factors[block * 2u];
    second.scale = factors[(end < at + 16u ? block + 1u : block) * 2u];
  }

  struct Bytes {
    uint4 codes;
    half first, second;
  };
  Bytes read(device const uchar *row) const {
    return {read16(row + at), *(device const half *)(row + firstScale), *(device const half *)(row + secondScale)};
  }
  float dot(Bytes bytes) const {
    Dot ofFirst, ofSecond;
    for (uint i = 0; i < 4; ++i) {
      ofFirst.add(bytes.codes[i], first, i);
      ofSecond.add(bytes.codes[i], second, i);
    }
    return fma(float(bytes.first), ofFirst.value(first.scale), float(bytes.second) * ofSecond.value(second.scale));
  }
};

template <typename Held>
static inline void matvecHeld(device const uchar *weights, device const float *x, device float *y,
                              constant MatrixArguments &args, threadgroup float *parts, uint group, uint groups,
                              uint threads, uint simd, uint lane) {
  const uint share = (args.outputs + groups - 1u) / groups;
  const uint rows = (share + kHeldRows - 1u) / kHeldRows * kHeldRows;
  const uint begin = group * rows, end = min(begin + rows, args.outputs);
  if (begin >= end)
    return;
  const uint places = Held::places(args.inputs), own = simd * 32u + lane;
  for (uint part = 0; part < places; part += threads) {
    // A thread behind the last place has that place again, times zero.
    const uint place = min(part + own, places - 1u);
    const float factor = part + own < places ? 1.0f : 0.0f;
    Held held;
    held.take(x, place);
    for (uint row = begin; row < end; row += kHeldRows) {
      typename Held::Bytes bytes[kHeldRows];
      for (uint r = 0; r < kHeldRows; ++r)
        bytes[r] = held.read(weights + ulong(min(row + r, args.outputs - 1u)) * args.rowBytes);
      float4 sums;
      for (uint r = 0; r < kHeldRows; ++r)
        sums[r] = held.dot(bytes[r]) * factor;
      const float sum = sumOfFour(sums, lane);
      if ((lane & 7u) == 0u) {
        threadgroup float *to = &parts[(row - begin + (lane >> 3)) * 32u + simd];
        *to = part ? *to + sum : sum;
      }
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint row = begin + own; row < end; row += threads) {
    float sum = 0.0f;
    for (uint s = 0; s < threads / 32u; ++s)
      sum += parts[(row - begin) * 32u + s];
    y[row] = sum * args.scale;
  }
}

#define MATVEC_HELD(format, Held)                                                                    \
  kernel void matvec_##format##_held(                                                                \
      device const uchar *weights [[buffer(0)]], device const float *x [[buffer(1)]],                \
      device float *y [[buffer(2)]], constant MatrixArguments &args [[buffer(3)]],                   \
      uint2 group [[threadgroup_position_in_grid]], uint2 groups [[threadgroups_per_grid]],          \
      uint2 threads [[threads_per_threadgroup]], uint simd [[simdgroup_index_in_threadgroup]],       \
      uint lane [[thread_index_in_simdgroup]]) {                                                     \
    threadgroup float parts[kHeldMost * 32u];                                                        \
    matvecHeld<Held>(weights, x + ulong(group.x) * args.inputs, y + ulong(group.x) * args.outputs,   \
                     args, parts, group.y, groups.y, threads.x, simd, lane);                         \
  }
MATVEC_HELD(q4_k, HeldK<false>)
MATVEC_HELD(q5_k, HeldK<true>)
MATVEC_HELD(q6_k, HeldQ6_K)
MATVEC_HELD(q8_0, HeldQ8_0)
