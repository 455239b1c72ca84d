// SPDX-License-Identifier: Apache-2.0
// Kernels in the manner of tensor libraries: operators as types, one template for every type, instantiation by macro
// with names for the host, strides of any rank, reductions by SIMD groups, products by tiles, kernels that gather.
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

#define STEEL_PRAGMA_UNROLL _Pragma("clang loop unroll(full)")
#define instantiate_kernel(name, func, ...)                                                                            \
  template [[host_name(name)]] [[kernel]] decltype(func<__VA_ARGS__>) func<__VA_ARGS__>;

struct Add {
  template <typename T> T operator()(T x, T y) { return x + y; }
};
struct Maximum {
  template <typename T> metal::enable_if_t<metal::is_integral_v<T>, T> operator()(T x, T y) { return metal::max(x, y); }
  template <typename T> metal::enable_if_t<!metal::is_integral_v<T>, T> operator()(T x, T y) {
    if (metal::isnan(x))
      return x;
    return x > y ? x : y;
  }
};
struct Power {
  template <typename T> metal::enable_if_t<!metal::is_integral_v<T>, T> operator()(T base, T exp) {
    return static_cast<T>(metal::pow(static_cast<float>(base), static_cast<float>(exp)));
  }
  template <typename T> metal::enable_if_t<metal::is_integral_v<T>, T> operator()(T base, T exp) {
    T res = 1;
    while (exp) {
      if (exp & 1)
        res *= base;
      exp >>= 1;
      base *= base;
    }
    return res;
  }
};

template <typename IdxT = int64_t>
METAL_FUNC IdxT elem_to_loc(IdxT elem, constant const int *shape, constant const int64_t *strides, int ndim) {
  IdxT loc = 0;
  for (int i = ndim - 1; i >= 0 && elem > 0; --i) {
    loc += (elem % shape[i]) * IdxT(strides[i]);
    elem /= shape[i];
  }
  return loc;
}

