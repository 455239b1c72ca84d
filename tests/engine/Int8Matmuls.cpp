// SPDX-License-Identifier: Apache-2.0
//
// quantize_tiles against its definition, and matmul_<format>_int8_32o32r against sums in double of the same
// integers. PEWTER_CPU_TARGET and PEWTER_DEVICE choose where they run; inputs are new each time, from a seed that a
// failure prints.
#include "base/Half.h"
#include "engine/TestEngine.h"
#include "muse/Dequantize.h"
#include "muse/KernelArguments.h"
#include <bit>
#include <cmath>
#include <fstream>
#include <random>
#include <sstream>

namespace pewter {
namespace {

using muse::TensorType;

struct Format {
  const char *name;
  TensorType type;
  uint32_t blockBytes, blockElements;
  std::vector<uint32_t> halves; ///< Where a block has its factors.
};

const Format kFormats[] = {
    {"q8_0", TensorType::Q8_0, 34, 32, {0}},          {"q4_0", TensorType::Q4_0, 18, 32, {0}},
    {"iq4_nl", TensorType::IQ4_NL, 18, 32, {0}},      {"mxfp4", TensorType::MXFP4, 17, 32, {}},
    {"q4_k", TensorType::Q4_K, 144, 256, {0, 2}},     {"q5_k", TensorType::Q5_K, 176, 256, {0, 2}},
    {"q6_k", TensorType::Q6_K, 210, 256, {208}},
};

constexpr size_t kBlockWords = muse::kInt8BlockBytes / 4, kScales = 256, kSums = 288;

class Kernels : public ::testing::TestWithParam<size_t> {
protected:
  void SetUp() override {
    pool_ = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    seed_ = std::random_device{}();
    random_.seed(seed_);
    device_ = NS::TransferPtr(MTL::CreateSystemDefaultDevice());
    queue_ = NS::TransferPtr(device_->newCommandQueue());
    std::stringstream source;
    for (const char *name : {"formats.metal", "prefill_int8.metal"}) {
      std::ifstream file(std::string(PEWTER_SOURCE_DIR "/kernels/") + name);
      for (std::string line; std::getline(file, line);)
        if (!line.starts_with("#include \""))
          source << line << '\n';
    }
    auto options = NS::TransferPtr(MTL::CompileOptions::alloc()->init());
    options->setFastMathEnabled(false);
    NS::Error *error = nullptr;
    library_ = NS::TransferPtr(device_->newLibrary(text(source.str()), options.get(), &error));
    ASSERT_TRUE(library_) << error->localizedDescription()->utf8String();
  }

  static NS::String *text(const std::string &s) { return NS::String::string(s.c_str(), NS::UTF8StringEncoding); }

  NS::SharedPtr<MTL::ComputePipelineState> pipeline(const std::string &name) {
    NS::Error *error = nullptr;
    auto function = NS::TransferPtr(library_->newFunction(text(name)));
    EXPECT_TRUE(function) << name;
    return NS::TransferPtr(device_->newComputePipelineState(function.get(), &error));
  }

  template <class T> NS::SharedPtr<MTL::Buffer> buffer(const std::vector<T> &values) {
    return NS::TransferPtr(device_->newBuffer(values.data(), values.size() * sizeof(T), MTL::ResourceStorageModeShared));
  }

  template <class Arguments>
  void run(const std::string &name, std::initializer_list<MTL::Buffer *> buffers, const Arguments &arguments,
           MTL::Size grid) {
    auto state = pipeline(name);
    ASSERT_TRUE(state) << name;
    auto *commands = queue_->commandBuffer();
    auto *encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(state.get());
    NS::UInteger slot = 0;
    for (MTL::Buffer *bound : buffers)
      encoder->setBuffer(bound, 0, slot++);
    encoder->setBytes(&arguments, sizeof arguments, slot);
    encoder->dispatchThreadgroups(grid, MTL::Size(32, 1, 1));
    encoder->endEncoding();
    commands->commit();
    commands->waitUntilCompleted();
    ASSERT_EQ(commands->status(), MTL::CommandBufferStatusCompleted)
        << commands->error()->localizedDescription()->utf8String();
  }

  float uniform(float low, float high) { return std::uniform_real_distribution<float>(low, high)(random_); }

