// SPDX-License-Identifier: Apache-2.0
// Archives that `pewter compile` writes: what the devices ask for is in them, so that a program which has
// the library and the archive needs no compiler.
#include "FakeCudaDriver.h"
#include "ScopedEnvironment.h"
#include "TemporaryFolder.h"
#include "air/Metallib.h"
#include "cuda/CudaDevice.h"
#include "device/CompilerLibrary.h"
#include "device/PipelineArchive.h"
#include "device/PipelineImage.h"
#include "pewter/Commands.h"
#include <CLI/CLI.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pewter::tools {
namespace {

constexpr const char *kSource = R"(
#include <metal_stdlib>
using namespace metal;
constant int lift [[function_constant(0)]];
kernel void twice(device int *v [[buffer(0)]], uint i [[thread_position_in_grid]]) { v[i] *= 2; }
kernel void lifted(device int *v [[buffer(0)]], uint i [[thread_position_in_grid]]) { v[i] += lift; }
)";

int run(std::vector<std::string> words) {
  CLI::App app;
  int status = 0;
  addCompile(app, status);
  addRun(app, status);
  std::reverse(words.begin(), words.end());
  app.parse(words);
  return status;
}

class Archives : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(writeFileAtomically(path("k.metal"), viewOf(std::string_view(kSource))));
    ASSERT_EQ(run({"compile", path("k.metal"), "-o", path("k.metallib")}), 0);
  }
  std::string path(const std::string &name) { return (folder_.path() / name).string(); }
  testing::TemporaryFolder folder_;
};

TEST_F(Archives, HoldPtxForAGpuThatIsNotHere) {
  for (const char *device : {"sm_80", "sm_90", "sm_100"})
    ASSERT_EQ(run({"compile", path("k.metallib"), "--device", device, "--constant", "lift=3", "-q", "-o",
                   path(device)}), 0);
  cuda::testing::FakeCudaScope fake;
  auto driver = cuda::loadDriver();
  auto gpu = cuda::CudaDevice::create(**driver, 0).value(); // compute capability 9.0
  Bytes bytes = readFile(path("k.metallib")).value();
  auto library = air::readMetallib(bytes).value();
  for (bool right : {true, false}) {
    auto archive = device::PipelineArchive::load(path(right ? "sm_90" : "sm_80")).value();
    EXPECT_EQ(archive->count(), 2u);
    for (const air::MetallibFunction &function : library.functions) {
      device::PipelineRequest request;
      request.function = function.name;
      if (!function.constants.empty()) {
        compiler::ConstantValue lift{0, air::DataType::Int, {}};
        lift.bytes[0] = std::byte(3);
        request.constants.push_back(lift);
      }
      request.identity =
          device::functionIdentity(hashOf(function.module), request.function, request.constants);
      request.lookUp = [&](const Hash128 &key) { return archive->find(key); };
      request.failOnMiss = true;
      EXPECT_EQ(gpu->createPipeline(request).has_value(), right) << function.name;
    }
  }
}

TEST_F(Archives, ServeTheProcessorWithoutTheCompiler) {
  ASSERT_EQ(run({"compile", path("k.metallib"), "--device", "cpu", "--kernel", "twice", "-q", "-o",
                 path("k.archive")}), 0);
  testing::ScopedEnvironment noCache("PEWTER_CACHE_DIR", path("empty"));
  testing::ScopedEnvironment noCompiler("PEWTER_COMPILER", "/nowhere/compiler.so");
  const auto *before = device::replaceCompiler(nullptr);
  auto twice = [&](const std::vector<std::string> &more) {
    std::vector<std::string> words = {"run",     path("k.metallib"), "--kernel", "twice", "--device", "cpu",
                                      "--grid",  "100",              "--buffer", "0=zeros:i32[100]"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  };
  EXPECT_EQ(twice({"--archive", path("k.archive")}), 0);
  EXPECT_FALSE(device::compilerLibraryIsLoaded());
  EXPECT_NE(twice({}), 0); // The control: without the archive it does need the compiler.
  device::replaceCompiler(before);
}

} // namespace
} // namespace pewter::tools
