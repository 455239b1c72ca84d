// SPDX-License-Identifier: Apache-2.0
//
// Visible functions: tables of them as kernels call them, private ones called by name, and what is wrong
// with both.
#include "ApiTest.h"

namespace pewter::test {
namespace {

using ::testing::HasSubstr;

constexpr const char *kFunctions = R"(
#include <metal_stdlib>
using namespace metal;

constant int step_size [[function_constant(0)]];

struct Point { float4 at; int weight; };

[[visible]] float twice(float x) { return 2 * x; }
[[visible]] float square(float x) { return x * x; }
[[visible]] float root(float x) { return x < 0 ? -1.0f : precise::sqrt(x); }
[[visible]] float stepped(float x) { return x + step_size; }
[[visible]] int whole(int x) { return x + 1; }
[[visible]] void bump(device int *p, thread Point &state) {
  *p += state.weight;
  state.at.w += 1;
}
[[visible]] Point moved(Point p, float4 by, uint lane) {
  p.at += by;
  p.weight = int(simd_sum(lane));
  return p;
}
[[visible]] float deeper(float x, visible_function_table<float(float)> inner) {
  return 1 + inner[0](x);
}
template <typename T> [[visible]] T halved(T x) { return x / 2; }
template [[host_name("halved_float")]] [[visible]] float halved<float>(float);
)";

constexpr const char *kKernels = R"(
#include <metal_stdlib>
using namespace metal;

struct Point { float4 at; int weight; };
using Unary = float(float);

// Every lane its own function: the choice diverges.
kernel void apply(device const float *in [[buffer(0)]], device float *out [[buffer(1)]],
                  visible_function_table<Unary> table [[buffer(2)]],
                  uint i [[thread_position_in_grid]]) {
  Unary *f = table[i % 8];
  out[i] = f ? f(in[i]) : -100.0f;
}
// All lanes the same.
kernel void apply_one(device const float *in [[buffer(0)]], device float *out [[buffer(1)]],
                      visible_function_table<float(float)> table [[buffer(2)]],
                      constant uint &which [[buffer(3)]], uint i [[thread_position_in_grid]]) {
  out[i] = table[which](in[i]);
}
kernel void facts(device uint *out [[buffer(0)]], visible_function_table<Unary> table [[buffer(2)]]) {
  out[0] = table.size();
  out[1] = table.empty();
  out[2] = table.empty(0);
  out[3] = table.empty(1);
  out[4] = is_null_visible_function_table(table);
}
kernel void bumps(device int *out [[buffer(0)]],
                  visible_function_table<void(device int *, thread Point &)> table [[buffer(2)]],
                  uint i [[thread_position_in_grid]]) {
  Point p{float4(0), int(i)};
  table[0](out + i, p);
  out[i] += int(p.at.w) * 1000;
}
kernel void moves(device float4 *out [[buffer(0)]],
                  visible_function_table<Point(Point, float4, uint)> table [[buffer(2)]],
                  uint i [[thread_position_in_grid]]) {
  Point p{float4(i), 7};
  p = table[0](p, float4(1, 2, 3, 4), i);
  out[i] = p.at + float4(0, 0, 0, p.weight);
}
kernel void nested(device const float *in [[buffer(0)]], device float *out [[buffer(1)]],
                   visible_function_table<float(float, visible_function_table<float(float)>)> outer
                   [[buffer(2)]], visible_function_table<float(float)> inner [[buffer(3)]],
                   uint i [[thread_position_in_grid]]) {
  out[i] = outer[0](in[i], inner);
}
struct Arguments { device const float *in; visible_function_table<Unary> table; int offset; };
kernel void from_arguments(constant Arguments &arguments [[buffer(0)]], device float *out [[buffer(1)]],
                           uint i [[thread_position_in_grid]]) {
  out[i] = arguments.table[i % 4](arguments.in[i]) + arguments.offset;
}
[[visible]] float square(float x);
kernel void by_name(device const float *in [[buffer(0)]], device float *out [[buffer(1)]],
                    uint i [[thread_position_in_grid]]) {
  out[i] = square(in[i]) + 1;
}
// Pointers to functions of the program itself.
[[visible]] float minus(float x) { return -x; }
static float plus_three(float x) { return x + 3; }
Unary *constant kChoices[] = {minus, plus_three};
kernel void own(device const float *in [[buffer(0)]], device float *out [[buffer(1)]],
                uint i [[thread_position_in_grid]]) {
  Unary *f = i % 3 == 0 ? minus : plus_three;
  out[i] = f(in[i]) + 10 * kChoices[i % 2](in[i]);
}
)";

