// SPDX-License-Identifier: Apache-2.0
// Tested by CudaDevice_test.cpp.
#include "cuda/Driver.h"
#include <atomic>
#include <dlfcn.h>

namespace pewter::cuda {
namespace {

std::atomic<const Driver *> testDriver{nullptr};

Result<Driver> openDriver() {
  void *library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return fail(ErrorKind::Unsupported, "The CUDA driver library cannot be opened: {}.", ::dlerror());
  Driver driver;
#define PEWTER_CUDA_LOAD(symbol, member, parameters)                                                \
  driver.member = reinterpret_cast<decltype(driver.member)>(::dlsym(library, #symbol));             \
  if (!driver.member)                                                                               \
    return fail(ErrorKind::Unsupported, "The CUDA driver library has no \"{}\"; it is too old.", #symbol);
  PEWTER_CUDA_FUNCTIONS(PEWTER_CUDA_LOAD)
#undef PEWTER_CUDA_LOAD
#define PEWTER_CUDA_LOAD_NEWER(symbol, member, parameters)                                          \
  driver.member = reinterpret_cast<decltype(driver.member)>(::dlsym(library, #symbol));
  PEWTER_CUDA_NEWER_FUNCTIONS(PEWTER_CUDA_LOAD_NEWER)
#undef PEWTER_CUDA_LOAD_NEWER
  PEWTER_TRY_VOID(check(driver, driver.init(0), "cuInit"));
  return driver;
}

} // namespace

Result<const Driver *> loadDriver() {
  if (const Driver *driver = testDriver.load())
    return driver;
  static const Result<Driver> driver = openDriver();
  if (!driver)
    return std::unexpected(driver.error());
  return &*driver;
}

void setDriverForTesting(const Driver *driver) { testDriver.store(driver); }

Result<void> check(const Driver &driver, CuResult result, const char *call) {
  if (result == 0)
    return {};
  const char *name = nullptr, *text = nullptr;
  driver.errorName(result, &name);
  driver.errorString(result, &text);
  return fail(result == kOutOfMemory ? ErrorKind::OutOfMemory : ErrorKind::DeviceLost,
              "{} fails with {} ({}): {}.", call, name ? name : "an unknown error", result,
              text ? text : "the driver has no text for it");
}

} // namespace pewter::cuda
