// SPDX-License-Identifier: Apache-2.0
//
// kernel_mul_mm_f16_f32 of an Apple-built library, as it is, beside a hand-written matrix product, the
// same tiled algorithm as an OpenCL kernel in PoCL, and what fused multiply-add can do at most; all in
// one process, interleaved. out[n][m] = sum over k of weights[m][k] x[n][k] with 1,024 rows, 512 columns
// and 4,096 inputs. Needs the libraries of scripts/fetch-peers.sh.
#define NS_PRIVATE_IMPLEMENTATION
#define MTL_PRIVATE_IMPLEMENTATION
#include "twins/Pocl.h"
#include "twins/Ratios.h"
#include "twins/Twins.h"
#include <Foundation/Foundation.hpp>
#include <Metal/Metal.hpp>
#include <benchmark/benchmark.h>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <functional>

namespace {

constexpr uint32_t kRows = 1024, kColumns = 512, kInputs = 4096;

// 64 x 32 elements of the result in a group of 128 items: each quarter of the items has 32 x 16, each item
// two neighbours of every 8 x 8.
const char *const kOpenCl = R"(
kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void mul_mm(global const half *weights, global const float *x, global float *out, uint rows,
            uint inputs) {
  local float tileW[32 * 64], tileX[32 * 32];
  const uint item = get_local_id(0), lane = item % 32, quarter = item / 32;
  const uint tiles = rows / 64;
  const uint row = get_group_id(0) % tiles * 64, column = get_group_id(0) / tiles * 32;
  const uint m = quarter % 2 * 32 + lane % 4 * 2, n = quarter / 2 * 16 + lane / 4;
  float sums[16];
  for (uint i = 0; i < 16; ++i)
    sums[i] = 0;
  for (uint k = 0; k < inputs; k += 32) {
    const uint r = item / 2, half16 = item % 2 * 16;
    for (uint i = 0; i < 16; ++i)
      tileW[(half16 + i) * 64 + r] = vload_half((size_t)(row + r) * inputs + k + half16 + i, weights);
    const uint c = item / 4, quarter8 = item % 4 * 8;
    for (uint i = 0; i < 8; ++i)
      tileX[(quarter8 + i) * 32 + c] = x[(size_t)(column + c) * inputs + k + quarter8 + i];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint d = 0; d < 32; ++d)
      for (uint i = 0; i < 2; ++i) {
        const float right = tileX[d * 32 + n + 8 * i];
        for (uint j = 0; j < 4; ++j) {
          sums[(i * 4 + j) * 2] = fma(tileW[d * 64 + m + 8 * j], right, sums[(i * 4 + j) * 2]);
          sums[(i * 4 + j) * 2 + 1] =
              fma(tileW[d * 64 + m + 8 * j + 1], right, sums[(i * 4 + j) * 2 + 1]);
        }
      }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (uint i = 0; i < 2; ++i)
    for (uint j = 0; j < 4; ++j)
      for (uint e = 0; e < 2; ++e)
        out[(size_t)(column + n + 8 * i) * rows + row + m + 8 * j + e] = sums[(i * 4 + j) * 2 + e];
}
)";

[[noreturn]] void die(const std::string &what) {
  fmt::print(stderr, "MulMm_bench: {}\n", what);
  std::exit(1);
}

/// The argument struct of the kernel: sizes in elements, strides in bytes.
struct Arguments {
  int32_t ne00, ne02;
  uint64_t nb01, nb02, nb03;
  int32_t ne12;
  uint64_t nb10, nb11, nb12, nb13;
  int32_t ne0, ne1;
  int16_t r2, r3;
};

void fill(float *values, size_t count, uint32_t seed) {
  for (size_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    values[i] = static_cast<float>(seed >> 8) / 16777216.0f - 0.5f;
  }
}

void expectNear(const float *got, const float *reference, const std::string &what) {
  double difference = 0, largest = 0;
  for (size_t i = 0; i < size_t(kRows) * kColumns; ++i) {
    difference = std::max(difference, std::fabs(static_cast<double>(got[i]) - reference[i]));
    largest = std::max(largest, std::fabs(static_cast<double>(reference[i])));
  }
  if (!(difference <= 2e-3 * largest))
    die(fmt::format("{} differs by {:.2e} of the largest value.", what, difference / largest));
}

void add(const std::string &name, double operations, const std::function<void()> &body) {
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State &state) {
    for (auto _ : state)
      body();
    state.counters["flops"] =
        benchmark::Counter(operations, benchmark::Counter::kIsIterationInvariantRate);
  })->UseRealTime()->Unit(benchmark::kMicrosecond)->MinTime(0.15);
}

} // namespace