struct FunctionPointers : ApiTest {
  void SetUp() override {
    ApiTest::SetUp();
    functions = compile(kFunctions);
    kernels = compile(kKernels);
    ASSERT_TRUE(functions && kernels);
    for (size_t i = 0; i < kThreads; ++i)
      input.push_back(float(i) * 0.75f - 9);
    in = bufferOf(input);
    out = buffer(kThreads * sizeof(float));
  }

  NS::SharedPtr<MTL::Library> compile(const std::string &source) {
    NS::Error *error = nullptr;
    auto options = NS::TransferPtr(MTL::CompileOptions::alloc()->init());
    options->setMathMode(MTL::MathModeSafe);
    auto library = NS::TransferPtr(device->newLibrary(string(source), options.get(), &error));
    EXPECT_TRUE(library) << text(error);
    return library;
  }
  NS::SharedPtr<MTL::Function> function(const char *name) {
    auto made = NS::TransferPtr(functions->newFunction(string(name)));
    EXPECT_TRUE(made) << name;
    return made;
  }
  NS::SharedPtr<MTL::Function> stepped(int by, const char *name = nullptr) {
    auto values = NS::TransferPtr(MTL::FunctionConstantValues::alloc()->init());
    values->setConstantValue(&by, MTL::DataTypeInt, NS::UInteger(0));
    auto descriptor = NS::TransferPtr(MTL::FunctionDescriptor::alloc()->init());
    descriptor->setName(MTLSTR("stepped"));
    descriptor->setConstantValues(values.get());
    if (name)
      descriptor->setSpecializedName(string(name));
    NS::Error *error = nullptr;
    auto made = NS::TransferPtr(functions->newFunction(descriptor.get(), &error));
    EXPECT_TRUE(made) << text(error);
    return made;
  }

  static NS::Array *arrayOf(const std::vector<NS::SharedPtr<MTL::Function>> &list) {
    std::vector<NS::Object *> objects;
    for (auto &function : list)
      objects.push_back(reinterpret_cast<NS::Object *>(function.get()));
    return NS::Array::array(objects.data(), objects.size());
  }
  NS::SharedPtr<MTL::ComputePipelineDescriptor>
  descriptorFor(const char *kernel, const std::vector<NS::SharedPtr<MTL::Function>> &linked,
                bool isPrivate = false) {
    auto descriptor = NS::TransferPtr(MTL::ComputePipelineDescriptor::alloc()->init());
    auto function = NS::TransferPtr(kernels->newFunction(string(kernel)));
    EXPECT_TRUE(function) << kernel;
    descriptor->setComputeFunction(function.get());
    auto list = NS::TransferPtr(MTL::LinkedFunctions::alloc()->init());
    if (isPrivate)
      list->setPrivateFunctions(arrayOf(linked));
    else
      list->setFunctions(arrayOf(linked));
    descriptor->setLinkedFunctions(list.get());
    return descriptor;
  }
  NS::SharedPtr<MTL::ComputePipelineState> pipeline(const MTL::ComputePipelineDescriptor *descriptor) {
    NS::Error *error = nullptr;
    auto state = NS::TransferPtr(
        device->newComputePipelineState(descriptor, MTL::PipelineOptionNone, nullptr, &error));
    EXPECT_TRUE(state) << text(error);
    return state;
  }
  std::string failure(const MTL::ComputePipelineDescriptor *descriptor) {
    NS::Error *error = nullptr;
    auto state = NS::TransferPtr(
        device->newComputePipelineState(descriptor, MTL::PipelineOptionNone, nullptr, &error));
    EXPECT_FALSE(state);
    return text(error);
  }
  static NS::SharedPtr<MTL::VisibleFunctionTable> table(MTL::ComputePipelineState *state, size_t count) {
    auto descriptor = NS::TransferPtr(MTL::VisibleFunctionTableDescriptor::alloc()->init());
    descriptor->setFunctionCount(count);
    return NS::TransferPtr(state->newVisibleFunctionTable(descriptor.get()));
  }

