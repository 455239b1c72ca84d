// SPDX-License-Identifier: Apache-2.0
// `pewter compile`: source or AIR to a library, kernels to pipelines of a device, or one stage of one
// kernel as text. Pipelines are made by the compiler library directly, so no device is needed; with
// --device and -o they go to an archive, in which a program that has the library finds them.
#include "air/Metallib.h"
#include "cpu/CpuDevice.h"
#include "cpu/abi/KernelAbi.h"
#include "cuda/CudaDevice.h"
#include "cuda/abi/KernelImage.h"
#include "device/CompilerLibrary.h"
#include "device/PipelineArchive.h"
#include "device/PipelineImage.h"
#include "pewter/Commands.h"
#include "pewter/LibraryInput.h"
#include "pewter/TypedArray.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fmt/ranges.h>
#include <mutex>
#include <set>
#include <thread>

namespace pewter::tools {
namespace {

struct CompileOptions {
  InputOptions input;
  bool all = false;
  std::vector<std::string> kernels;
  std::string device = "cpu", output, emit, threadgroup;
  std::vector<std::string> constants;
  int64_t boolDefault = -1, integerDefault = -1;
  unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
  bool quiet = false, load = false, hasDevice = false;
  bool toArchive() const { return hasDevice && !output.empty() && emit.empty(); }
};

Result<compiler::TargetKind> targetNamed(const std::string &name, uint32_t &ptxArchitecture) {
  using compiler::TargetKind;
  if (name == "cpu")
    return __builtin_cpu_supports("x86-64-v4")
               ? (__builtin_cpu_supports("avx512vnni") ? TargetKind::CpuAvx512Vnni : TargetKind::CpuAvx512)
           : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? TargetKind::CpuAvx2
                                                                             : TargetKind::CpuBaseline;
  if (name == "avx512vnni")
    return TargetKind::CpuAvx512Vnni;
  if (name == "avx512")
    return TargetKind::CpuAvx512;
  if (name == "avx2")
    return TargetKind::CpuAvx2;
  if (name == "baseline")
    return TargetKind::CpuBaseline;
  if (name == "neon")
    return TargetKind::CpuNeon;
  if (name.starts_with("sm_")) {
    PEWTER_TRY(std::vector<uint64_t> number, numbersFrom(name.substr(3), "the PTX architecture"));
    ptxArchitecture = uint32_t(number[0]);
    return TargetKind::Ptx;
  }
  return fail(ErrorKind::Validation,
              "Device \"{}\" is not one of cpu, avx512vnni, avx512, avx2, baseline, neon, sm_80, sm_90, sm_100.",
              name);
}

Result<compiler::EmitKind> emitNamed(const std::string &name) {
  using compiler::EmitKind;
  if (name == "air" || name == "llvm")
    return name == "air" ? EmitKind::Air : EmitKind::VectorIr;
  if (name == "canonical")
    return EmitKind::CanonicalAir;
  if (name == "vector")
    return EmitKind::VectorIr;
  if (name == "shapes")
    return EmitKind::ShapeReport;
  if (name == "asm")
    return EmitKind::Assembly;
  if (name == "object")
    return EmitKind::Object;
  return fail(ErrorKind::Validation,
              "Stage \"{}\" is not one of air, canonical, llvm, vector, shapes, asm, object.", name);
}

/// The constants of one function: those named on the command line, then the defaults by type.
Result<std::vector<compiler::ConstantValue>>
constantsFor(const air::MetallibFunction &function, const CompileOptions &options) {
  std::vector<compiler::ConstantValue> values;
  for (const air::MetallibConstant &constant : function.constants) {
    auto [scalar, count] = air::componentsOf(constant.type);
    const std::string *text = nullptr;
    std::string given;
    for (const std::string &option : options.constants)
      if (option.starts_with(constant.name + "=")) {
        given = option.substr(constant.name.size() + 1);
        text = &given;
      }
    bool isBool = scalar == air::DataType::Bool;
    int64_t fallback = isBool ? options.boolDefault : options.integerDefault;
    if (!text && fallback >= 0) {
      for (uint32_t i = 0; i < count; ++i)
        given += (i ? "," : "") + std::to_string(fallback);
      text = &given;
    }
    if (!text)
      continue;
    std::string element;
    switch (scalar) {
    case air::DataType::Bool: element = "bool"; break;
    case air::DataType::Float: element = "f32"; break;
    case air::DataType::Half: element = "f16"; break;
    case air::DataType::BFloat: element = "bf16"; break;
    case air::DataType::Char: element = "i8"; break;
    case air::DataType::UChar: element = "u8"; break;
    case air::DataType::Short: element = "i16"; break;
    case air::DataType::UShort: element = "u16"; break;
    case air::DataType::Int: element = "i32"; break;
    case air::DataType::UInt: element = "u32"; break;
    case air::DataType::Long: element = "i64"; break;
    case air::DataType::ULong: element = "u64"; break;
    default:
      return fail(ErrorKind::Unsupported, "Constant \"{}\" of kernel \"{}\" has type \"{}\", which the "
                  "command line cannot write.", constant.name, function.name,
                  air::nameOf(constant.type));
    }
    PEWTER_TRY(TypedArray typed, valueFromSpec(element + ":" + *text));
    compiler::ConstantValue value{.index = constant.index, .type = constant.type, .bytes = {}};
    std::memcpy(value.bytes.data(), typed.bytes.data(),
                std::min(typed.bytes.size(), value.bytes.size()));
    values.push_back(value);
  }
  std::sort(values.begin(), values.end(),
            [](const auto &a, const auto &b) { return a.index < b.index; });
  return values;
}

/// The shapes of threadgroups that a device asks an archive for: one form each serves full rows and the
/// edges of a grid; a GPU has one for all.
std::vector<compiler::ThreadgroupShape> shapesOf(const compiler::KernelRequest &request) {
  using Kind = compiler::ThreadgroupShape::Kind;
  if (request.target == compiler::TargetKind::Ptx || request.shape.kind == Kind::Exact)
    return {request.shape};
  return {{Kind::RowMultiple, {0, 0, 0}}, {Kind::Any, {0, 0, 0}}};
}

/// The key that a device asks an archive for; empty for targets that no device has.
Hash128 keyOf(const compiler::KernelRequest &request) {
  bool isPtx = request.target == compiler::TargetKind::Ptx;
  device::PipelineRequest pipeline;
  pipeline.function = request.function;
  pipeline.identity =
      device::functionIdentity(hashOf(request.module), request.function, request.constants);
  return device::imageKey({pipeline, request.target, request.shape, isPtx ? request.ptxArchitecture : 0,
                           isPtx ? cuda::kImageVersion : cpu::kAbiVersion});
}

/// The images of one kernel under the keys that a device asks for.
using Images = std::vector<std::pair<Hash128, Bytes>>;

/// Gives the images to the device of this machine that can run them, as a pipeline would get them from an archive.
Result<void> load(const compiler::KernelRequest &request, const Images &images) {
  auto devices = request.target == compiler::TargetKind::Ptx ? cuda::connect() : cpu::connect();
  if (devices.empty())
    return fail(ErrorKind::Unsupported, "--load: this machine has no device for the pipelines.");
  device::PipelineRequest pipeline;
  pipeline.function = request.function;
  pipeline.identity =
      device::functionIdentity(hashOf(request.module), request.function, request.constants);
  pipeline.lookUp = [&](const Hash128 &key) -> std::optional<Bytes> {
    auto found = std::ranges::find(images, key, &Images::value_type::first);
    return found == images.end() ? std::nullopt : std::optional(found->second);
  };
  pipeline.failOnMiss = true;
  PEWTER_TRY(auto loaded, devices.front()->createPipeline(pipeline));
  return {};
}

struct Outcome {
  std::string kernel, error;
  double milliseconds = 0;
  double processorMilliseconds = 0; ///< Means something only with one job at a time.
  size_t bytes = 0;
};

/// Processor time of the process: other work on the machine does not count.
double processorMilliseconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) * 1e3 + double(time.tv_nsec) * 1e-6;
}