int main(int argc, char **argv) {
  std::vector<char *> arguments(argv, argv + argc);
  std::string defaults[] = {"--benchmark_repetitions=5",
                            "--benchmark_enable_random_interleaving=true"};
  for (std::string &flag : defaults)
    arguments.insert(arguments.begin() + 1, flag.data());
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());

  const std::filesystem::path path =
      std::filesystem::path(PEWTER_SOURCE_DIR) /
      ".cache/peers/llama.rn@0.8.3/package/cpp/ggml-metal/ggml-llama.metallib";
  if (!std::filesystem::exists(path))
    die(path.string() + " is not there (scripts/fetch-peers.sh).");
  auto text = [](const std::string &value) {
    return NS::String::string(value.c_str(), NS::UTF8StringEncoding);
  };
  auto autorelease = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
  auto device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
  auto queue = NS::TransferPtr(device->newCommandQueue());
  NS::Error *error = nullptr;
  auto library = NS::TransferPtr(device->newLibrary(text(path.string()), &error));
  if (!library)
    die(error->localizedDescription()->utf8String());
  auto constants = NS::TransferPtr(MTL::FunctionConstantValues::alloc()->init());
  const bool no = false; // Neither the inputs nor the result are ragged.
  constants->setConstantValue(&no, MTL::DataTypeBool, NS::UInteger(700));
  constants->setConstantValue(&no, MTL::DataTypeBool, NS::UInteger(701));
  auto function =
      NS::TransferPtr(library->newFunction(text("kernel_mul_mm_f16_f32"), constants.get(), &error));
  if (!function)
    die(error->localizedDescription()->utf8String());
  auto pipeline = NS::TransferPtr(device->newComputePipelineState(function.get(), &error));
  if (!pipeline)
    die(error->localizedDescription()->utf8String());

  auto buffer = [&](size_t bytes) {
    return NS::TransferPtr(device->newBuffer(bytes, MTL::ResourceStorageModeShared));
  };
  auto weights = buffer(size_t(kRows) * kInputs * 2 + 65536);
  auto x = buffer(size_t(kColumns) * kInputs * 4 + 65536);
  auto out = buffer(size_t(kRows) * kColumns * 4), twin = buffer(size_t(kRows) * kColumns * 4);
  auto *halves = static_cast<_Float16 *>(weights->contents());
  auto *inputs = static_cast<float *>(x->contents());
  std::vector<float> values(size_t(kRows) * kInputs);
  fill(values.data(), values.size(), 1);
  for (size_t i = 0; i < values.size(); ++i)
    halves[i] = static_cast<_Float16>(values[i]);
  fill(inputs, size_t(kColumns) * kInputs, 2);

  Arguments shape{};
  shape.ne00 = kInputs;
  shape.ne02 = shape.ne12 = 1;
  shape.nb01 = kInputs * 2;
  shape.nb02 = shape.nb03 = shape.nb01 * kRows;
  shape.nb10 = 4;
  shape.nb11 = kInputs * 4;
  shape.nb12 = shape.nb13 = shape.nb11 * kColumns;
  shape.ne0 = kRows;
  shape.ne1 = kColumns;
  shape.r2 = shape.r3 = 1;
  auto run = [&] {
    auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    MTL::CommandBuffer *commands = queue->commandBuffer();
    MTL::ComputeCommandEncoder *encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(pipeline.get());
    encoder->setBytes(&shape, sizeof(shape), 0);
    encoder->setBuffer(weights.get(), 0, 1);
    encoder->setBuffer(x.get(), 0, 2);
    encoder->setBuffer(out.get(), 0, 3);
    encoder->setThreadgroupMemoryLength(6144, 0);
    encoder->dispatchThreadgroups(MTL::Size(kColumns / 32, kRows / 64, 1), MTL::Size(128, 1, 1));
    encoder->endEncoding();
    commands->commit();
    commands->waitUntilCompleted();
    if (commands->status() != MTL::CommandBufferStatusCompleted)
      die(commands->error()->localizedDescription()->utf8String());
  };
  twins::Pool pool;
  auto *result = static_cast<float *>(out->contents());
  auto *twinResult = static_cast<float *>(twin->contents());
  auto runTwin = [&] {
    twins::mulMm(pool, static_cast<const uint16_t *>(weights->contents()), inputs, twinResult, kRows,
                 kColumns, kInputs);
  };
  runTwin();
  for (uint32_t i = 0; i < 500; ++i) { // The twin itself, in double.
    size_t m = i * 977 % kRows, n = i * 1499 % kColumns;
    double sum = 0, sizes = 0;
    for (size_t k = 0; k < kInputs; ++k) {
      double product = static_cast<double>(halves[m * kInputs + k]) * inputs[n * kInputs + k];
      sum += product;
      sizes += std::fabs(product);
    }
    if (!(std::fabs(twinResult[n * kRows + m] - sum) <= 1e-5 * sizes))
      die("the hand-written product is wrong.");
  }
  run();
  expectNear(result, twinResult, "kernel_mul_mm_f16_f32");

  const double operations = 2.0 * kRows * kColumns * kInputs;
  fmt::print("twins: {}; OpenCL: {}\n", twins::isa(), pocl::describe());
  add("mul_mm_f16_f32/pewter", operations, run);
  add("mul_mm_f16_f32/c", operations, runTwin);
  const size_t turns = 5'000'000;
  add("mul_mm_f16_f32/peak", twins::multiplyAddPeak(pool, 1) * turns,
      [&] { twins::multiplyAddPeak(pool, turns); });
  if (pocl::available()) {
    auto kernel = std::make_shared<pocl::Kernel>(kOpenCl, "mul_mm");
    kernel->memory(halves, size_t(kRows) * kInputs * 2)
        .memory(inputs, size_t(kColumns) * kInputs * 4)
        .memory(result, size_t(kRows) * kColumns * 4)
        .value(kRows)
        .value(kInputs);
    auto runOpenCl = [=] { kernel->run(size_t(kRows / 64) * (kColumns / 32) * 128, 128); };
    std::fill_n(result, size_t(kRows) * kColumns, 0.0f);
    runOpenCl();
    expectNear(result, twinResult, "the OpenCL kernel");
    add("mul_mm_f16_f32/pocl", operations, runOpenCl);
  }
  twins::RatioReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  reporter.printRatios();
  return 0;
}