  template <class Bind>
  MTL::CommandBuffer *dispatch(MTL::ComputePipelineState *state, Bind bind, size_t threads = kThreads) {
    auto *commands = queue->commandBuffer();
    auto *encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(state);
    encoder->setBuffer(in.get(), 0, 0);
    encoder->setBuffer(out.get(), 0, 1);
    bind(encoder);
    encoder->dispatchThreads(MTL::Size(threads, 1, 1), MTL::Size(32, 1, 1));
    encoder->endEncoding();
    commands->commit();
    commands->waitUntilCompleted();
    return commands;
  }
  void expectCompleted(MTL::CommandBuffer *commands) {
    EXPECT_EQ(commands->status(), MTL::CommandBufferStatusCompleted) << text(commands->error());
  }
  template <class Expected> void expectEach(Expected expected) {
    if (!executes())
      return;
    const auto got = contentsOf<float>(out);
    for (size_t i = 0; i < kThreads; ++i)
      EXPECT_EQ(got[i], expected(i, input[i])) << "thread " << i;
  }

  static constexpr size_t kThreads = 75;
  NS::SharedPtr<MTL::Library> functions, kernels;
  std::vector<float> input;
  NS::SharedPtr<MTL::Buffer> in, out;
};
PEWTER_EVERY_DEVICE(FunctionPointers);

float rootOf(float x) { return x < 0 ? -1.0f : std::sqrt(x); }

TEST_P(FunctionPointers, EveryLaneCallsItsOwnEntry) {
  const std::vector linked{function("twice"), function("square"), function("root"), stepped(5),
                           function("halved_float")};
  auto state = pipeline(descriptorFor("apply", linked).get());
  auto entries = table(state.get(), 6);
  // Out of order, one entry empty, and kernels ask for two past the end.
  for (auto [index, which] : {std::pair{0, 2}, {1, 0}, {2, 1}, {4, 3}, {5, 4}})
    entries->setFunction(state->functionHandle(linked[size_t(which)].get()), NS::UInteger(index));
  expectCompleted(dispatch(state.get(), [&](auto *encoder) {
    encoder->setVisibleFunctionTable(entries.get(), 2);
  }));
  expectEach([](size_t i, float x) {
    switch (i % 8) {
    case 0:
      return rootOf(x);
    case 1:
      return 2 * x;
    case 2:
      return x * x;
    case 4:
      return x + 5;
    case 5:
      return x / 2;
    default:
      return -100.0f;
    }
  });
}

TEST_P(FunctionPointers, AnIndexThatAllLanesShareCanChangeBetweenDispatches) {
  const std::vector linked{function("twice"), function("square")};
  auto state = pipeline(descriptorFor("apply_one", linked).get());
  auto entries = table(state.get(), 3);
  MTL::FunctionHandle *handles[] = {state->functionHandle(MTLSTR("twice")),
                                    state->functionHandle(MTLSTR("square"))};
  entries->setFunctions(handles, NS::Range(0, 2));
  for (uint32_t which = 0; which < 4; ++which) {
    expectCompleted(dispatch(state.get(), [&](auto *encoder) {
      encoder->setVisibleFunctionTable(entries.get(), 2);
      encoder->setBytes(&which, sizeof(which), 3);
    }));
    // A call of an empty entry, and one past the end, give zero.
    expectEach([&](size_t, float x) { return which == 0 ? 2 * x : which == 1 ? x * x : 0.0f; });
  }
}

TEST_P(FunctionPointers, KernelsAskForSizeAndEmptiness) {
  auto state = pipeline(descriptorFor("facts", {function("twice")}).get());
  auto entries = table(state.get(), 3);
  entries->setLabel(MTLSTR("choices"));
  EXPECT_EQ(text(entries->label()), "choices");
  EXPECT_EQ(entries->device(), device);
  EXPECT_NE(entries->gpuResourceID()._impl, 0u);
  entries->setFunction(state->functionHandle(MTLSTR("twice")), 1);
  auto facts = buffer(20);
  expectCompleted(dispatch(state.get(), [&](auto *encoder) {
    encoder->setBuffer(facts.get(), 0, 0);
    encoder->setVisibleFunctionTable(entries.get(), 2);
  }, 1));
  if (executes())
    EXPECT_EQ(contentsOf<uint32_t>(facts), (std::vector<uint32_t>{3, 0, 1, 0, 0}));
}

