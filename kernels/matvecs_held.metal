// SPDX-License-Identifier: Apache-2.0
//
// Matrix-vector products of decode on a GPU, for up to 1, 2 or 4 rows of activations: as in matvec_held.metal, whose
// formats these kernels share, with what stands between two barriers in one launch.
//
//   matvecs_<format>_held_<n>   up to four matrices of the same inputs; their outputs lie in buffers of their own
//   gated_<format>_held_<n>     y = silu(W0 x) * (W1 x), two matrices of one shape
//
// The threadgroups share the outputs out evenly, so that one wave of them does it all; what a threadgroup has of
// a matrix lies in one piece. Each asks for the beginning of its piece first: weights do not depend on the kernel
// before, so a device that lets neighbours overlap brings them in the meantime.
//
// Launch: matvecs of any number of threadgroups, gated of outputs / 32 (whose share is one run), both of up to 16 SIMD
// groups. x is rows as storeFixed writes them, and so is what gated makes; an output of matvecs is [rows][outputs]. A
// row has the same bits however many there are.
#include "matvec_held.metal"

struct HeldPart {
  uint outputs, rowBytes;
  float scale;
};
struct HeldArguments {
  uint inputs;
  uint count;    ///< Matrices, at least one.
  uint rows;     ///< Of activations.
  uint prefetch; ///< Bytes that a threadgroup asks for ahead.
  HeldPart parts[4];
};

constant constexpr uint kHeldChunk = 64; ///< Sums of a row of activations that wait in threadgroup memory.

