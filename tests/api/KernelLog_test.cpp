// SPDX-License-Identifier: Apache-2.0
#include "ApiTest.h"
#include <Metal/MTLLogState.hpp>
#include <algorithm>
#include <fmt/format.h>

namespace pewter::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr const char *kSource = R"(
#include <metal_stdlib>
#include <metal_logging>
using namespace metal;
constant os_log audit("com.example", "audit");

kernel void talk(device const float *in [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  if (in[i] > 2.0f)
    os_log_default.log("thread %u: %d %.2f", i, -int(i), in[i]);
  if (i == 1)
    audit.log_error("bits %x, %ld%%", 0xbeefu, -5000000000l);
  if (i == 2)
    audit.log_debug("no values");
  if (i == 0) {
    audit.log_info("first");
    audit.log_fault("worst %d", 1);
    audit.log_with_type(log_type::error, "chosen");
  }
}
)";

class KernelLogApi : public ApiTest {
protected:
  /// What handlers got: "level subsystem category text".
  std::vector<std::string> lines(bool enable, MTL::LogLevel level, bool ofBuffer) {
    NS::Error *error = nullptr;
    auto options = NS::TransferPtr(MTL::CompileOptions::alloc()->init());
    options->setEnableLogging(enable);
    auto library = NS::TransferPtr(device->newLibrary(string(kSource), options.get(), &error));
    EXPECT_TRUE(library) << text(error);
    auto function = NS::TransferPtr(library->newFunction(string("talk")));
    auto state = NS::TransferPtr(device->newComputePipelineState(function.get(), &error));
    EXPECT_TRUE(state) << text(error);

    std::vector<std::string> heard;
    auto descriptor = NS::TransferPtr(MTL::LogStateDescriptor::alloc()->init());
    descriptor->setLevel(level);
    auto log = NS::TransferPtr(device->newLogState(descriptor.get(), &error));
    EXPECT_TRUE(log) << text(error);
    log->addLogHandler([&](NS::String *subsystem, NS::String *category, MTL::LogLevel l, NS::String *message) {
      heard.push_back(fmt::format("{} [{}] [{}] {}", int(l), text(subsystem), text(category), text(message)));
    });
    auto queueDescriptor = NS::TransferPtr(MTL::CommandQueueDescriptor::alloc()->init());
    if (!ofBuffer)
      queueDescriptor->setLogState(log.get());
    auto logging = NS::TransferPtr(device->newCommandQueue(queueDescriptor.get()));
    auto bufferDescriptor = NS::TransferPtr(MTL::CommandBufferDescriptor::alloc()->init());
    if (ofBuffer)
      bufferDescriptor->setLogState(log.get());
    auto values = bufferOf(std::vector<float>{1, 2, 3, 4.5f});
    auto *commands = logging->commandBuffer(bufferDescriptor.get());
    auto *encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(state.get());
    encoder->setBuffer(values.get(), 0, 0);
    encoder->dispatchThreads(MTL::Size(4, 1, 1), MTL::Size(32, 1, 1));
    encoder->endEncoding();
    finish(commands);
    return heard;
  }
};
PEWTER_EVERY_DEVICE(KernelLogApi);

TEST_P(KernelLogApi, DeliversLines) {
  if (GetParam() != "cpu")
    return; // PTX has no form of os_log.
  for (bool ofBuffer : {false, true})
    EXPECT_THAT(lines(true, MTL::LogLevelDebug, ofBuffer),
                UnorderedElementsAre("3 [] [] thread 2: -2 3.00", "3 [] [] thread 3: -3 4.50",
                                     "4 [com.example] [audit] bits beef, -5000000000%",
                                     "1 [com.example] [audit] no values", "2 [com.example] [audit] first",
                                     "5 [com.example] [audit] worst 1", "4 [com.example] [audit] chosen"));
}
TEST_P(KernelLogApi, LeavesLowLevelsOut) {
  if (GetParam() != "cpu")
    return;
  EXPECT_THAT(lines(true, MTL::LogLevelError, false),
              UnorderedElementsAre("4 [com.example] [audit] bits beef, -5000000000%",
                                   "5 [com.example] [audit] worst 1", "4 [com.example] [audit] chosen"));
}
TEST_P(KernelLogApi, IsSilentUnlessEnabled) {
  if (GetParam() == "null")
    return;
  EXPECT_THAT(lines(false, MTL::LogLevelDebug, false), IsEmpty());
}
TEST_P(KernelLogApi, RefusesAFormatThatIsNoLiteral) {
  NS::Error *error = nullptr;
  auto options = NS::TransferPtr(MTL::CompileOptions::alloc()->init());
  options->setEnableLogging(true);
  auto library = NS::TransferPtr(device->newLibrary(string(R"(
#include <metal_stdlib>
using namespace metal;
kernel void k(device char *text [[buffer(0)]]) {
  char local[4] = {text[0], 0, 0, 0};
  os_log_default.log(local);
})"), options.get(), &error));
  EXPECT_FALSE(library);
  EXPECT_THAT(text(error), HasSubstr("a format that is not a string literal"));
}
TEST_P(KernelLogApi, OptionsHaveTheirEffect) {
  auto options = NS::TransferPtr(MTL::CompileOptions::alloc()->init());
  options->setMaxTotalThreadsPerThreadgroup(64);
  options->setMathFloatingPointFunctions(MTL::MathFloatingPointFunctionsPrecise);
  NS::Error *error = nullptr;
  auto library = NS::TransferPtr(device->newLibrary(string(kSource), options.get(), &error));
  ASSERT_TRUE(library) << text(error);
  auto function = NS::TransferPtr(library->newFunction(string("talk")));
  auto state = NS::TransferPtr(device->newComputePipelineState(function.get(), &error));
  ASSERT_TRUE(state) << text(error);
  EXPECT_EQ(state->maxTotalThreadsPerThreadgroup(), 64u);
  options->setAllowReferencingUndefinedSymbols(true);
  // It refuses nothing that is complete; DynamicLibrary_test.cpp has what it lets through.
  library = NS::TransferPtr(device->newLibrary(string(kSource), options.get(), &error));
  EXPECT_TRUE(library) << text(error);
}

} // namespace
} // namespace pewter::test
