// SPDX-License-Identifier: Apache-2.0
//
// matvec_<format>_held against sums in double, each output within a bound that follows from how the kernel
// rounds. PEWTER_CPU_TARGET and PEWTER_DEVICE choose where it runs; inputs are new each time, from a seed
// that a failure prints.
#include "base/Half.h"
#include "engine/TestEngine.h"
#include "muse/Dequantize.h"
#include <cmath>
#include <fstream>
#include <random>
#include <sstream>

namespace pewter {
namespace {

using muse::TensorType;

/// An element is `product` (which the kernel multiplies with rounded activations) minus `offset`.
struct Element {
  double product, offset;
  uint32_t place; ///< Elements of one place share the scale of their activations.
};

struct Scale {
  uint32_t scale, minimum;
};
/// Sub-block `j` of the twelve bytes of Q4_K and Q5_K.
Scale scaleAt(const uint8_t *packed, uint32_t j) {
  const uint32_t at = packed[j + 4];
  if (j < 4)
    return {packed[j] & 63u, at & 63u};
  const uint32_t upper = packed[j - 4] >> 6, upperMinimum = packed[j] >> 6;
  return {(at & 15u) | upper << 4, at >> 4 | upperMinimum << 4};
}
double halfAt(const uint8_t *at) { return floatFromHalf(uint16_t(at[0] | at[1] << 8)); }

struct Format {
  const char *name;
  TensorType type;
  uint32_t blockBytes, blockElements;
  std::vector<uint32_t> halves; ///< Where a block has its factors.
  std::vector<uint32_t> inputs;
  /// Element `i` of a row.
  Element (*element)(const uint8_t *row, uint32_t i);
};

template <bool kFive> Element elementOfK(const uint8_t *row, uint32_t i) {
  const uint8_t *block = row + i / 256 * (kFive ? 176 : 144);
  const uint32_t sub = i % 256 / 32, column = i % 32;
  const Scale s = scaleAt(block + 4, sub);
  uint32_t code = block[(kFive ? 48 : 16) + sub / 2 * 32 + column] >> sub % 2 * 4 & 15u;
  if (kFive)
    code += (block[16 + column] >> sub & 1u) * 16;
  return {halfAt(block) * s.scale * code, halfAt(block + 2) * s.minimum, i / 32};
}

const Format kFormats[] = {
    {"q4_k", TensorType::Q4_K, 144, 256, {0, 2}, {256, 1024, 2304, 6656}, elementOfK<false>},
    {"q5_k", TensorType::Q5_K, 176, 256, {0, 2}, {256, 1024, 2304, 6656}, elementOfK<true>},
    {"q6_k", TensorType::Q6_K, 210, 256, {208}, {512, 1024, 2560, 6656},
     [](const uint8_t *row, uint32_t i) {
       const uint8_t *block = row + i / 256 * 210;
       const uint32_t half = i % 256 / 128, quarter = i % 128 / 32, column = i % 32;
       const uint32_t low = block[half * 64 + quarter % 2 * 32 + column] >> quarter / 2 * 4 & 15u;
       const uint32_t high = block[128 + half * 32 + column] >> quarter * 2 & 3u;
       const double d = halfAt(block + 208) * int8_t(block[192 + i % 256 / 16]);
       return Element{d * (low + 16 * high), d * 32, i / 256 * 4 + half * 2 + column / 16};
     }},
    {"q8_0", TensorType::Q8_0, 34, 32, {0}, {256, 1024, 2304, 6656},
     [](const uint8_t *row, uint32_t i) {
       const uint8_t *block = row + i / 32 * 34;
       // 16 bytes of a row are a place, and a half of one for each block in it.
       return Element{halfAt(block) * int8_t(block[2 + i % 32]), 0, (i / 32 * 34 + 2 + i % 32) / 16 * 2 + i / 32 % 2};
     }},
};

std::string kernelSource() {
  std::stringstream source;
  for (const char *name : {"formats.metal", "matvec_held.metal"}) {
    std::ifstream file(std::string(PEWTER_SOURCE_DIR "/kernels/") + name);
    for (std::string line; std::getline(file, line);)
      if (!line.starts_with("#include \""))
        source << line << '\n';
  }
  return source.str();
}

struct Arguments {
  uint32_t inputs, outputs, rowBytes, rows;
  float scale;
};

class HeldMatvecs : public ::testing::TestWithParam<size_t> {
protected:
  const Format &format() const { return kFormats[GetParam()]; }

