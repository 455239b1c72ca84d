// SPDX-License-Identifier: Apache-2.0
#include "twins/OpenClTwins.h"

#ifndef PEWTER_WITH_OPENCL

namespace opencl {
bool available() { return false; }
std::string describe() { return "built without"; }
Job saxpy(const float *, float *, size_t) { return {}; }
Job rmsNorm(const float *, const float *, float *, uint32_t, uint32_t, float) { return {}; }
Job matvec(const std::string &, const uint8_t *, size_t, size_t, const float *, float *, uint32_t,
           uint32_t) {
  return {};
}
Job empty(int) { return {}; }
} // namespace opencl

#else

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <cstdio>
#include <cstdlib>
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

void check(cl_int code, const char *what) {
  if (code == CL_SUCCESS)
    return;
  std::fprintf(stderr, "OpenCL: %s: error %d\n", what, code);
  std::exit(1);
}

struct Device {
  cl_device_id id = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  cl_program program = nullptr;

  Device() {
    cl_platform_id platform;
    cl_uint count = 0;
    if (clGetPlatformIDs(1, &platform, &count) != CL_SUCCESS || count == 0 ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &id, nullptr) != CL_SUCCESS) {
      id = nullptr;
      return;
    }
    cl_int code;
    context = clCreateContext(nullptr, 1, &id, nullptr, nullptr, &code);
    check(code, "context");
    queue = clCreateCommandQueue(context, id, 0, &code);
    check(code, "queue");
    const char *source = kSource;
    program = clCreateProgramWithSource(context, 1, &source, nullptr, &code);
    check(code, "program");
    check(clBuildProgram(program, 1, &id, "-cl-fast-relaxed-math", nullptr, nullptr), "build");
  }
  cl_kernel kernel(const char *name) const {
    cl_int code;
    cl_kernel result = clCreateKernel(program, name, &code);
    check(code, name);
    return result;
  }
  cl_mem memory(const void *data, size_t bytes) const {
    cl_int code;
    cl_mem result = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes,
                                   const_cast<void *>(data), &code);
    check(code, "buffer");
    return result;
  }
};

const Device &device() {
  static Device instance;
  return instance;
}

template <class T> void argument(cl_kernel kernel, cl_uint index, const T &value) {
  check(clSetKernelArg(kernel, index, sizeof(T), &value), "argument");
}

Job jobOf(cl_kernel kernel, size_t global, size_t local, int times = 1) {
  return [=] {
    for (int i = 0; i < times; ++i)
      check(clEnqueueNDRangeKernel(device().queue, kernel, 1, nullptr, &global,
                                   local ? &local : nullptr, 0, nullptr, nullptr),
            "enqueue");
    check(clFinish(device().queue), "finish");
  };
}

} // namespace

bool available() { return device().id != nullptr; }

std::string describe() {
  if (!available())
    return "no device";
  char name[256] = {}, version[256] = {};
  clGetDeviceInfo(device().id, CL_DEVICE_NAME, sizeof(name), name, nullptr);
  clGetDeviceInfo(device().id, CL_DRIVER_VERSION, sizeof(version), version, nullptr);
  return std::string(name) + ", driver " + version;
}

Job saxpy(const float *x, float *y, size_t count) {
  cl_kernel kernel = device().kernel("saxpy");
  argument(kernel, 0, device().memory(x, count * 4));
  argument(kernel, 1, device().memory(y, count * 4));
  argument(kernel, 2, 1e-9f);
  return jobOf(kernel, count, 256);
}

Job rmsNorm(const float *x, const float *weight, float *out, uint32_t rows, uint32_t width,
            float epsilon) {
  cl_kernel kernel = device().kernel("rms_norm");
  argument(kernel, 0, device().memory(x, size_t(rows) * width * 4));
  argument(kernel, 1, device().memory(weight, width * 4));
  argument(kernel, 2, device().memory(out, size_t(rows) * width * 4));
  argument(kernel, 3, width);
  argument(kernel, 4, epsilon);
  return jobOf(kernel, size_t(rows) * 128, 128);
}

Job matvec(const std::string &format, const uint8_t *weights, size_t bytes, size_t matrices,
           const float *x, float *y, uint32_t rows, uint32_t inputs) {
  bool isQ8 = format == "q8_0";
  std::vector<cl_kernel> kernels;
  for (size_t m = 0; m < matrices; ++m) {
    cl_kernel kernel = device().kernel(isQ8 ? "matvec_q8_0" : "matvec_q4_k");
    argument(kernel, 0, device().memory(weights + m * bytes, bytes));
    argument(kernel, 1, device().memory(x, inputs * 4));
    argument(kernel, 2, device().memory(y, rows * 4));
    argument(kernel, 3, inputs);
    kernels.push_back(kernel);
  }
  size_t local = isQ8 ? 128 : 64, global = rows / (isQ8 ? 2 : 4) * local;
  return [=] {
    for (cl_kernel kernel : kernels)
      check(clEnqueueNDRangeKernel(device().queue, kernel, 1, nullptr, &global, &local, 0, nullptr,
                                   nullptr),
            "enqueue");
    check(clFinish(device().queue), "finish");
  };
}

Job empty(int count) {
  static float place[16];
  cl_kernel kernel = device().kernel("empty_kernel");
  argument(kernel, 0, device().memory(place, sizeof(place)));
  return jobOf(kernel, 32, 32, count);
}

} // namespace opencl

#endif
