// SPDX-License-Identifier: Apache-2.0
//
// OpenCL kernels on the first OpenCL device (PoCL on a CPU), for programs built with
// PEWTER_WITH_OPENCL; without it `available` is false and nothing else may be called. Errors end the
// program.
#pragma once
#include <cstddef>
#include <string>

namespace pocl {

bool available();
/// The device's name and driver.
std::string describe();

/// One kernel of an OpenCL C program, which is built once for each source. Arguments are set in order.
class Kernel {
public:
  Kernel(const char *source, const char *name);
  /// Memory of the host, used in place; `bytes` bytes.
  Kernel &memory(const void *data, size_t bytes);
  template <class T> Kernel &value(const T &value) { return argument(&value, sizeof(T)); }
  /// Enqueues `global` work items in groups of `local`.
  void enqueue(size_t global, size_t local) const;
  /// The same, and waits.
  void run(size_t global, size_t local) const;

private:
  Kernel &argument(const void *value, size_t bytes);
  void *kernel_ = nullptr; ///< cl_kernel; lives as long as the program.
  unsigned arguments_ = 0;
};

/// Waits for everything that was enqueued.
void finish();

} // namespace pocl
