// SPDX-License-Identifier: Apache-2.0
//
// How near kernels come to the memory's speed on one device, and what a token costs the host. Buffers
// are private and larger than any cache; every figure is a median, and all come from one run:
//
//   Rooflines_bench                 the default device, sized for a GPU with 48 GiB or more
//   Rooflines_bench --small         sizes that fit a small machine
//   Rooflines_bench matvec token    only these of streams, matvec, token; streams first, to have ratios
//   PEWTER_DEVICE=cuda Rooflines_bench
//
// copy counts bytes read and written; the other rows count what the algorithm has to move. matvec rows
// are the matrices of a 52-layer model (6,656 wide, 19,968 in the middle), one after the other.
#define NS_PRIVATE_IMPLEMENTATION
#define MTL_PRIVATE_IMPLEMENTATION
#include <Foundation/Foundation.hpp>
#include <Metal/Metal.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <sstream>

namespace {

using Buffer = NS::SharedPtr<MTL::Buffer>;
using Pipeline = NS::SharedPtr<MTL::ComputePipelineState>;
using Record = std::function<void(MTL::ComputeCommandEncoder *)>;

[[noreturn]] void die(const std::string &what) {
  fmt::print(stderr, "Rooflines_bench: {}\n", what);
  std::exit(1);
}
NS::String *text(const std::string &value) {
  return NS::String::string(value.c_str(), NS::UTF8StringEncoding);
}
double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

constexpr const char *kReadSource = R"(
#include <metal_stdlib>
using namespace metal;
kernel void read_all(device const uint4 *in [[buffer(0)]], device uint *out [[buffer(1)]],
                     constant uint &perThread [[buffer(2)]], uint i [[thread_position_in_grid]],
                     uint n [[threads_per_grid]]) {
  uint4 sum = 0;
  for (uint k = 0; k < perThread; k += 4) {
    uint4 a = in[ulong(k) * n + i], b = in[ulong(k + 1) * n + i];
    uint4 c = in[ulong(k + 2) * n + i], d = in[ulong(k + 3) * n + i];
    sum ^= (a ^ b) ^ (c ^ d);
  }
  uint all = sum.x ^ sum.y ^ sum.z ^ sum.w;
  if (all == 0x12345678u)
    out[0] = all;
}
)";

struct MatrixArguments {
  uint32_t inputs, outputs, rowBytes, rows;
  float scale;
};

class Bench {
public:
  explicit Bench(bool small) : small_(small) {
    device_ = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
    if (!device_)
      die("there is no device");
    queue_ = NS::TransferPtr(device_->newCommandQueue());
  }

  void run(const std::set<std::string> &parts) {
    fmt::print("{}\n", device_->name()->utf8String());
    if (parts.contains("streams"))
      streams();
    if (parts.contains("matvec"))
      matvecs();
    if (parts.contains("token"))
      token();
  }

private:
  size_t gigabytes(size_t count) const { return (count << 30) / (small_ ? 16 : 1); }

  Buffer privateBuffer(size_t bytes) {
    auto buffer = NS::TransferPtr(device_->newBuffer(bytes, MTL::ResourceStorageModePrivate));
    if (!buffer)
      die(fmt::format("no room for {} bytes", bytes));
    return buffer;
  }
  /// Fills with copies of `pattern`.
  void fill(const Buffer &target, const std::vector<uint8_t> &pattern) {
    auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    auto staging = NS::TransferPtr(
        device_->newBuffer(pattern.data(), pattern.size(), MTL::ResourceStorageModeShared));
    auto *commands = queue_->commandBuffer();
    auto *blit = commands->blitCommandEncoder();
    for (size_t at = 0; at < target->length(); at += pattern.size())
      blit->copyFromBuffer(staging.get(), 0, target.get(), at,
                           std::min<size_t>(pattern.size(), target->length() - at));
    blit->endEncoding();
    finish(commands);
  }
  std::vector<uint8_t> randomFloats(size_t count) {
    std::vector<uint8_t> bytes(count * 4);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (size_t i = 0; i < count; ++i) {
      float value = uniform(random_);
      std::memcpy(bytes.data() + 4 * i, &value, 4);
    }
    return bytes;
  }
  static double finish(MTL::CommandBuffer *commands) {
    commands->commit();
    commands->waitUntilCompleted();
    if (commands->status() != MTL::CommandBufferStatusCompleted)
      die(commands->error()->localizedDescription()->utf8String());
    return commands->GPUEndTime() - commands->GPUStartTime();
  }
  double play(const Record &record, MTL::DispatchType type = MTL::DispatchTypeSerial) {
    auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    auto *commands = queue_->commandBuffer();
    auto *encoder = commands->computeCommandEncoder(type);
    record(encoder);
    encoder->endEncoding();
    return finish(commands);
  }
  double medianOf(const std::function<double()> &once) {
    once();
    std::vector<double> times;
    for (int i = 0; i < (small_ ? 5 : 15); ++i)
      times.push_back(once());
    return median(times);
  }

