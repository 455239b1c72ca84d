// SPDX-License-Identifier: Apache-2.0
//
// What compiling costs, one case per fresh process, one thread: a small kernel from its source to a
// library and to a pipeline, in a process that has compiled nothing yet and in one that has; large
// sources to libraries; single pipelines of an Apple-built library, the slow ones among them. Prints
// wall time and processor time, the median of the repetitions, and the peak of memory. The large ones
// need the libraries of scripts/fetch-peers.sh and are left out, visibly, without them.
//
//   Compile_bench            everything, three repetitions
//   Compile_bench small 9    the cases whose name contains "small", nine repetitions
#define NS_PRIVATE_IMPLEMENTATION
#define MTL_PRIVATE_IMPLEMENTATION
#include "air/Metallib.h"
#include "air/Reflection.h"
#include "base/Bytes.h"
#include "device/CompilerLibrary.h"
#include <Foundation/Foundation.hpp>
#include <Metal/Metal.hpp>
#include <algorithm>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace pewter;

constexpr char kSmall[] = R"(#include <metal_stdlib>
using namespace metal;
kernel void scale_add(device const float4 *x [[buffer(0)]],
                      device const half4 *w [[buffer(1)]],
                      device float4 *y [[buffer(2)]],
                      constant float &scale [[buffer(3)]],
                      uint i [[thread_position_in_grid]]) {
  float4 value = x[i] * scale + float4(w[i]);
  y[i] = clamp(value, 0.0f, 1.0f);
}
)";

template <class T> T must(Result<T> result) {
  if (result)
    return std::move(*result);
  fmt::print(stderr, "Compile_bench: {}\n", result.error().describe());
  _exit(1);
}

double seconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

struct Sample {
  double wall = 0, processor = 0, megabytes = 0;
};

Sample measure(const std::function<void()> &work) {
  double wall = seconds(CLOCK_MONOTONIC), processor = seconds(CLOCK_PROCESS_CPUTIME_ID);
  work();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {seconds(CLOCK_MONOTONIC) - wall, seconds(CLOCK_PROCESS_CPUTIME_ID) - processor,
          double(usage.ru_maxrss) / 1024};
}

/// Runs `work` in a process of its own and returns what it measured.
Sample inChild(const std::function<Sample()> &work) {
  int ends[2];
  if (pipe(ends) != 0)
    std::abort();
  pid_t child = fork();
  if (child == 0) {
    Sample sample = work();
    _exit(write(ends[1], &sample, sizeof(sample)) == sizeof(sample) ? 0 : 1);
  }
  close(ends[1]);
  Sample sample;
  bool isGood = read(ends[0], &sample, sizeof(sample)) == sizeof(sample);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!isGood || status != 0) {
    fmt::print(stderr, "Compile_bench: a case did not finish.\n");
    std::exit(1);
  }
  return sample;
}

compiler::SourceRequest smallSource() {
  compiler::SourceRequest request;
  request.source = kSmall;
  return request;
}

compiler::TargetKind bestTarget() {
  return __builtin_cpu_supports("avx512bw") ? compiler::TargetKind::CpuAvx512
                                            : compiler::TargetKind::CpuAvx2;
}

/// Bool constants true, all others 4: what a host of this library would set, roughly.
std::vector<compiler::ConstantValue> someConstants(const air::MetallibFunction &function) {
  std::vector<compiler::ConstantValue> values;
  for (const air::MetallibConstant &constant : function.constants) {
    compiler::ConstantValue value{.index = constant.index, .type = constant.type, .bytes = {}};
    value.bytes[0] = std::byte(air::componentsOf(constant.type).scalar == air::DataType::Bool ? 1 : 4);
    values.push_back(value);
  }
  std::ranges::sort(values, {}, &compiler::ConstantValue::index);
  return values;
}

void compilePipeline(const compiler::EntryPoints &entry, ByteView library, const std::string &kernel) {
  air::Metallib parsed = must(air::readMetallib(library));
  for (const air::MetallibFunction &function : parsed.functions) {
    if (!kernel.empty() && function.name != kernel)
      continue;
    compiler::KernelRequest request;
    request.module = function.module;
    request.function = function.name;
    request.constants = someConstants(function);
    request.target = bestTarget();
    must(entry.compileKernel(request));
    return;
  }
  fmt::print(stderr, "Compile_bench: there is no kernel {}.\n", kernel);
  _exit(1);
}

/// newLibrary, newFunction and newComputePipelineState of a program that has done nothing yet.
void makeThroughTheApi() {
  auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
  auto device = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
  NS::Error *error = nullptr;
  auto library = NS::TransferPtr(
      device->newLibrary(NS::String::string(kSmall, NS::UTF8StringEncoding), nullptr, &error));
  auto function = NS::TransferPtr(
      library ? library->newFunction(NS::String::string("scale_add", NS::UTF8StringEncoding)) : nullptr);
  auto pipeline = NS::TransferPtr(function ? device->newComputePipelineState(function.get(), &error) : nullptr);
  if (!pipeline) {
    fmt::print(stderr, "Compile_bench: {}\n",
               error ? error->localizedDescription()->utf8String() : "no pipeline");
    _exit(1);
  }
}

