// SPDX-License-Identifier: Apache-2.0
//
// How often the compiler is asked: once for a source, once for a function with its constants.
#include "ApiTest.h"
#include "ScopedEnvironment.h"
#include "TemporaryFolder.h"
#include "device/CompilerLibrary.h"
#include <atomic>

namespace pewter::test {
namespace {

std::atomic<int> sources, kernels;
const compiler::EntryPoints *real = nullptr;

Result<compiler::LibraryImage> countSource(const compiler::SourceRequest &request) {
  ++sources;
  return real->compileSource(request);
}
Result<compiler::KernelImage> countKernel(const compiler::KernelRequest &request) {
  ++kernels;
  return real->compileKernel(request);
}

struct SpecializationCache : ApiTest {
  void SetUp() override {
    ApiTest::SetUp();
    auto points = device::compilerLibrary();
    ASSERT_TRUE(points.has_value());
    real = *points;
    counting_ = *real;
    counting_.compileSource = countSource;
    counting_.compileKernel = countKernel;
    before_ = device::replaceCompiler(&counting_);
    sources = kernels = 0;
  }
  void TearDown() override {
    device::replaceCompiler(before_);
    ApiTest::TearDown();
  }

  NS::SharedPtr<MTL::Library> library(const char *source) {
    NS::Error *error = nullptr;
    auto made = NS::TransferPtr(ApiTest::device->newLibrary(string(source), nullptr, &error));
    EXPECT_TRUE(made) << text(error);
    return made;
  }
  NS::SharedPtr<MTL::ComputePipelineState> pipeline(MTL::Library *from, int lift) {
    NS::Error *error = nullptr;
    auto values = NS::TransferPtr(MTL::FunctionConstantValues::alloc()->init());
    values->setConstantValue(&lift, MTL::DataTypeInt, NS::UInteger(0));
    auto function = NS::TransferPtr(from->newFunction(MTLSTR("f"), values.get(), &error));
    EXPECT_TRUE(function) << text(error);
    auto state = NS::TransferPtr(ApiTest::device->newComputePipelineState(function.get(), &error));
    EXPECT_TRUE(state) << text(error);
    return state;
  }
  void run(MTL::ComputePipelineState *state, int expected) {
    auto out = buffer(64 * 4);
    auto *commands = queue->commandBuffer();
    auto *encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(state);
    encoder->setBuffer(out.get(), 0, 0);
    encoder->dispatchThreads(MTL::Size(64, 1, 1), MTL::Size(64, 1, 1));
    encoder->endEncoding();
    finish(commands);
    if (executes())
      EXPECT_EQ(contentsOf<int>(out)[5], expected);
  }

  pewter::testing::TemporaryFolder folder_;
  pewter::testing::ScopedEnvironment cache_{"PEWTER_CACHE_DIR", folder_.path().string()};
  compiler::EntryPoints counting_{};
  const compiler::EntryPoints *before_ = nullptr;
};
PEWTER_EVERY_DEVICE(SpecializationCache);

constexpr const char *kSource = R"(
constant int lift [[function_constant(0)]];
kernel void f(device int *out [[buffer(0)]], uint i [[thread_position_in_grid]]) { out[i] = int(i) * lift; }
)";

TEST_P(SpecializationCache, CompilesEachSpecializationOnce) {
  auto first = library(kSource);
  EXPECT_EQ(sources, 1);
  run(pipeline(first.get(), 3).get(), 15);
  const int once = kernels;
  if (executes())
    EXPECT_GE(once, 1);
  // The same function of the same library, and of the same source compiled again.
  run(pipeline(first.get(), 3).get(), 15);
  auto again = library(kSource);
  run(pipeline(again.get(), 3).get(), 15);
  EXPECT_EQ(sources, 1);
  EXPECT_EQ(kernels, once);
  // Other constants are another function.
  run(pipeline(first.get(), 7).get(), 35);
  EXPECT_EQ(kernels, 2 * once);
  run(pipeline(again.get(), 7).get(), 35);
  run(pipeline(first.get(), 3).get(), 15);
  EXPECT_EQ(kernels, 2 * once);
}

TEST_P(SpecializationCache, ASourceThatIncludesAFileIsReadAgain) {
  const std::filesystem::path header = folder_.path() / "number.h";
  const std::string source = "#include \"" + header.string() + "\"\n" +
                             "kernel void f(device int *out, uint i [[thread_position_in_grid]]) { out[i] = NUMBER; }\n";
  for (int number : {4, 9}) {
    const std::string definition = "#define NUMBER " + std::to_string(number) + "\n";
    ASSERT_TRUE(writeFileAtomically(header, viewOf(definition)));
    auto made = library(source.c_str());
    NS::Error *error = nullptr;
    auto function = NS::TransferPtr(made->newFunction(MTLSTR("f")));
    auto state = NS::TransferPtr(ApiTest::device->newComputePipelineState(function.get(), &error));
    ASSERT_TRUE(state) << text(error);
    run(state.get(), number);
  }
  EXPECT_EQ(sources, 2);
  NS::Error *error = nullptr;
  EXPECT_EQ(ApiTest::device->newLibrary(string("#include \"nowhere.h\"\n"), nullptr, &error), nullptr);
  EXPECT_THAT(text(error), ::testing::HasSubstr("program_source:1:10: error: 'nowhere.h' file not found"));
}

} // namespace
} // namespace pewter::test
