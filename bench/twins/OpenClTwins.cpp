// SPDX-License-Identifier: Apache-2.0
#include "twins/OpenClTwins.h"
#include "twins/Pocl.h"
#include <vector>

namespace opencl {
namespace {

const char *const kSource = R"(
kernel void saxpy(global const float *x, global float *y, float a) {
  size_t i = get_global_id(0);
  y[i] = fma(a, x[i], y[i]);
}
kernel void empty_kernel(global float *y) {}
kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void rms_norm(global const float *x, global const float *weight, global float *out, uint width,
              float epsilon) {
  local float sums[128];
  const uint item = get_local_id(0);
  global const float *from = x + get_group_id(0) * (size_t)width;
  global float *to = out + get_group_id(0) * (size_t)width;
  float sum = 0;
  for (uint i = item; i < width; i += 128)
    sum += from[i] * from[i];
  sums[item] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint step = 64; step > 0; step /= 2) {
    if (item < step)
      sums[item] += sums[item + step];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const float scale = rsqrt(sums[0] / width + epsilon);
  for (uint i = item; i < width; i += 128)
    to[i] = from[i] * scale * weight[i];
}

/// The reduction of `width` items that share a row, through local memory.
float sumOver(local float *sums, uint item, uint width, float value) {
  sums[item] = value;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint step = width / 2; step > 0; step /= 2) {
    if (item % width < step)
      sums[item] += sums[item + step];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  float sum = sums[item / width * width];
  barrier(CLK_LOCAL_MEM_FENCE);
  return sum;
}

/// Two rows a group of 128 items; four neighbouring items share a block, eight codes each.
kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void matvec_q8_0(global const uchar *weights, global const float *x, global float *y, uint inputs) {
  local float sums[128];
  const uint item = get_local_id(0), blocks = inputs / 32, part = item % 4;
  global const uchar *row = weights + get_group_id(0) * 2 * (size_t)blocks * 34;
  float total[2] = {0, 0};
  for (uint b = item / 4; b < blocks; b += 32) {
    float values[8];
    for (uint i = 0; i < 8; ++i)
      values[i] = x[b * 32 + part * 8 + i];
    for (uint r = 0; r < 2; ++r) {
      global const uchar *block = row + ((size_t)r * blocks + b) * 34;
      global const char *codes = (global const char *)(block + 2 + part * 8);
      float sum = 0;
      for (uint i = 0; i < 8; ++i)
        sum += codes[i] * values[i];
      total[r] += sum * vload_half(0, (global const half *)block);
    }
  }
  for (uint r = 0; r < 2; ++r) {
    float sum = sumOver(sums, item, 128, total[r]);
    if (item == 0)
      y[get_group_id(0) * 2 + r] = sum;
  }
}

/// Four rows a group of 64 items, two for each 32; eight neighbouring items share a block.
kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void matvec_q4_k(global const uchar *weights, global const float *x, global float *y, uint inputs) {
  local float sums[64];
  const uint item = get_local_id(0), lane = item % 32, blocks = inputs / 256;
  const uint first = get_group_id(0) * 4 + item / 32 * 2;
  const uint half_ = lane % 8 / 4, quarter = lane % 4;
  float total[2] = {0, 0};
  for (uint b = lane / 8; b < blocks; b += 4) {
    global const float *in = x + b * 256 + half_ * 64 + quarter * 8;
    float v[4][8], inSums[4] = {0, 0, 0, 0};
    for (uint run = 0; run < 4; ++run)
      for (uint i = 0; i < 8; ++i) {
        v[run][i] = in[run / 2 * 128 + run % 2 * 32 + i];
        inSums[run] += v[run][i];
      }
    for (uint r = 0; r < 2; ++r) {
      global const uchar *block = weights + ((size_t)(first + r) * blocks + b) * 144;
      global const uchar *packed = block + 4;
      float d = vload_half(0, (global const half *)block);
      float dmin = vload_half(1, (global const half *)block);
      for (uint run = 0; run < 4; ++run) {
        uint j = run / 2 * 4 + half_ * 2 + run % 2;
        uint scale = j < 4 ? packed[j] & 63 : (packed[j + 4] & 15) | packed[j - 4] >> 6 << 4;
        uint low = j < 4 ? packed[j + 4] & 63 : packed[j + 4] >> 4 | packed[j] >> 6 << 4;
        global const uchar *codes = block + 16 + run / 2 * 64 + half_ * 32 + quarter * 8;
        float sum = 0;
        for (uint i = 0; i < 8; ++i)
          sum += (run % 2 ? codes[i] >> 4 : codes[i] & 15) * v[run][i];
        total[r] += d * scale * sum - dmin * low * inSums[run];
      }
    }
  }
  for (uint r = 0; r < 2; ++r) {
    float sum = sumOver(sums, item, 32, total[r]);
    if (lane == 0)
      y[first + r] = sum;
  }
}
)";

/// Runs the kernels one after the other and waits.
Job jobOf(std::vector<pocl::Kernel> kernels, size_t global, size_t local) {
  return [=] {
    for (const pocl::Kernel &kernel : kernels)
      kernel.enqueue(global, local);
    pocl::finish();
  };
}

} // namespace

bool available() { return pocl::available(); }

std::string describe() { return pocl::describe(); }

Job saxpy(const float *x, float *y, size_t count) {
  pocl::Kernel kernel(kSource, "saxpy");
  kernel.memory(x, count * 4).memory(y, count * 4).value(1e-9f);
  return jobOf({kernel}, count, 256);
}

Job rmsNorm(const float *x, const float *weight, float *out, uint32_t rows, uint32_t width,
            float epsilon) {
  pocl::Kernel kernel(kSource, "rms_norm");
  kernel.memory(x, size_t(rows) * width * 4).memory(weight, width * 4).memory(out, size_t(rows) * width * 4);
  kernel.value(width).value(epsilon);
  return jobOf({kernel}, size_t(rows) * 128, 128);
}

Job matvec(const std::string &format, const uint8_t *weights, size_t bytes, size_t matrices,
           const float *x, float *y, uint32_t rows, uint32_t inputs) {
  bool isQ8 = format == "q8_0";
  std::vector<pocl::Kernel> kernels;
  for (size_t m = 0; m < matrices; ++m) {
    kernels.emplace_back(kSource, isQ8 ? "matvec_q8_0" : "matvec_q4_k");
    kernels.back().memory(weights + m * bytes, bytes).memory(x, inputs * 4).memory(y, rows * 4).value(inputs);
  }
  size_t local = isQ8 ? 128 : 64;
  return jobOf(std::move(kernels), rows / (isQ8 ? 2 : 4) * local, local);
}

Job empty(int count) {
  static float place[16];
  pocl::Kernel kernel(kSource, "empty_kernel");
  kernel.memory(place, sizeof(place));
  return jobOf(std::vector(size_t(count), kernel), 32, 32);
}

} // namespace opencl
