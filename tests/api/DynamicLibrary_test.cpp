// SPDX-License-Identifier: Apache-2.0
//
// Dynamic libraries: compiled, written, read again, linked against, and exchanged.
#include "ApiTest.h"
#include "TemporaryFolder.h"

namespace pewter::test {
namespace {

using ::testing::HasSubstr;

constexpr const char *kHelpers = R"(
#include <metal_stdlib>
using namespace metal;
namespace helpers {
float scaled(float x) { return x * FACTOR; }
float scaled(float2 x) { return (x.x + x.y) * FACTOR; }
}
static float hidden(float x) { return x + 1; }
constant float kOffsets[3] = {10, 20, 30};
float offset_of(uint i) { return hidden(kOffsets[i % 3]); }
void store(device float *p, float x) { *p = x; }
)";

constexpr const char *kProgram = R"(
#include <metal_stdlib>
using namespace metal;
namespace helpers {
extern float scaled(float x);
extern float scaled(float2 x);
}
extern float offset_of(uint i);
extern void store(device float *p, float x);
kernel void use(device float *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  store(out + i, helpers::scaled(float(i)) + helpers::scaled(float2(i, 1)) + offset_of(i));
}
)";

struct DynamicLibrary : ApiTest {
  NS::SharedPtr<MTL::Library> compile(const std::string &source, MTL::CompileOptions *options) {
    NS::Error *error = nullptr;
    auto library = NS::TransferPtr(device->newLibrary(string(source), options, &error));
    EXPECT_TRUE(library) << text(error);
    return library;
  }
  NS::SharedPtr<MTL::CompileOptions> dynamicOptions(const char *name, int factor) {
    auto options = NS::TransferPtr(MTL::CompileOptions::alloc()->init());
    options->setLibraryType(MTL::LibraryTypeDynamic);
    options->setInstallName(string(name));
    options->setPreprocessorMacros(
        NS::Dictionary::dictionary(NS::Number::number(factor), MTLSTR("FACTOR")));
    return options;
  }
  NS::SharedPtr<MTL::DynamicLibrary> helpers(int factor) {
    NS::Error *error = nullptr;
    auto library = compile(kHelpers, dynamicOptions("@rpath/helpers.metallib", factor).get());
    auto made = NS::TransferPtr(device->newDynamicLibrary(library.get(), &error));
    EXPECT_TRUE(made) << text(error);
    return made;
  }
  static NS::Array *arrayOf(MTL::DynamicLibrary *library) {
    NS::Object *object = reinterpret_cast<NS::Object *>(library);
    return NS::Array::array(&object, 1);
  }
  NS::SharedPtr<MTL::CompileOptions> linking(MTL::DynamicLibrary *library) {
    auto options = NS::TransferPtr(MTL::CompileOptions::alloc()->init());
    options->setLibraries(arrayOf(library));
    return options;
  }
  NS::SharedPtr<MTL::ComputePipelineDescriptor> descriptorFor(MTL::Library *library) {
    auto function = NS::TransferPtr(library->newFunction(MTLSTR("use")));
    auto descriptor = NS::TransferPtr(MTL::ComputePipelineDescriptor::alloc()->init());
    descriptor->setComputeFunction(function.get());
    return descriptor;
  }
  void expectResults(const MTL::ComputePipelineDescriptor *descriptor, int factor) {
    NS::Error *error = nullptr;
    auto state = NS::TransferPtr(
        device->newComputePipelineState(descriptor, MTL::PipelineOptionNone, nullptr, &error));
    ASSERT_TRUE(state) << text(error);
    auto out = buffer(40 * 4);
    auto *commands = queue->commandBuffer();
    auto *encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(state.get());
    encoder->setBuffer(out.get(), 0, 0);
    encoder->dispatchThreads(MTL::Size(40, 1, 1), MTL::Size(32, 1, 1));
    encoder->endEncoding();
    finish(commands);
    if (executes())
      for (int i = 0; i < 40; ++i)
        EXPECT_EQ(contentsOf<float>(out)[size_t(i)],
                  float(i * factor + (i + 1) * factor + 10 * (i % 3 + 1) + 1));
  }
};
PEWTER_EVERY_DEVICE(DynamicLibrary);

TEST_P(DynamicLibrary, ExportsFunctionsThatOthersDeclareExtern) {
  auto library = helpers(3);
  library->setLabel(MTLSTR("three"));
  EXPECT_EQ(text(library->label()), "three");
  EXPECT_EQ(text(library->installName()), "@rpath/helpers.metallib");
  EXPECT_EQ(library->device(), device);
  expectResults(descriptorFor(compile(kProgram, linking(library.get()).get()).get()).get(), 3);
}

TEST_P(DynamicLibrary, IsWrittenAndReadAgain) {
  testing::TemporaryFolder folder;
  const std::string path = (folder.path() / "helpers.metallib").string();
  auto *url = NS::URL::fileURLWithPath(string(path));
  NS::Error *error = nullptr;
  ASSERT_TRUE(helpers(7)->serializeToURL(url, &error)) << text(error);
  auto library = NS::TransferPtr(device->newDynamicLibrary(url, &error));
  ASSERT_TRUE(library) << text(error);
  EXPECT_EQ(text(library->installName()), "@rpath/helpers.metallib");
  expectResults(descriptorFor(compile(kProgram, linking(library.get()).get()).get()).get(), 7);
}

