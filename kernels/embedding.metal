// SPDX-License-Identifier: Apache-2.0
//
// Rows of the embedding table as float. One SIMD group per 32 elements: grid (width / 32, rows)
// threadgroups of 32 threads. A token id past the table is cut to the last.
#include "formats.metal"

struct EmbeddingArguments {
  uint width;
  uint vocabulary;
  uint rowBytes;
  uint outputStride; ///< Between the rows of the result.
};

template <typename Format>
static inline void embed(device const uchar *table, device const uint *ids, device float *out,
                         constant EmbeddingArguments &args, uint2 group, uint lane) {
  uint id = min(ids[group.y], args.vocabulary - 1u);
  device const uchar *row = table + ulong(id) * args.rowBytes;
  typename Format::Head head = Format::open(row + ulong(group.x / Format::kChunks) * Format::kBytes);
  out[group.y * args.outputStride + group.x * 32u + lane] =
      Format::at(head, group.x % Format::kChunks, lane);
}

#define EMBEDDING(format, Format)                                                                    \
  kernel void embedding_##format(                                                                    \
      device const uchar *table [[buffer(0)]], device const uint *ids [[buffer(1)]],                 \
      device float *out [[buffer(2)]], constant EmbeddingArguments &args [[buffer(3)]],              \
      uint2 group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {       \
    embed<Format>(table, ids, out, args, group, lane);                                               \
  }

EMBEDDING(f32, FormatF32)
EMBEDDING(f16, FormatF16)
EMBEDDING(bf16, FormatBF16)
EMBEDDING(q8_0, FormatQ8_0)
EMBEDDING(q4_0, FormatQ4_0)
EMBEDDING(iq4_nl, FormatIQ4_NL)
EMBEDDING(mxfp4, FormatMXFP4)
EMBEDDING(q4_k, FormatQ4_K)
EMBEDDING(q5_k, FormatQ5_K)
EMBEDDING(q6_k, FormatQ6_K)
