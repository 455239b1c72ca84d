// SPDX-License-Identifier: Apache-2.0
//
// Pipelines from images, with a compiler that makes the smallest ones: each writes a number of its
// own through its first argument.
#include "cpu/CpuPipeline.h"
#include "HandMadeKernel.h"
#include "ScopedEnvironment.h"
#include "TemporaryFolder.h"
#include "cpu/CpuDevice.h"
#include "cpu/TargetChoice.h"
#include "cpu/abi/KernelImage.h"
#include "device/CompilerLibrary.h"
#include "device/DiskCache.h"
#include "device/PipelineArchive.h"
#include "device/PipelineImage.h"
#include <cstring>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pewter::cpu {
namespace {

using compiler::ThreadgroupShape;
using device::Size3;
using pewter::testing::ScopedEnvironment;
using pewter::testing::TemporaryFolder;
using ::testing::HasSubstr;

std::vector<compiler::KernelRequest> compiled;
bool prefersExact = false;
bool exactFails = false;
uint32_t wrongTarget = 0;

/// mov rax, [rdi]; mov dword [rax], imm32; ret
Bytes codeThatWrites(uint32_t number) {
  unsigned char code[] = {0x48, 0x8b, 0x07, 0xc7, 0x00, 0, 0, 0, 0, 0xc3};
  std::memcpy(code + 5, &number, 4);
  auto bytes = std::as_bytes(std::span(code));
  return Bytes(bytes.begin(), bytes.end());
}

Result<compiler::KernelImage> compileNumbered(const compiler::KernelRequest &request) {
  if (exactFails && request.shape.kind == ThreadgroupShape::Kind::Exact)
    return fail(ErrorKind::Compile, "Not this shape.");
  compiled.push_back(request);
  KernelImage image;
  image.target = uint32_t(request.target) + wrongTarget;
  image.shapeKind = uint32_t(request.shape.kind);
  std::copy_n(request.shape.size.begin(), 3, image.shapeSize);
  image.rangeEntry = 0;
  image.prefersExactShape = prefersExact;
  image.reflection.name = request.function;
  image.reflection.maxTotalThreadsPerThreadgroup = 512;
  image.code = codeThatWrites(image.shapeKind * 1000 + image.shapeSize[0]);
  return compiler::KernelImage{encode(image)};
}

class CpuPipelines : public ::testing::Test {
protected:
  void SetUp() override {
    compiled.clear();
    prefersExact = exactFails = false;
    wrongTarget = 0;
    before_ = device::replaceCompiler(&points_);
    request_.module = std::make_shared<Bytes>();
    request_.function = "numbered";
    request_.identity = {1, 2};
  }
  void TearDown() override { device::replaceCompiler(before_); }

  std::shared_ptr<device::Pipeline> create() {
    return connect().at(0)->createPipeline(request_).value();
  }
  /// What the form that runs for this dispatch writes.
  uint32_t numberFor(device::Pipeline &pipeline, Size3 threads, Size3 size) {
    auto memory = connect().at(0)->allocate(4, device::StorageMode::Shared).value();
    auto queue = connect().at(0)->createQueue();
    pewter::testing::Recorder recorder;
    recorder.begin()
        .dispatch(static_cast<CpuPipeline &>(pipeline), threads, size,
                  {pewter::testing::bufferArgument(memory->contents())}, /*exactThreads=*/true)
        .end();
    auto completion = pewter::testing::runAndWait(*queue, recorder);
    EXPECT_FALSE(completion.error) << completion.error->describe();
    return *static_cast<uint32_t *>(memory->contents());
  }