TEST_P(FunctionPointers, FunctionsTakePointersReferencesStructsAndVectors) {
  auto state = pipeline(descriptorFor("bumps", {function("bump")}).get());
  auto entries = table(state.get(), 1);
  entries->setFunction(state->functionHandle(MTLSTR("bump")), 0);
  auto counts = bufferOf(std::vector<int>(kThreads, 5));
  expectCompleted(dispatch(state.get(), [&](auto *encoder) {
    encoder->setBuffer(counts.get(), 0, 0);
    encoder->setVisibleFunctionTable(entries.get(), 2);
  }));
  if (executes())
    for (size_t i = 0; i < kThreads; ++i)
      EXPECT_EQ(contentsOf<int>(counts)[i], int(1005 + i));

  state = pipeline(descriptorFor("moves", {function("moved")}).get());
  entries = table(state.get(), 1);
  entries->setFunction(state->functionHandle(MTLSTR("moved")), 0);
  auto points = buffer(kThreads * 16);
  expectCompleted(dispatch(state.get(), [&](auto *encoder) {
    encoder->setBuffer(points.get(), 0, 0);
    encoder->setVisibleFunctionTable(entries.get(), 2);
  }, 64));
  if (executes())
    for (size_t i = 0; i < 64; ++i) {
      const float lanes = i < 32 ? 496 : 496 + 32 * 32;
      EXPECT_EQ(contentsOf<float>(points)[4 * i + 2], float(i) + 3);
      EXPECT_EQ(contentsOf<float>(points)[4 * i + 3], float(i) + 4 + lanes);
    }
}

TEST_P(FunctionPointers, AFunctionCallsThroughATableThatItIsGiven) {
  auto state =
      pipeline(descriptorFor("nested", {function("square"), function("deeper")}).get());
  auto outer = table(state.get(), 1), inner = table(state.get(), 1);
  outer->setFunction(state->functionHandle(MTLSTR("deeper")), 0);
  inner->setFunction(state->functionHandle(MTLSTR("square")), 0);
  MTL::VisibleFunctionTable *both[] = {outer.get(), inner.get()};
  expectCompleted(dispatch(state.get(), [&](auto *encoder) {
    encoder->setVisibleFunctionTables(both, NS::Range(2, 2));
  }));
  expectEach([](size_t, float x) { return 1 + x * x; });
}

TEST_P(FunctionPointers, ATableLiesInAnArgumentBuffer) {
  const std::vector linked{function("twice"), function("square"), function("root")};
  auto state = pipeline(descriptorFor("from_arguments", linked).get());
  auto entries = table(state.get(), 3);
  for (NS::UInteger i = 0; i < 3; ++i)
    entries->setFunction(state->functionHandle(linked[i].get()), i);
  auto kernel = NS::TransferPtr(kernels->newFunction(MTLSTR("from_arguments")));
  auto encode = NS::TransferPtr(kernel->newArgumentEncoder(0));
  auto arguments = buffer(encode->encodedLength());
  encode->setArgumentBuffer(arguments.get(), 0);
  encode->setBuffer(in.get(), 0, 0);
  encode->setVisibleFunctionTable(entries.get(), 1);
  *static_cast<int *>(encode->constantData(2)) = 40;
  expectCompleted(dispatch(state.get(), [&](auto *encoder) {
    encoder->setBuffer(arguments.get(), 0, 0);
    encoder->useResource(in.get(), MTL::ResourceUsageRead);
    encoder->useResource(entries.get(), MTL::ResourceUsageRead);
  }));
  expectEach([](size_t i, float x) {
    return 40 + (i % 4 == 0 ? 2 * x : i % 4 == 1 ? x * x : i % 4 == 2 ? rootOf(x) : 0);
  });
}

