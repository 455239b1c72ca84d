// SPDX-License-Identifier: Apache-2.0
//
// The full Muse Glimmer shape (52 layers, 6,656 wide, 19,968 in the middle, 202,048 tokens) in the release's mix
// of formats, 16.0 GB of which a token streams: decode at depths, sequences decoded together, prompts, and where
// the time goes. No file: the weights are random blocks that a kernel writes on the device, and the keys and
// values of a depth are random numbers too.
//
//   Glimmer_bench --device cuda                           everything
//   Glimmer_bench --depths 0,32768 --prompts 2048 --together 4
//   Glimmer_bench --profile                               each group of a token and of a prompt, alone
//   Glimmer_bench --layers 2 --vocab 2048                 a shape that fits a small machine
//
// A token is decoded as by `pewter bench`: recorded, committed and waited for by itself. "greedy" is the same
// with the device's own argmax and commands ahead of time.
#include "base/Half.h"
#include "muse/GgufWriter.h"
#include "muse/Sequence.h"
#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstring>
#include <random>
#include <sys/mman.h>

namespace pewter::bench {
namespace {

using muse::GgufValueType;
using muse::TensorType;
using Clock = std::chrono::steady_clock;
double seconds(Clock::time_point from) { return std::chrono::duration<double>(Clock::now() - from).count(); }

template <class T> T must(Result<T> result) {
  if (!result) {
    fmt::print(stderr, "Glimmer_bench: {}\n", result.error().describe());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>)
    return std::move(*result);
}

struct Flags {
  std::string device, math = "fast", matvec;
  uint32_t layers = 52, vocab = 202048, context = 0, count = 64, repeats = 3, together = 4;
  std::vector<uint32_t> depths = {0, 32768}, prompts = {2048};
  bool profile = false;
  muse::HeldTuning held;
};

/// A file's bytes of which only the header and the vectors are there: the rest reads as zero and takes no memory.
class Shape {
public:
  explicit Shape(const Flags &flags) {
    constexpr uint32_t kHidden = 6656, kFfn = 19968, kHeads = 32, kKvHeads = 2, kHeadDim = 128;
    const std::string p = "muse-glimmer.";
    writer_.addString("general.architecture", "muse-glimmer");
    writer_.addString("general.name", fmt::format("Muse Glimmer's shape, {} layers", flags.layers));
    for (auto [key, value] : {std::pair{"block_count", flags.layers}, {"context_length", 131072u},
                              {"embedding_length", kHidden}, {"feed_forward_length", kFfn},
                              {"attention.head_count", kHeads}, {"attention.head_count_kv", kKvHeads},
                              {"attention.key_length", kHeadDim}, {"attention.value_length", kHeadDim},
                              {"attention.sliding_window", 2048u}, {"attention.sliding_window_pattern", 4u}})
      writer_.addU32(p + key, value);
    for (auto [key, value] : {std::pair{"attention.layer_norm_rms_epsilon", 1e-5f}, {"rope.freq_base", 5e5f},
                              {"final_logit_softcapping", 30.0f}, {"logit_scale", 1.0f}})
      writer_.addF32(p + key, value);
    addTokenizer(flags.vocab);
    matrix("token_embd.weight", TensorType::Q4_K, kHidden, flags.vocab);
    for (uint32_t layer = 0; layer < flags.layers; ++layer) {
      auto name = [&](const char *part) { return fmt::format("blk.{}.{}.weight", layer, part); };
      const TensorType wide = layer % 2 == 0 ? TensorType::Q6_K : TensorType::Q4_K;
      vector(name("attn_norm"), kHidden);
      matrix(name("attn_q"), TensorType::Q4_K, kHidden, kHeads * kHeadDim);
      matrix(name("attn_k"), TensorType::Q4_K, kHidden, kKvHeads * kHeadDim);
      matrix(name("attn_v"), wide, kHidden, kKvHeads * kHeadDim);
      vector(name("attn_q_norm"), kHeadDim);
      vector(name("attn_k_norm"), kHeadDim);
      matrix(name("attn_gate"), TensorType::Q4_K, kHidden, kHeads * kHeadDim);
      matrix(name("attn_output"), TensorType::Q4_K, kHeads * kHeadDim, kHidden);
      vector(name("post_attention_norm"), kHidden);
      vector(name("ffn_norm"), kHidden);
      matrix(name("ffn_gate"), TensorType::Q4_K, kHidden, kFfn);
      matrix(name("ffn_up"), TensorType::Q4_K, kHidden, kFfn);
      matrix(name("ffn_down"), wide, kFfn, kHidden);
      vector(name("post_ffw_norm"), kHidden);
    }
    vector("output_norm.weight", kHidden);
    matrix("output.weight", TensorType::Q5_K, kHidden, flags.vocab);

    const Bytes header = writer_.header();
    size_ = header.size() + bytes_;
    data_ = static_cast<std::byte *>(
        ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (data_ == MAP_FAILED) {
      fmt::print(stderr, "Glimmer_bench: no address space for {} bytes\n", size_);
      std::exit(1);
    }
    std::memcpy(data_, header.data(), header.size());
    const std::vector<float> ones(kFfn, 1.0f);
    for (auto [at, count] : vectors_)
      std::memcpy(data_ + header.size() + at, ones.data(), uint64_t(count) * 4);
    model_ = must(muse::GgufModel::fromBytes({data_, size_}, "glimmer"));
  }
  std::shared_ptr<const muse::GgufModel> model() const { return model_; }

private:
  void matrix(std::string name, TensorType type, uint64_t inputs, uint64_t outputs) {
    add(std::move(name), type, {inputs, outputs}, *muse::rowBytes(muse::formatOf(type), inputs) * outputs);
  }
  void vector(std::string name, uint32_t count) {
    vectors_.push_back({bytes_, count});
    add(std::move(name), TensorType::F32, {count}, uint64_t(count) * 4);
  }
  void add(std::string name, TensorType type, std::vector<uint64_t> dims, uint64_t bytes) {
    writer_.addTensor(std::move(name), type, std::move(dims), []() -> Result<Bytes> { return Bytes(); });
    bytes_ += (bytes + 31) / 32 * 32;
  }
  void addTokenizer(uint32_t vocab) {
    // A byte has a printable stand-in in the vocabulary.
    std::vector<std::string> tokens;
    uint32_t next = 256;
    auto character = [](uint32_t code) {
      return code < 128 ? std::string(1, char(code))
                        : std::string{char(0xc0 | code >> 6), char(0x80 | (code & 63))};
    };
    for (uint32_t b = 0; b < 256; ++b) {
      bool printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
      tokens.push_back(character(printable ? b : next++));
    }
    while (tokens.size() + 3 < vocab)
      tokens.push_back(fmt::format("<|unused_{}|>", tokens.size()));
    tokens.insert(tokens.end(), {"<|begin_of_text|>", "<|end_of_text|>", "<|eot|>"});
    std::vector<int64_t> types(tokens.size(), 3);
    std::fill_n(types.begin(), 256, 1);
    writer_.addString("tokenizer.ggml.model", "gpt2");
    writer_.addString("tokenizer.ggml.pre", "llama4");
    writer_.addStrings("tokenizer.ggml.tokens", tokens);
    writer_.addIntegers("tokenizer.ggml.token_type", GgufValueType::I32, types);
    writer_.addStrings("tokenizer.ggml.merges", {});
    for (auto [key, back] : {std::pair{"bos", 3u}, {"eos", 2u}, {"eot", 1u}})
      writer_.addU32(fmt::format("tokenizer.ggml.{}_token_id", key), vocab - back);
    writer_.addBool("tokenizer.ggml.add_bos_token", true);
  }

  muse::GgufWriter writer_;
  std::vector<std::pair<uint64_t, uint32_t>> vectors_; ///< Place behind the header, floats.
  uint64_t bytes_ = 0, size_ = 0;
  std::byte *data_ = nullptr;
  std::shared_ptr<const muse::GgufModel> model_;
};

/// Each thread writes eight words; a thread whose words hold a factor of a block puts a small number there.
constexpr const char *kFillSource = R"(
#include <metal_stdlib>
using namespace metal;
struct Fill {
  ulong bytes;
  uint block, first, second; // Bytes of a block; where it has its factors.
  uint seed;
  ushort factor, other; // The other is of the minima.
};
kernel void fill(device ushort *out [[buffer(0)]], constant Fill &fill [[buffer(1)]], uint i [[thread_position_in_grid]]) {
  uint state = (i ^ fill.seed) * 2654435761u + 12345u;
  for (uint k = 0; k < 16; ++k) {
    ulong at = (ulong(i) * 16 + k) * 2;
    if (at >= fill.bytes)
      return;
    state ^= state << 13, state ^= state >> 17, state ^= state << 5;
    uint in = uint(at % fill.block);
    out[at / 2] = in == fill.first ? fill.factor : in == fill.second ? fill.other : ushort(state >> 8);
  }
}
)";

struct Fill {
  uint64_t bytes;
  uint32_t block, first, second, seed;
  uint16_t factor, other;
};

Result<void> makeWeights(const muse::Context &context, const muse::GgufFile &file, MTL::Buffer *shard) {
  auto pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
  NS::Error *error = nullptr;
  auto *text = NS::String::string(kFillSource, NS::UTF8StringEncoding);
  auto library = NS::TransferPtr(context.device()->newLibrary(text, nullptr, &error));
  if (!library)
    return fail(ErrorKind::Compile, "{}", error->localizedDescription()->utf8String());
  auto function = NS::TransferPtr(library->newFunction(NS::String::string("fill", NS::UTF8StringEncoding)));
  auto pipeline = NS::TransferPtr(context.device()->newComputePipelineState(function.get(), &error));
  if (!pipeline)
    return fail(ErrorKind::Compile, "{}", error->localizedDescription()->utf8String());
  auto *commands = context.queue()->commandBuffer();
  auto *encoder = commands->computeCommandEncoder(MTL::DispatchTypeConcurrent);
  encoder->setComputePipelineState(pipeline.get());
  uint32_t seed = 1;
  for (const muse::GgufTensor &tensor : file.tensors()) {
    Fill fill{tensor.bytes, tensor.format->blockBytes, 0, 0, seed++ * 40503u, 0, 0};
    const double deviation = 1 / std::sqrt(double(tensor.dims[0]));
    double factor = 0;
    switch (tensor.format->type()) {
    case TensorType::Q4_K: // Codes, scales and minima are uniform: about 4.6 around 7.5 times 31.
    case TensorType::Q5_K:
      fill.second = 2;
      factor = deviation / (tensor.format->type() == TensorType::Q4_K ? 4.6 * 36 : 9.2 * 36);
      break;
    case TensorType::Q6_K:
      fill.first = 208, fill.second = ~0u;
      factor = deviation / (18.5 * 74);
      break;
    default:
      continue; // vectors are read from the file
    }
    // So that the mean of a weight is near zero.
    const double other = tensor.format->type() == TensorType::Q4_K ? 7.5 : tensor.format->type() == TensorType::Q5_K ? 15.5 : 1;
    fill.factor = halfFromFloat(float(factor));
    fill.other = halfFromFloat(float(factor * other));
    encoder->setBuffer(shard, tensor.offset, 0);
    encoder->setBytes(&fill, sizeof fill, 1);
    encoder->dispatchThreads(MTL::Size((tensor.bytes + 31) / 32, 1, 1), MTL::Size(256, 1, 1));
  }
  encoder->endEncoding();
  commands->commit();
  return context.wait(commands);
}

std::vector<uint32_t> someTokens(uint32_t count, uint32_t vocab) {
  std::vector<uint32_t> ids(count);
  uint32_t state = 12345;
  for (uint32_t &id : ids) {
    state = state * 1664525 + 1013904223;
    id = (state >> 8) % vocab;
  }
  return ids;
}

/// A snapshot (SequenceSnapshot.cpp) of `depth` tokens with random keys and values.
Bytes snapshotAt(const muse::Engine &engine, uint32_t depth) {
  const muse::ModelConfig &c = engine.config();
  Bytes out;
  auto put = [&](const void *data, size_t size) {
    auto *bytes = static_cast<const std::byte *>(data);
    out.insert(out.end(), bytes, bytes + size);
  };
  const uint32_t header[] = {0x564b5750, 1, c.layers, c.kvDim(), engine.kvElementBytes(), depth};
  put(header, sizeof header);
  put(someTokens(depth, c.vocab).data(), uint64_t(depth) * 4);
  std::mt19937 random(7);
  std::vector<uint16_t> noise(1 << 20);
  for (uint16_t &half : noise)
    half = halfFromFloat(std::uniform_real_distribution<float>(-1, 1)(random));
  for (uint32_t l = 0; l < c.layers; ++l) {
    const uint32_t capacity = c.sliding[l] ? muse::KvPlane::slidingCapacity(engine.maxContext(), c.window)
                                           : muse::KvPlane::fullCapacity(engine.maxContext());
    const uint32_t rows[] = {depth - std::min(depth, capacity), std::min(depth, capacity)};
    put(rows, sizeof rows);
    for (uint64_t left = uint64_t(rows[1]) * 2 * c.kvDim() * 2; left;) {
      const uint64_t part = std::min<uint64_t>(left, noise.size() * 2);
      put(noise.data(), part);
      left -= part;
    }
  }
  return out;
}

void printProfile(std::string_view title, const std::vector<muse::PhaseSample> &samples) {
  std::vector<std::pair<std::string, std::pair<double, int>>> sums;
  double total = 0;
  for (const muse::PhaseSample &sample : samples) {
    auto found = std::ranges::find(sums, sample.label, [](const auto &s) { return s.first; });
    if (found == sums.end())
      found = sums.insert(sums.end(), {sample.label, {0.0, 0}});
    found->second.first += sample.end - sample.start;
    ++found->second.second;
    total += sample.end - sample.start;
  }
  fmt::print("{:<22} {:>6} {:>10} {:>8} {:>7}\n", title, "count", "ms", "us each", "share");
  for (const auto &[label, sum] : sums)
    fmt::print("{:<22} {:>6} {:>10.3f} {:>8.1f} {:>6.1f}%\n", label, sum.second, sum.first * 1e3,
               sum.first * 1e6 / sum.second, 100 * sum.first / total);
  fmt::print("{:<22} {:>6} {:>10.3f}\n\n", "sum", samples.size(), total * 1e3);
}

class Bench {
public:
  explicit Bench(const Flags &flags) : flags_(flags), shape_(flags) {
    auto start = Clock::now();
    context_ = must(muse::Context::create(
        {.math = flags.math == "strict" ? muse::MathMode::Strict : muse::MathMode::Fast, .device = flags.device}));
    muse::EngineOptions options;
    options.matvec = flags.matvec;
    options.held = flags.held;
    uint32_t most = 128 + (flags.repeats + 2) * flags.count;
    for (uint32_t depth : flags.depths)
      most = std::max(most, depth + (flags.repeats + 2) * flags.count * 2 + 64);
    for (uint32_t prompt : flags.prompts)
      most = std::max(most, prompt + 64);
    options.maxContext = flags.context ? flags.context : most;
    options.makeWeights = [this](const muse::GgufFile &file, MTL::Buffer *shard) {
      return makeWeights(*context_, file, shard);
    };
    engine_ = must(muse::Engine::create(context_, shape_.model(), std::move(options)));
    const auto &weights = engine_->weights();
    fmt::print("{} on {}, {} matvecs; {:.3f} GB a token; {:.1f} s to start\n", engine_->config().name,
               context_->deviceName(), engine_->options().matvec, double(weights.streamedBytes()) * 1e-9,
               seconds(start));
    ids_ = someTokens(1 << 17, engine_->config().vocab);
  }

