// SPDX-License-Identifier: Apache-2.0
//
// Kernels of kernels/ through the public API beside hand-written twins (twins/Twins.h) and, where the
// program was built with OpenCL, beside the same algorithm in PoCL. All run in one process, interleaved;
// the table at the end has the ratios of the medians. Compare only figures of one run: two processors of
// a shared machine drift.
//
//   Kernels_bench                                   everything, seven repetitions
//   Kernels_bench --benchmark_filter=rms_norm       some
//   Kernels_bench --benchmark_out=k.json --benchmark_out_format=json
#define NS_PRIVATE_IMPLEMENTATION
#define MTL_PRIVATE_IMPLEMENTATION
#include "twins/OpenClTwins.h"
#include "twins/Ratios.h"
#include "twins/Twins.h"
#include <Foundation/Foundation.hpp>
#include <Metal/Metal.hpp>
#include <benchmark/benchmark.h>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <sstream>

namespace {

using Buffer = NS::SharedPtr<MTL::Buffer>;
using Pipeline = NS::SharedPtr<MTL::ComputePipelineState>;

[[noreturn]] void die(const std::string &what) {
  fmt::print(stderr, "Kernels_bench: {}\n", what);
  std::exit(1);
}

class Metal {
public:
  NS::SharedPtr<NS::AutoreleasePool> pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
  NS::SharedPtr<MTL::Device> device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
  NS::SharedPtr<MTL::CommandQueue> queue;

  Metal() {
    if (!device)
      die("There is no Metal device.");
    queue = NS::TransferPtr(device->newCommandQueue());
  }
  static NS::String *text(const std::string &value) {
    return NS::String::string(value.c_str(), NS::UTF8StringEncoding);
  }
  /// A kernel of files of kernels/, joined in this order.
  Pipeline pipeline(const std::vector<std::string> &files, const std::string &kernel) {
    Pipeline &cached = pipelines_[kernel];
    if (cached)
      return cached;
    std::stringstream source;
    for (const std::string &file : files) {
      std::ifstream stream(std::string(PEWTER_SOURCE_DIR) + "/kernels/" + file);
      if (!stream)
        die("Cannot read kernels/" + file);
      // What a file includes has been joined before it.
      for (std::string line; std::getline(stream, line);)
        if (!line.starts_with("#include \""))
          source << line << '\n';
    }
    NS::Error *error = nullptr;
    auto library = NS::TransferPtr(device->newLibrary(text(source.str()), nullptr, &error));
    if (!library)
      die(error->localizedDescription()->utf8String());
    auto function = NS::TransferPtr(library->newFunction(text(kernel)));
    if (!function)
      die("There is no kernel " + kernel);
    cached = NS::TransferPtr(device->newComputePipelineState(function.get(), &error));
    if (!cached)
      die(error->localizedDescription()->utf8String());
    return cached;
  }
  Buffer buffer(size_t bytes) {
    return NS::TransferPtr(device->newBuffer(bytes, MTL::ResourceStorageModeShared));
  }
  void finish(MTL::CommandBuffer *commands) {
    commands->commit();
    commands->waitUntilCompleted();
    if (commands->status() != MTL::CommandBufferStatusCompleted)
      die(commands->error()->localizedDescription()->utf8String());
  }

private:
  std::map<std::string, Pipeline> pipelines_;
};

Metal &metal() {
  static Metal instance;
  return instance;
}
twins::Pool &pool() {
  static twins::Pool instance;
  return instance;
}

template <class T> T *at(const Buffer &buffer) { return static_cast<T *>(buffer->contents()); }

void fill(float *values, size_t count, uint32_t seed) {
  for (size_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    values[i] = static_cast<float>(seed >> 8) / 16777216.0f - 0.5f;
  }
}

/// Largest difference relative to the largest reference value; ends the program when it is too much.
void expectNear(const float *got, const float *reference, size_t count, double limit,
                const std::string &what) {
  double difference = 0, largest = 0;
  for (size_t i = 0; i < count; ++i) {
    difference = std::max(difference, std::fabs(static_cast<double>(got[i]) - reference[i]));
    largest = std::max(largest, std::fabs(static_cast<double>(reference[i])));
  }
  if (!(difference <= limit * largest))
    die(fmt::format("{} differs from its twin by {:.2e} of the largest value.", what,
                    difference / largest));
}

using Record = std::function<void(MTL::ComputeCommandEncoder *)>;

/// One command buffer, one encoder, `record`, commit, wait.
void play(const Record &record) {
  auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
  MTL::CommandBuffer *commands = metal().queue->commandBuffer();
  MTL::ComputeCommandEncoder *encoder = commands->computeCommandEncoder();
  record(encoder);
  encoder->endEncoding();
  metal().finish(commands);
}

template <class Body>
void add(const std::string &name, double bytes, double operations, Body body) {
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State &state) {
    for (auto _ : state)
      body();
    if (bytes > 0)
      state.counters["bytes"] = benchmark::Counter(bytes, benchmark::Counter::kIsIterationInvariantRate);
    if (operations > 0)
      state.counters["flops"] = benchmark::Counter(operations, benchmark::Counter::kIsIterationInvariantRate);
  })->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMicrosecond)->MinTime(0.15);
}

