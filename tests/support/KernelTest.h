// SPDX-License-Identifier: Apache-2.0
//
// KernelTest: an ApiTest with one library of small kernels, compiled from source once per device.
#pragma once
#include "ApiTest.h"
#include <map>

namespace pewter::test {

inline constexpr const char *kKernelSource = R"(
#include <metal_stdlib>
using namespace metal;

constant int lift [[function_constant(0)]];
constant bool negate [[function_constant(1)]];

struct Settings { uint count; float scale; };

kernel void scale_by(device float *values [[buffer(0)]],
                     constant float &factor [[buffer(1)]],
                     uint i [[thread_position_in_grid]]) {
  values[i] = values[i] * factor;
}

kernel void add_one(device int *values [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  values[i] = values[i] + 1;
}

kernel void double_it(device int *values [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  values[i] = values[i] * 2;
}

kernel void write_index(device uint *out [[buffer(3)]], uint3 p [[thread_position_in_grid]],
                        uint3 n [[threads_per_grid]]) {
  out[(p.z * n.y + p.y) * n.x + p.x] += (p.z << 16) + (p.y << 8) + p.x + 1;
}

kernel void use_settings(device float *out [[buffer(0)]],
                         constant Settings &settings [[buffer(1)]],
                         uint i [[thread_position_in_grid]]) {
  if (i < settings.count)
    out[i] = settings.scale;
}

kernel void sum_group(device const int *in [[buffer(0)]], device int *out [[buffer(1)]],
                      threadgroup int *shared_values [[threadgroup(0)]],
                      uint t [[thread_position_in_threadgroup]],
                      uint g [[threadgroup_position_in_grid]],
                      uint n [[threads_per_threadgroup]]) {
  shared_values[t] = in[g * n + t];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t == 0) {
    int sum = 0;
    for (uint i = 0; i < n; ++i)
      sum += shared_values[i];
    out[g] = sum;
  }
}

kernel void with_constants(device int *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  out[i] = negate ? -(int(i) + lift) : int(i) + lift;
}

kernel void big_static(device int *out [[buffer(0)]], threadgroup int *more [[threadgroup(0)]],
                       uint t [[thread_position_in_threadgroup]]) {
  threadgroup int table[7168];
  table[t] = int(t);
  more[t] = int(t);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[t] = table[t] + more[t];
}
)";

class KernelTest : public ApiTest {
protected:
  void SetUp() override {
    ApiTest::SetUp();
    library = libraryFor(device);
    ASSERT_NE(library, nullptr);
  }

  /// Kept for the process: compiling it for each test would be most of the time.
  static MTL::Library *libraryFor(MTL::Device *device) {
    static auto &made = *new std::map<MTL::Device *, MTL::Library *>();
    MTL::Library *&entry = made[device];
    if (!entry) {
      NS::Error *error = nullptr;
      entry = device->newLibrary(string(kKernelSource), nullptr, &error);
      EXPECT_NE(entry, nullptr) << text(error);
    }
    return entry;
  }

  NS::SharedPtr<MTL::ComputePipelineState> pipeline(const char *name) {
    NS::Error *error = nullptr;
    auto function = NS::TransferPtr(library->newFunction(string(name)));
    EXPECT_TRUE(function) << name;
    auto state = NS::TransferPtr(device->newComputePipelineState(function.get(), &error));
    EXPECT_TRUE(state) << text(error);
    return state;
  }

  MTL::Library *library = nullptr;
};

} // namespace pewter::test