  void SetUp() override {
    pool_ = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    seed_ = std::random_device{}();
    random_.seed(seed_);
    device_ = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
    queue_ = NS::TransferPtr(device_->newCommandQueue());
    auto text = [](const std::string &s) { return NS::String::string(s.c_str(), NS::UTF8StringEncoding); };
    auto options = NS::TransferPtr(MTL::CompileOptions::alloc()->init());
    NS::Error *error = nullptr;
    auto library = NS::TransferPtr(device_->newLibrary(text(kernelSource()), options.get(), &error));
    ASSERT_TRUE(library) << error->localizedDescription()->utf8String();
    auto function = NS::TransferPtr(library->newFunction(text(fmt::format("matvec_{}_held", format().name))));
    ASSERT_TRUE(function);
    pipeline_ = NS::TransferPtr(device_->newComputePipelineState(function.get(), &error));
    ASSERT_TRUE(pipeline_) << error->localizedDescription()->utf8String();
  }

  float uniform(float low, float high) { return std::uniform_real_distribution<float>(low, high)(random_); }

  NS::SharedPtr<MTL::Buffer> buffer(const void *bytes, size_t size) {
    return NS::TransferPtr(device_->newBuffer(bytes, size, MTL::ResourceStorageModeShared));
  }

  /// Random codes and scales; factors from 2^-10 to 2^-6 of both signs.
  std::vector<uint8_t> weights(size_t blocks) {
    std::vector<uint8_t> bytes(blocks * format().blockBytes);
    for (uint8_t &byte : bytes)
      byte = uint8_t(random_());
    for (size_t b = 0; b < blocks; ++b)
      for (uint32_t at : format().halves) {
        const uint16_t half = halfFromFloat(std::ldexp(uniform(1, 16), -10) * (random_() % 2 ? 1.0f : -1.0f));
        std::memcpy(&bytes[b * format().blockBytes + at], &half, 2);
      }
    return bytes;
  }

  /// Runs of 32 of very different size, some of them zero.
  std::vector<float> activations(size_t count) {
    std::vector<float> x(count);
    float size = 1;
    for (size_t i = 0; i < count; ++i) {
      if (i % 32 == 0)
        size = random_() % 8 == 0 ? 0.0f : std::ldexp(1.0f, int(random_() % 12) - 6);
      x[i] = uniform(-size, size);
    }
    return x;
  }