void addSaxpy() {
  const uint32_t count = 64u << 20;
  Pipeline pipeline = metal().pipeline({"pointwise_batch.metal"}, "saxpy");
  Buffer x = metal().buffer(count * 4ull), y = metal().buffer(count * 4ull);
  Buffer twin = metal().buffer(count * 4ull);
  fill(at<float>(x), count, 1);
  fill(at<float>(y), count, 2);
  std::memcpy(at<float>(twin), at<float>(y), count * 4ull);
  auto run = [=](float a) {
    play([&](MTL::ComputeCommandEncoder *encoder) {
      encoder->setComputePipelineState(pipeline.get());
      encoder->setBuffer(x.get(), 0, 0);
      encoder->setBuffer(y.get(), 0, 1);
      encoder->setBytes(&a, sizeof(a), 2);
      encoder->setBytes(&count, sizeof(count), 3);
      encoder->dispatchThreads(MTL::Size(count, 1, 1), MTL::Size(1024, 1, 1));
    });
  };
  run(0.5f);
  twins::saxpy(pool(), 0.5f, at<float>(x), at<float>(twin), count);
  expectNear(at<float>(y), at<float>(twin), count, 1e-6, "saxpy");
  const double bytes = 12.0 * count;
  add("saxpy_64M/pewter", bytes, 2.0 * count, [=] { run(1e-9f); });
  add("saxpy_64M/c", bytes, 2.0 * count,
      [=] { twins::saxpy(pool(), 1e-9f, at<float>(x), at<float>(twin), count); });
  if (opencl::available())
    add("saxpy_64M/pocl", bytes, 2.0 * count,
        [=, job = opencl::saxpy(at<float>(x), at<float>(twin), count)] { job(); });
}

void addRmsNorm(uint32_t rows) {
  const uint32_t width = 6656;
  const float epsilon = 1e-5f;
  const size_t count = size_t(rows) * width;
  Pipeline pipeline = metal().pipeline({"norm_batch.metal"}, "rms_norm_batch");
  Buffer x = metal().buffer(count * 4), weight = metal().buffer(width * 4);
  Buffer out = metal().buffer(count * 4), twin = metal().buffer(count * 4);
  fill(at<float>(x), count, 3);
  fill(at<float>(weight), width, 4);
  auto run = [=] {
    play([&](MTL::ComputeCommandEncoder *encoder) {
      encoder->setComputePipelineState(pipeline.get());
      encoder->setBuffer(x.get(), 0, 0);
      encoder->setBuffer(weight.get(), 0, 1);
      encoder->setBuffer(out.get(), 0, 2);
      encoder->setBytes(&width, sizeof(width), 3);
      encoder->setBytes(&epsilon, sizeof(epsilon), 4);
      encoder->setThreadgroupMemoryLength(32, 0);
      encoder->dispatchThreadgroups(MTL::Size(rows, 1, 1), MTL::Size(128, 1, 1));
    });
  };
  auto runTwin = [=] {
    twins::rmsNorm(pool(), at<float>(x), at<float>(weight), at<float>(twin), rows, width, epsilon);
  };
  run();
  runTwin();
  std::string name = fmt::format("rms_norm_batch_{}x{}", rows, width);
  expectNear(at<float>(out), at<float>(twin), count, 1e-5, name);
  add(name + "/pewter", 8.0 * count, 0, run);
  add(name + "/c", 8.0 * count, 0, runTwin);
  if (opencl::available())
    add(name + "/pocl", 8.0 * count, 0,
        [job = opencl::rmsNorm(at<float>(x), at<float>(weight), at<float>(twin), rows, width,
                               epsilon)] { job(); });
}

struct MatrixArguments {
  uint32_t inputs, outputs, rowBytes, rows;
  float scale;
};

