// SPDX-License-Identifier: Apache-2.0
//
// Strict libraries give the same bits on every device. This program runs the same work once for each
// executor of this machine, each in a process of its own (the processor's instruction set is chosen when
// a process starts), and compares every float bit for bit:
//
//   pewter_same_bits                              what this machine has: avx512 avx2 baseline cuda
//   pewter_same_bits --executors avx512,cuda      some
//   pewter_same_bits --tokens 50                  fewer decoded tokens
//   pewter_same_bits --save F                     keeps the first executor's results
//   pewter_same_bits --against F                  compares with results of another machine too
//
// The work: the kernels of kernels/ that the engine does not use, on random inputs; both kernel
// geometries of the engine on the shipped models (a prompt in one piece, then tokens one by one: the
// logits of each); and small models of every weight format.
#include "base/Bytes.h"
#include "cpu/TargetChoice.h"
#include "engine/Goldens.h"
#include "engine/SmallModel.h"
#include "muse/Engine.h"
#include "muse/Sequence.h"
#include <Pewter/Pewter.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <list>
#include <map>
#include <random>
#include <sstream>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace pewter::testing {
namespace {

using muse::Geometry;
using muse::TensorType;

struct Section {
  std::string name;
  Bytes bytes;
};

[[noreturn]] void die(const std::string &what) {
  fmt::print(stderr, "pewter_same_bits: {}\n", what);
  std::exit(2);
}
template <class T> T valueOf(Result<T> result) {
  if (!result)
    die(result.error().describe());
  return std::move(*result);
}
void valueOf(Result<void> result) {
  if (!result)
    die(result.error().describe());
}

class Work {
public:
  explicit Work(uint32_t tokens) : tokens_(tokens) {}

  std::vector<Section> run() {
    plainKernels();
    for (const char *file : {"glimmer-tiny-q8_0.gguf", "glimmer-tiny-q4_k_m.gguf",
                             "glimmer-tiny-q5_k_mix.gguf", "glimmer-tiny-f16.gguf"})
      for (Geometry geometry : {Geometry::Cpu, Geometry::Gpu})
        model(fmt::format("{} {}", file, geometry == Geometry::Cpu ? "cpu" : "gpu"), loadModel(file),
              geometry, 60, tokens_);
    for (TensorType type : {TensorType::F32, TensorType::BF16, TensorType::Q4_0, TensorType::IQ4_NL,
                            TensorType::MXFP4, TensorType::Q5_K, TensorType::Q6_K}) {
      bool isK = type == TensorType::Q5_K || type == TensorType::Q6_K;
      SmallModel small;
      small.hidden = isK ? 256 : 128;
      small.headDim = isK ? 64 : 32;
      small.ffn = isK ? 512 : 160;
      small.type = type;
      bytes_.push_back(small.build());
      model(fmt::format("small {}", nameOf(type)),
            valueOf(muse::GgufModel::fromBytes(bytes_.back(), "small")), Geometry::Cpu, 77,
            std::min(tokens_, 40u));
    }
    return std::move(sections_);
  }

private:
  void add(std::string name, const void *data, size_t size) {
    const auto *bytes = static_cast<const std::byte *>(data);
    sections_.push_back({std::move(name), Bytes(bytes, bytes + size)});
  }

  void model(const std::string &name, std::shared_ptr<const muse::GgufModel> model, Geometry geometry,
             uint32_t prompt, uint32_t tokens) {
    auto &context = contexts_[geometry == Geometry::Gpu];
    if (!context)
      context = valueOf(muse::Context::create({.math = muse::MathMode::Strict, .geometry = geometry}));
    auto engine = valueOf(muse::Engine::create(context, model, {}));
    auto sequence = valueOf(muse::Sequence::create(engine, {}));
    std::mt19937 random(7);
    std::vector<uint32_t> ids(prompt);
    for (uint32_t &id : ids)
      id = random() % engine->config().vocab;
    valueOf(sequence->prefill(ids, {}));
    std::vector<float> logits(sequence->logits().begin(), sequence->logits().end());
    add(name + " prompt", logits.data(), logits.size() * 4);
    auto integers = valueOf(muse::Engine::create(context, model, {.activations = muse::ActivationType::Int8}));
    auto other = valueOf(muse::Sequence::create(integers, {}));
    valueOf(other->prefill(ids, {}));
    add(name + " prompt by integers", other->logits().data(), other->logits().size() * 4);
    logits.clear();
    for (uint32_t i = 0; i < tokens; ++i) {
      // Its own choice: one wrong bit anywhere moves everything after it.
      valueOf(sequence->decode(argmax(sequence->logits())));
      logits.insert(logits.end(), sequence->logits().begin(), sequence->logits().end());
    }
    add(name + " decode", logits.data(), logits.size() * 4);
  }