  void run() {
    for (uint32_t depth : flags_.depths)
      decode(depth);
    if (flags_.together > 1)
      together();
    for (uint32_t prompt : flags_.prompts)
      if (prompt)
        prefill(prompt);
  }

private:
  std::unique_ptr<muse::Sequence> sequenceAt(uint32_t depth, uint32_t id = 0) {
    auto sequence = must(muse::Sequence::create(engine_, {.id = id}));
    if (depth)
      must(sequence->restore(snapshotAt(*engine_, depth)));
    return sequence;
  }
  double median(std::vector<double> rates) {
    std::ranges::sort(rates);
    return rates[rates.size() / 2];
  }
  void print(const std::string &what, double rate, double bytes = 0) {
    fmt::print("{:<28} {:>9.2f} tok/s", what, rate);
    if (bytes > 0)
      fmt::print(" {:>9.1f} GB/s", rate * bytes * 1e-9);
    fmt::print("\n");
    std::fflush(stdout);
  }
  /// A few numbers that tell whether two ways to compute agree.
  void printLogits(const char *what, const muse::Sequence &sequence) {
    const std::span<const float> logits = sequence.logits();
    double squares = 0;
    for (float logit : logits)
      squares += double(logit) * logit;
    fmt::print("{:<28} {:.4f} {:.4f} {:.4f} {:.4f}, root of mean square {:.5f}, best {}\n", what, logits[0], logits[1],
               logits[2], logits[3], std::sqrt(squares / double(logits.size())),
               std::ranges::max_element(logits) - logits.begin());
  }
  double bytesAt(uint32_t depth) {
    const muse::ModelConfig &c = engine_->config();
    uint64_t rows = uint64_t(c.slidingLayers()) * std::min(depth, c.window) + uint64_t(c.fullLayers()) * depth;
    return double(engine_->weights().streamedBytes() + rows * 2 * c.kvDim() * engine_->kvElementBytes());
  }

