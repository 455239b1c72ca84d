// SPDX-License-Identifier: Apache-2.0
//
// The same algorithms as OpenCL kernels on the first OpenCL device (PoCL on a CPU), for programs built
// with PEWTER_WITH_OPENCL; without it `available` is false. A job enqueues and finishes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace opencl {

using Job = std::function<void()>;

bool available();
std::string describe();
Job saxpy(const float *x, float *y, size_t count);
/// One row to 128 work items, as rms_norm_batch has it.
Job rmsNorm(const float *x, const float *weight, float *out, uint32_t rows, uint32_t width,
            float epsilon);
/// y = W x for each of `matrices` matrices of `bytes` bytes, in Q8_0 or Q4_K, with the work cut as
/// llama.cpp's Metal kernels cut it.
Job matvec(const std::string &format, const uint8_t *weights, size_t bytes, size_t matrices,
           const float *x, float *y, uint32_t rows, uint32_t inputs);
/// `count` empty kernels, one finish.
Job empty(int count);

} // namespace opencl