  Pipeline pipeline(const std::vector<std::string> &files, const std::string &kernel) {
    std::stringstream source;
    std::string key;
    for (const std::string &file : files) {
      key += file;
      std::ifstream stream(std::string(PEWTER_SOURCE_DIR) + "/kernels/" + file);
      for (std::string line; std::getline(stream, line);)
        if (!line.starts_with("#include \"")) // What it includes goes before.
          source << line << '\n';
    }
    if (files.empty())
      source << kReadSource;
    auto &library = libraries_[key];
    NS::Error *error = nullptr;
    if (!library)
      library = NS::TransferPtr(device_->newLibrary(text(source.str()), nullptr, &error));
    if (!library)
      die(error->localizedDescription()->utf8String());
    auto function = NS::TransferPtr(library->newFunction(text(kernel)));
    if (!function)
      return {};
    auto made = NS::TransferPtr(device_->newComputePipelineState(function.get(), &error));
    if (!made)
      die(error->localizedDescription()->utf8String());
    return made;
  }

  void print(const std::string &name, double bytes, double seconds, double limit) {
    fmt::print("{:34} {:10.1f} us {:9.1f} GB/s  {:5.3f}\n", name, seconds * 1e6, bytes / seconds * 1e-9,
               limit > 0 ? bytes / seconds / limit : 0);
    std::fflush(stdout);
  }

  void streams() {
    const size_t bytes = gigabytes(4);
    Buffer a = privateBuffer(bytes), b = privateBuffer(bytes);
    auto pattern = randomFloats(16 << 20);
    fill(a, pattern);
    fill(b, pattern);
    double seconds = medianOf([&] {
      auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
      auto *commands = queue_->commandBuffer();
      auto *blit = commands->blitCommandEncoder();
      blit->copyFromBuffer(a.get(), 0, b.get(), 0, bytes);
      blit->endEncoding();
      return finish(commands);
    });
    copy_ = 2.0 * double(bytes) / seconds;
    print("copy", 2.0 * double(bytes), seconds, copy_);

    const uint32_t perThread = 32, threads = uint32_t(bytes / 16 / perThread);
    Pipeline readAll = pipeline({}, "read_all");
    seconds = medianOf([&] {
      return play([&](auto *encoder) {
        encoder->setComputePipelineState(readAll.get());
        encoder->setBuffer(a.get(), 0, 0);
        encoder->setBuffer(b.get(), 0, 1);
        encoder->setBytes(&perThread, 4, 2);
        encoder->dispatchThreads(MTL::Size(threads, 1, 1), MTL::Size(256, 1, 1));
      });
    });
    read_ = double(bytes) / seconds;
    print("read", double(bytes), seconds, read_);

    fmt::print("of copy:\n");
    const uint32_t count = uint32_t(bytes / 4);
    const float factor = 1e-6f;
    for (auto [name, perThread] : {std::pair{"saxpy", 1u}, {"saxpy_4", 4u}}) {
      Pipeline saxpy = pipeline({"pointwise_batch.metal"}, name);
      seconds = medianOf([&, perThread = perThread] {
        return play([&](auto *encoder) {
          encoder->setComputePipelineState(saxpy.get());
          encoder->setBuffer(a.get(), 0, 0);
          encoder->setBuffer(b.get(), 0, 1);
          encoder->setBytes(&factor, 4, 2);
          encoder->setBytes(&count, 4, 3);
          encoder->dispatchThreads(MTL::Size(count / perThread, 1, 1), MTL::Size(256, 1, 1));
        });
      });
      print(fmt::format("{}, {} floats", name, count), 12.0 * count, seconds, copy_);
    }

    const uint32_t width = 6656, rows = uint32_t(bytes / 4 / width);
    const float epsilon = 1e-5f;
    Buffer weight = privateBuffer(width * 4);
    fill(weight, randomFloats(width));
    for (auto [name, size] : {std::pair{"rms_norm_batch", 128u}, {"rms_norm_batch_8sg", 256u}}) {
      Pipeline norm = pipeline({"norm_batch.metal"}, name);
      seconds = medianOf([&, size = size] {
        return play([&](auto *encoder) {
          encoder->setComputePipelineState(norm.get());
          encoder->setBuffer(a.get(), 0, 0);
          encoder->setBuffer(weight.get(), 0, 1);
          encoder->setBuffer(b.get(), 0, 2);
          encoder->setBytes(&width, 4, 3);
          encoder->setBytes(&epsilon, 4, 4);
          encoder->setThreadgroupMemoryLength(48, 0);
          encoder->dispatchThreadgroups(MTL::Size(rows, 1, 1), MTL::Size(size, 1, 1));
        });
      });
      print(fmt::format("{}, {} x {}", name, rows, width), 8.0 * rows * width, seconds, copy_);
    }
  }