Sample throughTheApi(bool isCached) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("pewter-compile-bench-{}", getpid());
  setenv("PEWTER_CACHE_DIR", folder.c_str(), 1);
  if (isCached && fork() == 0) { // Another process fills the cache.
    makeThroughTheApi();
    _exit(0);
  }
  while (isCached && wait(nullptr) > 0)
    ;
  Sample sample = measure(makeThroughTheApi);
  std::filesystem::remove_all(folder);
  if (isCached == device::compilerLibraryIsLoaded()) {
    fmt::print(stderr, "Compile_bench: the compiler was {}loaded.\n", isCached ? "" : "not ");
    _exit(1);
  }
  return sample;
}

struct Case {
  std::string name;
  std::function<Sample()> run;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  all.push_back({"load the compiler", [] { return measure([] { must(device::compilerLibrary()); }); }});
  all.push_back({"small: source to library, first of the process", [] {
                   const compiler::EntryPoints *entry = must(device::compilerLibrary());
                   return measure([&] { must(entry->compileSource(smallSource())); });
                 }});
  all.push_back({"small: source to pipeline, first of the process", [] {
                   const compiler::EntryPoints *entry = must(device::compilerLibrary());
                   return measure([&] {
                     compilePipeline(*entry, must(entry->compileSource(smallSource())).metallib, "");
                   });
                 }});
  all.push_back({"small: source to library, later", [] {
                   const compiler::EntryPoints *entry = must(device::compilerLibrary());
                   must(entry->compileSource(smallSource()));
                   return measure([&] { must(entry->compileSource(smallSource())); });
                 }});
  all.push_back({"small: source to pipeline, later", [] {
                   const compiler::EntryPoints *entry = must(device::compilerLibrary());
                   compilePipeline(*entry, must(entry->compileSource(smallSource())).metallib, "");
                   return measure([&] {
                     compilePipeline(*entry, must(entry->compileSource(smallSource())).metallib, "");
                   });
                 }});

  for (bool isCached : {false, true})
    all.push_back({isCached ? "small: source to pipeline through the API, cached on the disk"
                            : "small: source to pipeline through the API, nothing cached",
                   [isCached] { return throughTheApi(isCached); }});

  const std::filesystem::path peers = std::filesystem::path(PEWTER_SOURCE_DIR) / ".cache/peers";
  for (const char *file : {"ggml@d0f2203f/ggml-metal.metal",
                           "llama.rn@0.12.9/package/cpp/ggml-metal/ggml-metal.metal"}) {
    std::filesystem::path path = peers / file;
    if (!std::filesystem::exists(path)) {
      fmt::print("left out: {} is not there\n", path.string());
      continue;
    }
    all.push_back({fmt::format("source: {}", file), [path] {
                     compiler::SourceRequest request;
                     request.source = std::string(textOf(must(readFile(path))));
                     request.fileName = path.filename();
                     request.includeDirectories = {path.parent_path().string(),
                                                   path.parent_path().parent_path().string()};
                     const compiler::EntryPoints *entry = must(device::compilerLibrary());
                     return measure([&] { must(entry->compileSource(request)); });
                   }});
  }
  std::filesystem::path library =
      peers / "llama.rn@0.8.3/package/cpp/ggml-metal/ggml-llama.metallib";
  if (!std::filesystem::exists(library)) {
    fmt::print("left out: {} is not there\n", library.string());
    return all;
  }
  for (const char *kernel :
       {"kernel_rms_norm_f32", "kernel_mul_mv_q4_K_f32", "kernel_mul_mm_f16_f32",
        "kernel_mul_mm_q4_K_f32", "kernel_flash_attn_ext_f16_dk128_dv128",
        "kernel_flash_attn_ext_q8_0_dk576_dv512", "kernel_flash_attn_ext_q5_0_dk256_dv256",
        "kernel_flash_attn_ext_vec_q8_0_dk192_dv192", "kernel_flash_attn_ext_vec_q8_0_dk576_dv512",
        "kernel_flash_attn_ext_vec_q5_0_dk576_dv512"})
    all.push_back({fmt::format("pipeline: {}", kernel), [library, kernel] {
                     Bytes bytes = must(readFile(library));
                     const compiler::EntryPoints *entry = must(device::compilerLibrary());
                     return measure([&] { compilePipeline(*entry, bytes, kernel); });
                   }});
  return all;
}

double median(std::vector<Sample> samples, double Sample::*member) {
  std::ranges::sort(samples, {}, member);
  return samples[samples.size() / 2].*member;
}

} // namespace

int main(int argc, char **argv) {
  std::string filter = argc > 1 ? argv[1] : "";
  unsigned repetitions = argc > 2 ? std::max(1, std::atoi(argv[2])) : 3;
  fmt::print("{:66} {:>10} {:>14} {:>10}\n", "", "wall ms", "processor ms", "peak MB");
  for (const Case &one : cases()) {
    if (one.name.find(filter) == std::string::npos)
      continue;
    std::vector<Sample> samples;
    for (unsigned i = 0; i < repetitions; ++i)
      samples.push_back(inChild(one.run));
    fmt::print("{:66} {:10.1f} {:14.1f} {:10.0f}\n", one.name, median(samples, &Sample::wall) * 1e3,
               median(samples, &Sample::processor) * 1e3, median(samples, &Sample::megabytes));
    std::fflush(stdout);
  }
  return 0;
}
