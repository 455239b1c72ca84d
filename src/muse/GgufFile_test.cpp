// SPDX-License-Identifier: Apache-2.0
#include "muse/GgufFile.h"
#include "muse/GgufModel.h"
#include "muse/GgufWriter.h"
#include <gtest/gtest.h>
#include <unistd.h>

namespace pewter::muse {
namespace {

TEST(GgufFile, ReadsWhatTheWriterWrote) {
  GgufWriter writer;
  writer.addU32("a.u32", 7);
  writer.addF32("a.f32", 0.25f);
  writer.addBool("a.bool", true);
  writer.addString("a.string", "text");
  writer.addStrings("a.strings", std::vector<std::string>{"x", "", "zz"});
  writer.addIntegers("a.flags", GgufValueType::Bool, std::vector<int64_t>{1, 0, 1});
  writer.addTensor("t", TensorType::F32, {3, 2}, Bytes(24));
  writer.addTensor("u", TensorType::Q8_0, {32}, Bytes(34));
  Bytes bytes = writer.toBytes().value();
  auto file = GgufFile::parse(bytes, "f");
  ASSERT_TRUE(file) << file.error().describe();
  EXPECT_EQ(file->find("a.u32")->asU32(), 7u);
  EXPECT_EQ(file->find("a.f32")->asF32(), 0.25f);
  EXPECT_EQ(file->find("a.f32")->asU32(), std::nullopt);
  EXPECT_EQ((GgufValue{GgufValueType::U64, uint64_t(7)}).asU32(), 7u);
  EXPECT_EQ((GgufValue{GgufValueType::U64, uint64_t(1) << 32 | 7}).asU32(), std::nullopt);
  EXPECT_EQ(file->find("a.bool")->asBool(), true);
  EXPECT_EQ(file->find("a.string")->asString(), "text");
  EXPECT_EQ(file->find("a.strings")->asArray()->asStrings()->at(2), "zz");
  EXPECT_EQ(file->find("a.flags")->asArray()->asIntegers(), (std::vector<int64_t>{1, 0, 1}));
  EXPECT_EQ(file->find("absent"), nullptr);
  EXPECT_EQ(file->findTensor("t")->bytes, 24u);
  EXPECT_EQ(file->findTensor("t")->shape(), "[3, 2]");
  EXPECT_EQ(file->findTensor("u")->offset, file->dataOffset() + 32);
}

TEST(GgufModel, ShardNames) {
  EXPECT_EQ(shardPaths("dir/m.gguf")->size(), 1u);
  auto three = shardPaths("dir/m-00001-of-00003.gguf");
  ASSERT_TRUE(three);
  EXPECT_EQ(three->at(2), "dir/m-00003-of-00003.gguf");
  EXPECT_FALSE(shardPaths("m-00002-of-00003.gguf"));
  EXPECT_FALSE(shardPaths("m-00000-of-00003.gguf"));
  EXPECT_FALSE(shardPaths("m-00004-of-00003.gguf"));
}

class Shards : public testing::Test {
protected:
  std::filesystem::path folder = std::filesystem::temp_directory_path() /
                                 fmt::format("pewter-shards-{}", ::getpid());
  void SetUp() override { std::filesystem::create_directories(folder); }
  void TearDown() override { std::filesystem::remove_all(folder); }
  void write(uint32_t number, uint32_t count, const std::string &tensor, uint32_t total = 2) {
    GgufWriter writer;
    writer.addU32("split.no", number);
    writer.addU32("split.count", count);
    writer.addU32("split.tensors.count", total);
    writer.addTensor(tensor, TensorType::F32, {4}, Bytes(16, std::byte(number + 1)));
    ASSERT_TRUE(writer.write(folder / fmt::format("m-{:05}-of-00002.gguf", number + 1)));
  }
  auto open() { return GgufModel::open(folder / "m-00001-of-00002.gguf"); }
};

TEST_F(Shards, AreJoined) {
  write(0, 2, "a");
  write(1, 2, "b");
  auto model = open();
  ASSERT_TRUE(model) << model.error().describe();
  EXPECT_EQ((*model)->tensors().size(), 2u);
  EXPECT_EQ((*model)->dataOf(*(*model)->findTensor("b"))[15], std::byte(2));
}
TEST_F(Shards, MissingIsAnError) {
  write(0, 2, "a");
  EXPECT_FALSE(open());
}
TEST_F(Shards, WrongNumberIsAnError) {
  write(0, 2, "a");
  write(1, 2, "b");
  std::filesystem::copy_file(folder / "m-00001-of-00002.gguf", folder / "m-00002-of-00002.gguf",
                             std::filesystem::copy_options::overwrite_existing);
  auto model = open();
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().describe().find("shard number [0]; 1 is expected"), std::string::npos);
}
TEST_F(Shards, SameTensorTwiceIsAnError) {
  write(0, 2, "a");
  write(1, 2, "a");
  EXPECT_FALSE(open());
}
TEST_F(Shards, WrongTotalIsAnError) {
  write(0, 2, "a", 3);
  write(1, 2, "b");
  EXPECT_FALSE(open());
}

} // namespace
} // namespace pewter::muse
