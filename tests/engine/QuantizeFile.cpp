// SPDX-License-Identifier: Apache-2.0
// Whole files through the quantiser, against files that another implementation wrote.
#include "TemporaryFolder.h"
#include "muse/Dequantize.h"
#include "muse/ModelConfig.h"
#include "muse/Quantize.h"
#include <cmath>
#include <gtest/gtest.h>

namespace pewter {
namespace {

const std::filesystem::path kData = PEWTER_SOURCE_DIR "/tests/engine/data";

/// Scaled differently in the float16 file.
bool isRescaled(std::string_view name) {
  return name == "blk.2.attn_output.weight" || name == "blk.7.attn_output.weight" ||
         name == "blk.5.ffn_down.weight" || name == "blk.6.ffn_down.weight";
}

double errorAgainst(const muse::GgufModel &exact, const muse::GgufModel &other) {
  double off = 0, square = 0;
  for (const muse::GgufTensor &tensor : exact.tensors()) {
    if (tensor.rank < 2 || isRescaled(tensor.name))
      continue;
    auto x = muse::dequantizeRows(exact, tensor, 0, tensor.dims[1]).value();
    auto y = muse::dequantizeRows(other, *other.findTensor(tensor.name), 0, tensor.dims[1]).value();
    for (size_t i = 0; i < x.size(); ++i) {
      off += (x[i] - y[i]) * (x[i] - y[i]);
      square += x[i] * x[i];
    }
  }
  return std::sqrt(off / square);
}

TEST(QuantizeFile, Q8_0EqualsTheShippedFileBitForBit) {
  testing::TemporaryFolder folder;
  auto f16 = muse::GgufModel::open(kData / "glimmer-tiny-f16.gguf").value();
  ASSERT_TRUE(muse::quantizeModel(*f16, folder.path() / "q8.gguf", "q8_0", {}));
  auto made = muse::GgufModel::open(folder.path() / "q8.gguf").value();
  auto shipped = muse::GgufModel::open(kData / "glimmer-tiny-q8_0.gguf").value();
  int compared = 0;
  for (const muse::GgufTensor &tensor : shipped->tensors()) {
    if (isRescaled(tensor.name))
      continue;
    auto a = shipped->dataOf(tensor), b = made->dataOf(*made->findTensor(tensor.name));
    EXPECT_TRUE(std::ranges::equal(a, b)) << tensor.name;
    ++compared;
  }
  EXPECT_EQ(compared, 111);
}

TEST(QuantizeFile, Q4_K_MIsAboutAsCloseAsTheShippedFile) {
  testing::TemporaryFolder folder;
  auto f16 = muse::GgufModel::open(kData / "glimmer-tiny-f16.gguf").value();
  ASSERT_TRUE(muse::quantizeModel(*f16, folder.path() / "q4.gguf", "Q4_K_M", {}));
  auto made = muse::GgufModel::open(folder.path() / "q4.gguf").value();
  auto shipped = muse::GgufModel::open(kData / "glimmer-tiny-q4_k_m.gguf").value();
  EXPECT_LT(errorAgainst(*f16, *made), 1.02 * errorAgainst(*f16, *shipped));
  for (const muse::GgufTensor &tensor : shipped->tensors())
    EXPECT_EQ(made->findTensor(tensor.name)->format, tensor.format) << tensor.name;
}

TEST(QuantizeFile, EveryTypeGivesAModelThatLoads) {
  testing::TemporaryFolder folder;
  auto f16 = muse::GgufModel::open(kData / "glimmer-tiny-f16.gguf").value();
  for (const char *type : {"F32", "BF16", "Q4_0", "Q5_K", "Q6_K", "IQ4_NL", "MXFP4", "NVFP4"}) {
    ASSERT_TRUE(muse::quantizeModel(*f16, folder.path() / "x.gguf", type, {})) << type;
    auto made = muse::GgufModel::open(folder.path() / "x.gguf").value();
    auto config = muse::ModelConfig::read(*made);
    ASSERT_TRUE(config);
    auto tensors = muse::ModelTensors::find(*made, *config);
    EXPECT_TRUE(tensors) << type << ": " << tensors.error().describe();
    EXPECT_LT(errorAgainst(*f16, *made), 0.15) << type;
  }
}

TEST(QuantizeFile, UnknownTypeIsNamed) {
  testing::TemporaryFolder folder;
  auto f16 = muse::GgufModel::open(kData / "glimmer-tiny-f16.gguf").value();
  auto result = muse::quantizeModel(*f16, folder.path() / "x.gguf", "Q3_X", {});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().describe().find("[Q3_X]"), std::string::npos);
}

} // namespace
} // namespace pewter