/// Rows [begin, end) of a matrix; with kGated of both. `sums` has kHeldChunk times (SIMD groups, made odd) floats
/// for each row of activations.
template <typename Held, uint kBatch, bool kGated>
static inline void walkHeld(device const uchar *first, device const uchar *second, device const uchar *x,
                            device float *y, constant HeldArguments &args, constant HeldPart &part, uint begin,
                            uint end, threadgroup float *sums, uint threads, uint simd, uint lane) {
  constexpr uint kRead = kBatch == 1u ? 4u : 2u, kStep = kGated ? kRead / 2u : kRead; // At a time; outputs of those.
  constexpr uint kChunk = kGated ? kHeldChunk / 2u : kHeldChunk;
  const uint places = Held::places(args.inputs), own = simd * 32u + lane, simds = threads / 32u;
  const uint stride = simds | 1u, last = part.outputs - 1u, rowBytes = part.rowBytes; // Odd: rows in different banks.
  Held held[kBatch];
  float factor = 0.0f;
  uint taken = ~0u;
  for (uint chunk = begin; chunk < end; chunk += kChunk) {
    const uint chunkEnd = min(chunk + kChunk, end);
    for (uint from = 0; from < places; from += threads) {
      if (from != taken) {
        // A thread behind the last place has that place again, times zero.
        const uint place = min(from + own, places - 1u);
        factor = from + own < places ? 1.0f : 0.0f;
        for (uint b = 0; b < kBatch; ++b)
          held[b].takeFixed(x + ulong(min(b, args.rows - 1u)) * fixedRowBytes(args.inputs), args.inputs, place);
        taken = from;
      }
      for (uint row = chunk; row < chunkEnd; row += kStep) {
        typename Held::Bytes bytes[kRead];
        for (uint r = 0; r < kRead; ++r)
          bytes[r] = held[0].read((r < kStep ? first : second) + ulong(min(row + r % kStep, last)) * rowBytes);
        float values[kRead * kBatch];
        for (uint b = 0; b < kBatch; ++b)
          for (uint r = 0; r < kRead; ++r)
            values[b * kRead + r] = held[b].dot(bytes[r]) * factor;
        for (uint i = 0; i < kRead * kBatch; i += 4u) {
          const float sum = sumOfFour(float4(values[i], values[i + 1u], values[i + 2u], values[i + 3u]), lane);
          if ((lane & 7u) == 0u) {
            const uint of = i + (lane >> 3), b = of / kRead, r = of % kRead;
            // Of two matrices an output's sums stand one behind the other.
            const uint slot = kGated ? (row - chunk + r % kStep) * 2u + r / kStep : row - chunk + r;
            threadgroup float *to = &sums[(b * kHeldChunk + slot) * stride + simd];
            *to = from ? *to + sum : sum;
          }
        }
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const uint count = chunkEnd - chunk;
    if (kGated) {
      // A run: a SIMD group for each row of activations.
      device uchar *out = (device uchar *)y;
      for (uint b = simd; b < min(kBatch, args.rows); b += simds) {
        threadgroup const float *of = &sums[(b * kHeldChunk + lane * 2u) * stride];
        float sum = 0.0f, other = 0.0f;
        for (uint s = 0; s < simds; ++s) {
          sum += of[s];
          other += of[stride + s];
        }
        sum *= part.scale;
        storeFixed(out + ulong(b) * fixedRowBytes(part.outputs), part.outputs, chunk / 32u,
                   sum / (1.0f + exp(-sum)) * (other * args.parts[1].scale), lane);
      }
    } else {
      for (uint i = own; i < count * min(kBatch, args.rows); i += threads) {
        const uint b = i / count, row = i % count;
        threadgroup const float *of = &sums[(b * kHeldChunk + row) * stride];
        float sum = 0.0f;
        for (uint s = 0; s < simds; ++s)
          sum += of[s];
        y[ulong(b) * part.outputs + chunk + row] = sum * part.scale;
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}

/// Asks for bytes [0, count) behind `from`.
static inline void askFor(device const uchar *from, uint count, uint own, uint threads) {
  for (uint at = own * 128u; at < count; at += threads * 128u)
    __builtin_prefetch(from + at);
}

/// Where the share of threadgroup `group` of `groups` begins.
static inline uint shareAt(uint total, uint group, uint groups) { return uint(ulong(total) * group / groups); }

/// The shares are of all quadruples of rows, matrix by matrix.
template <typename Held, uint kBatch>
static inline void walkParts(device const uchar *w0, device const uchar *w1, device const uchar *w2,
                             device const uchar *w3, device const uchar *x, device float *y0, device float *y1,
                             device float *y2, device float *y3, constant HeldArguments &args,
                             threadgroup float *sums, uint group, uint groups, uint threads, uint simd, uint lane) {
  uint total = 0, p = 0;
  do
    total += (args.parts[p].outputs + 3u) / 4u;
  while (++p < args.count);
  const uint shareBegin = shareAt(total, group, groups), shareEnd = shareAt(total, group + 1u, groups);
  uint before = 0, left = args.prefetch; // Quadruples of the matrices before.
  p = 0;
  do {
    const uint quads = (args.parts[p].outputs + 3u) / 4u, rowBytes = args.parts[p].rowBytes;
    const uint begin = max(shareBegin, before), end = min(shareEnd, before + quads);
    const uint bytes = begin < end ? min(left, (end - begin) * 4u * rowBytes) : 0u;
    askFor((p == 0u ? w0 : p == 1u ? w1 : p == 2u ? w2 : w3) + ulong((begin - before) * 4u) * rowBytes, bytes,
           simd * 32u + lane, threads);
    left -= bytes;
    before += quads;
  } while (++p < args.count);
  before = 0;
  p = 0;
  do {
    const uint quads = (args.parts[p].outputs + 3u) / 4u;
    const uint begin = max(shareBegin, before), end = min(shareEnd, before + quads);
    device const uchar *w = p == 0u ? w0 : p == 1u ? w1 : p == 2u ? w2 : w3;
    device float *y = p == 0u ? y0 : p == 1u ? y1 : p == 2u ? y2 : y3;
    if (begin < end)
      walkHeld<Held, kBatch, false>(w, w, x, y, args, args.parts[p], (begin - before) * 4u,
                                    min((end - before) * 4u, args.parts[p].outputs), sums, threads, simd, lane);
    before += quads;
  } while (++p < args.count);
}

#define MATVECS_HELD(format, Held, kBatch)                                                           \
  [[max_total_threads_per_threadgroup(kBatch == 1 ? 640 : kBatch == 2 ? 512 : 256)]] kernel void matvecs_##format##_held_##kBatch(                                                      \
      device const uchar *w0 [[buffer(0)]], device const uchar *w1 [[buffer(1)]],                    \
      device const uchar *w2 [[buffer(2)]], device const uchar *w3 [[buffer(3)]],                    \
      device const uchar *x [[buffer(4)]], device float *y0 [[buffer(5)]], device float *y1 [[buffer(6)]], \
      device float *y2 [[buffer(7)]], device float *y3 [[buffer(8)]],                                \
      constant HeldArguments &args [[buffer(9)]], uint group [[threadgroup_position_in_grid]],       \
      uint groups [[threadgroups_per_grid]], uint threads [[threads_per_threadgroup]],               \
      uint simd [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {       \
    threadgroup float sums[kBatch * kHeldChunk * 17u];                                               \
    walkParts<Held, kBatch>(w0, w1, w2, w3, x, y0, y1, y2, y3, args, sums, group, groups, threads, simd, lane); \
  }                                                                                                  \
  [[max_total_threads_per_threadgroup(kBatch == 1 ? 640 : kBatch == 2 ? 512 : 256)]] kernel void gated_##format##_held_##kBatch(                                                        \
      device const uchar *w0 [[buffer(0)]], device const uchar *w1 [[buffer(1)]],                    \
      device const uchar *x [[buffer(2)]], device float *y [[buffer(3)]],                            \
      constant HeldArguments &args [[buffer(4)]], uint group [[threadgroup_position_in_grid]],       \
      uint groups [[threadgroups_per_grid]], uint threads [[threads_per_threadgroup]],               \
      uint simd [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {       \
    threadgroup float sums[kBatch * kHeldChunk * 17u];                                               \
    const uint rowBytes = args.parts[0].rowBytes, begin = group * 32u;                               \
    const uint end = min(begin + 32u, args.parts[0].outputs);                                        \
    const uint bytes = begin < end ? min(args.prefetch / 2u, (end - begin) * rowBytes) : 0u;         \
    askFor(w0 + ulong(begin) * rowBytes, bytes, simd * 32u + lane, threads);                         \
    askFor(w1 + ulong(begin) * rowBytes, bytes, simd * 32u + lane, threads);                         \
    walkHeld<Held, kBatch, true>(w0, w1, x, y, args, args.parts[0], begin, end, sums, threads, simd, lane); \
  }
#define MATVECS_OF(format, Held)                                                                     \
  MATVECS_HELD(format, Held, 1) MATVECS_HELD(format, Held, 2) MATVECS_HELD(format, Held, 4)

MATVECS_OF(q4_k, HeldK<false>)
MATVECS_OF(q5_k, HeldK<true>)
MATVECS_OF(q6_k, HeldQ6_K)
MATVECS_OF(q8_0, HeldQ8_0)
