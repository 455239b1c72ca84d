// SPDX-License-Identifier: Apache-2.0
#include "twins/Pocl.h"

#ifndef PEWTER_WITH_OPENCL

namespace pocl {
bool available() { return false; }
std::string describe() { return "built without"; }
Kernel::Kernel(const char *, const char *) {}
Kernel &Kernel::memory(const void *, size_t) { return *this; }
Kernel &Kernel::argument(const void *, size_t) { return *this; }
void Kernel::enqueue(size_t, size_t) const {}
void Kernel::run(size_t, size_t) const {}
void finish() {}
} // namespace pocl

#else

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <cstdio>
#include <cstdlib>
#include <map>

namespace pocl {
namespace {

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
  }
};

const Device &device() {
  static Device instance;
  return instance;
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

Kernel::Kernel(const char *source, const char *name) {
  static std::map<const char *, cl_program> programs;
  cl_program &program = programs[source];
  cl_int code;
  if (!program) {
    program = clCreateProgramWithSource(device().context, 1, &source, nullptr, &code);
    check(code, "program");
    check(clBuildProgram(program, 1, &device().id, "-cl-fast-relaxed-math", nullptr, nullptr), "build");
  }
  kernel_ = clCreateKernel(program, name, &code);
  check(code, name);
}

Kernel &Kernel::argument(const void *value, size_t bytes) {
  check(clSetKernelArg(static_cast<cl_kernel>(kernel_), arguments_++, bytes, value), "argument");
  return *this;
}

Kernel &Kernel::memory(const void *data, size_t bytes) {
  cl_int code;
  cl_mem memory = clCreateBuffer(device().context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes,
                                 const_cast<void *>(data), &code);
  check(code, "buffer");
  return argument(&memory, sizeof(memory));
}

void Kernel::enqueue(size_t global, size_t local) const {
  check(clEnqueueNDRangeKernel(device().queue, static_cast<cl_kernel>(kernel_), 1, nullptr, &global,
                               &local, 0, nullptr, nullptr),
        "enqueue");
}

void Kernel::run(size_t global, size_t local) const {
  enqueue(global, local);
  finish();
}

void finish() { check(clFinish(device().queue), "finish"); }

} // namespace pocl

#endif
