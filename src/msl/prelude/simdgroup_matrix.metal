// SPDX-License-Identifier: Apache-2.0
// metal_simdgroup_matrix: an 8x8 matrix spread over a SIMD group; AIR's value is <64 x T>, of which a
// lane's own two elements are the first.
namespace metal {
template <class T> using __m64 = T __attribute__((ext_vector_type(64)));
typedef long __long2 __attribute__((ext_vector_type(2)));

template <class T, int C, int R = C> struct simdgroup_matrix;
template <class T> struct simdgroup_matrix<T, 8, 8> {
  typedef vec<T, 2> storage_type;
  __m64<T> __v;
  simdgroup_matrix() = default;
  METAL_FUNC explicit simdgroup_matrix(T diagonal);
  METAL_FUNC thread vec<T, 2> &thread_elements() { return *(thread vec<T, 2> *)&__v; }
  METAL_FUNC const thread vec<T, 2> &thread_elements() const {
    return *(const thread vec<T, 2> *)&__v;
  }
};
typedef simdgroup_matrix<float, 8, 8> simdgroup_float8x8;
typedef simdgroup_matrix<half, 8, 8> simdgroup_half8x8;
typedef simdgroup_matrix<bfloat, 8, 8> simdgroup_bfloat8x8;
