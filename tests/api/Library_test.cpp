// SPDX-License-Identifier: Apache-2.0
//
// Libraries, functions with constants, pipelines with reflection, and binary archives.
#include "KernelTest.h"
#include "TemporaryFolder.h"
#include <atomic>
#include <dispatch/dispatch.h>
#include <fstream>
#include <thread>

namespace pewter::test {
namespace {

using ::testing::HasSubstr;

class LibraryApi : public KernelTest {
protected:
  void wait(const std::atomic<bool> &done) {
    for (int i = 0; i < 20000 && !done; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_TRUE(done);
  }
  /// Runs a kernel of one int buffer over 4 threads.
  std::vector<int> run(MTL::ComputePipelineState *state) {
    auto out = buffer(16);
    auto *commands = queue->commandBuffer();
    auto *encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(state);
    encoder->setBuffer(out.get(), 0, 0);
    encoder->dispatchThreads(MTL::Size(4, 1, 1), MTL::Size(32, 1, 1));
    encoder->endEncoding();
    finish(commands);
    return contentsOf<int>(out);
  }
};
PEWTER_EVERY_DEVICE(LibraryApi);

TEST_P(LibraryApi, ListsItsFunctions) {
  library->setLabel(MTLSTR("kernels"));
  EXPECT_EQ(text(library->label()), "kernels");
  std::vector<std::string> names;
  auto *list = library->functionNames();
  for (NS::UInteger i = 0; i < list->count(); ++i)
    names.push_back(text(list->object<NS::String>(i)));
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("scale_by", "add_one", "double_it",
                                                     "write_index", "use_settings", "sum_group",
                                                     "with_constants", "big_static"));
  EXPECT_EQ(library->device(), device);
}

TEST_P(LibraryApi, AnUnknownFunctionIsNamed) {
  EXPECT_EQ(library->newFunction(MTLSTR("add_two")), nullptr);
  NS::Error *error = nullptr;
  auto values = NS::TransferPtr(MTL::FunctionConstantValues::alloc()->init());
  EXPECT_EQ(library->newFunction(MTLSTR("add_two"), values.get(), &error), nullptr);
  EXPECT_THAT(text(error), HasSubstr("Function \"add_two\" is not in the library"));
  EXPECT_THAT(text(error), HasSubstr("\"add_one\" is"));
  EXPECT_EQ(error->code(), MTL::LibraryErrorFunctionNotFound);
  EXPECT_TRUE(error->domain()->isEqualToString(MTL::LibraryErrorDomain));
}

TEST_P(LibraryApi, SourceThatDoesNotCompileGivesClangsText) {
  NS::Error *error = nullptr;
  auto *bad = string("kernel void f(device int *a [[buffer(0)]]) {\n  a[0] = missing;\n}\n");
  EXPECT_EQ(device->newLibrary(bad, nullptr, &error), nullptr);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(error->code(), MTL::LibraryErrorCompileFailure);
  EXPECT_THAT(text(error), HasSubstr(":2:10: error: use of undeclared identifier 'missing'"));
}

TEST_P(LibraryApi, CompileOptionsReachTheCompiler) {
  auto options = NS::TransferPtr(MTL::CompileOptions::alloc()->init());
  EXPECT_TRUE(options->fastMathEnabled());
  options->setFastMathEnabled(false);
  EXPECT_EQ(options->mathMode(), MTL::MathModeSafe);
  options->setLanguageVersion(MTL::LanguageVersion3_1);
  options->setPreprocessorMacros(
      NS::Dictionary::dictionary(NS::Number::number(41), MTLSTR("ANSWER")));
  NS::Error *error = nullptr;
  auto made = NS::TransferPtr(device->newLibrary(
      string("kernel void f(device int *a [[buffer(0)]]) { a[0] = ANSWER + 1; }"), options.get(),
      &error));
  ASSERT_TRUE(made) << text(error);
  auto function = NS::TransferPtr(made->newFunction(MTLSTR("f")));
  auto state = NS::TransferPtr(device->newComputePipelineState(function.get(), &error));
  ASSERT_TRUE(state) << text(error);
  if (executes())
    EXPECT_EQ(run(state.get())[0], 42);
  options->setLibraryType(MTL::LibraryTypeDynamic);
  EXPECT_EQ(device->newLibrary(string(""), options.get(), &error), nullptr);
  EXPECT_THAT(text(error), HasSubstr("libraryType"));
}

TEST_P(LibraryApi, CompletionHandlersGetTheLibraryOrTheError) {
  std::atomic<bool> done{false};
  device->newLibrary(string("kernel void f() {}"), nullptr,
                     [&](MTL::Library *made, NS::Error *error) {
                       EXPECT_NE(made, nullptr) << text(error);
                       done = true;
                     });
  wait(done);
  done = false;
  device->newLibrary(string("not metal"), nullptr, [&](MTL::Library *made, NS::Error *error) {
    EXPECT_EQ(made, nullptr);
    EXPECT_NE(error, nullptr);
    done = true;
  });
  wait(done);
}

TEST_P(LibraryApi, FilesThatAreNoLibrariesAreNamed) {
  NS::Error *error = nullptr;
  EXPECT_EQ(device->newLibrary(MTLSTR("/no/such/library.metallib"), &error), nullptr);
  EXPECT_THAT(text(error), HasSubstr("/no/such/library.metallib"));
  EXPECT_EQ(error->code(), MTL::LibraryErrorFileNotFound);
  EXPECT_EQ(device->newDefaultLibrary(), nullptr);
  char garbage[] = "MTLBgarbage";
  dispatch_data_t data =
      dispatch_data_create(garbage, sizeof(garbage), nullptr, DISPATCH_DATA_DESTRUCTOR_DEFAULT);
  error = nullptr;
  EXPECT_EQ(device->newLibrary(data, &error), nullptr);
  EXPECT_NE(error, nullptr);
  dispatch_release(data);
}

TEST_P(LibraryApi, FunctionConstantsChooseTheCode) {
  int bias = 10;
  bool negate = true;
  auto values = NS::TransferPtr(MTL::FunctionConstantValues::alloc()->init());
  values->setConstantValue(&bias, MTL::DataTypeInt, NS::UInteger(0));
  values->setConstantValue(&negate, MTL::DataTypeBool, MTLSTR("negate"));
  NS::Error *error = nullptr;
  auto function =
      NS::TransferPtr(library->newFunction(MTLSTR("with_constants"), values.get(), &error));
  ASSERT_TRUE(function) << text(error);
  auto state = NS::TransferPtr(device->newComputePipelineState(function.get(), &error));
  ASSERT_TRUE(state) << text(error);
  if (executes())
    EXPECT_EQ(run(state.get()), (std::vector<int>{-10, -11, -12, -13}));
  auto *declared = function->functionConstantsDictionary();
  ASSERT_EQ(declared->count(), 2u);
  auto *constant = declared->object<MTL::FunctionConstant>(MTLSTR("negate"));
  ASSERT_NE(constant, nullptr);
  EXPECT_EQ(constant->index(), 1u);
  EXPECT_EQ(constant->type(), MTL::DataTypeBool);
}

TEST_P(LibraryApi, AConstantOfTheWrongTypeIsNamed) {
  float wrong = 1;
  auto values = NS::TransferPtr(MTL::FunctionConstantValues::alloc()->init());
  values->setConstantValue(&wrong, MTL::DataTypeFloat, NS::UInteger(0));
  NS::Error *error = nullptr;
  EXPECT_EQ(library->newFunction(MTLSTR("with_constants"), values.get(), &error), nullptr);
  EXPECT_THAT(text(error), HasSubstr("function constant \"lift\" (index 0)"));
  EXPECT_THAT(text(error), HasSubstr("type float"));
}

TEST_P(LibraryApi, DescriptorsNameFunctions) {
  auto *descriptor = MTL::FunctionDescriptor::functionDescriptor();
  descriptor->setName(MTLSTR("add_one"));
  descriptor->setSpecializedName(MTLSTR("plus"));
  NS::Error *error = nullptr;
  auto function = NS::TransferPtr(library->newFunction(descriptor, &error));
  ASSERT_TRUE(function) << text(error);
  EXPECT_EQ(text(function->name()), "plus");
  EXPECT_EQ(function->functionType(), MTL::FunctionTypeKernel);
}

TEST_P(LibraryApi, PipelinesKnowTheirLimits) {
  auto state = pipeline("big_static");
  EXPECT_EQ(state->threadExecutionWidth(), 32u);
  EXPECT_EQ(state->maxTotalThreadsPerThreadgroup(), 1024u);
  EXPECT_EQ(state->staticThreadgroupMemoryLength(), 28672u);
  EXPECT_EQ(state->device(), device);
}

TEST_P(LibraryApi, DescriptorsMakePipelines) {
  auto descriptor = NS::TransferPtr(MTL::ComputePipelineDescriptor::alloc()->init());
  NS::Error *error = nullptr;
  EXPECT_EQ(
      device->newComputePipelineState(descriptor.get(), MTL::PipelineOptionNone, nullptr, &error),
      nullptr);
  EXPECT_THAT(text(error), HasSubstr("computeFunction is null"));
  auto function = NS::TransferPtr(library->newFunction(MTLSTR("add_one")));
  descriptor->setComputeFunction(function.get());
  descriptor->setLabel(MTLSTR("adder"));
  descriptor->setMaxTotalThreadsPerThreadgroup(128);
  descriptor->setThreadGroupSizeIsMultipleOfThreadExecutionWidth(true);
  descriptor->buffers()->object(0)->setMutability(MTL::MutabilityMutable);
  auto state = NS::TransferPtr(
      device->newComputePipelineState(descriptor.get(), MTL::PipelineOptionNone, nullptr, &error));
  ASSERT_TRUE(state) << text(error);
  EXPECT_EQ(text(state->label()), "adder");
  EXPECT_EQ(state->maxTotalThreadsPerThreadgroup(), 128u);
  auto values = buffer(4096);
  auto *commands = queue->commandBuffer();
  auto *encoder = commands->computeCommandEncoder();
  encoder->setComputePipelineState(state.get());
  encoder->setBuffer(values.get(), 0, 0);
  encoder->dispatchThreads(MTL::Size(4, 1, 1), MTL::Size(48, 1, 1));
  EXPECT_THAT(takeMisuse(), HasSubstr("multiple of the SIMD width (32)"));
  encoder->dispatchThreads(MTL::Size(4, 1, 1), MTL::Size(256, 1, 1));
  EXPECT_THAT(takeMisuse(), HasSubstr("above the limit (128) of pipeline \"adder\""));
  encoder->endEncoding();
  descriptor->setMaxTotalThreadsPerThreadgroup(2048);
  EXPECT_EQ(
      device->newComputePipelineState(descriptor.get(), MTL::PipelineOptionNone, nullptr, &error),
      nullptr);
  EXPECT_THAT(text(error), HasSubstr("(2048)"));
}

TEST_P(LibraryApi, ReflectionDescribesArguments) {
  auto function = NS::TransferPtr(library->newFunction(MTLSTR("use_settings")));
  NS::Error *error = nullptr;
  MTL::AutoreleasedComputePipelineReflection reflection = nullptr;
  auto state = NS::TransferPtr(device->newComputePipelineState(
      function.get(), MTL::PipelineOptionBindingInfo | MTL::PipelineOptionBufferTypeInfo,
      &reflection, &error));
  ASSERT_TRUE(state) << text(error);
  ASSERT_NE(reflection, nullptr);
  ASSERT_EQ(reflection->bindings()->count(), 2u);
  auto *out = reflection->bindings()->object<MTL::BufferBinding>(0);
  EXPECT_EQ(text(out->name()), "out");
  EXPECT_EQ(out->type(), MTL::BindingTypeBuffer);
  EXPECT_EQ(out->bufferDataType(), MTL::DataTypeFloat);
  EXPECT_NE(out->access(), MTL::BindingAccessReadOnly);
  auto *settings = reflection->bindings()->object<MTL::BufferBinding>(1);
  EXPECT_EQ(settings->index(), 1u);
  EXPECT_EQ(settings->bufferDataSize(), 8u);
  EXPECT_EQ(settings->bufferDataType(), MTL::DataTypeStruct);
  ASSERT_NE(settings->bufferStructType(), nullptr);
  auto *scale = settings->bufferStructType()->memberByName(MTLSTR("scale"));
  ASSERT_NE(scale, nullptr);
  EXPECT_EQ(scale->offset(), 4u);
  EXPECT_EQ(scale->dataType(), MTL::DataTypeFloat);
  EXPECT_EQ(reflection->arguments()->object<MTL::Argument>(1)->index(), 1u);
}

TEST_P(LibraryApi, ArchivesSaveCompilation) {
  pewter::testing::TemporaryFolder folder;
  auto *url = NS::URL::fileURLWithPath(string((folder.path() / "kernels.archive").string()));
  NS::Error *error = nullptr;
  auto function = NS::TransferPtr(library->newFunction(MTLSTR("add_one")));
  auto descriptor = NS::TransferPtr(MTL::ComputePipelineDescriptor::alloc()->init());
  descriptor->setComputeFunction(function.get());
  auto archive = NS::TransferPtr(device->newBinaryArchive(
      MTL::BinaryArchiveDescriptor::alloc()->init()->autorelease(), &error));
  ASSERT_TRUE(archive) << text(error);
  EXPECT_TRUE(archive->addComputePipelineFunctions(descriptor.get(), &error)) << text(error);
  EXPECT_TRUE(archive->serializeToURL(url, &error)) << text(error);

  auto *from = MTL::BinaryArchiveDescriptor::alloc()->init()->autorelease();
  from->setUrl(url);
  auto loaded = NS::TransferPtr(device->newBinaryArchive(from, &error));
  ASSERT_TRUE(loaded) << text(error);
  const NS::Object *list[] = {loaded.get()};
  descriptor->setBinaryArchives(NS::Array::array(list, 1));
  auto state = NS::TransferPtr(device->newComputePipelineState(
      descriptor.get(), MTL::PipelineOptionFailOnBinaryArchiveMiss, nullptr, &error));
  ASSERT_TRUE(state) << text(error);
  if (executes())
    EXPECT_EQ(run(state.get()), std::vector<int>(4, 1));
  EXPECT_FALSE(
      archive->serializeToURL(NS::URL::fileURLWithPath(MTLSTR("/no/such/folder/a")), &error));
  EXPECT_THAT(text(error), HasSubstr("/no/such/folder/a"));
}

TEST_P(LibraryApi, ADamagedArchiveIsRefused) {
  pewter::testing::TemporaryFolder folder;
  std::string path = (folder.path() / "bad.archive").string();
  std::ofstream(path) << "not an archive";
  auto *from = MTL::BinaryArchiveDescriptor::alloc()->init()->autorelease();
  from->setUrl(NS::URL::fileURLWithPath(string(path)));
  NS::Error *error = nullptr;
  EXPECT_EQ(device->newBinaryArchive(from, &error), nullptr);
  EXPECT_THAT(text(error), HasSubstr(path));
  EXPECT_TRUE(error->domain()->isEqualToString(MTL::BinaryArchiveDomain));
}

} // namespace
} // namespace pewter::test