/// Every --constant is NAME=VALUE and some function has a constant of that name.
Result<void> checkConstants(const air::Metallib &library, const CompileOptions &options) {
  std::set<std::string> known;
  for (const air::MetallibFunction &function : library.functions)
    for (const air::MetallibConstant &constant : function.constants)
      known.insert(constant.name);
  for (const std::string &option : options.constants) {
    size_t equals = option.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(ErrorKind::Validation, "--constant \"{}\" is not of the form NAME=VALUE.", option);
    if (!known.contains(option.substr(0, equals)))
      return fail(ErrorKind::Validation, "No function of \"{}\" has a constant \"{}\"; there are {}.",
                  options.input.path, option.substr(0, equals),
                  known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")));
  }
  return {};
}

Result<void> compile(const CompileOptions &options) {
  PEWTER_TRY(Bytes bytes, loadLibrary(options.input));
  PEWTER_TRY(air::Metallib library, air::readMetallib(bytes));
  if (!options.output.empty() && !options.toArchive())
    PEWTER_TRY_VOID(writeFileAtomically(options.output, bytes));

  // What other stages run is listed in a library, and that is all.
  std::erase_if(library.functions, [](const air::MetallibFunction &function) {
    return function.kind != air::MetallibFunctionKind::Kernel;
  });
  std::vector<const air::MetallibFunction *> chosen;
  for (const air::MetallibFunction &function : library.functions)
    if (options.all || (options.toArchive() && options.kernels.empty()) ||
        std::ranges::find(options.kernels, function.name) != options.kernels.end())
      chosen.push_back(&function);
  for (const std::string &kernel : options.kernels)
    if (std::ranges::none_of(chosen, [&](auto *f) { return f->name == kernel; }))
      return fail(ErrorKind::Validation, "\"{}\" has no kernel \"{}\" ({} kernels are there).",
                  options.input.path, kernel, library.functions.size());
  PEWTER_TRY_VOID(checkConstants(library, options));
  if (chosen.empty()) {
    if (!options.emit.empty() || options.load)
      return fail(ErrorKind::Validation, "{} needs --kernel NAME or --all: \"{}\" has {} kernels.",
                  options.emit.empty() ? "--load" : "--emit", options.input.path, library.functions.size());
    if (!options.quiet)
      fmt::print(stderr, "{}: {} kernels{}{}\n", options.input.path, library.functions.size(),
                 options.output.empty() ? "" : " -> ", options.output);
    return {};
  }

  PEWTER_TRY(const compiler::EntryPoints *entry, device::compilerLibrary());
  auto requestFor = [&](const air::MetallibFunction &function)
      -> Result<compiler::KernelRequest> {
    compiler::KernelRequest request;
    PEWTER_TRY_VOID(air::checkContent(function.name, function.module, function.hash));
    request.module = function.module;
    request.function = function.name;
    PEWTER_TRY(request.constants, constantsFor(function, options));
    PEWTER_TRY(request.target, targetNamed(options.device, request.ptxArchitecture));
    if (!options.threadgroup.empty()) {
      PEWTER_TRY(std::vector<uint64_t> size, numbersFrom(options.threadgroup, "--threadgroup"));
      const size_t extents = size.size();
      size.resize(std::max<size_t>(extents, 3), 1);
      uint64_t threads = 1;
      for (uint64_t extent : size)
        threads = extent > 1024 ? 0 : threads * extent;
      if (extents > 3 || threads == 0 || threads > 1024)
        return fail(ErrorKind::Validation,
                    "--threadgroup \"{}\" is not X[,Y[,Z]] with 1 to 1024 threads in all.", options.threadgroup);
      request.shape.kind = compiler::ThreadgroupShape::Kind::Exact;
      for (size_t i = 0; i < 3; ++i)
        request.shape.size[i] = uint32_t(size[i]);
    }
    return request;
  };

  if (!options.emit.empty()) {
    PEWTER_TRY(compiler::EmitKind kind, emitNamed(options.emit));
    for (const air::MetallibFunction *function : chosen) {
      PEWTER_TRY(compiler::KernelRequest request, requestFor(*function));
      PEWTER_TRY(Bytes text, entry->emit(request, kind));
      std::fwrite(text.data(), 1, text.size(), stdout);
    }
    return {};
  }

  auto begin = std::chrono::steady_clock::now();
  double usedBefore = processorMilliseconds();
  device::PipelineArchive archive;
  std::vector<Outcome> outcomes(chosen.size());
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i = next++; i < chosen.size(); i = next++) {
      auto start = std::chrono::steady_clock::now();
      double used = processorMilliseconds();
      Outcome &outcome = outcomes[i];
      outcome.kernel = chosen[i]->name;
      Result<void> made = [&]() -> Result<void> {
        PEWTER_TRY(compiler::KernelRequest request, requestFor(*chosen[i]));
        auto shapes = options.toArchive() || options.load ? shapesOf(request) : std::vector{request.shape};
        Images images;
        for (const compiler::ThreadgroupShape &shape : shapes) {
          request.shape = shape;
          PEWTER_TRY(compiler::KernelImage image, entry->compileKernel(request));
          outcome.bytes += image.image.size();
          if (options.toArchive())
            archive.add(keyOf(request), image.image);
          if (options.load)
            images.emplace_back(keyOf(request), std::move(image.image));
        }
        if (options.load)
          PEWTER_TRY_VOID(load(request, images));
        return {};
      }();
      if (!made)
        outcome.error = made.error().describe();
      outcome.milliseconds = std::chrono::duration<double, std::milli>(
                                 std::chrono::steady_clock::now() - start).count();
      outcome.processorMilliseconds = processorMilliseconds() - used;
    }
  };
  std::vector<std::thread> workers;
  for (unsigned i = 1; i < options.jobs; ++i)
    workers.emplace_back(work);
  work();
  for (std::thread &worker : workers)
    worker.join();
  double total = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  size_t good = 0;
  std::vector<double> times, processor;
  for (const Outcome &outcome : outcomes) {
    good += outcome.error.empty();
    times.push_back(outcome.milliseconds);
    processor.push_back(outcome.processorMilliseconds);
    if (!outcome.error.empty())
      fmt::print(stderr, "{}: {}\n", outcome.kernel, outcome.error);
    else if (!options.quiet)
      fmt::print("{:60} {:9.1f} ms{} {:8} bytes\n", outcome.kernel, outcome.milliseconds,
                 options.jobs == 1
                     ? fmt::format(" {:9.1f} ms of processor", outcome.processorMilliseconds)
                     : "",
                 outcome.bytes);
  }
  std::sort(times.begin(), times.end());
  fmt::print("{} of {} pipelines for {} in {:.1f} s with {} threads; a pipeline takes {:.0f} ms in the "
             "median, {:.0f} at the 90th percentile, {:.0f} at most\n",
             good, outcomes.size(), options.device, total, options.jobs, times[times.size() / 2],
             times[times.size() * 9 / 10], times.back());
  fmt::print("processor time: {:.1f} s in all{}\n",
             (processorMilliseconds() - usedBefore) / 1e3,
             options.jobs == 1 ? fmt::format(", {:.0f} ms at most for one pipeline",
                                             *std::max_element(processor.begin(), processor.end()))
                               : "");
  if (good != outcomes.size())
    return fail(ErrorKind::Compile, "{} of {} kernels did not compile.", outcomes.size() - good,
                outcomes.size());
  if (options.toArchive())
    PEWTER_TRY_VOID(archive.save(options.output));
  return {};
}

} // namespace

