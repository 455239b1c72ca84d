// SPDX-License-Identifier: Apache-2.0
//
// Hand-written C++ for the cases of Kernels_bench, each for AVX2 and for AVX-512: the bar that compiled
// kernels are measured against. Work is cut into as many equal parts as the pool has threads.
// `isa()` names the set in use; PEWTER_TWINS=avx2 in the environment takes the smaller one.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>

namespace twins {

const char *isa();

/// Two threads that spin between jobs, of which the caller is one and the other is pinned to the second
/// processor; with PEWTER_THREADS=1 in the environment the caller alone.
class Pool {
public:
  Pool();
  ~Pool();
  void run(const std::function<void(unsigned part, unsigned parts)> &job);
  unsigned parts() const;

private:
  struct State;
  State *state_;
};

/// y += a x; count is a multiple of 64.
void saxpy(Pool &pool, float a, const float *x, float *y, size_t count);
/// out = x / rms(x) * weight for each row; width is a multiple of 64.
void rmsNorm(Pool &pool, const float *x, const float *weight, float *out, size_t rows, size_t width,
             float epsilon);
/// y = W x with float activations and the next rows prefetched; rows is a multiple of 4.
void matvecQ8_0(Pool &pool, const uint8_t *weights, const float *x, float *y, size_t rows,
                size_t inputs);
void matvecQ4_K(Pool &pool, const uint8_t *weights, const float *x, float *y, size_t rows,
                size_t inputs);
/// out[n][m] = sum over k of weights[m][k] (half) x[n][k]: rows is a multiple of 64, columns of 4,
/// inputs of 256.
void mulMm(Pool &pool, const uint16_t *weights, const float *x, float *out, size_t rows,
           size_t columns, size_t inputs);
/// Fused multiply-adds on registers only; returns the floating-point operations done.
double multiplyAddPeak(Pool &pool, size_t turns);
/// Sum of the words: reads and nothing else. bytes is a multiple of 4,096.
void streamRead(Pool &pool, const uint8_t *bytes, size_t count);

} // namespace twins
