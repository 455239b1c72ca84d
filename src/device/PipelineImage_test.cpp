// SPDX-License-Identifier: Apache-2.0
#include "device/PipelineImage.h"
#include "ScopedEnvironment.h"
#include "TemporaryFolder.h"
#include "device/CompilerLibrary.h"
#include "device/DiskCache.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

namespace pewter::device {
namespace {

using pewter::testing::ScopedEnvironment;
using pewter::testing::TemporaryFolder;
using ::testing::HasSubstr;

int compiles = 0;
Result<compiler::KernelImage> countingCompileKernel(const compiler::KernelRequest &request) {
  ++compiles;
  auto bytes = viewOf(request.function);
  return compiler::KernelImage{Bytes(bytes.begin(), bytes.end())};
}

class PipelineImage : public ::testing::Test {
protected:
  void SetUp() override {
    compiles = 0;
    before_ = replaceCompiler(&points_);
    request_.module = std::make_shared<Bytes>();
    request_.function = "f";
    request_.identity = {1, 2};
  }
  void TearDown() override { replaceCompiler(before_); }
  Result<Bytes> obtain(compiler::TargetKind target = compiler::TargetKind::CpuAvx2) {
    return obtainImage({request_, target, {}, 0, 1}, [this](ByteView image) -> Result<void> {
      if (textOf(image) != accepted_)
        return fail(ErrorKind::Internal, "The image is wrong.");
      return {};
    });
  }

  TemporaryFolder folder_;
  ScopedEnvironment cache_{"PEWTER_CACHE_DIR", folder_.path().string()};
  compiler::EntryPoints points_{"", {}, {}, {}, countingCompileKernel, {}};
  const compiler::EntryPoints *before_ = nullptr;
  PipelineRequest request_;
  std::string accepted_ = "f";
};

TEST_F(PipelineImage, CompiledOnceForEachKey) {
  EXPECT_EQ(textOf(obtain().value()), "f");
  EXPECT_EQ(textOf(obtain().value()), "f");
  EXPECT_EQ(compiles, 1);
  EXPECT_TRUE(obtain(compiler::TargetKind::CpuAvx512));
  request_.identity.low = 7;
  EXPECT_TRUE(obtain());
  EXPECT_EQ(compiles, 3);
}

TEST_F(PipelineImage, KeyCoversEveryInput) {
  ImageRequest base{request_, compiler::TargetKind::CpuAvx2, {}, 0, 1};
  std::vector<ImageRequest> others(5, base);
  others[0].target = compiler::TargetKind::Ptx;
  others[1].shape.kind = compiler::ThreadgroupShape::Kind::Any;
  others[2].shape.size = {0, 1, 0};
  others[3].ptxArchitecture = 80;
  others[4].abiVersion = 2;
  for (const ImageRequest &other : others)
    EXPECT_NE(imageKey(other), imageKey(base));
}

TEST_F(PipelineImage, ArchivesComeFirstAndAreFilled) {
  std::map<std::string, Bytes> archive;
  request_.store = [&](const Hash128 &key, ByteView image) {
    archive[key.hex()] = Bytes(image.begin(), image.end());
  };
  ASSERT_TRUE(obtain());
  EXPECT_EQ(archive.size(), 1u);
  std::filesystem::remove_all(folder_.path());
  request_.lookUp = [&](const Hash128 &key) -> std::optional<Bytes> {
    auto found = archive.find(key.hex());
    return found == archive.end() ? std::nullopt : std::optional(found->second);
  };
  request_.failOnMiss = true;
  EXPECT_TRUE(obtain());
  EXPECT_EQ(compiles, 1);
  request_.identity.low = 9;
  auto missing = obtain();
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message(), HasSubstr("\"f\""));
}

// An image that the check refuses is made again, and an unusable new one is an error.
TEST_F(PipelineImage, RefusedImagesAreMadeAgain) {
  ASSERT_TRUE(obtain());
  Hash128 key = imageKey({request_, compiler::TargetKind::CpuAvx2, {}, 0, 1});
  DiskCache::standard()->store(CacheKind::Image, key, viewOf("something else"));
  EXPECT_TRUE(obtain());
  EXPECT_EQ(compiles, 2);
  accepted_ = "never";
  auto refused = obtain();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().describe(), HasSubstr("- While checking the compiled image"));
}

} // namespace
} // namespace pewter::device