/// What llama.cpp's matrix-vector kernels take as their first argument.
struct GgmlMatvecArguments {
  int32_t ne00, ne01, ne02;
  uint64_t nb00, nb01, nb02, nb03;
  int32_t ne10, ne11, ne12;
  uint64_t nb10, nb11, nb12, nb13;
  int32_t ne0, ne1, nr0;
  int16_t r2, r3;
};

/// kernel_mul_mv_<format>_f32 as Apple's compiler built it for llama.rn 0.8.3, launched as llama.cpp
/// launches it; null, with a line that says so, where the library is not installed.
Pipeline applePipeline(const std::string &format, int16_t simdgroups) {
  const std::string path =
      std::string(PEWTER_SOURCE_DIR) +
      "/.cache/peers/llama.rn@0.8.3/package/cpp/ggml-metal/ggml-llama.metallib";
  NS::Error *error = nullptr;
  auto library = NS::TransferPtr(metal().device->newLibrary(Metal::text(path), &error));
  if (!library) {
    fmt::print("Apple-built kernels are left out: {} cannot be read (scripts/fetch-peers.sh).\n", path);
    return {};
  }
  auto constants = NS::TransferPtr(MTL::FunctionConstantValues::alloc()->init());
  constants->setConstantValue(&simdgroups, MTL::DataTypeShort, NS::UInteger(600));
  std::string name = fmt::format("kernel_mul_mv_{}_f32", format == "q4_k" ? "q4_K" : format);
  auto function =
      NS::TransferPtr(library->newFunction(Metal::text(name), constants.get(), &error));
  if (!function)
    die(error->localizedDescription()->utf8String());
  auto pipeline = NS::TransferPtr(metal().device->newComputePipelineState(function.get(), &error));
  if (!pipeline)
    die(error->localizedDescription()->utf8String());
  return pipeline;
}