  struct Input {
    uint32_t slot;
    NS::SharedPtr<MTL::Buffer> buffer;
  };
  NS::SharedPtr<MTL::Buffer> random(size_t count, bool half = false) {
    auto buffer = NS::TransferPtr(device_->newBuffer(count * (half ? 2 : 4), MTL::ResourceStorageModeShared));
    std::uniform_real_distribution<float> uniform(-2, 2);
    for (size_t i = 0; i < count; ++i)
      if (half)
        static_cast<_Float16 *>(buffer->contents())[i] = _Float16(uniform(random_));
      else
        static_cast<float *>(buffer->contents())[i] = uniform(random_);
    return buffer;
  }

  /// Runs one kernel of kernels/FILE.metal and keeps buffer `result`.
  void kernel(const std::string &file, const std::string &name, const std::vector<Input> &inputs,
              const std::vector<std::pair<uint32_t, Bytes>> &constants, uint32_t result,
              MTL::Size groups, MTL::Size threads, bool exact, uint32_t threadgroupBytes = 0) {
    auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    auto &library = libraries_[file];
    NS::Error *error = nullptr;
    auto text = [](const std::string &s) { return NS::String::string(s.c_str(), NS::UTF8StringEncoding); };
    if (!library) {
      std::stringstream source;
      std::ifstream stream(std::string(PEWTER_SOURCE_DIR) + "/kernels/" + file + ".metal");
      source << stream.rdbuf();
      auto options = NS::TransferPtr(MTL::CompileOptions::alloc()->init());
      options->setFastMathEnabled(false);
      library = NS::TransferPtr(device_->newLibrary(text(source.str()), options.get(), &error));
      if (!library)
        die(error->localizedDescription()->utf8String());
    }
    auto function = NS::TransferPtr(library->newFunction(text(name)));
    if (!function)
      die("there is no kernel " + name);
    auto pipeline = NS::TransferPtr(device_->newComputePipelineState(function.get(), &error));
    if (!pipeline)
      die(error->localizedDescription()->utf8String());
    auto *commands = queue_->commandBuffer();
    auto *encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(pipeline.get());
    const MTL::Buffer *kept = nullptr;
    for (const Input &input : inputs) {
      encoder->setBuffer(input.buffer.get(), 0, input.slot);
      if (input.slot == result)
        kept = input.buffer.get();
    }
    for (const auto &[slot, bytes] : constants)
      encoder->setBytes(bytes.data(), bytes.size(), slot);
    if (threadgroupBytes)
      encoder->setThreadgroupMemoryLength(threadgroupBytes, 0);
    exact ? encoder->dispatchThreads(groups, threads) : encoder->dispatchThreadgroups(groups, threads);
    encoder->endEncoding();
    commands->commit();
    commands->waitUntilCompleted();
    if (commands->status() != MTL::CommandBufferStatusCompleted)
      die(name + ": " + commands->error()->localizedDescription()->utf8String());
    add(name, const_cast<MTL::Buffer *>(kept)->contents(), kept->length());
  }

  template <class T> static Bytes bytesOf(const T &value) {
    auto view = std::as_bytes(std::span(&value, 1));
    return Bytes(view.begin(), view.end());
  }