template <typename T, typename U, typename Op>
[[kernel]] void binary_g(device const T *a, device const T *b, device U *c, constant const int *shape,
                         constant const int64_t *a_strides, constant const int64_t *b_strides,
                         constant const int &ndim, uint3 index [[thread_position_in_grid]],
                         uint3 grid_dim [[threads_per_grid]]) {
  const int64_t elem = index.x + int64_t(grid_dim.x) * (index.y + int64_t(grid_dim.y) * index.z);
  c[elem] = Op()(a[elem_to_loc<int64_t>(elem, shape, a_strides, ndim)],
                 b[elem_to_loc<int64_t>(elem, shape, b_strides, ndim)]);
}
#define instantiate_binary(tname, type)                                                                                \
  instantiate_kernel("binary_g_Add_" #tname, binary_g, type, type, Add)                                                \
      instantiate_kernel("binary_g_Maximum_" #tname, binary_g, type, type, Maximum)                                    \
          instantiate_kernel("binary_g_Power_" #tname, binary_g, type, type, Power)
instantiate_binary(float32, float) instantiate_binary(float16, half) instantiate_binary(bfloat16, bfloat)
instantiate_binary(int32, int32_t) instantiate_binary(uint8, uint8_t) instantiate_binary(int64, int64_t)

template <typename U> struct Limits {
  static const constant U max = metal::numeric_limits<U>::max();
  static const constant U min = metal::numeric_limits<U>::min();
};
#define instantiate_float_limit(type)                                                                                  \
  template <> struct Limits<type> {                                                                                    \
    static constexpr constant type max = metal::numeric_limits<type>::infinity();                                      \
    static constexpr constant type min = -metal::numeric_limits<type>::infinity();                                     \
  };
instantiate_float_limit(half) instantiate_float_limit(float)

// Rows reduced: every SIMD group first, then the groups.
template <typename T, typename AccT = float, int N_READS = 4, int SIMD_SIZE = 32>
[[kernel]] void softmax(const device T *in, device T *out, constant int &axis_size, uint gid [[threadgroup_position_in_grid]],
                        uint lid [[thread_position_in_threadgroup]], uint simd_lane_id [[thread_index_in_simdgroup]],
                        uint simd_group_id [[simdgroup_index_in_threadgroup]]) {
  threadgroup AccT local_max[SIMD_SIZE];
  threadgroup AccT local_normalizer[SIMD_SIZE];
  AccT ld[N_READS];
  in += gid * size_t(axis_size) + lid * N_READS;
  for (int i = 0; i < N_READS; i++)
    ld[i] = lid * N_READS + i < uint(axis_size) ? AccT(in[i]) : Limits<AccT>::min;
  if (simd_group_id == 0) {
    local_max[simd_lane_id] = -INFINITY;
    local_normalizer[simd_lane_id] = 0;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  AccT maxval = -FLT_MAX;
  for (int i = 0; i < N_READS; i++)
    maxval = (maxval < ld[i]) ? ld[i] : maxval;
  maxval = simd_max(maxval);
  if (simd_lane_id == 0)
    local_max[simd_group_id] = maxval;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  maxval = simd_max(local_max[simd_lane_id]);
  AccT normalizer = 0;
  for (int i = 0; i < N_READS; i++) {
    ld[i] = fast::exp(ld[i] - maxval);
    normalizer += ld[i];
  }
  normalizer = simd_sum(normalizer);
  if (simd_lane_id == 0)
    local_normalizer[simd_group_id] = normalizer;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  normalizer = 1 / simd_sum(local_normalizer[simd_lane_id]);
  out += gid * size_t(axis_size) + lid * N_READS;
  for (int i = 0; i < N_READS; i++)
    if (lid * N_READS + i < uint(axis_size))
      out[i] = T(ld[i] * normalizer);
}
instantiate_kernel("softmax_float32", softmax, float) instantiate_kernel("softmax_float16", softmax, half)
instantiate_kernel("softmax_bfloat16", softmax, bfloat)

// A product by tiles: a block loader as a class, fragments of eight by eight.
template <typename T, short BROWS, short BCOLS, short dst_ld, short tgp_size> struct BlockLoader {
  static constant constexpr const short vec_size = (BROWS * BCOLS) / tgp_size;
  static constant constexpr const short TCOLS = BCOLS / vec_size;
  const int src_ld;
  const short thread_idx, bi, bj;
  threadgroup T *dst;
  const device T *src;

  METAL_FUNC BlockLoader(const device T *src_, const int src_ld_, threadgroup T *dst_,
                         ushort simd_group_id [[simdgroup_index_in_threadgroup]],
                         ushort simd_lane_id [[thread_index_in_simdgroup]])
      : src_ld(src_ld_), thread_idx(simd_group_id * 32 + simd_lane_id), bi(thread_idx / TCOLS),
        bj(vec_size * (thread_idx % TCOLS)), dst(dst_ + bi * dst_ld + bj), src(src_ + bi * src_ld + bj) {}

  METAL_FUNC void load_safe(short2 src_tile_dim) const {
    src_tile_dim = src_tile_dim - short2(bj, bi);
    STEEL_PRAGMA_UNROLL
    for (short j = 0; j < vec_size; j++)
      dst[j] = (src_tile_dim.y > 0 && j < src_tile_dim.x) ? src[j] : T(0);
  }
};

struct GEMMParams {
  const int M, N, K, lda, ldb, ldd;
};

template <typename T, int BM = 32, int BN = 32, int BK = 16>
[[kernel, max_total_threads_per_threadgroup(128)]] void gemm(
    const device T *A [[buffer(0)]], const device T *B [[buffer(1)]], device T *D [[buffer(2)]],
    const constant GEMMParams *params [[buffer(3)]], uint simd_lane_id [[thread_index_in_simdgroup]],
    uint simd_group_id [[simdgroup_index_in_threadgroup]], uint3 tid [[threadgroup_position_in_grid]],
    uint3 lid [[thread_position_in_threadgroup]]) {
  threadgroup T As[BM * BK];
  threadgroup T Bs[BK * BN];
  threadgroup float Cs[BM * BN];
  const int row = tid.y * BM, col = tid.x * BN;
  simdgroup_matrix<float, 8, 8> acc[2][2];
  for (short i = 0; i < 2; ++i)
    for (short j = 0; j < 2; ++j)
      acc[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.f);
  const short sm = 16 * (simd_group_id / 2), sn = 16 * (simd_group_id % 2);
  for (int k = 0; k < params->K; k += BK) {
    BlockLoader<T, BM, BK, BK, 128> load_a(A + row * params->lda + k, params->lda, As, simd_group_id, simd_lane_id);
    BlockLoader<T, BK, BN, BN, 128> load_b(B + k * params->ldb + col, params->ldb, Bs, simd_group_id, simd_lane_id);
    load_a.load_safe(short2(min(BK, params->K - k), min(BM, params->M - row)));
    load_b.load_safe(short2(min(BN, params->N - col), min(BK, params->K - k)));
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (short kk = 0; kk < BK; kk += 8) {
      simdgroup_matrix<T, 8, 8> a[2], b[2];
      for (short i = 0; i < 2; ++i) {
        simdgroup_load(a[i], As + (sm + 8 * i) * BK + kk, BK);
        simdgroup_load(b[i], Bs + kk * BN + sn + 8 * i, BN);
      }
      simdgroup_barrier(mem_flags::mem_none);
      for (short i = 0; i < 2; ++i)
        for (short j = 0; j < 2; ++j)
          simdgroup_multiply_accumulate(acc[i][j], a[i], b[j], acc[i][j]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  for (short i = 0; i < 2; ++i)
    for (short j = 0; j < 2; ++j)
      simdgroup_store(acc[i][j], Cs + (sm + 8 * i) * BN + sn + 8 * j, BN);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (int e = lid.x; e < BM * BN; e += 128)
    if (row + e / BN < params->M && col + e % BN < params->N)
      D[(row + e / BN) * params->ldd + col + e % BN] = T(Cs[e]);
}
instantiate_kernel("gemm_float32", gemm, float, 32, 32, 16) instantiate_kernel("gemm_float16", gemm, half, 32, 32, 16)

// In the manner of PyTorch: functors by name, offsets in pairs, types by a cast table.
namespace c10 {
namespace metal {
template <typename T> struct OpMathType { using type = T; };
template <> struct OpMathType<half> { using type = float; };
template <> struct OpMathType<bfloat> { using type = float; };
template <typename T> using opmath_t = typename OpMathType<T>::type;
} // namespace metal
} // namespace c10

struct lerp_functor {
  template <typename T> inline T operator()(const T a, const T b, const T w) {
    using c10::metal::opmath_t;
    const auto d = static_cast<opmath_t<T>>(b) - static_cast<opmath_t<T>>(a);
    return static_cast<T>(static_cast<opmath_t<T>>(a) + static_cast<opmath_t<T>>(w) * d);
  }
};
template <typename F, typename T>
kernel void ternary_strided(device void *output_ [[buffer(0)]], constant void *a_ [[buffer(1)]],
                            constant void *b_ [[buffer(2)]], constant void *w_ [[buffer(3)]],
                            constant long *strides [[buffer(4)]], constant uint4 &ndim_types [[buffer(5)]],
                            uint tid [[thread_position_in_grid]]) {
  device T *output = static_cast<device T *>(output_);
  constant auto *a = reinterpret_cast<constant T *>(a_);
  constant auto *b = reinterpret_cast<constant T *>(b_);
  constant auto *w = reinterpret_cast<constant T *>(w_);
  F f;
  output[tid * strides[0]] = f(a[tid * strides[1]], b[tid * strides[2]], w[tid * strides[3]]);
}
#define REGISTER_OP(NAME, DTYPE)                                                                                       \
  template [[host_name(#NAME "_strided_" #DTYPE)]] kernel void ternary_strided<NAME##_functor, DTYPE>(                 \
      device void *, constant void *, constant void *, constant void *, constant long *, constant uint4 &, uint)
REGISTER_OP(lerp, float);
REGISTER_OP(lerp, half);
REGISTER_OP(lerp, bfloat);
