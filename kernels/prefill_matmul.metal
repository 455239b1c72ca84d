// SPDX-License-Identifier: Apache-2.0
//
// Y = W X for many rows of activations: prefill. Activations are stored by columns: element i of row r
// is at i * stride + r, stride a multiple of 32, so that a lane owns a row of the batch and no sum goes
// across lanes. Rows up to the stride are computed; those past the batch hold nothing of use.
//
// matmul_<format>_8o32r: a SIMD group makes 8 outputs of all rows. It decodes 8 x 64 weights to
// threadgroup memory, then walks the batch in tiles of 32 rows, two outputs at a time: the tile's
// 64 x 32 activations stay in the first cache while eight outputs use them.
// Launch: ceil(outputs / 8) threadgroups of 32 threads.

constant constexpr uint kTileOutputs = 8, kTileInputs = 64;

template <typename Format>
static inline void matmulColumns(device const uchar *weights, device const float *x, device float *y,
                                 constant MatrixArguments &args, uint stride, threadgroup float *tile,
                                 uint group, uint lane) {
  const uint first = group * kTileOutputs;
  for (uint begin = 0; begin < args.inputs; begin += kTileInputs) {
    const uint depth = min(kTileInputs, args.inputs - begin);
    for (uint o = 0; o < kTileOutputs; ++o) {
      device const uchar *row = weights + ulong(min(first + o, args.outputs - 1u)) * args.rowBytes;
      for (uint c = 0; c < depth / 32u; ++c) {
        uint chunk = begin / 32u + c;
        typename Format::Head head = Format::open(row + ulong(chunk / Format::kChunks) * Format::kBytes);
        tile[o * kTileInputs + c * 32u + lane] = Format::at(head, chunk % Format::kChunks, lane);
      }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint r = 0; r < stride; r += 32u) {
      device const float *column = x + ulong(begin) * stride + r + lane;
      for (uint o = 0; o < kTileOutputs && first + o < args.outputs; o += 2u) {
        device float *out = y + ulong(first + o) * stride + r + lane;
        bool pair = first + o + 1u < args.outputs;
        float sum0 = 0.0f, sum1 = 0.0f;
        if (begin > 0u) {
          sum0 = out[0];
          sum1 = pair ? out[stride] : 0.0f;
        }
        threadgroup const float *w = tile + o * kTileInputs;
        for (uint k = 0; k < depth; ++k) {
          float value = column[k * stride];
          sum0 = fma(w[k], value, sum0);
          sum1 = fma(w[kTileInputs + k], value, sum1);
        }
        if (begin + kTileInputs >= args.inputs) {
          sum0 *= args.scale;
          sum1 *= args.scale;
        }
        out[0] = sum0;
        if (pair)
          out[stride] = sum1;
      }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }
}

#define MATMUL(format, Format)                                                                       \
  kernel void matmul_##format##_8o32r(                                                               \
      device const uchar *weights [[buffer(0)]], device const float *x [[buffer(1)]],                \
      device float *y [[buffer(2)]], constant MatrixArguments &args [[buffer(3)]],                   \
      uint group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {        \
    threadgroup float tile[kTileOutputs * kTileInputs];                                              \
    matmulColumns<Format>(weights, x, y, args, args.rows, tile, group, lane);                        \
  }

MATMUL(f32, FormatF32)
MATMUL(f16, FormatF16)
MATMUL(bf16, FormatBF16)
MATMUL(q8_0, FormatQ8_0)
MATMUL(q4_0, FormatQ4_0)
MATMUL(iq4_nl, FormatIQ4_NL)
MATMUL(mxfp4, FormatMXFP4)
MATMUL(q4_k, FormatQ4_K)
MATMUL(q5_k, FormatQ5_K)
MATMUL(q6_k, FormatQ6_K)

/// NVFP4 with its block scales at slot 4.
kernel void matmul_nvfp4_8o32r(device const uchar *weights [[buffer(0)]], device const float *x [[buffer(1)]],
                               device float *y [[buffer(2)]], constant MatrixArguments &args [[buffer(3)]],
                               device const uchar *scales [[buffer(4)]],
                               uint group [[threadgroup_position_in_grid]],
                               uint lane [[thread_index_in_simdgroup]]) {
  const uint stride = args.rows;
  for (uint o = group * kTileOutputs; o < min(args.outputs, (group + 1u) * kTileOutputs); ++o) {
    device const uchar *codes = weights + ulong(o) * args.rowBytes;
    device const uchar *rowScales = scales + ulong(o) * (args.inputs / 16u);
    for (uint r = 0; r < stride; r += 32u) {
      float sum = 0.0f;
      for (uint k = 0; k < args.inputs; ++k) {
        uint pair = codes[k / 2u];
        float w = decodeE2M1(k & 1u ? pair >> 4u : pair & 15u) * decodeE4M3(rowScales[k / 16u]);
        sum = fma(w, x[ulong(k) * stride + r + lane], sum);
      }
      y[ulong(o) * stride + r + lane] = sum * args.scale;
    }
  }
}