TEST_P(FunctionPointers, PrivateFunctionsAreCalledByName) {
  auto state = pipeline(descriptorFor("by_name", {function("square")}, true).get());
  EXPECT_EQ(state->functionHandle(MTLSTR("square")), nullptr);
  expectCompleted(dispatch(state.get(), [](auto *) {}));
  expectEach([](size_t, float x) { return x * x + 1; });
  // Functions for tables can be called by name as well.
  state = pipeline(descriptorFor("by_name", {function("square")}).get());
  EXPECT_NE(state->functionHandle(MTLSTR("square")), nullptr);
  expectCompleted(dispatch(state.get(), [](auto *) {}));
  expectEach([](size_t, float x) { return x * x + 1; });
  if (executes())
    EXPECT_THAT(failure(descriptorFor("by_name", {function("twice")}, true).get()),
                HasSubstr("calls the undefined function \"square(float)\""));
}

TEST_P(FunctionPointers, PointToFunctionsOfTheProgramItself) {
  auto state = pipeline(descriptorFor("own", {}).get());
  expectCompleted(dispatch(state.get(), [](auto *) {}));
  expectEach([](size_t i, float x) {
    const float minus = -x, plus = x + 3;
    return (i % 3 == 0 ? minus : plus) + 10 * (i % 2 == 0 ? minus : plus);
  });
}

TEST_P(FunctionPointers, OneFunctionIsLinkedWithSeveralConstants) {
  const std::vector linked{stepped(1, "step_one"), stepped(100, "step_hundred")};
  auto state = pipeline(descriptorFor("apply", linked).get());
  auto entries = table(state.get(), 8);
  for (NS::UInteger i = 0; i < 8; ++i)
    entries->setFunction(state->functionHandle(i % 2 ? MTLSTR("step_one") : MTLSTR("step_hundred")), i);
  expectCompleted(dispatch(state.get(), [&](auto *encoder) {
    encoder->setVisibleFunctionTable(entries.get(), 2);
  }));
  expectEach([](size_t i, float x) { return x + (i % 2 ? 1 : 100); });
  EXPECT_THAT(failure(descriptorFor("apply", {stepped(1), stepped(2)}).get()),
              HasSubstr("a second function \"stepped\""));
}

TEST_P(FunctionPointers, APipelineGetsMoreFunctions) {
  auto descriptor = descriptorFor("apply", {function("twice")});
  NS::Error *error = nullptr;
  auto closed = pipeline(descriptor.get());
  EXPECT_EQ(closed->newComputePipelineState(arrayOf({function("square")}), &error), nullptr);
  EXPECT_THAT(text(error), HasSubstr("supportAddingBinaryFunctions"));

  descriptor->setSupportAddingBinaryFunctions(true);
  auto first = pipeline(descriptor.get());
  auto second = NS::TransferPtr(first->newComputePipelineState(arrayOf({function("square")}), &error));
  ASSERT_TRUE(second) << text(error);
  auto third = NS::TransferPtr(second->newComputePipelineStateWithBinaryFunctions(
      arrayOf({function("root")}), &error));
  ASSERT_TRUE(third) << text(error);
  EXPECT_EQ(first->functionHandle(MTLSTR("square")), nullptr);
  auto entries = table(third.get(), 8);
  // A handle of the shorter pipeline means the same in the longer one, not the other way round.
  for (NS::UInteger i = 0; i < 8; ++i)
    entries->setFunction(i % 2 ? first->functionHandle(MTLSTR("twice"))
                               : third->functionHandle(i % 4 ? MTLSTR("square") : MTLSTR("root")),
                         i);
  expectCompleted(dispatch(third.get(), [&](auto *encoder) {
    encoder->setVisibleFunctionTable(entries.get(), 2);
  }));
  expectEach([](size_t i, float x) { return i % 2 ? 2 * x : i % 4 ? x * x : rootOf(x); });
  auto shorter = table(first.get(), 1);
  shorter->setFunction(third->functionHandle(MTLSTR("root")), 0);
  EXPECT_THAT(takeMisuse(), HasSubstr("\"root\" is of another pipeline"));
}

