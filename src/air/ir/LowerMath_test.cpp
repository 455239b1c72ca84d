// SPDX-License-Identifier: Apache-2.0
//
// Each case is a call by its AIR name and signature in a module of its own, lowered, checked to hold no
// `air.*` name any more, compiled, and run on given operands. What the library's functions compute is
// tests/accuracy's subject; here it is that each name reaches the right code with the right types.
#include "air/ir/LowerMath.h"
#include "air/ir/MathLibrary.h"
#include <bit>
#include <cmath>
#include <cstring>
#include <deque>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/ThreadSafeModule.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>

namespace pewter::air::ir {
namespace {

using namespace llvm;
using testing::ElementsAre;

std::unique_ptr<Module> parse(LLVMContext &context, const std::string &text) {
  SMDiagnostic diagnostic;
  std::unique_ptr<Module> module = parseAssemblyString(text, diagnostic, context);
  EXPECT_TRUE(module) << diagnostic.getMessage().str() << "\n" << text;
  return module;
}

/// Names that are neither intrinsics nor defined here.
std::vector<std::string> unknownNames(const Module &module) {
  std::vector<std::string> names;
  for (const Function &function : module)
    if (function.isDeclaration() && !function.isIntrinsic())
      names.push_back(function.getName().str());
  return names;
}

/// void run(ptr out, ptr in0, ptr in1, ...): loads the operands, calls, stores the result.
std::string moduleFor(const std::string &name, const std::string &result,
                      const std::vector<std::string> &types, const std::string &flags = "") {
  std::string parameters, loads, arguments;
  for (size_t i = 0; i < types.size(); ++i) {
    parameters += fmt::format(", ptr %p{}", i);
    arguments += fmt::format("{}{} %a{}", i ? ", " : "", types[i], i);
    loads += types[i] == "ptr" ? fmt::format("  %a{} = getelementptr i8, ptr %p{}, i64 0\n", i, i)
                               : fmt::format("  %a{} = load {}, ptr %p{}\n", i, types[i], i);
  }
  return fmt::format("declare {0} @{1}({2})\n"
                     "define void @run(ptr %out{3}) {{\n{4}"
                     "  %r = call {6}{0} @{1}({5})\n"
                     "  store {0} %r, ptr %out\n  ret void\n}}\n",
                     result, name, fmt::join(types, ", "), parameters, loads, arguments, flags);
}

/// What LLVM calls for fptrunc to bfloat on machines without the instruction; the result is in the low
/// half of the register.
float truncateToBfloat(float x) {
  auto bits = std::bit_cast<uint32_t>(x);
  return std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

orc::LLJIT &jit() {
  static std::unique_ptr<orc::LLJIT> instance = [] {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
    return cantFail(orc::LLJITBuilder().create());
  }();
  return *instance;
}

template <class R> std::vector<R> resultOf(const void *bytes, size_t count) {
  std::vector<R> values(count);
  std::memcpy(values.data(), bytes, count * sizeof(R));
  return values;
}

/// Runs one call; operands are given as vectors of host values.
class Call {
public:
  Call(std::string name, std::string result, std::vector<std::string> types)
      : name_(std::move(name)), result_(std::move(result)), types_(std::move(types)) {}

  template <class T> Call &with(std::vector<T> values) {
    Block &block = operands_.emplace_back();
    std::memcpy(block.bytes, values.data(), values.size() * sizeof(T));
    return *this;
  }

  template <class R> std::vector<R> run(size_t count = 1) {
    auto context = std::make_unique<LLVMContext>();
    std::unique_ptr<Module> module = parse(*context, moduleFor(name_, result_, types_));
    if (!module)
      return std::vector<R>(count);
    EXPECT_TRUE(lowerMath(*module)) << name_;
    EXPECT_THAT(unknownNames(*module), testing::IsEmpty()) << name_;
    bool broken = verifyModule(*module, &errs());
    EXPECT_FALSE(broken) << name_;
    if (broken || !unknownNames(*module).empty())
      return std::vector<R>(count);
    module->setDataLayout(jit().getDataLayout());
    module->setTargetTriple(jit().getTargetTriple());
    auto &library = cantFail(jit().createJITDylib(fmt::format("case{}", counter_++)));
    library.addGenerator(cantFail(orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
        jit().getDataLayout().getGlobalPrefix())));
    cantFail(jit().addIRModule(library,
                               orc::ThreadSafeModule(std::move(module),
                                                     orc::ThreadSafeContext(std::move(context)))));
    orc::SymbolMap helpers;
    helpers[jit().mangleAndIntern("__truncsfbf2")] = {orc::ExecutorAddr::fromPtr(&truncateToBfloat),
                                                      JITSymbolFlags::Exported};
    cantFail(library.define(orc::absoluteSymbols(std::move(helpers))));
    auto address = cantFail(jit().lookup(library, "run"));
    alignas(64) char out[64] = {};
    std::vector<void *> in;
    for (Block &block : operands_)
      in.push_back(block.bytes);
    in.resize(4);
    address.toPtr<void(void *, void *, void *, void *, void *)>()(out, in[0], in[1], in[2], in[3]);
    return resultOf<R>(out, count);
  }

  template <class T> std::vector<T> operand(size_t index, size_t count) {
    return resultOf<T>(operands_[index].bytes, count);
  }

private:
  struct alignas(64) Block {
    char bytes[64] = {};
  };
  static inline int counter_ = 0;
  std::string name_, result_;
  std::vector<std::string> types_;
  std::deque<Block> operands_;
};

float unary(const std::string &name, float x) {
  return Call(name, "float", {"float"}).with<float>({x}).run<float>()[0];
}
float binary(const std::string &name, float x, float y) {
  return Call(name, "float", {"float", "float"}).with<float>({x}).with<float>({y}).run<float>()[0];
}
float ternary(const std::string &name, float x, float y, float z) {
  return Call(name, "float", {"float", "float", "float"})
      .with<float>({x})
      .with<float>({y})
      .with<float>({z})
      .run<float>()[0];
}
template <class T> T integers(const std::string &name, const std::string &type, std::vector<T> values) {
  Call call(name, type, std::vector<std::string>(values.size(), type));
  for (T value : values)
    call.with<T>({value});
  return call.run<T>()[0];
}

TEST(LowerMath, ReachesEveryFloatFunction) {
  struct Case {
    const char *operation;
    double (*reference)(double);
    double x;
  };
  const Case cases[] = {
      {"exp", std::exp, 1.5},     {"exp2", std::exp2, 1.5},   {"log", std::log, 3},
      {"log2", std::log2, 3},     {"log10", std::log10, 3},   {"sin", std::sin, 2},
      {"cos", std::cos, 2},       {"tan", std::tan, 1.2},     {"asin", std::asin, 0.7},
      {"acos", std::acos, 0.7},   {"atan", std::atan, 3},     {"sinh", std::sinh, 1.2},
      {"cosh", std::cosh, 1.2},   {"tanh", std::tanh, 0.8},   {"asinh", std::asinh, 2},
      {"acosh", std::acosh, 2},   {"atanh", std::atanh, 0.4}, {"sqrt", std::sqrt, 3},
      {"fabs", std::fabs, -3},    {"floor", std::floor, -1.5}, {"ceil", std::ceil, -1.5},
      {"trunc", std::trunc, -1.5}, {"rint", std::rint, 2.5},  {"round", std::round, 2.5},
      {"exp10", [](double x) { return std::pow(10, x); }, 1.5},
      {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 3},
      {"sinpi", [](double x) { return std::sin(x * M_PI); }, 0.3},
      {"cospi", [](double x) { return std::cos(x * M_PI); }, 0.3},
      {"tanpi", [](double x) { return std::tan(x * M_PI); }, 0.3},
      {"fract", [](double x) { return x - std::floor(x); }, -1.75},
      {"saturate", [](double) { return 1.0; }, 1.75},
      {"sign", [](double) { return -1.0; }, -0.25},
  };
  for (const Case &test : cases) {
    double expected = test.reference(test.x), tolerance = std::fabs(expected) * 3e-7;
    auto x = static_cast<float>(test.x);
    EXPECT_NEAR(unary(fmt::format("air.{}.f32", test.operation), x), expected, tolerance) << test.operation;
    EXPECT_NEAR(unary(fmt::format("air.fast_{}.f32", test.operation), x), expected, tolerance)
        << test.operation;
    // half and vectors, which go through float and one component at a time
    auto half = Call(fmt::format("air.{}.f16", test.operation), "half", {"half"})
                    .with<_Float16>({static_cast<_Float16>(test.x)})
                    .run<_Float16>()[0];
    double halfExpected = test.reference(static_cast<double>(static_cast<_Float16>(test.x)));
    EXPECT_NEAR(static_cast<double>(half), halfExpected, std::fabs(halfExpected) * 0x1p-11) << test.operation;
    auto vector = Call(fmt::format("air.{}.v4f32", test.operation), "<4 x float>", {"<4 x float>"})
                      .with<float>({x, x, x, x})
                      .run<float>(4);
    for (float value : vector)
      EXPECT_NEAR(value, expected, tolerance) << test.operation;
  }
}

TEST(LowerMath, ReachesFunctionsOfTwoAndThreeOperands) {
  EXPECT_FLOAT_EQ(binary("air.pow.f32", 3, 2.5f), std::pow(3.0f, 2.5f));
  EXPECT_FLOAT_EQ(binary("air.fast_powr.f32", 3, 2.5f), std::pow(3.0f, 2.5f));
  EXPECT_FLOAT_EQ(binary("air.atan2.f32", 3, -2), std::atan2(3.0f, -2.0f));
  EXPECT_EQ(binary("air.fmod.f32", -7.5f, 2), -1.5f);
  EXPECT_EQ(binary("air.fast_fmod.f32", 7.5f, 2), 1.5f);
  EXPECT_EQ(binary("air.fmin.f32", NAN, 2), 2);
  EXPECT_EQ(binary("air.fast_fmax.f32", 2, NAN), 2);
  EXPECT_EQ(binary("air.fdim.f32", 5, 3), 2);
  EXPECT_EQ(binary("air.copysign.f32", 5, -0.0f), -5);
  EXPECT_EQ(binary("air.nextafter.f32", 1, 2), 0x1.000002p0f);
  EXPECT_EQ(binary("air.fast_divide.f32", 6, 3), 2);
  EXPECT_EQ(binary("air.step.f32", 1, 1), 1);
  EXPECT_EQ(ternary("air.fma.f32", 0x1.000002p0f, 0x1.fffffep-1f, -1), 0x1.fffffcp-25f);
  EXPECT_EQ(ternary("air.fast_clamp.f32", 5, 0, 3), 3);
  EXPECT_EQ(ternary("air.mix.f32", 1, 3, 0.25f), 1.5f);
  EXPECT_EQ(ternary("air.fmin3.f32", 3, 1, 2), 1);
  EXPECT_EQ(ternary("air.fast_fmax3.f32", 3, 1, 2), 3);
  EXPECT_EQ(ternary("air.fmedian3.f32", 3, 1, 2), 2);
  EXPECT_EQ(ternary("air.smoothstep.f32", 0, 2, 1), 0.5f);
  EXPECT_EQ(Call("air.ldexp.f32", "float", {"float", "i32"}).with<float>({3}).with<int>({-2}).run<float>()[0], 0.75f);
  EXPECT_EQ(Call("air.dot.v4f32", "float", {"<4 x float>", "<4 x float>"})
                .with<float>({1, 2, 3, 4})
                .with<float>({5, 6, 7, 8})
                .run<float>()[0],
            70);
  EXPECT_EQ(Call("___metal_ilogb_float", "i32", {"float", "i32"}).with<float>({20}).with<int>({0}).run<int>()[0], 4);
}

TEST(LowerMath, StoresSecondResults) {
  Call sincos("air.fast_sincos.v2f32", "<2 x float>", {"<2 x float>", "ptr"});
  sincos.with<float>({0.5f, 1}).with<float>({});
  std::vector<float> sine = sincos.run<float>(2), cosine = sincos.operand<float>(1, 2);
  EXPECT_NEAR(sine[1], std::sin(1.0), 1e-6);
  EXPECT_NEAR(cosine[0], std::cos(0.5), 1e-6);
  EXPECT_NEAR(cosine[1], std::cos(1.0), 1e-6);
  Call frexp("___metal_frexp_float_pthreadint32", "float", {"float", "ptr"});
  frexp.with<float>({12}).with<int>({0});
  EXPECT_EQ(frexp.run<float>()[0], 0.75f);
  EXPECT_EQ(frexp.operand<int>(1, 1)[0], 4);
  Call modf("air.modf.f16", "half", {"half", "ptr"});
  modf.with<_Float16>({static_cast<_Float16>(-2.75)}).with<_Float16>({});
  EXPECT_EQ(static_cast<float>(modf.run<_Float16>()[0]), -0.75f);
  EXPECT_EQ(static_cast<float>(modf.operand<_Float16>(1, 1)[0]), -2.0f);
}

TEST(LowerMath, RoundsHalfOnce) {
  // 1 + 2^-11 is halfway between two halves; the product's last bit decides.
  auto fma = [](double a, double b, double c) {
    return static_cast<double>(Call("air.fma.f16", "half", {"half", "half", "half"})
                                   .with<_Float16>({static_cast<_Float16>(a)})
                                   .with<_Float16>({static_cast<_Float16>(b)})
                                   .with<_Float16>({static_cast<_Float16>(c)})
                                   .run<_Float16>()[0]);
  };
  EXPECT_EQ(fma(0x1p-11, 1, 1), 1);
  EXPECT_EQ(fma(0x1.ffcp-6, 0x1.004p-6, 1), 1 + 0x1p-10);
  EXPECT_EQ(fma(0x1.ffcp-6, 0x1p-6, 1), 1);
  // Just below a tie, by less than a float has room for.
  EXPECT_EQ(fma(0x1.004p-6, 0x1.ff8p-6, 0x1.004p0), 0x1.004p0);
  auto next = [](double x, double y) {
    return static_cast<double>(Call("air.nextafter.f16", "half", {"half", "half"})
                                   .with<_Float16>({static_cast<_Float16>(x)})
                                   .with<_Float16>({static_cast<_Float16>(y)})
                                   .run<_Float16>()[0]);
  };
  EXPECT_EQ(next(1, 2), 1 + 0x1p-10);
  EXPECT_EQ(next(0, -1), -0x1p-24);
  auto fract = Call("air.fract.f16", "half", {"half"}).with<_Float16>({static_cast<_Float16>(-0x1p-20)});
  EXPECT_EQ(static_cast<double>(fract.run<_Float16>()[0]), 0x1.ffcp-1);
}

TEST(LowerMath, ConvertsFloatsToIntegersWithSaturation) {
  auto toInt = [](const std::string &suffix, const std::string &type, float x) {
    return Call("air.convert." + suffix + ".f.f32", type, {"float"}).with<float>({x}).run<int64_t>()[0];
  };
  EXPECT_EQ(static_cast<int32_t>(toInt("s.i32", "i32", -2.7f)), -2);
  EXPECT_EQ(static_cast<int32_t>(toInt("s.i32", "i32", 3e9f)), INT32_MAX);
  EXPECT_EQ(static_cast<int32_t>(toInt("s.i32", "i32", -INFINITY)), INT32_MIN);
  EXPECT_EQ(static_cast<int32_t>(toInt("s.i32", "i32", NAN)), 0);
  EXPECT_EQ(static_cast<uint32_t>(toInt("u.i32", "i32", -1)), 0u);
  EXPECT_EQ(static_cast<int8_t>(toInt("s.i8", "i8", 300)), 127);
  EXPECT_EQ(static_cast<uint8_t>(toInt("u.i8", "i8", 254.9f)), 254);
  EXPECT_EQ(toInt("s.i64", "i64", 1e30f), INT64_MAX);
  EXPECT_EQ(static_cast<uint8_t>(toInt("u.i1", "i1", 0.25f)) & 1, 1);
  EXPECT_EQ(static_cast<uint8_t>(toInt("u.i1", "i1", -0.0f)) & 1, 0);
  for (auto [suffix, expected] : {std::pair{".rte", -2}, {".rtz", -2}, {".rtp", -2}, {".rtn", -3}})
    EXPECT_EQ(Call(std::string("air.convert.s.i32.f.f32") + suffix, "i32", {"float"})
                  .with<float>({-2.5f})
                  .run<int>()[0],
              expected)
        << suffix;
  EXPECT_EQ(Call("air.convert.s.i16.f.f16", "i16", {"half"}).with<_Float16>({static_cast<_Float16>(-7.9)}).run<int16_t>()[0], -7);
}

TEST(LowerMath, ConvertsIntegersToFloats) {
  EXPECT_EQ(Call("air.convert.f.f32.u.i32", "float", {"i32"}).with<uint32_t>({4000000000u}).run<float>()[0], 4e9f);
  EXPECT_EQ(Call("air.convert.f.f32.s.i8", "float", {"i8"}).with<int8_t>({-5}).run<float>()[0], -5);
  EXPECT_EQ(Call("air.convert.f.f16.u.i32", "half", {"i32"}).with<uint32_t>({70000}).run<_Float16>()[0], static_cast<_Float16>(INFINITY));
  EXPECT_THAT((Call("air.convert.f.v4f32.u.v4i1", "<4 x float>", {"<4 x i1>"}).with<uint8_t>({5}).run<float>(4)),
              ElementsAre(1, 0, 1, 0));
  auto rounded = [](const char *suffix, int32_t x) {
    return Call(std::string("air.convert.f.f32.s.i32") + suffix, "float", {"i32"}).with<int32_t>({x}).run<float>()[0];
  };
  EXPECT_EQ(rounded("", 16777219), 16777220);
  EXPECT_EQ(rounded(".rtz", 16777219), 16777218);
  EXPECT_EQ(rounded(".rtp", 16777217), 16777218);
  EXPECT_EQ(rounded(".rtn", -16777217), -16777218);
  EXPECT_EQ(rounded(".rtp", -16777217), -16777216);
  EXPECT_EQ(rounded(".rtz", INT32_MIN), -2147483648.0f);
  // 2^24 + 2^16 + 1 is just above a tie of bfloats, which a float in between would lose.
  EXPECT_EQ(Call("air.convert.f.bf16.s.i32", "bfloat", {"i32"}).with<int32_t>({(1 << 25) + (1 << 17) + 1}).run<uint16_t>()[0], 0x4c01);
}

TEST(LowerMath, ConvertsBetweenFloatsAndBetweenIntegers) {
  EXPECT_THAT((Call("air.convert.f.v2f16.f.v2f32", "<2 x half>", {"<2 x float>"}).with<float>({0.5f, 1e6f}).run<_Float16>(2)),
              ElementsAre(static_cast<_Float16>(0.5), static_cast<_Float16>(INFINITY)));
  auto half = [](const char *suffix, float x) {
    return static_cast<float>(Call(std::string("air.convert.f.f16.f.f32") + suffix, "half", {"float"}).with<float>({x}).run<_Float16>()[0]);
  };
  EXPECT_EQ(half(".rtz", 1e6f), 65504);
  EXPECT_EQ(half(".rtp", 1.0001f), 1 + 0x1p-10f);
  EXPECT_EQ(half(".rtn", 1.0009f), 1);
  EXPECT_EQ(half(".rtn", -1.0001f), -1 - 0x1p-10f);
  EXPECT_EQ(half(".rtp", 1e-20f), 0x1p-24f);
  EXPECT_EQ(Call("air.convert.f.bf16.f.f16", "bfloat", {"half"}).with<_Float16>({static_cast<_Float16>(1.5)}).run<uint16_t>()[0], 0x3fc0);
  auto narrow = [](const char *name, int32_t x) {
    return Call(name, "i8", {"i32"}).with<int32_t>({x}).run<uint8_t>()[0];
  };
  EXPECT_EQ(narrow("air.convert.s.i8.s.i32", 300), 44);
  EXPECT_EQ(narrow("air.convert.s.i8.s.i32.sat", 300), 127);
  EXPECT_EQ(narrow("air.convert.s.i8.s.i32.sat", -300), 0x80);
  EXPECT_EQ(narrow("air.convert.u.i8.s.i32.sat", -300), 0);
  EXPECT_EQ(narrow("air.convert.u.i8.u.i32.sat", -1), 255);
  EXPECT_EQ(narrow("air.convert.s.i8.u.i32.sat", -1), 127);
  EXPECT_EQ(Call("air.convert.s.i64.u.i32", "i64", {"i32"}).with<int32_t>({-1}).run<int64_t>()[0], 0xffffffffll);
}

TEST(LowerMath, ComputesIntegers) {
  EXPECT_EQ((integers<int32_t>("air.abs.s.i32", "i32", {-5})), 5);
  EXPECT_EQ((integers<uint32_t>("air.abs.u.i32", "i32", {0xfffffffb})), 0xfffffffb);
  EXPECT_EQ((integers<int8_t>("air.min.s.i8", "i8", {-1, 1})), -1);
  EXPECT_EQ((integers<uint8_t>("air.min.u.i8", "i8", {255, 1})), 1);
  EXPECT_EQ((integers<uint32_t>("air.abs_diff.s.i32", "i32", {0x80000000, 0x7fffffff})), 0xffffffffu);
  EXPECT_EQ((integers<uint32_t>("air.abs_diff.u.i32", "i32", {3, 5})), 2u);
  EXPECT_EQ((integers<int16_t>("air.clamp.s.i16", "i16", {9, -3, 4})), 4);
  EXPECT_EQ((integers<int32_t>("air.median3.s.i32", "i32", {9, -3, 4})), 4);
  EXPECT_EQ((integers<uint32_t>("air.max3.u.i32", "i32", {9, 0xffffffff, 4})), 0xffffffffu);
  EXPECT_EQ((integers<int8_t>("air.add_sat.s.i8", "i8", {100, 100})), 127);
  EXPECT_EQ((integers<uint8_t>("air.sub_sat.u.i8", "i8", {3, 5})), 0);
  EXPECT_EQ((integers<int32_t>("air.hadd.s.i32", "i32", {-3, 2})), -1);
  EXPECT_EQ((integers<int32_t>("air.rhadd.s.i32", "i32", {-3, 2})), 0);
  EXPECT_EQ((integers<uint32_t>("air.rhadd.u.i32", "i32", {0xffffffff, 0xfffffffe})), 0xffffffffu);
  EXPECT_EQ((integers<uint32_t>("air.rotate.i32", "i32", {0x80000001, 33})), 3u);
  EXPECT_EQ((integers<uint32_t>("air.popcount.i32", "i32", {0xf0f})), 8u);
  EXPECT_EQ((integers<uint8_t>("air.reverse_bits.i8", "i8", {1})), 128);
  EXPECT_EQ((Call("air.clz.i32", "i32", {"i32", "i1"}).with<int>({0}).with<uint8_t>({0}).run<int>()[0]), 32);
  EXPECT_EQ((Call("air.ctz.i16", "i16", {"i16", "i1"}).with<int16_t>({8}).with<uint8_t>({0}).run<int16_t>()[0]), 3);
  EXPECT_EQ((integers<int32_t>("air.mul24.s.i32", "i32", {1000, -3})), -3000);
  EXPECT_EQ((integers<int32_t>("air.mad24.s.i32", "i32", {1000, 3, 4})), 3004);
}

TEST(LowerMath, ComputesHighProducts) {
  EXPECT_EQ((integers<uint32_t>("air.mul_hi.u.i32", "i32", {0xffffffff, 0xffffffff})), 0xfffffffeu);
  EXPECT_EQ((integers<int32_t>("air.mul_hi.s.i32", "i32", {-1, 1})), -1);
  EXPECT_EQ((integers<int16_t>("air.mad_hi.s.i16", "i16", {-32768, 2, 5})), 4);
  auto values = {int64_t(0), int64_t(1), int64_t(-1), INT64_MAX, INT64_MIN, int64_t(0x123456789abcdef0), int64_t(-0x0fedcba987654321)};
  for (int64_t a : values)
    for (int64_t b : values) {
      __int128 product = static_cast<__int128>(a) * b;
      EXPECT_EQ((integers<int64_t>("air.mul_hi.s.i64", "i64", {a, b})), static_cast<int64_t>(product >> 64));
      auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
      EXPECT_EQ((integers<uint64_t>("air.mul_hi.u.i64", "i64", {ua, ub})),
                static_cast<uint64_t>(static_cast<unsigned __int128>(ua) * ub >> 64));
      __int128 sum = product - 77;
      int64_t expected = sum > INT64_MAX ? INT64_MAX : sum < INT64_MIN ? INT64_MIN : static_cast<int64_t>(sum);
      EXPECT_EQ((integers<int64_t>("air.mad_sat.s.i64", "i64", {a, b, -77})), expected) << a << " * " << b;
    }
  EXPECT_EQ((integers<uint64_t>("air.mad_sat.u.i64", "i64", {1ull << 32, 1ull << 31, 1ull << 63})), UINT64_MAX);
  EXPECT_EQ((integers<uint64_t>("air.mad_sat.u.i64", "i64", {1ull << 31, 1ull << 31, 5})), (1ull << 62) + 5);
  EXPECT_EQ((integers<int8_t>("air.mad_sat.s.i8", "i8", {-100, 2, 10})), -128);
  EXPECT_EQ((integers<uint32_t>("air.mad_sat.u.i32", "i32", {0x10000, 0x10000, 0})), 0xffffffffu);
}

TEST(LowerMath, ExtractsAndInsertsBits) {
  auto extract = [](const char *name, uint32_t x, int offset, int count) {
    return Call(name, "i32", {"i32", "i32", "i32"}).with<uint32_t>({x}).with<int>({offset}).with<int>({count}).run<uint32_t>()[0];
  };
  EXPECT_EQ(extract("air.extract_bits.u.i32", 0xabcd1234, 8, 8), 0x12u);
  EXPECT_EQ(extract("air.extract_bits.s.i32", 0xabcd8234, 8, 8), 0xffffff82u);
  EXPECT_EQ(extract("air.extract_bits.s.i32", 0xabcd1234, 0, 32), 0xabcd1234u);
  EXPECT_EQ(extract("air.extract_bits.u.i32", 0xabcd1234, 5, 0), 0u);
  EXPECT_EQ(extract("air.extract_bits.u.i32", 0xabcd1234, 31, 1), 1u);
  auto insert = [](uint32_t base, uint32_t bits, int offset, int count) {
    return Call("air.insert_bits.u.i32", "i32", {"i32", "i32", "i32", "i32"})
        .with<uint32_t>({base}).with<uint32_t>({bits}).with<int>({offset}).with<int>({count}).run<uint32_t>()[0];
  };
  EXPECT_EQ(insert(0xffffffff, 0x12, 8, 8), 0xffff12ffu);
  EXPECT_EQ(insert(0, 0xffffffff, 0, 32), 0xffffffffu);
  EXPECT_EQ(insert(0x55, 0xffffffff, 4, 0), 0x55u);
}

TEST(LowerMath, AnswersPredicates) {
  auto test = [](const std::string &operation, float x) {
    return (Call("air." + operation + ".f32", "i1", {"float"}).with<float>({x}).run<uint8_t>()[0] & 1) != 0;
  };
  EXPECT_TRUE(test("isnan", NAN));
  EXPECT_FALSE(test("isnan", INFINITY));
  EXPECT_TRUE(test("isinf", -INFINITY));
  EXPECT_FALSE(test("isfinite", NAN));
  EXPECT_FALSE(test("isnormal", 1e-40f));
  EXPECT_TRUE(test("isnormal", -1));
  EXPECT_TRUE(test("signbit", -0.0f));
  auto reduce = [](const char *name, uint8_t bits) {
    return (Call(name, "i1", {"<3 x i1>"}).with<uint8_t>({bits}).run<uint8_t>()[0] & 1) != 0;
  };
  EXPECT_TRUE(reduce("air.all.v3i1", 7));
  EXPECT_FALSE(reduce("air.all.v3i1", 5));
  EXPECT_TRUE(reduce("air.any.v3i1", 2));
  EXPECT_FALSE(reduce("air.any.v3i1", 0));
}

TEST(LowerMath, PacksAndUnpacks) {
  auto pack = [](const char *name, const char *type, std::vector<float> values) {
    return Call(name, "i32", {type}).with<float>(values).run<uint32_t>()[0];
  };
  EXPECT_EQ(pack("air.pack.unorm4x8.v4f32", "<4 x float>", {0, 0.5f, 2, NAN}), 0x00ff8000u);
  EXPECT_EQ(pack("air.pack.snorm4x8.v4f32", "<4 x float>", {-1, -5, 1, 0}), 0x007f8181u);
  EXPECT_EQ(pack("air.pack.unorm2x16.v2f32", "<2 x float>", {1, 0}), 0x0000ffffu);
  EXPECT_EQ(pack("air.pack.snorm2x16.v2f32", "<2 x float>", {-1, 1}), 0x7fff8001u);
  EXPECT_EQ(pack("air.pack.unorm.rgb10a2.v4f32", "<4 x float>", {1, 0, 1, 1}), 0xfff003ffu);
  EXPECT_THAT((Call("air.unpack.unorm4x8.v4f32", "<4 x float>", {"i32"}).with<uint32_t>({0xff800033}).run<float>(4)),
              ElementsAre(0.2f, 0, 128 / 255.0f, 1));
  EXPECT_THAT((Call("air.unpack.snorm2x16.v2f32", "<2 x float>", {"i32"}).with<uint32_t>({0x80007fff}).run<float>(2)),
              ElementsAre(1, -1));
}

TEST(LowerMath, LeavesUnknownNames) {
  LLVMContext context;
  std::unique_ptr<Module> module = parse(context, moduleFor("air.simd_sum.f32", "float", {"float"}));
  EXPECT_FALSE(lowerMath(*module));
  EXPECT_THAT(unknownNames(*module), ElementsAre("air.simd_sum.f32"));
  module = parse(context, moduleFor("air.frobnicate.f32", "float", {"float"}));
  EXPECT_FALSE(lowerMath(*module));
  module = parse(context, moduleFor("air.exp.f32", "i32", {"i32"})); // a name with other types
  EXPECT_FALSE(lowerMath(*module));
}

TEST(LowerMath, KeepsPermissionsWithoutPromises) {
  LLVMContext context;
  std::unique_ptr<Module> module = parse(
      context, moduleFor("air.mix.f32", "float", {"float", "float", "float"}, "fast "));
  lowerMath(*module);
  for (const Instruction &instruction : instructions(module->getFunction("run")))
    if (isa<FPMathOperator>(instruction)) {
      EXPECT_TRUE(instruction.hasAllowContract());
      EXPECT_FALSE(instruction.hasNoNaNs());
      EXPECT_FALSE(instruction.hasNoInfs());
    }
  module = parse(context, moduleFor("air.sqrt.f32", "float", {"float"}, "fast "));
  lowerMath(*module);
  for (const Instruction &instruction : instructions(module->getFunction("run")))
    if (isa<FPMathOperator>(instruction))
      EXPECT_TRUE(instruction.getFastMathFlags().none());
}

} // namespace
} // namespace pewter::air::ir