TEST_P(DynamicLibrary, ThoseOfThePipelineComeFirst) {
  auto first = helpers(2), other = helpers(5);
  auto program = compile(kProgram, linking(first.get()).get());
  auto descriptor = descriptorFor(program.get());
  descriptor->setPreloadedLibraries(arrayOf(other.get()));
  expectResults(descriptor.get(), 5);
  descriptor->setPreloadedLibraries(nullptr);
  expectResults(descriptor.get(), 2);
  descriptor->setInsertLibraries(arrayOf(other.get()));
  expectResults(descriptor.get(), 5);
}

TEST_P(DynamicLibrary, ResolvesWhatWasLeftUndefined) {
  // `extern` says that the function is elsewhere; without it the option does.
  std::string plain = kProgram;
  for (size_t at; (at = plain.find("extern ")) != std::string::npos;)
    plain.erase(at, 7);
  auto options = NS::TransferPtr(MTL::CompileOptions::alloc()->init());
  NS::Error *error = nullptr;
  EXPECT_EQ(device->newLibrary(string(plain), options.get(), &error), nullptr);
  EXPECT_THAT(text(error), HasSubstr("program_source:11:27: error: function 'scaled' is used but not defined"));
  options->setAllowReferencingUndefinedSymbols(true);
  auto program = compile(plain, options.get());
  auto descriptor = descriptorFor(program.get());
  if (executes()) {
    EXPECT_EQ(device->newComputePipelineState(descriptor.get(), MTL::PipelineOptionNone, nullptr, &error),
              nullptr);
    EXPECT_THAT(text(error), HasSubstr("calls the undefined function \"helpers::scaled(float)\""));
  }
  descriptor->setPreloadedLibraries(arrayOf(helpers(4).get()));
  expectResults(descriptor.get(), 4);
}

TEST_P(DynamicLibrary, LinksToAnotherOne) {
  auto base = helpers(6);
  auto options = dynamicOptions("@rpath/middle.metallib", 0);
  options->setLibraries(arrayOf(base.get()));
  NS::Error *error = nullptr;
  auto library = compile("namespace helpers { float scaled(float x); }\n"
                         "float middle(float x) { return helpers::scaled(x) + 1; }\n",
                         options.get());
  auto middle = NS::TransferPtr(device->newDynamicLibrary(library.get(), &error));
  ASSERT_TRUE(middle) << text(error);
  auto program = compile("float middle(float x);\n"
                         "kernel void use(device float *out, uint i [[thread_position_in_grid]]) {\n"
                         "  out[i] = middle(i + 0.5f) - 4 + 10 * (i % 3 + 1) + i * 6 + 1;\n}\n",
                         linking(middle.get()).get());
  // 6 (i + 1/2) + 1 - 4 = 6 i, and the rest of what expectResults wants is written out.
  auto descriptor = descriptorFor(program.get());
  auto state = NS::TransferPtr(
      device->newComputePipelineState(descriptor.get(), MTL::PipelineOptionNone, nullptr, &error));
  ASSERT_TRUE(state) << text(error);
  auto out = buffer(32 * 4);
  auto *commands = queue->commandBuffer();
  auto *encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(state.get());
  encoder->setBuffer(out.get(), 0, 0);
  encoder->dispatchThreads(MTL::Size(32, 1, 1), MTL::Size(32, 1, 1));
  encoder->endEncoding();
  finish(commands);
  if (executes())
    for (int i = 0; i < 32; ++i)
      EXPECT_EQ(contentsOf<float>(out)[size_t(i)], float(12 * i + 10 * (i % 3 + 1) + 1));
}

TEST_P(DynamicLibrary, WrongUseIsNamed) {
  NS::Error *error = nullptr;
  auto plain = compile("kernel void f() {}", nullptr);
  EXPECT_EQ(plain->type(), MTL::LibraryTypeExecutable);
  EXPECT_EQ(plain->installName(), nullptr);
  EXPECT_EQ(device->newDynamicLibrary(plain.get(), &error), nullptr);
  EXPECT_THAT(text(error), HasSubstr("the library is not dynamic"));
  EXPECT_EQ(device->newDynamicLibrary(NS::URL::fileURLWithPath(MTLSTR("/no/such.metallib")), &error),
            nullptr);
  EXPECT_THAT(text(error), HasSubstr("/no/such.metallib"));
  auto options = NS::TransferPtr(MTL::CompileOptions::alloc()->init());
  options->setLibraryType(MTL::LibraryTypeDynamic);
  EXPECT_EQ(device->newLibrary(string("float f() { return 1; }"), options.get(), &error), nullptr);
  EXPECT_THAT(text(error), HasSubstr("installName is empty"));
  auto library = helpers(1);
  EXPECT_FALSE(library->serializeToURL(NS::URL::fileURLWithPath(MTLSTR("/no/folder/x.metallib")), &error));
  EXPECT_THAT(text(error), HasSubstr("/no/folder/x.metallib"));
  // A declaration that is not the function of the library.
  EXPECT_EQ(device->newLibrary(string("float offset_of(int i);\n"
                                      "kernel void f(device float *o) { o[0] = offset_of(1); }\n"),
                               linking(library.get()).get(), &error),
            nullptr);
  EXPECT_THAT(text(error), HasSubstr("program_source:2:41: error: function 'offset_of' is used but not"));
}

} // namespace
} // namespace pewter::test