  /// Tiles of rows whose blocks of 32 are of very different size, some of them zero.
  std::vector<float> activations(uint32_t tiles, uint32_t width) {
    std::vector<float> x(size_t(tiles) * width * 32);
    for (size_t first = 0; first < x.size(); first += 32 * 32)
      for (size_t row = 0; row < 32; ++row) {
        float size = random_() % 8 == 0 ? 0.0f : std::ldexp(1.0f, int(random_() % 24) - 16);
        for (size_t i = 0; i < 32; ++i)
          x[first + i * 32 + row] = uniform(-size, size);
      }
    return x;
  }

  /// Blocks of `x`, by the kernel.
  NS::SharedPtr<MTL::Buffer> quantized(const std::vector<float> &x, uint32_t tiles, uint32_t width) {
    std::vector<uint32_t> poison(size_t(tiles) * (width / 32) * kBlockWords, 0xdbdbdbdbu);
    auto in = buffer(x), out = buffer(poison);
    run("quantize_tiles", {in.get(), out.get()}, muse::QuantizeArguments{width}, MTL::Size(tiles, width / 32, 1));
    return out;
  }

  NS::SharedPtr<NS::AutoreleasePool> pool_;
  NS::SharedPtr<MTL::Device> device_;
  NS::SharedPtr<MTL::CommandQueue> queue_;
  NS::SharedPtr<MTL::Library> library_;
  uint32_t seed_ = 0;
  std::mt19937 random_;
};

int8_t codeAt(const uint32_t *block, uint32_t element, uint32_t row) {
  return int8_t(block[element / 4 * 32 + row] >> element % 4 * 8);
}

using QuantizeTiles = Kernels;

TEST_F(QuantizeTiles, BlocksHaveTheNearestIntegersTheirScaleAndTheirSums) {
  SCOPED_TRACE(::testing::Message() << "seed " << seed_);
  constexpr uint32_t kTiles = 2, kWidth = 160;
  std::vector<float> x = activations(kTiles, kWidth);
  auto at = [](uint32_t block, uint32_t element, uint32_t row) { return size_t(block) * 1024 + element * 32 + row; };
  x[at(0, 3, 1)] = NAN;
  x[at(1, 31, 2)] = -INFINITY;
  for (uint32_t i = 0; i < 32; ++i) {
    x[at(2, i, 3)] = 1e-39f;
    x[at(3, i, 4)] = (i % 2 ? -1 : 1) * 3e38f;
    x[at(4, i, 5)] = i == 7 ? -127.0f : float(i) + 0.5f; // Ties go to the even integer.
  }
  auto out = quantized(x, kTiles, kWidth);
  const auto *words = static_cast<const uint32_t *>(out->contents());
  for (uint32_t b = 0; b < kTiles * kWidth / 32; ++b)
    for (uint32_t row = 0; row < 32; ++row) {
      const uint32_t *block = words + b * kBlockWords;
      const float scale = std::bit_cast<float>(block[kScales + row]);
      if ((b == 0 && row == 1) || (b == 1 && row == 2)) {
        EXPECT_FALSE(std::isfinite(scale)) << "block " << b << ", row " << row;
        continue;
      }
      float most = 0;
      for (uint32_t i = 0; i < 32; ++i)
        most = std::max(most, std::fabs(x[at(b, i, row)]));
      ASSERT_EQ(scale, most / 127.0f);
      int32_t sums[2] = {};
      for (uint32_t i = 0; i < 32; ++i) {
        const int code = codeAt(block, i, row);
        sums[i / 16] += code;
        ASSERT_GE(code, -127);
        if (most >= 0x1p-117f)
          ASSERT_LE(std::fabs(double(x[at(b, i, row)]) - double(scale) * code), 0.50001 * double(scale))
              << "block " << b << ", row " << row << ", element " << i;
        else
          ASSERT_EQ(code, 0);
        if (b == 4 && row == 5 && i != 7)
          ASSERT_EQ(code, int(std::nearbyint(float(i) + 0.5f)));
      }
      for (uint32_t half = 0; half < 2; ++half)
        ASSERT_EQ(int32_t(block[kSums + half * 32 + row]), sums[half]);
    }
}

class Int8Matmuls : public Kernels {
protected:
  const Format &format() const { return kFormats[GetParam()]; }

