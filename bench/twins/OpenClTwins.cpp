// SPDX-License-Identifier: Apache-2.0
#include "twins/OpenClTwins.h"

#ifndef PEWTER_WITH_OPENCL

namespace opencl {
bool available() { return false; }
std::string describe() { return "built without"; }
Job saxpy(const float *, float *, size_t) { return {}; }
Job rmsNorm(const float *, const float *, float *, uint32_t, uint32_t, float) { return {}; }
Job empty(int) { return {}; }
} // namespace opencl

#else

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <cstdio>
#include <cstdlib>

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

Job empty(int count) {
  static float place[16];
  cl_kernel kernel = device().kernel("empty_kernel");
  argument(kernel, 0, device().memory(place, sizeof(place)));
  return jobOf(kernel, 32, 32, count);
}

} // namespace opencl

#endif