void addCompile(CLI::App &app, int &status) {
  auto options = std::make_shared<CompileOptions>();
  CLI::App *command =
      app.add_subcommand("compile", "Compile source or AIR to a library, and kernels to pipelines");
  command->add_option("INPUT", options->input.path, ".metal, .air, .bc or .metallib")->required();
  auto *all = command->add_flag("--all", options->all, "Make a pipeline of every kernel");
  command->add_option("--kernel", options->kernels, "Make a pipeline of this kernel")->excludes(all);
  auto *device = command->add_option("--device", options->device,
                      "cpu (this machine's best), avx512vnni, avx512, avx2, baseline, neon, sm_80, sm_90, sm_100")
      ->capture_default_str();
  command->add_option("-o,--output", options->output, "Write the library here; with --device, an archive of pipelines");
  command->add_option("--emit", options->emit,
                      "Print one stage: air, canonical, llvm (vector), shapes, asm, object");
  auto *threadgroup =
      command->add_option("--threadgroup", options->threadgroup, "Compile for exactly this size");
  command->add_option("--constant", options->constants, "NAME=VALUE of a function constant");
  command->add_option("--bools", options->boolDefault, "Value of bool constants not named otherwise")
      ->check(CLI::Range(0, 1));
  command->add_option("--integers", options->integerDefault,
                      "Value of all other constants not named otherwise");
  command->add_option("--math", options->input.mathMode, "fast, relaxed or safe; for .metal")
      ->capture_default_str();
  command->add_option("-D", options->input.macros, "NAME[=VALUE]; for .metal");
  command->add_option("-I", options->input.includeDirectories, "Include directory; for .metal");
  command->add_option("-j,--jobs", options->jobs, "Compile on this many threads")
      ->check(CLI::Range(1u, 1024u))
      ->capture_default_str();
  command->add_flag("--load", options->load, "Load each pipeline into this machine's device too")
      ->excludes(threadgroup);
  command->add_flag("-q,--quiet", options->quiet, "Print only errors and the last line");
  command->callback([options, device, &status] {
    options->hasDevice = device->count() > 0;
    status = report(compile(*options));
  });
}

} // namespace pewter::tools