  /// Random codes and scales; factors from 2^-10 to 2^-6 of both signs.
  std::vector<uint8_t> weights(size_t blocks) {
    std::vector<uint8_t> bytes(blocks * format().blockBytes);
    for (uint8_t &byte : bytes)
      byte = uint8_t(random_());
    for (size_t b = 0; b < blocks; ++b) {
      uint8_t *block = &bytes[b * format().blockBytes];
      for (uint32_t at : format().halves) {
        const uint16_t half = halfFromFloat(std::ldexp(uniform(1, 16), -10) * (random_() % 2 ? 1.0f : -1.0f));
        std::memcpy(block + at, &half, 2);
      }
      if (format().type == TensorType::MXFP4)
        block[0] = uint8_t(118 + random_() % 8);
    }
    return bytes;
  }

  void check(uint32_t inputs, uint32_t outputs, uint32_t tiles, uint32_t parts, bool narrow) {
    SCOPED_TRACE(::testing::Message() << format().name << (narrow ? "_2, " : ", ") << inputs << " x " << outputs << ", "
                                      << tiles << " tiles in " << parts << " parts, seed " << seed_);
    const uint32_t rowBytes = inputs / format().blockElements * format().blockBytes;
    const std::vector<uint8_t> w = weights(size_t(inputs) / format().blockElements * outputs);
    auto blocks = quantized(activations(tiles, inputs), tiles, inputs);
    constexpr size_t kBehind = 16;
    std::vector<float> poison(size_t(outputs) * tiles * 32 + kBehind, -1234.5f);
    auto weightBuffer = buffer(w), out = buffer(poison);
    run(fmt::format("matmul_{}_int8_32o32r{}", format().name, narrow ? "_2" : ""),
        {weightBuffer.get(), blocks.get(), out.get()},
        muse::MatrixArguments{inputs, outputs, rowBytes, tiles * 32, 1.0f},
        MTL::Size((outputs + 31) / 32, parts, 1));
    const auto *y = static_cast<const float *>(out->contents());
    for (size_t i = 0; i < kBehind; ++i)
      ASSERT_EQ(y[size_t(outputs) * tiles * 32 + i], -1234.5f) << "written behind the end";
    const auto *words = static_cast<const uint32_t *>(blocks->contents());
    std::vector<float> decoded(inputs);
    for (uint32_t o = 0; o < outputs; ++o) {
      const uint8_t *row = w.data() + size_t(o) * rowBytes;
      muse::dequantizeBlocks(format().type, ByteView(reinterpret_cast<const std::byte *>(row), rowBytes), decoded);
      double largest = 0;
      for (float value : decoded)
        largest = std::max(largest, std::fabs(double(value)));
      for (uint32_t r = 0; r < tiles * 32; ++r) {
        double sum = 0, size = 0;
        for (uint32_t i = 0; i < inputs; ++i) {
          const uint32_t *block = words + (size_t(r / 32) * (inputs / 32) + i / 32) * kBlockWords;
          const double x = double(std::bit_cast<float>(block[kScales + r % 32])) * codeAt(block, i % 32, r % 32);
          sum += decoded[i] * x;
          size += largest * std::fabs(x);
        }
        // Integers are exact; each of at most 80 blocks is scaled and added with a few roundings of floats.
        ASSERT_NEAR(y[(size_t(r / 32) * outputs + o) * 32 + r % 32], sum, 4e-6 * size) << "output " << o << ", row " << r;
      }
    }
  }
};

TEST_P(Int8Matmuls, AnyNumberOfOutputs) {
  for (uint32_t outputs : {1u, 7u, 8u, 31u, 32u, 33u, 45u, 96u})
    check(format().blockElements == 256 ? 512 : 288, outputs, 1, 1, outputs % 2 == 0);
}

TEST_P(Int8Matmuls, AnyWidth) {
  for (uint32_t inputs : {32u, 64u, 224u, 256u, 320u, 1024u, 2304u})
    if (inputs % format().blockElements == 0)
      check(inputs, 40, 2, 1, inputs % 64 == 0);
}

TEST_P(Int8Matmuls, TilesSharedOutAmongThreadgroups) {
  for (uint32_t tiles : {1u, 3u, 5u})
    for (uint32_t parts : {1u, 2u, 5u})
      check(256, 19, tiles, parts, parts == 2);
}

INSTANTIATE_TEST_SUITE_P(Engine, Int8Matmuls, ::testing::Range<size_t>(0, std::size(kFormats)),
                         [](const auto &info) { return std::string(kFormats[info.param].name); });

} // namespace
} // namespace pewter