  void decode(uint32_t depth) {
    auto sequence = sequenceAt(depth);
    must(sequence->decode(ids_[0]));
    printLogits("logits after one token", *sequence);
    if (flags_.profile) {
      must(sequence->profileDecode(ids_[1]));
      printProfile(fmt::format("decode at {}", depth), must(sequence->profileDecode(ids_[2])));
      return;
    }
    std::vector<double> rates, greedy;
    for (uint32_t r = 0; r <= flags_.repeats; ++r) {
      auto start = Clock::now();
      for (uint32_t i = 0; i < flags_.count; ++i)
        must(sequence->decode(ids_[i]));
      if (r)
        rates.push_back(flags_.count / seconds(start));
    }
    print(fmt::format("decode at {}", depth), median(rates), bytesAt(depth));
    for (uint32_t r = 0; r <= flags_.repeats; ++r) {
      auto start = Clock::now();
      must(sequence->decodeGreedy(ids_[0], flags_.count, {}));
      if (r)
        greedy.push_back(flags_.count / seconds(start));
    }
    print(fmt::format("decode at {}, greedy", depth), median(greedy), bytesAt(depth));
    const std::span<const float> logits = sequence->logits();
    if (!std::ranges::all_of(logits, [](float logit) { return std::isfinite(logit); }))
      fmt::print("a logit is not finite\n");
    fmt::print("{:<28} {}\n", "hash of the last logits", hashOf(std::as_bytes(logits)).hex());
  }

