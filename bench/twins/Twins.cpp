// SPDX-License-Identifier: Apache-2.0
#include "twins/Twins.h"
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <thread>
#include <vector>

namespace twins {
namespace {

/// Scales and minima of the eight runs of a Q4_K block: six bits each, in twelve bytes.
void unpackScales(const uint8_t *packed, uint8_t *scales, uint8_t *mins) {
  for (int j = 0; j < 4; ++j) {
    scales[j] = packed[j] & 63;
    mins[j] = packed[j + 4] & 63;
    scales[j + 4] = static_cast<uint8_t>((packed[j + 8] & 15) | (packed[j] >> 6) << 4);
    mins[j + 4] = static_cast<uint8_t>(packed[j + 8] >> 4 | (packed[j + 4] >> 6) << 4);
  }
}

#define PREFETCH(address) _mm_prefetch(reinterpret_cast<const char *>(address), _MM_HINT_T0)

#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
namespace avx2 {
float halfAt(const uint8_t *at) {
  uint16_t bits;
  std::memcpy(&bits, at, 2);
  return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(bits)));
}
float reduce(__m256 v) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
__m256 nibbles(const uint8_t *at, int shift) {
  __m256i codes = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(at)));
  codes = _mm256_and_si256(_mm256_srl_epi32(codes, _mm_cvtsi32_si128(shift)), _mm256_set1_epi32(15));
  return _mm256_cvtepi32_ps(codes);
}
#define V __m256
#define LANES size_t(8)
#define SET(x) _mm256_set1_ps(x)
#define ZERO() _mm256_setzero_ps()
#define LOAD(p) _mm256_loadu_ps(p)
#define STORE(p, v) _mm256_storeu_ps(p, v)
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define ADD(a, b) _mm256_add_ps(a, b)
#define MUL(a, b) _mm256_mul_ps(a, b)
#define XOR(a, b) _mm256_xor_ps(a, b)
#define REDUCE(v) reduce(v)
#define CODES(p)                                                                                   \
  _mm256_cvtepi32_ps(                                                                              \
      _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(p))))
#define LOW_NIBBLES(p) nibbles(p, 0)
#define HIGH_NIBBLES(p) nibbles(p, 4)
#define HALVES(p) _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(p)))
#include "twins/TwinKernels.inc"
#undef HALVES
#undef V
#undef LANES
#undef SET
#undef ZERO
#undef LOAD
#undef STORE
#undef FMA
#undef ADD
#undef MUL
#undef XOR
#undef CODES
} // namespace avx2
#pragma clang attribute pop

#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma,f16c"))), \
                             apply_to = function)
namespace avx512 {
float halfAt(const uint8_t *at) {
  uint16_t bits;
  std::memcpy(&bits, at, 2);
  return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(bits)));
}
float reduce(__m512 v) { return _mm512_reduce_add_ps(v); }
__m512 nibbles(const uint8_t *at, int shift) {
  __m512i codes = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i *>(at)));
  codes = _mm512_and_si512(_mm512_srl_epi32(codes, _mm_cvtsi32_si128(shift)), _mm512_set1_epi32(15));
  return _mm512_cvtepi32_ps(codes);
}
#define V __m512
#define LANES size_t(16)
#define SET(x) _mm512_set1_ps(x)
#define ZERO() _mm512_setzero_ps()
#define LOAD(p) _mm512_loadu_ps(p)
#define STORE(p, v) _mm512_storeu_ps(p, v)
#define FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define ADD(a, b) _mm512_add_ps(a, b)
#define MUL(a, b) _mm512_mul_ps(a, b)
#define XOR(a, b) _mm512_xor_ps(a, b)
#define CODES(p)                                                                                   \
  _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i *>(p))))
#define HALVES(p) _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(p)))
#include "twins/TwinKernels.inc"
} // namespace avx512
#pragma clang attribute pop

bool hasAvx512() {
  static const bool has = [] {
    const char *asked = std::getenv("PEWTER_TWINS");
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && !(asked && std::strcmp(asked, "avx2") == 0);
  }();
  return has;
}

#define PART(name, ...) (hasAvx512() ? avx512::name(__VA_ARGS__) : avx2::name(__VA_ARGS__))

/// A result that nobody reads must be made all the same. (A variable that is only written does not
/// force it: the optimiser drops both.)
void keep(float value) { asm volatile("" : : "x"(value)); }

struct Slice {
  size_t first, last;
};
Slice sliceOf(size_t count, size_t unit, unsigned part, unsigned parts) {
  size_t units = count / unit;
  return {units * part / parts * unit, units * (part + 1) / parts * unit};
}

void pinTo(unsigned processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

} // namespace