  TemporaryFolder folder_;
  ScopedEnvironment cache_{"PEWTER_CACHE_DIR", folder_.path().string()};
  compiler::EntryPoints points_{"", {}, {}, {}, compileNumbered, {}};
  const compiler::EntryPoints *before_ = nullptr;
  device::PipelineRequest request_;
};

TEST_F(CpuPipelines, RowsComeFirstOtherShapesWhenNeeded) {
  auto pipeline = create();
  EXPECT_EQ(pipeline->reflection().name, "numbered");
  EXPECT_EQ(pipeline->maxTotalThreadsPerThreadgroup(), 512u);
  ASSERT_EQ(compiled.size(), 1u);
  EXPECT_EQ(compiled[0].target, chooseTarget());
  ASSERT_TRUE(pipeline->prepare({64, 2, 1}, false));
  ASSERT_TRUE(pipeline->prepare({32, 1, 1}, false));
  EXPECT_EQ(compiled.size(), 1u);
  EXPECT_EQ(numberFor(*pipeline, {64, 2, 1}, {64, 2, 1}), 0u);
  // An edge whose SIMD groups are whole needs nothing else.
  EXPECT_EQ(numberFor(*pipeline, {32, 1, 1}, {64, 2, 1}), 0u);
  ASSERT_TRUE(pipeline->prepare({20, 1, 1}, false));
  ASSERT_TRUE(pipeline->prepare({64, 1, 1}, true));
  ASSERT_TRUE(pipeline->prepare({7, 7, 7}, true));
  EXPECT_EQ(compiled.size(), 2u);
  EXPECT_EQ(compiled[1].shape.kind, ThreadgroupShape::Kind::Any);
  EXPECT_EQ(numberFor(*pipeline, {20, 1, 1}, {20, 1, 1}), 1000u);
  EXPECT_EQ(numberFor(*pipeline, {50, 1, 1}, {64, 1, 1}), 1000u);
}

TEST_F(CpuPipelines, ExactShapesWhereTheyPay) {
  prefersExact = true;
  auto pipeline = create();
  ASSERT_TRUE(pipeline->prepare({128, 1, 1}, false));
  ASSERT_TRUE(pipeline->prepare({128, 1, 1}, false));
  EXPECT_EQ(compiled.size(), 2u);
  EXPECT_EQ(numberFor(*pipeline, {256, 1, 1}, {128, 1, 1}), 2128u);
  // A smaller group at the end, here the only one, goes to the form for rows.
  EXPECT_EQ(numberFor(*pipeline, {32, 1, 1}, {128, 1, 1}), 0u);
  for (uint64_t width = 1; width <= 100; ++width)
    ASSERT_TRUE(pipeline->prepare({width, 1, 1}, false));
  EXPECT_LE(compiled.size(), 20u); // Not one for each.
  EXPECT_EQ(numberFor(*pipeline, {99, 1, 1}, {99, 1, 1}), 1000u);
}

TEST_F(CpuPipelines, FailedExactShapeFallsBack) {
  prefersExact = exactFails = true;
  auto pipeline = create();
  ASSERT_TRUE(pipeline->prepare({128, 1, 1}, false));
  ASSERT_TRUE(pipeline->prepare({128, 1, 1}, false));
  EXPECT_EQ(numberFor(*pipeline, {128, 1, 1}, {128, 1, 1}), 0u);
}

TEST_F(CpuPipelines, SizesOutsideTheLimitsAreNamed) {
  auto pipeline = create();
  for (Size3 size : {Size3{0, 1, 1}, Size3{1024, 1, 1}, Size3{uint64_t(1) << 40, 1, 1}}) {
    auto prepared = pipeline->prepare(size, false);
    ASSERT_FALSE(prepared);
    EXPECT_EQ(prepared.error().kind(), ErrorKind::Validation);
    EXPECT_THAT(prepared.error().message(), HasSubstr("numbered"));
  }
  request_.maxTotalThreadsPerThreadgroup = 64;
  EXPECT_EQ(create()->maxTotalThreadsPerThreadgroup(), 64u);
}

// The second process finds every form on the disk, and a damaged entry is made again.
TEST_F(CpuPipelines, WarmStartNeedsNoCompiler) {
  ASSERT_TRUE(create()->prepare({20, 1, 1}, false));
  EXPECT_EQ(compiled.size(), 2u);
  device::replaceCompiler(nullptr);
  ScopedEnvironment path("PEWTER_COMPILER", "/nowhere/compiler.so");
  auto pipeline = create();
  ASSERT_TRUE(pipeline->prepare({20, 1, 1}, false));
  EXPECT_EQ(numberFor(*pipeline, {20, 1, 1}, {20, 1, 1}), 1000u);
  EXPECT_FALSE(device::compilerLibraryIsLoaded());
  device::replaceCompiler(&points_);
  for (auto &entry : std::filesystem::recursive_directory_iterator(folder_.path()))
    if (entry.is_regular_file())
      std::filesystem::resize_file(entry.path(), entry.file_size() - 1);
  ASSERT_TRUE(create()->prepare({20, 1, 1}, false));
  EXPECT_EQ(compiled.size(), 4u);
  // An entry that is whole, but holds another kernel's image.
  request_.function = "other";
  create();
  auto key = device::imageKey({request_, chooseTarget(), {}, 0, kAbiVersion});
  request_.function = "numbered";
  auto other = device::DiskCache::standard()->load(device::CacheKind::Image, key);
  ASSERT_TRUE(other);
  EXPECT_EQ(create()->reflection().name, "numbered");
}

TEST_F(CpuPipelines, ArchiveServesAllForms) {
  auto archive = std::make_shared<device::PipelineArchive>();
  request_.store = [&](const Hash128 &key, ByteView image) { archive->add(key, image); };
  ASSERT_TRUE(create()->prepare({20, 1, 1}, false));
  EXPECT_EQ(archive->count(), 2u);
  std::filesystem::remove_all(folder_.path());
  request_.store = {};
  request_.lookUp = [&](const Hash128 &key) { return archive->find(key); };
  request_.failOnMiss = true;
  compiled.clear();
  ASSERT_TRUE(create()->prepare({20, 1, 1}, false));
  EXPECT_TRUE(compiled.empty());
}

TEST_F(CpuPipelines, ImageOfAnotherTargetIsRefused) {
  wrongTarget = 1;
  auto pipeline = connect().at(0)->createPipeline(request_);
  ASSERT_FALSE(pipeline);
  EXPECT_THAT(pipeline.error().describe(), HasSubstr("target"));
}

} // namespace
} // namespace pewter::cpu