  void together() {
    std::vector<std::unique_ptr<muse::Sequence>> sequences;
    std::vector<muse::Sequence *> rows;
    for (uint32_t i = 0; i < flags_.together; ++i) {
      sequences.push_back(sequenceAt(128, i));
      rows.push_back(sequences.back().get());
    }
    std::vector<double> rates;
    for (uint32_t r = 0; r <= flags_.repeats; ++r) {
      auto start = Clock::now();
      for (uint32_t i = 0; i < flags_.count; ++i)
        must(muse::Sequence::decodeTogether(rows, std::span(ids_).subspan(i, rows.size())));
      if (r)
        rates.push_back(double(flags_.count) * flags_.together / seconds(start));
    }
    print(fmt::format("{} sequences together", flags_.together), median(rates));
  }

  void prefill(uint32_t count) {
    auto sequence = must(muse::Sequence::create(engine_, {}));
    std::vector<muse::PhaseSample> samples;
    std::vector<double> rates;
    for (uint32_t r = 0; r <= (flags_.profile ? 1 : flags_.repeats); ++r) {
      sequence->reset();
      samples.clear();
      auto start = Clock::now();
      must(sequence->prefill(std::span(ids_).first(count), {.profile = flags_.profile && r ? &samples : nullptr}));
      if (r)
        rates.push_back(count / seconds(start));
    }
    printLogits("logits after the prompt", *sequence);
    if (flags_.profile)
      printProfile(fmt::format("prompt of {}", count), samples);
    else
      print(fmt::format("prompt of {}", count), median(rates));
  }