/// 32 matrices in turn, so that none is found in a cache. Without a twin there is only the memory's
/// speed to compare with, and the kernels with each other.
void addMatvec(const std::string &format, size_t blockBytes, size_t blockElements,
               void (*twin)(twins::Pool &, const uint8_t *, const float *, float *, size_t, size_t)) {
  const uint32_t size = 4096, matrices = 32;
  const size_t rowBytes = size / blockElements * blockBytes, matrixBytes = rowBytes * size;
  Buffer weights = metal().buffer(matrixBytes * matrices);
  uint32_t seed = 5;
  for (size_t i = 0; i < matrixBytes * matrices; ++i) {
    seed = seed * 1664525u + 1013904223u;
    at<uint8_t>(weights)[i] = static_cast<uint8_t>(seed >> 24);
  }
  // Scales near 0.001, so that nothing is infinite.
  const uint16_t half = 0x1419;
  for (size_t b = 0; b < matrixBytes * matrices; b += blockBytes) {
    uint8_t *block = at<uint8_t>(weights) + b;
    if (format == "f16") {
      for (size_t i = 1; i < blockBytes; i += 2)
        block[i] = (block[i] & 0x83) | 0x28;
      continue;
    }
    std::memcpy(format == "q6_k" ? block + 208 : block, &half, 2);
    if (format == "q4_k")
      std::memcpy(block + 2, &half, 2);
  }
  Buffer x = metal().buffer(size * 4), y = metal().buffer(size * 4), reference = metal().buffer(size * 4);
  fill(at<float>(x), size, 6);
  const MatrixArguments arguments = {size, size, static_cast<uint32_t>(rowBytes), 1, 1.0f};
  const std::string cell = fmt::format("matvec_{}_4096", format);
  auto runTwin = [=](uint32_t m) {
    twin(pool(), at<uint8_t>(weights) + m * matrixBytes, at<float>(x), at<float>(reference), size, size);
  };
  if (twin)
    runTwin(0);
  const double bytes = static_cast<double>(matrixBytes) * matrices;
  for (auto [suffix, rowsPerGroup, threads] : {std::tuple{"1r1s", 1u, 32u}, {"2r1s", 2u, 32u}, {"4r2s", 8u, 64u}}) {
    std::string kernel = fmt::format("matvec_{}_{}", format, suffix);
    Pipeline pipeline = metal().pipeline({"formats.metal", "matvec.metal"}, kernel);
    auto run = [=, rowsPerGroup = rowsPerGroup, threads = threads](uint32_t first, uint32_t last) {
      play([&](MTL::ComputeCommandEncoder *encoder) {
        encoder->setComputePipelineState(pipeline.get());
        encoder->setBuffer(x.get(), 0, 1);
        encoder->setBuffer(y.get(), 0, 2);
        encoder->setBytes(&arguments, sizeof(arguments), 3);
        for (uint32_t m = first; m < last; ++m) {
          encoder->setBuffer(weights.get(), m * matrixBytes, 0);
          encoder->dispatchThreadgroups(MTL::Size(1, (size + rowsPerGroup - 1) / rowsPerGroup, 1),
                                        MTL::Size(threads, 1, 1));
        }
      });
    };
    run(0, 1);
    if (!twin && rowsPerGroup == 1)
      std::memcpy(at<float>(reference), at<float>(y), size * 4);
    expectNear(at<float>(y), at<float>(reference), size, 1e-4, kernel);
    add(fmt::format("{}/pewter_{}", cell, suffix), bytes, 0, [=] { run(0, matrices); });
  }
  if (twin) {
    // Q8_0: four SIMD groups share two rows. Q4_K: each of two has two rows.
    const bool isQ8 = format == "q8_0";
    const int16_t simdgroups = isQ8 ? 4 : 2;
    const uint32_t rowsPerGroup = isQ8 ? 2 : 4;
    const std::string appleCell = fmt::format("ggml_mul_mv_{}_4096", format);
    if (Pipeline pipeline = applePipeline(format, simdgroups)) {
      GgmlMatvecArguments ggml = {};
      ggml.ne00 = ggml.ne10 = ggml.ne01 = ggml.ne0 = size;
      ggml.ne02 = ggml.ne11 = ggml.ne12 = ggml.ne1 = ggml.r2 = ggml.r3 = 1;
      ggml.nb00 = blockBytes;
      ggml.nb01 = rowBytes;
      ggml.nb02 = ggml.nb03 = matrixBytes;
      ggml.nb10 = 4;
      ggml.nb11 = ggml.nb12 = ggml.nb13 = size * 4;
      ggml.nr0 = 2;
      auto run = [=](uint32_t first, uint32_t last) {
        play([&](MTL::ComputeCommandEncoder *encoder) {
          encoder->setComputePipelineState(pipeline.get());
          encoder->setBytes(&ggml, sizeof(ggml), 0);
          encoder->setBuffer(x.get(), 0, 2);
          encoder->setBuffer(y.get(), 0, 3);
          encoder->setThreadgroupMemoryLength(256, 0);
          for (uint32_t m = first; m < last; ++m) {
            encoder->setBuffer(weights.get(), m * matrixBytes, 1);
            encoder->dispatchThreadgroups(MTL::Size(size / rowsPerGroup, 1, 1),
                                          MTL::Size(32, simdgroups, 1));
          }
        });
      };
      run(0, 1);
      expectNear(at<float>(y), at<float>(reference), size, 1e-4, appleCell);
      add(appleCell + "/pewter", bytes, 0, [=] { run(0, matrices); });
      add(appleCell + "/c", bytes, 0, [=] {
        for (uint32_t m = 0; m < matrices; ++m)
          runTwin(m);
      });
      if (opencl::available()) {
        auto job = [=](uint32_t count) {
          return opencl::matvec(format, at<uint8_t>(weights), matrixBytes, count, at<float>(x),
                                at<float>(y), size, size);
        };
        std::memset(at<float>(y), 0, size * 4);
        job(1)();
        expectNear(at<float>(y), at<float>(reference), size, 1e-4, appleCell + " in OpenCL");
        add(appleCell + "/pocl", bytes, 0, [all = job(matrices)] { all(); });
      }
    }
    add(cell + "/c", bytes, 0, [=] {
      for (uint32_t m = 0; m < matrices; ++m)
        runTwin(m);
    });
  }
  add(cell + "/stream", bytes, 0, [=] {
    twins::streamRead(pool(), at<uint8_t>(weights), matrixBytes * matrices & ~size_t(4095));
  });
}