  /// One launch of `threads` a threadgroup with `share` outputs each; checks every output.
  void check(uint32_t inputs, uint32_t outputs, uint32_t rows, uint32_t share, uint32_t threads) {
    SCOPED_TRACE(::testing::Message() << format().name << ", " << inputs << " x " << outputs << ", rows " << rows
                                      << ", " << share << " outputs and " << threads << " threads a threadgroup, seed "
                                      << seed_);
    const uint32_t rowBytes = inputs / format().blockElements * format().blockBytes;
    const std::vector<uint8_t> w = weights(size_t(inputs) / format().blockElements * outputs);
    const std::vector<float> x = activations(size_t(inputs) * rows);
    const Arguments arguments{inputs, outputs, rowBytes, rows, 0.75f};
    constexpr size_t kBehind = 16;
    const std::vector<uint8_t> poison((size_t(outputs) * rows + kBehind) * 4, 0xdb);
    auto weightBuffer = buffer(w.data(), w.size()), xBuffer = buffer(x.data(), x.size() * 4);
    auto yBuffer = buffer(poison.data(), poison.size());
    auto *commands = queue_->commandBuffer();
    auto *encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(pipeline_.get());
    encoder->setBuffer(weightBuffer.get(), 0, 0);
    encoder->setBuffer(xBuffer.get(), 0, 1);
    encoder->setBuffer(yBuffer.get(), 0, 2);
    encoder->setBytes(&arguments, sizeof arguments, 3);
    encoder->dispatchThreadgroups(MTL::Size(rows, (outputs + share - 1) / share, 1), MTL::Size(threads, 1, 1));
    encoder->endEncoding();
    commands->commit();
    commands->waitUntilCompleted();
    ASSERT_EQ(commands->status(), MTL::CommandBufferStatusCompleted)
        << commands->error()->localizedDescription()->utf8String();
    const auto *y = static_cast<const float *>(yBuffer->contents());
    ASSERT_EQ(std::memcmp(y + size_t(outputs) * rows, poison.data(), kBehind * 4), 0) << "written behind the end";

    std::vector<float> decoded(inputs);
    std::vector<Element> elements(inputs);
    double squares = 0;
    for (uint32_t o = 0; o < outputs; ++o) {
      const uint8_t *row = w.data() + size_t(o) * rowBytes;
      muse::dequantizeBlocks(format().type, ByteView(reinterpret_cast<const std::byte *>(row), rowBytes), decoded);
      for (uint32_t i = 0; i < inputs; ++i) {
        elements[i] = format().element(row, i);
        const auto [product, offset, place] = elements[i];
        ASSERT_NEAR(product - offset, decoded[i], 1e-6 * (std::abs(product) + std::abs(offset))) << "element " << i;
      }
      for (uint32_t r = 0; r < rows; ++r) {
        const float *in = x.data() + size_t(r) * inputs;
        std::vector<double> most(inputs / 4 + 2); // By place.
        for (uint32_t i = 0; i < inputs; ++i)
          most[elements[i].place] = std::max(most[elements[i].place], std::abs(double(in[i])));
        // An activation is off by half a step at most, which is 1/32639 of the largest of its place; and a sum
        // goes through fewer than 64 roundings of floats. `variance` has them as independent and uniform.
        double sum = 0, steps = 0, size = 0, variance = 0;
        for (uint32_t i = 0; i < inputs; ++i) {
          const auto [product, offset, place] = elements[i];
          const double step = most[place] / 32639;
          sum += (product - offset) * in[i];
          steps += std::abs(product) * step * 0.51;
          variance += product * product * step * step / 12;
          size += (std::abs(product) + std::abs(offset)) * std::abs(double(in[i]));
        }
        const double bound = steps + std::ldexp(size, -18), error = y[size_t(r) * outputs + o] / 0.75 - sum;
        ASSERT_LE(std::abs(error), bound) << "output " << o << " of row " << r << ": " << sum; // Not for a NaN.
        squares += error * error / (variance + std::pow(std::ldexp(size, -22), 2) + 1e-60);
      }
    }
    EXPECT_LT(std::sqrt(squares / (double(outputs) * rows)), 5) << "less exact than 14 bits";
  }

  NS::SharedPtr<NS::AutoreleasePool> pool_;
  NS::SharedPtr<MTL::Device> device_;
  NS::SharedPtr<MTL::CommandQueue> queue_;
  NS::SharedPtr<MTL::ComputePipelineState> pipeline_;
  uint32_t seed_ = 0;
  std::mt19937 random_;
};

TEST_P(HeldMatvecs, EveryNumberOfOutputsAThreadgroup) {
  const uint32_t threads[] = {32, 96, 512};
  for (uint32_t share = 4; share <= 64; share += 4)
    check(format().inputs[share % 5 % 4], 2 * share + 1 + share % 7, 1, share, threads[share / 4 % 3]);
}

TEST_P(HeldMatvecs, RowsShorterAndLongerThanAThreadgroup) {
  for (uint32_t inputs : format().inputs)
    for (uint32_t threads : {32u, 96u, 1024u})
      check(inputs, 45, 1, 16, threads);
}

TEST_P(HeldMatvecs, FewOutputsAndSeveralRowsOfActivations) {
  for (uint32_t outputs : {1u, 3u, 4u, 7u, 66u})
    check(format().inputs[1], outputs, 3, 8, 96);
}

INSTANTIATE_TEST_SUITE_P(Engine, HeldMatvecs, ::testing::Range<size_t>(0, std::size(kFormats)),
                         [](const auto &info) { return std::string(kFormats[info.param].name); });

} // namespace
} // namespace pewter