  void matvecs() {
    struct Shape {
      uint32_t inputs, outputs;
    };
    const Shape shapes[] = {{6656, 4096}, {6656, 4096}, {6656, 256},  {6656, 256},
                            {4096, 6656}, {6656, 19968}, {6656, 19968}, {19968, 6656}};
    const uint32_t layers = small_ ? 2 : 52;
    struct Format {
      const char *name;
      uint32_t bytes, elements;
    };
    Buffer x = privateBuffer(19968 * 4), y = privateBuffer(19968 * 4);
    fill(x, randomFloats(19968));
    fmt::print("of read:\n");
    for (Format format : {Format{"q4_k", 144, 256}, Format{"q8_0", 34, 32}}) {
      size_t total = 0;
      for (Shape s : shapes)
        total += size_t(s.inputs) / format.elements * format.bytes * s.outputs;
      Buffer weights = privateBuffer(total * layers);
      std::vector<uint8_t> pattern(size_t(format.bytes) * (1 << 18));
      for (uint8_t &byte : pattern)
        byte = uint8_t(random_());
      for (size_t at = 0; at < pattern.size(); at += format.bytes) {
        const uint16_t half = 0x1419; // near 0.001
        size_t scaleAt = format.bytes == 210 ? 208 : 0;
        std::memcpy(pattern.data() + at + scaleAt, &half, 2);
        if (format.bytes == 144)
          std::memcpy(pattern.data() + at + 2, &half, 2);
      }
      fill(weights, pattern);
      struct Geometry {
        const char *suffix, *file;
        uint32_t rows, threads; ///< Of a threadgroup; 0 threads: what the row needs, at most 512.
      };
      for (Geometry g : {Geometry{"1r1s", nullptr, 1, 32}, Geometry{"4r2s", nullptr, 8, 64},
                         Geometry{"4r4k", "matvec_wide.metal", 4, 128}, Geometry{"held", "matvec_held.metal", 8, 0},
                         Geometry{"held", "matvec_held.metal", 16, 0}, Geometry{"held", "matvec_held.metal", 32, 0},
                         Geometry{"held", "matvec_held.metal", 64, 0}}) {
        std::vector<std::string> files{"formats.metal", "matvec.metal"};
        if (g.file)
          files = {"formats.metal", "matvec_wide.metal", "matvec_held.metal"};
        Pipeline kernel = pipeline(files, fmt::format("matvec_{}_{}", format.name, g.suffix));
        if (!kernel)
          continue;
        auto threadsFor = [&](const Shape &s) {
          if (g.threads)
            return g.threads;
          // Places of a row, of which a thread has one at a time.
          uint32_t places = format.bytes == 144 ? s.inputs / 64 : s.inputs / 32 * 34 / 16;
          uint32_t passes = (places + 511) / 512;
          return ((places + passes - 1) / passes + 31) / 32 * 32;
        };
        double seconds = medianOf([&] {
          return play([&](auto *encoder) {
            encoder->setComputePipelineState(kernel.get());
            encoder->setBuffer(x.get(), 0, 1);
            encoder->setBuffer(y.get(), 0, 2);
            size_t at = 0;
            for (uint32_t l = 0; l < layers; ++l)
              for (Shape s : shapes) {
                MatrixArguments arguments{s.inputs, s.outputs, s.inputs / format.elements * format.bytes, 1, 1};
                encoder->setBuffer(weights.get(), at, 0);
                encoder->setBytes(&arguments, sizeof arguments, 3);
                encoder->dispatchThreadgroups(MTL::Size(1, (s.outputs + g.rows - 1) / g.rows, 1),
                                              MTL::Size(threadsFor(s), 1, 1));
                at += size_t(arguments.rowBytes) * s.outputs;
              }
          }, MTL::DispatchTypeConcurrent);
        });
        std::string suffix = g.threads ? g.suffix : fmt::format("{}, {} rows", g.suffix, g.rows);
        print(fmt::format("matvec_{}_{}, {} layers", format.name, suffix, layers), double(total) * layers,
              seconds, read_);
      }
    }
  }