TEST_P(FunctionPointers, ReflectionShowsTheTable) {
  auto function = NS::TransferPtr(kernels->newFunction(MTLSTR("apply")));
  NS::Error *error = nullptr;
  MTL::ComputePipelineReflection *reflection = nullptr;
  auto state = NS::TransferPtr(device->newComputePipelineState(
      function.get(), MTL::PipelineOptionBindingInfo, &reflection, &error));
  ASSERT_TRUE(state) << text(error);
  auto *binding = reflection->bindings()->object<MTL::Binding>(2);
  EXPECT_EQ(binding->type(), MTL::BindingTypeVisibleFunctionTable);
  EXPECT_EQ(text(binding->name()), "table");
  EXPECT_EQ(binding->index(), 2u);
  auto visible = NS::TransferPtr(functions->newFunction(MTLSTR("twice")));
  EXPECT_EQ(visible->functionType(), MTL::FunctionTypeVisible);
  auto handled = pipeline(descriptorFor("apply", {visible}).get());
  auto *handle = handled->functionHandle(visible.get());
  ASSERT_NE(handle, nullptr);
  EXPECT_EQ(text(handle->name()), "twice");
  EXPECT_EQ(handle->functionType(), MTL::FunctionTypeVisible);
  EXPECT_EQ(handle->device(), device);
}

TEST_P(FunctionPointers, WrongUseIsNamed) {
  const std::vector linked{function("twice"), function("whole")};
  auto state = pipeline(descriptorFor("apply", linked).get());
  auto other = pipeline(descriptorFor("apply", {function("square")}).get());
  EXPECT_EQ(state->functionHandle(MTLSTR("square")), nullptr);
  EXPECT_EQ(state->functionHandle(function("square").get()), nullptr);
  EXPECT_FALSE(table(state.get(), 0));
  EXPECT_THAT(takeMisuse(), HasSubstr("functionCount (0)"));
  auto entries = table(state.get(), 2);
  entries->setFunction(state->functionHandle(MTLSTR("twice")), 2);
  EXPECT_THAT(takeMisuse(), HasSubstr("index (2) is not below the number of entries (2)"));
  entries->setFunction(other->functionHandle(MTLSTR("square")), 0);
  EXPECT_THAT(takeMisuse(), HasSubstr("function \"square\" is of another pipeline"));

  const auto expectMisuse = [&](const char *message, auto bind) {
    EXPECT_EQ(dispatch(state.get(), bind)->status(), MTL::CommandBufferStatusError);
    EXPECT_THAT(takeMisuse(), HasSubstr(message));
  };
  expectMisuse("no visible function table is bound at index 2", [](auto *) {});
  expectMisuse("is bound at index 2 for argument \"table\" of kernel \"apply\", which is a visible function table",
               [&](auto *encoder) { encoder->setBuffer(in.get(), 0, 2); });
  expectMisuse("which is a buffer", [&](auto *encoder) {
    encoder->setVisibleFunctionTable(entries.get(), 0);
    encoder->setVisibleFunctionTable(entries.get(), 2);
  });
  auto foreign = table(other.get(), 1);
  expectMisuse("was made by another pipeline", [&](auto *encoder) {
    encoder->setVisibleFunctionTable(foreign.get(), 2);
  });
  entries->setFunction(state->functionHandle(MTLSTR("whole")), 1);
  expectMisuse("is function \"whole\" of type \"int(int)\"; argument \"table\" of kernel \"apply\" is a "
               "visible_function_table<float(float)>",
               [&](auto *encoder) { encoder->setVisibleFunctionTable(entries.get(), 2); });
  entries->setFunction(nullptr, 1);
  expectCompleted(dispatch(state.get(), [&](auto *encoder) {
    encoder->setVisibleFunctionTable(entries.get(), 2);
  }));

  auto kernel = NS::TransferPtr(kernels->newFunction(MTLSTR("facts")));
  EXPECT_THAT(failure(descriptorFor("apply", {kernel}).get()), HasSubstr("\"facts\", which is not [[visible]]"));
  auto itself = descriptorFor("apply", {});
  itself->setComputeFunction(function("twice").get());
  EXPECT_THAT(failure(itself.get()), HasSubstr("\"twice\" is not a kernel"));
}

} // namespace
} // namespace pewter::test