  void plainKernels() {
    device_ = MTL::CreateSystemDefaultDevice();
    if (!device_)
      die("there is no device");
    queue_ = NS::TransferPtr(device_->newCommandQueue());
    const uint32_t n = 100003;
    const Bytes count = bytesOf(n);
    MTL::Size all(n, 1, 1), line(256, 1, 1);
    kernel("pointwise_batch", "saxpy", {{0, random(n)}, {1, random(n)}},
           {{2, bytesOf(1.7f)}, {3, count}}, 1, all, line, true);
    kernel("pointwise_batch", "saxpy_4", {{0, random(n)}, {1, random(n)}},
           {{2, bytesOf(1.7f)}, {3, count}}, 1, MTL::Size((n + 3) / 4, 1, 1), line, true);
    kernel("pointwise_batch", "sigmoid_gate_inplace", {{0, random(n)}, {1, random(n)}}, {{2, count}}, 0, all,
           line, true);
    kernel("pointwise_batch", "residual_add_batch", {{0, random(n)}, {1, random(n)}}, {{2, count}}, 0, all,
           line, true);
    for (const char *name : {"gate_sigmoid", "silu_mul"})
      kernel("elementwise", name, {{0, random(n)}, {1, random(n)}}, {{2, count}}, 0, all, line, true);
    struct {
      uint32_t count;
      float scale, cap;
    } softcap = {n, 0.7f, 1.3f};
    kernel("elementwise", "scale_softcap", {{0, random(n)}}, {{1, bytesOf(softcap)}}, 0, all, line, true);
    const uint32_t width = 6656, rows = 9;
    kernel("norm_batch", "rms_norm_batch",
           {{0, random(rows * width)}, {1, random(width)}, {2, random(rows * width)}},
           {{3, bytesOf(width)}, {4, bytesOf(1e-5f)}}, 2, MTL::Size(rows, 1, 1), MTL::Size(128, 1, 1), false, 32);
    for (uint32_t wide : {6656u, 9000u})
      kernel("norm_batch", "rms_norm_batch_8sg",
             {{0, random(rows * wide)}, {1, random(wide)}, {2, random(rows * wide)}},
             {{3, bytesOf(wide)}, {4, bytesOf(1e-5f)}}, 2, MTL::Size(rows, 1, 1), MTL::Size(256, 1, 1), false, 48);
    for (uint32_t kept : {2u, 4u})
      kernel("norm_batch", "fused_norm_residual_rms_norm_32sg",
             {{0, random(rows * width)}, {1, random(width)}, {2, random(rows * width)}, {3, random(width)},
              {4, random(rows * width)}},
             {{5, bytesOf(width)}, {6, bytesOf(1e-5f)}, {7, bytesOf(1e-6f)}}, kept, MTL::Size(rows, 1, 1),
             MTL::Size(1024, 1, 1), false, 144);
    struct {
      uint32_t m, n, k;
    } gemm = {512, 192, 256};
    for (bool half : {false, true})
      kernel("gemm_256x64_8sg", half ? "gemm_f16_256x64_8sg" : "gemm_f32_256x64_8sg",
             {{0, random(gemm.m * gemm.k, half)}, {1, random(gemm.k * gemm.n, half)},
              {2, random(gemm.m * gemm.n)}},
             {{3, bytesOf(gemm)}}, 2, MTL::Size(gemm.n / 64, gemm.m / 256, 1), MTL::Size(256, 1, 1), false);
  }