  const Flags &flags_;
  Shape shape_;
  std::shared_ptr<muse::Context> context_;
  std::shared_ptr<muse::Engine> engine_;
  std::vector<uint32_t> ids_;
};

} // namespace
} // namespace pewter::bench

int main(int argc, char **argv) {
  using namespace pewter::bench;
  Flags flags;
  CLI::App app("Measures the full Muse Glimmer shape with made-up weights");
  app.add_option("--device", flags.device, "Part of a device's name");
  app.add_option("--math", flags.math, "fast or strict")->check(CLI::IsMember({"fast", "strict"}));
  app.add_option("--matvec", flags.matvec, "Kernels of matrix-vector products");
  app.add_option("--layers", flags.layers, "Layers");
  app.add_option("--vocab", flags.vocab, "Tokens of the vocabulary");
  app.add_option("-c,--ctx-size", flags.context, "Longest sequence");
  app.add_option("-n,--count", flags.count, "Tokens to decode");
  app.add_option("-r,--repeats", flags.repeats, "Repeats")->check(CLI::PositiveNumber);
  app.add_option("--together", flags.together, "Sequences decoded together, at most 4");
  app.add_option("-d,--depths", flags.depths, "Depths of decode")->delimiter(',');
  app.add_option("-p,--prompts", flags.prompts, "Lengths of prompts")->delimiter(',');
  app.add_flag("--profile", flags.profile, "Time each group of a token and of a prompt");
  app.add_option("--threads-of-core", flags.held.threadsOfCore, "Threads that matvecs give a core");
  app.add_option("--most-threads", flags.held.mostThreads, "Threads of a threadgroup of matvecs at most");
  app.add_option("--prefetch", flags.held.prefetchBytes, "Bytes that a threadgroup of matvecs asks for ahead");
  CLI11_PARSE(app, argc, argv);
  Bench(flags).run();
  return 0;
}