  /// 700 dispatches in groups of one to four with a barrier between, as a token has them; only the
  /// constants change from token to token.
  void token() {
    Pipeline kernel = pipeline({"pointwise_batch.metal"}, "residual_add_batch");
    Buffer a = privateBuffer(1 << 16), b = privateBuffer(1 << 16);
    std::vector<double> encode, submit, gpu, wall;
    for (uint32_t t = 0; t < 200; ++t) {
      auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
      double begin = now();
      auto *commands = queue_->commandBuffer();
      auto *encoder = commands->computeCommandEncoder(MTL::DispatchTypeConcurrent);
      for (uint32_t i = 0; i < 700; ++i) {
        const uint32_t count = 6656 - (t + i) % 64;
        encoder->setComputePipelineState(kernel.get());
        encoder->setBuffer(a.get(), 4 * (i % 8), 0);
        encoder->setBuffer(b.get(), 0, 1);
        encoder->setBytes(&count, 4, 2);
        encoder->dispatchThreads(MTL::Size(6656, 1, 1), MTL::Size(256, 1, 1));
        if (i % 3 == 0)
          encoder->memoryBarrier(MTL::BarrierScopeBuffers);
      }
      encoder->endEncoding();
      commands->commit();
      double committed = now();
      commands->waitUntilCompleted();
      double end = now();
      if (t < 20)
        continue;
      encode.push_back(committed - begin);
      submit.push_back(commands->kernelEndTime() - commands->kernelStartTime());
      gpu.push_back(commands->GPUEndTime() - commands->GPUStartTime());
      wall.push_back(end - begin);
    }
    fmt::print("a token of 700 dispatches: encode {:.1f} us, submit {:.1f} us, together {:.1f} us; on the device "
               "{:.1f} us; from first call to completion {:.1f} us\n",
               median(encode) * 1e6, median(submit) * 1e6, (median(encode) + median(submit)) * 1e6,
               median(gpu) * 1e6, median(wall) * 1e6);
  }

  bool small_;
  NS::SharedPtr<MTL::Device> device_;
  NS::SharedPtr<MTL::CommandQueue> queue_;
  std::map<std::string, NS::SharedPtr<MTL::Library>> libraries_;
  std::mt19937 random_{3};
  double copy_ = 0, read_ = 0;
};

} // namespace

int main(int argc, char **argv) {
  bool small = false;
  std::set<std::string> parts;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--small")
      small = true;
    else if (argument == "streams" || argument == "matvec" || argument == "token")
      parts.insert(argument);
    else
      die(fmt::format("[{}] is none of --small, streams, matvec, token", argument));
  }
  if (parts.empty())
    parts = {"streams", "matvec", "token"};
  auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
  Bench(small).run(parts);
}