  uint32_t tokens_;
  MTL::Device *device_ = nullptr;
  NS::SharedPtr<MTL::CommandQueue> queue_;
  std::map<std::string, NS::SharedPtr<MTL::Library>> libraries_;
  std::shared_ptr<muse::Context> contexts_[2];
  std::list<Bytes> bytes_; ///< Of the small models.
  std::mt19937 random_{11};
  std::vector<Section> sections_;
};

Bytes encode(const std::vector<Section> &sections) {
  Bytes out;
  auto put = [&](const void *data, uint64_t size) {
    const auto *length = reinterpret_cast<const std::byte *>(&size);
    out.insert(out.end(), length, length + 8);
    const auto *bytes = static_cast<const std::byte *>(data);
    out.insert(out.end(), bytes, bytes + size);
  };
  for (const Section &section : sections) {
    put(section.name.data(), section.name.size());
    put(section.bytes.data(), section.bytes.size());
  }
  return out;
}
std::vector<Section> decode(ByteView in) {
  std::vector<Section> sections;
  auto take = [&]() -> ByteView {
    uint64_t size = 0;
    if (in.size() < 8)
      die("a result is cut short");
    std::memcpy(&size, in.data(), 8);
    in = in.subspan(8);
    if (size > in.size())
      die("a result is cut short");
    ByteView part = in.first(size);
    in = in.subspan(size);
    return part;
  };
  while (!in.empty()) {
    std::string name(textOf(take()));
    ByteView bytes = take();
    sections.push_back({name, Bytes(bytes.begin(), bytes.end())});
  }
  return sections;
}

struct Results {
  std::string executor;
  std::vector<Section> sections;
};

struct Child {
  std::string executor, path;
  pid_t process;
};

Child startChild(const std::string &executor, uint32_t tokens) {
  Child child{executor, {}, 0};
  child.path =
      (std::filesystem::temp_directory_path() / fmt::format("same-bits-{}-{}", getpid(), executor)).string();
  ::setenv("PEWTER_DEVICE", executor == "cuda" ? "cuda" : "cpu", 1);
  if (executor == "cuda")
    ::unsetenv("PEWTER_CPU_TARGET");
  else
    ::setenv("PEWTER_CPU_TARGET", executor.c_str(), 1);
  std::vector<std::string> words = {"pewter_same_bits", "--child", child.path, std::to_string(tokens)};
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  if (::posix_spawn(&child.process, "/proc/self/exe", nullptr, nullptr, arguments.data(), environ) != 0)
    die("a process for " + executor + " cannot be started");
  return child;
}

Results resultsOf(const Child &child) {
  int status = 0;
  ::waitpid(child.process, &status, 0);
  if (status != 0)
    die(fmt::format("{} failed (status {:#x})", child.executor, status));
  Results results{child.executor, decode(valueOf(readFile(child.path)))};
  std::filesystem::remove(child.path);
  return results;
}

/// Prints the sections that differ; their number.
int compare(const Results &a, const Results &b) {
  int different = 0;
  if (a.sections.size() != b.sections.size())
    die(fmt::format("{} has {} results, {} has {}", a.executor, a.sections.size(), b.executor, b.sections.size()));
  uint64_t floats = 0;
  for (size_t i = 0; i < a.sections.size(); ++i) {
    const Section &x = a.sections[i], &y = b.sections[i];
    floats += x.bytes.size() / 4;
    if (x.name == y.name && x.bytes == y.bytes)
      continue;
    ++different;
    size_t count = 0, first = 0, words = std::min(x.bytes.size(), y.bytes.size()) / 4;
    float p = 0, q = 0;
    for (size_t w = words; w-- > 0;)
      if (std::memcmp(x.bytes.data() + 4 * w, y.bytes.data() + 4 * w, 4) != 0) {
        ++count;
        first = w;
        std::memcpy(&p, x.bytes.data() + 4 * w, 4);
        std::memcpy(&q, y.bytes.data() + 4 * w, 4);
      }
    fmt::print("{} and {}: \"{}\" differs in {} of {} floats, first in {}: {:a} and {:a}\n", a.executor,
               b.executor, x.name, count, words, first, p, q);
  }
  fmt::print("{} and {}: {} of {} results have the same bits ({} floats compared)\n", a.executor, b.executor,
             a.sections.size() - size_t(different), a.sections.size(), floats);
  return different;
}

int main(int argc, char **argv) {
  std::string chosen, save, against;
  uint32_t tokens = 200;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    auto next = [&]() -> std::string { return ++i < argc ? argv[i] : (die(word + " needs a value"), ""); };
    if (word == "--child") {
      std::string path = next();
      valueOf(writeFileAtomically(path, encode(Work(uint32_t(std::stoul(next()))).run())));
      return 0;
    } else if (word == "--executors") {
      chosen = "," + next() + ",";
    } else if (word == "--tokens") {
      tokens = uint32_t(std::stoul(next()));
    } else if (word == "--save") {
      save = next();
    } else if (word == "--against") {
      against = next();
    } else {
      die("\"" + word + "\" is not one of --executors, --tokens, --save, --against");
    }
  }
  std::vector<std::string> executors;
  auto offer = [&](const std::string &name, bool isHere) {
    bool isWanted = chosen.empty() ? isHere : chosen.find("," + name + ",") != std::string::npos;
    if (isWanted && !isHere)
      die("this machine cannot run " + name);
    if (isWanted)
      executors.push_back(name);
  };
  offer("avx512vnni", cpu::canRun(compiler::TargetKind::CpuAvx512Vnni));
  offer("avx512", cpu::canRun(compiler::TargetKind::CpuAvx512));
  offer("avx2", cpu::canRun(compiler::TargetKind::CpuAvx2));
  offer("baseline", cpu::canRun(compiler::TargetKind::CpuBaseline));
  offer("cuda", Pewter::CreateDevice("cuda") != nullptr);
  if (executors.empty())
    die("no executor was chosen");

  std::vector<Results> all;
  if (!against.empty())
    all.push_back({"the file", decode(valueOf(readFile(against)))});
  std::vector<Child> children;
  for (const std::string &executor : executors)
    children.push_back(startChild(executor, tokens));
  for (const Child &child : children)
    all.push_back(resultsOf(child));
  if (!save.empty())
    valueOf(writeFileAtomically(save, encode(all.back().sections)));
  if (all.size() < 2)
    fmt::print("{} ran; there is nothing to compare it with on this machine\n", all[0].executor);
  int different = 0;
  for (size_t i = 1; i < all.size(); ++i)
    different += compare(all[0], all[i]);
  return different == 0 ? 0 : 1;
}

} // namespace
} // namespace pewter::testing

int main(int argc, char **argv) { return pewter::testing::main(argc, argv); }