const char *isa() { return hasAvx512() ? "AVX-512" : "AVX2"; }

struct Pool::State {
  /// As many as the worker pool that the twins are compared with, and at most two.
  const unsigned parts = [] {
    const char *asked = std::getenv("PEWTER_THREADS");
    return asked && std::strcmp(asked, "1") == 0 ? 1u : 2u;
  }();
  alignas(128) std::atomic<uint64_t> generation{0};
  alignas(128) std::atomic<unsigned> finished{0};
  std::atomic<bool> stop{false};
  const std::function<void(unsigned, unsigned)> *job = nullptr;
  std::thread thread;

  void work() {
    pinTo(1);
    for (uint64_t seen = 0;;) {
      // Spins for about a millisecond, then sleeps: who wakes up now and then to look takes time from
      // whatever is measured between two jobs.
      for (unsigned turns = 0; generation.load(std::memory_order_acquire) == seen; ++turns) {
        if (stop.load(std::memory_order_relaxed))
          return;
        if (turns < 30000)
          _mm_pause();
        else
          generation.wait(seen, std::memory_order_acquire);
      }
      if (stop.load(std::memory_order_relaxed))
        return;
      seen = generation.load(std::memory_order_relaxed);
      (*job)(1, parts);
      finished.store(1, std::memory_order_release);
    }
  }
};

Pool::Pool() : state_(new State) {
  if (state_->parts > 1)
    state_->thread = std::thread([state = state_] { state->work(); });
}
Pool::~Pool() {
  state_->stop = true;
  state_->generation.fetch_add(1, std::memory_order_release);
  state_->generation.notify_one();
  if (state_->thread.joinable())
    state_->thread.join();
  delete state_;
}
unsigned Pool::parts() const { return state_->parts; }

void Pool::run(const std::function<void(unsigned, unsigned)> &job) {
  state_->job = &job;
  state_->finished.store(0, std::memory_order_relaxed);
  state_->generation.fetch_add(1, std::memory_order_release);
  state_->generation.notify_one();
  job(0, state_->parts);
  while (state_->parts > 1 && !state_->finished.load(std::memory_order_acquire))
    _mm_pause();
}

void saxpy(Pool &pool, float a, const float *x, float *y, size_t count) {
  pool.run([=](unsigned part, unsigned parts) {
    Slice slice = sliceOf(count, 64, part, parts);
    PART(saxpyPart, a, x, y, slice.first, slice.last);
  });
}

void rmsNorm(Pool &pool, const float *x, const float *weight, float *out, size_t rows, size_t width,
             float epsilon) {
  pool.run([=](unsigned part, unsigned parts) {
    Slice slice = sliceOf(rows, 1, part, parts);
    PART(rmsNormPart, x, weight, out, slice.first, slice.last, width, epsilon);
  });
}

void matvecQ8_0(Pool &pool, const uint8_t *weights, const float *x, float *y, size_t rows,
                size_t inputs) {
  pool.run([=](unsigned part, unsigned parts) {
    Slice slice = sliceOf(rows, 4, part, parts);
    PART(matvecQ8_0Part, weights, x, y, slice.first, slice.last, inputs);
  });
}

void matvecQ4_K(Pool &pool, const uint8_t *weights, const float *x, float *y, size_t rows,
                size_t inputs) {
  std::vector<float> sums(inputs / 32);
  for (size_t i = 0; i < inputs; ++i)
    sums[i / 32] += x[i];
  pool.run([=, &sums](unsigned part, unsigned parts) {
    Slice slice = sliceOf(rows, 2, part, parts);
    PART(matvecQ4_KPart, weights, x, sums.data(), y, slice.first, slice.last, inputs);
  });
}

void mulMm(Pool &pool, const uint16_t *weights, const float *x, float *out, size_t rows,
           size_t columns, size_t inputs) {
  pool.run([=](unsigned part, unsigned parts) {
    Slice slice = sliceOf(rows, 64, part, parts);
    PART(mulMmPart, weights, x, out, slice.first, slice.last, rows, columns, inputs);
  });
}

double multiplyAddPeak(Pool &pool, size_t turns) {
  pool.run([=](unsigned, unsigned) { keep(PART(multiplyAddPart, turns)); });
  return static_cast<double>(pool.parts()) * static_cast<double>(turns) * 10 * 2 *
         (hasAvx512() ? 16 : 8);
}

void streamRead(Pool &pool, const uint8_t *bytes, size_t count) {
  pool.run([=](unsigned part, unsigned parts) {
    Slice slice = sliceOf(count, 4096, part, parts);
    keep(PART(streamReadPart, bytes, slice.first, slice.last));
  });
}

} // namespace twins