void addGemm() {
  const uint32_t size = 2048;
  struct {
    uint32_t m, n, k;
  } arguments = {size, size, size};
  const size_t count = size_t(size) * size;
  Buffer a = metal().buffer(count * 4), b = metal().buffer(count * 4), c = metal().buffer(count * 4);
  Buffer halfA = metal().buffer(count * 2), halfB = metal().buffer(count * 2);
  fill(at<float>(a), count, 7);
  fill(at<float>(b), count, 8);
  for (size_t i = 0; i < count; ++i) {
    at<_Float16>(halfA)[i] = static_cast<_Float16>(at<float>(a)[i]);
    at<_Float16>(halfB)[i] = static_cast<_Float16>(at<float>(b)[i]);
  }
  const double operations = 2.0 * size * size * size;
  for (auto [name, left, right] : {std::tuple{"f32", a, b}, {"f16", halfA, halfB}}) {
    Pipeline pipeline = metal().pipeline({"gemm_256x64_8sg.metal"}, fmt::format("gemm_{}_256x64_8sg", name));
    auto run = [=, left = left, right = right] {
      play([&](MTL::ComputeCommandEncoder *encoder) {
        encoder->setComputePipelineState(pipeline.get());
        encoder->setBuffer(left.get(), 0, 0);
        encoder->setBuffer(right.get(), 0, 1);
        encoder->setBuffer(c.get(), 0, 2);
        encoder->setBytes(&arguments, sizeof(arguments), 3);
        encoder->dispatchThreadgroups(MTL::Size(size / 64, size / 256, 1), MTL::Size(256, 1, 1));
      });
    };
    run();
    // Spot checks in double: every element costs 2,048 products.
    for (uint32_t i = 0; i < 500; ++i) {
      size_t row = i * 977 % size, column = i * 1499 % size;
      double sum = 0, sizes = 0;
      for (size_t k = 0; k < size; ++k) {
        double product = static_cast<double>(at<float>(a)[row * size + k]) * at<float>(b)[k * size + column];
        sum += product;
        sizes += std::fabs(product);
      }
      double error = std::fabs(at<float>(c)[row * size + column] - sum);
      if (!(error <= sizes * (std::strcmp(name, "f16") ? 1e-5 : 1e-3)))
        die(fmt::format("gemm_{} differs at ({}, {}): {} and {}.", name, row, column,
                        at<float>(c)[row * size + column], sum));
    }
    add(fmt::format("gemm_{}_2048/pewter", name), 0, operations, run);
    const size_t turns = 20'000'000;
    add(fmt::format("gemm_{}_2048/peak", name), 0, twins::multiplyAddPeak(pool(), 1) * turns,
        [=] { twins::multiplyAddPeak(pool(), turns); });
  }
}

void addEmpty() {
  Pipeline pipeline = metal().pipeline({"pointwise_batch.metal"}, "empty");
  Buffer buffer = metal().buffer(64);
  auto record = [=](MTL::ComputeCommandEncoder *encoder, int count) {
    for (int i = 0; i < count; ++i) {
      encoder->setComputePipelineState(pipeline.get());
      encoder->setBuffer(buffer.get(), 0, 0);
      encoder->dispatchThreadgroups(MTL::Size(1, 1, 1), MTL::Size(32, 1, 1));
    }
  };
  add("empty_commit_wait/pewter", 0, 0, [=] { play([&](auto *encoder) { record(encoder, 1); }); });
  add("empty_1000_on_one_tape/pewter", 0, 0, [=] { play([&](auto *encoder) { record(encoder, 1000); }); });
  if (opencl::available()) {
    add("empty_commit_wait/pocl", 0, 0, [job = opencl::empty(1)] { job(); });
    add("empty_1000_on_one_tape/pocl", 0, 0, [job = opencl::empty(1000)] { job(); });
  }
}

} // namespace

int main(int argc, char **argv) {
  std::vector<char *> arguments(argv, argv + argc);
  std::string defaults[] = {"--benchmark_repetitions=7", "--benchmark_enable_random_interleaving=true"};
  for (std::string &flag : defaults)
    arguments.insert(arguments.begin() + 1, flag.data());
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  std::string filter = benchmark::GetBenchmarkFilter();
  // Setting a case up takes memory and time; the filter may be any expression over the names.
  auto wanted = [&](const char *name) { return filter.empty() || filter == "." || filter.find(name) != std::string::npos; };
  fmt::print("twins: {}; OpenCL: {}\n", twins::isa(), opencl::describe());
  if (wanted("empty"))
    addEmpty();
  if (wanted("saxpy"))
    addSaxpy();
  if (wanted("rms_norm"))
    for (uint32_t rows : {1u, 512u, 16384u})
      addRmsNorm(rows);
  if (wanted("q8_0"))
    addMatvec("q8_0", 34, 32, twins::matvecQ8_0);
  if (wanted("q4_k"))
    addMatvec("q4_k", 144, 256, twins::matvecQ4_K);
  if (wanted("q6_k"))
    addMatvec("q6_k", 210, 256, nullptr);
  if (wanted("f16_4096"))
    addMatvec("f16", 64, 32, nullptr);
  if (wanted("gemm"))
    addGemm();
  twins::RatioReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  reporter.printRatios();
  return 0;
}
