// SPDX-License-Identifier: Apache-2.0
#include "pewter/EngineOptions.h"
#include "pewter/DefaultModel.h"
#include "pewter/MatvecChoice.h"
#include "base/Toggles.h"
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace pewter::tools {

void EngineFlags::addTo(CLI::App &command) {
  command.add_option("-m,--model", model, "GGUF file (default: the model that pewter ships)");
  command.add_option("-c,--ctx-size", context, "Longest sequence (default: the model's)");
  command.add_option("-t,--threads", threads, "CPU threads")->check(CLI::Range(1u, 256u));
  command.add_option("--device", device, "Part of a device's name");
  command.add_option("--math", math, "fast or strict kernels")->check(CLI::IsMember({"fast", "strict"}));
  command.add_option("--kv", kv, "Type of the key-value cache")->check(CLI::IsMember({"f16", "f32"}));
  command.add_option("--activations", activations,
                     "What weights of at most eight bits multiply in prefill: f32, or int8, which is faster and coarser")
      ->check(CLI::IsMember({"f32", "int8"}));
  command.add_option("--geometry", geometry, "Kernel shapes")->check(CLI::IsMember({"auto", "cpu", "gpu"}));
  command.add_option("--matvec", matvec, "Rows per SIMD group and SIMD groups: 1r1s, 2r1s, 4r2s; or held (default: what bench --race recorded, if it ran)");
  command.add_option("--metallib", prebuiltLibrary, "Library in which kernels are looked up first");
  command.add_flag("--serial-prefill", serialPrefill, "Record prefill on a serial encoder");
  command.add_flag("-q,--quiet", quiet, "No progress");
}

void SamplerFlags::addTo(CLI::App &command) {
  command.add_option("--temp", options.temperature, "Temperature; 0 is greedy")->capture_default_str();
  command.add_option("--top-k", options.topK, "Keep the best k; 0 keeps all")->capture_default_str();
  command.add_option("--top-p", options.topP, "Keep this mass; 1 keeps all")->capture_default_str();
  command.add_option("--min-p", options.minP, "Keep what has this share of the best")->capture_default_str();
  command.add_option("--typical", options.typicalP, "Locally typical mass; 1 is off")->capture_default_str();
  command.add_option("--repeat-last-n", options.repeatLastN, "Tokens that penalties see")
      ->capture_default_str();
  command.add_option("--repeat-penalty", options.repeatPenalty, "1 is none")->capture_default_str();
  command.add_option("--presence-penalty", options.presencePenalty, "0 is none")->capture_default_str();
  command.add_option("--frequency-penalty", options.frequencyPenalty, "0 is none")->capture_default_str();
  command.add_option("--mirostat", options.mirostat, "0 or 2")->capture_default_str();
  command.add_option("--mirostat-ent", options.mirostatTau, "Target surprise")->capture_default_str();
  command.add_option("--mirostat-lr", options.mirostatEta, "Learning rate")->capture_default_str();
  command.add_option("--logit-bias", bias, "TOKEN_ID+BIAS or TOKEN_ID-BIAS; may be repeated");
  command.add_option("-s,--seed", seed, "Random seed; -1 takes one from the system")->capture_default_str();
}

Result<muse::SamplerOptions> SamplerFlags::build() const {
  muse::SamplerOptions out = options;
  if (seed < -1 || seed > UINT32_MAX)
    return fail(ErrorKind::Validation, "The seed is [{}]; -1 to {} is expected.", seed, UINT32_MAX);
  if (seed >= 0)
    out.seed = static_cast<uint32_t>(seed);
  for (const std::string &text : bias) {
    size_t sign = text.find_first_of("+-");
    char *end = nullptr, *valueEnd = nullptr;
    unsigned long id = std::strtoul(text.c_str(), &end, 10);
    float value = sign == text.npos ? NAN : std::strtof(text.c_str() + sign, &valueEnd);
    if (sign == 0 || sign == text.npos || end != text.c_str() + sign || *valueEnd ||
        !std::isfinite(value) || id > UINT32_MAX)
      return fail(ErrorKind::Validation, "The logit bias is [{}]; something like 15+1.5 is expected.", text);
    out.logitBias[static_cast<uint32_t>(id)] += value;
  }
  PEWTER_TRY_VOID(out.check());
  return out;
}

int report(const Error &error) {
  fmt::print(stderr, "pewter: {}\n", error.describe());
  return 1;
}

ProgressLine::ProgressLine(bool quiet) : on_(!quiet && ::isatty(STDERR_FILENO)) {}
void ProgressLine::show(std::string_view what, double fraction) {
  if (!on_)
    return;
  constexpr int kWidth = 30;
  int filled = static_cast<int>(fraction * kWidth);
  fmt::print(stderr, "\r{} [{}{}] {:3.0f} %", what, std::string(filled, '#'),
             std::string(kWidth - filled, '.'), fraction * 100);
  drawn_ = true;
}
void ProgressLine::clear() {
  if (drawn_)
    fmt::print(stderr, "\r\033[K");
  drawn_ = false;
}

Result<std::shared_ptr<muse::Engine>> makeEngine(const EngineFlags &flags) {
  ProgressLine progress(flags.quiet);
  progress.show("load", 0);
  if (flags.threads)
    ::setenv("PEWTER_THREADS", std::to_string(flags.threads).c_str(), 1);
  muse::ContextOptions options;
  options.math = flags.math == "strict" ? muse::MathMode::Strict : muse::MathMode::Fast;
  options.device = flags.device;
  options.geometry = flags.geometry == "cpu"   ? muse::Geometry::Cpu
                     : flags.geometry == "gpu" ? muse::Geometry::Gpu
                                               : muse::Geometry::Automatic;
  if (!flags.prebuiltLibrary.empty())
    options.prebuiltLibrary = flags.prebuiltLibrary;
  PEWTER_TRY(auto context, muse::Context::create(std::move(options)));
  progress.show("load", 0.2);
  PEWTER_TRY(auto model, flags.model.empty() ? openDefaultModel() : muse::GgufModel::open(flags.model));
  progress.show("load", 0.4);
  std::string matvec = flags.matvec.empty() ? recordedMatvec(*context, *model) : flags.matvec;
  // The first start on a machine compiles; later ones find the kernels in the disk cache.
  auto start = std::chrono::steady_clock::now();
  bool told = false;
  auto compiled = [&](double fraction) {
    progress.show("load", 0.4 + 0.6 * fraction);
    if (flags.quiet || progress.visible() || told ||
        std::chrono::steady_clock::now() - start < std::chrono::seconds(2))
      return;
    told = true;
    fmt::print(stderr, "pewter: compiling the engine's kernels for this machine, once\n");
  };
  return muse::Engine::create(std::move(context), std::move(model),
                              {.maxContext = flags.context,
                               .kv = flags.kv == "f32" ? muse::KvType::F32 : muse::KvType::F16,
                               .activations = flags.activations == "int8" ? muse::ActivationType::Int8
                                                                          : muse::ActivationType::F32,
                               .serialPrefill = flags.serialPrefill,
                               .matvec = std::move(matvec),
                               .progress = compiled});
}

} // namespace pewter::tools
