// SPDX-License-Identifier: Apache-2.0
#include "ggml/GgmlHarness.h"
#include "air/Metallib.h"
#include "base/Half.h"
#include "base/Toggles.h"
#include "device/CompilerLibrary.h"
#include <cmath>
#include <cstdio>
#include <cstring>
#include <gtest/gtest.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <set>

namespace pewter::testing {
namespace {

std::filesystem::path libraryPath() {
  return std::filesystem::path(PEWTER_SOURCE_DIR) /
         ".cache/peers/llama.rn@0.8.3/package/cpp/ggml-metal/ggml-llama.metallib";
}

struct Library {
  Bytes bytes;
  std::map<std::string, ByteView> modules;
};
const Library &library() {
  static const Library loaded = [] {
    Library result;
    auto bytes = readFile(libraryPath());
    if (!bytes)
      return result;
    result.bytes = std::move(*bytes);
    auto parsed = air::readMetallib(result.bytes);
    if (!parsed) {
      ADD_FAILURE() << parsed.error().describe();
      return result;
    }
    for (const air::MetallibFunction &function : parsed->functions)
      result.modules[function.name] = function.module;
    return result;
  }();
  return loaded;
}

const air::KernelReflection *reflectionOf(const std::string &kernel) {
  static std::map<std::string, air::KernelReflection> known;
  auto found = known.find(kernel);
  if (found != known.end())
    return &found->second;
  auto module = library().modules.find(kernel);
  if (module == library().modules.end()) {
    ADD_FAILURE() << "the library has no kernel " << kernel;
    return nullptr;
  }
  auto points = device::compilerLibrary();
  if (!points) {
    ADD_FAILURE() << points.error().describe();
    return nullptr;
  }
  auto description = (*points)->describeModule(module->second);
  if (!description || description->kernels.empty()) {
    ADD_FAILURE() << kernel << " cannot be described";
    return nullptr;
  }
  return &(known[kernel] = description->kernels[0]);
}

struct Row {
  std::set<std::string> ran, checked;
  uint64_t cases = 0, elements = 0;
  double error = 0;
};
std::map<std::string, Row> &table() {
  static std::map<std::string, Row> rows;
  return rows;
}
std::string currentFamily;

void record(const std::vector<std::string> &kernels, uint64_t elements, double error) {
  Row &row = table()[currentFamily];
  for (const std::string &kernel : kernels) {
    row.ran.insert(kernel);
    row.checked.insert(kernel);
  }
  ++row.cases;
  row.elements += elements;
  row.error = std::max(row.error, error);
}

/// Prints the table when all tests have run, as the rows of docs/compatibility.md.
class TablePrinter : public ::testing::Environment {
public:
  void TearDown() override {
    if (table().empty())
      return;
    std::string text = "| family | kernels run and checked | cases | elements | largest error |\n"
                       "|---|---|---|---|---|\n";
    std::set<std::string> all;
    for (const auto &[family, row] : table()) {
      text += fmt::format("| {} | {} | {} | {} | {:.1e} |\n", family, row.checked.size(), row.cases,
                          row.elements, row.error);
      all.insert(row.checked.begin(), row.checked.end());
    }
    text += fmt::format("| all | {} of {} | | | |\n", all.size(), library().modules.size());
    std::fputs(text.c_str(), stdout);
  }
};
const auto *const kPrinter = ::testing::AddGlobalTestEnvironment(new TablePrinter);

void encodeField(Bytes &into, const air::StructMember &member, const std::vector<double> &values) {
  for (size_t i = 0; i < std::max<size_t>(1, member.arrayLength); ++i) {
    double value = i < values.size() ? values[i] : 0;
    std::byte *at = into.data() + member.offset + i * member.size;
    if (member.typeName == "float") {
      float f = float(value);
      std::memcpy(at, &f, 4);
    } else {
      int64_t n = int64_t(value);
      std::memcpy(at, &n, member.size);
    }
  }
}

} // namespace

Tensor Tensor::of(std::array<int64_t, 4> ne, int64_t blockBytes, int64_t blockElements) {
  Tensor t;
  t.ne = ne;
  t.nb[0] = blockBytes;
  t.nb[1] = ne[0] / blockElements * blockBytes;
  t.nb[2] = t.nb[1] * ne[1];
  t.nb[3] = t.nb[2] * ne[2];
  return t;
}

Dispatch::Dispatch(std::string kernel) : kernel_(std::move(kernel)) {
  auto module = library().modules.find(kernel_);
  if (module != library().modules.end())
    case_.module = std::make_shared<Bytes>(module->second.begin(), module->second.end());
  case_.function = kernel_;
}
Dispatch &Dispatch::field(const std::string &name, double value) {
  fields_[name] = {value};
  return *this;
}
Dispatch &Dispatch::field(const std::string &name, const std::vector<double> &values) {
  fields_[name] = values;
  return *this;
}
Dispatch &Dispatch::tensor(const std::string &prefix, const Tensor &t) {
  for (int i = 0; i < 4; ++i) {
    field("ne" + prefix + std::to_string(i), double(t.ne[size_t(i)]));
    field("nb" + prefix + std::to_string(i), double(t.nb[size_t(i)]));
  }
  return *this;
}
Dispatch &Dispatch::constant(uint32_t index, bool value) {
  compiler::ConstantValue constant{index, air::DataType::Bool, {}};
  constant.bytes[0] = std::byte(value);
  case_.constants.push_back(constant);
  return *this;
}
Dispatch &Dispatch::constant16(uint32_t index, int16_t value) {
  compiler::ConstantValue constant{index, air::DataType::Short, {}};
  std::memcpy(constant.bytes.data(), &value, 2);
  case_.constants.push_back(constant);
  return *this;
}
Dispatch &Dispatch::constant32(uint32_t index, int32_t value) {
  compiler::ConstantValue constant{index, air::DataType::Int, {}};
  std::memcpy(constant.bytes.data(), &value, 4);
  case_.constants.push_back(constant);
  return *this;
}
Dispatch &Dispatch::buffer(uint32_t slot, Bytes contents, size_t slack) {
  contents.resize(contents.size() + slack);
  case_.buffers[slot] = std::move(contents);
  return *this;
}
Dispatch &Dispatch::output(uint32_t slot, size_t bytes) {
  case_.buffers[slot] = poison(bytes);
  return *this;
}
Dispatch &Dispatch::alias(uint32_t slot, uint32_t other) {
  case_.sameAs[slot] = other;
  return *this;
}
Dispatch &Dispatch::threadgroupMemory(uint32_t bytes) {
  case_.launch.threadgroupMemory[0] = bytes;
  return *this;
}
Dispatch &Dispatch::groups(Size groups, Size threads) {
  case_.launch.threadsPerThreadgroup = threads;
  for (int i = 0; i < 3; ++i)
    case_.launch.threadsPerGrid[i] = groups[i] * threads[i];
  return *this;
}

Result<Buffers> Dispatch::run(Executor executor) {
  const air::KernelReflection *reflection = reflectionOf(kernel_);
  if (!reflection || !case_.module)
    return fail(ErrorKind::Validation, "Kernel \"{}\" is not there.", kernel_);
  for (const air::Argument &argument : reflection->arguments) {
    if (argument.kind != air::ArgumentKind::Buffer || argument.members.empty() ||
        argument.slot != 0 || fields_.empty())
      continue;
    Bytes bytes(argument.dataSize);
    for (const air::StructMember &member : argument.members) {
      auto value = fields_.find(member.name);
      if (value == fields_.end())
        return fail(ErrorKind::Validation, "Field \"{}\" of kernel \"{}\" has no value.",
                    member.name, kernel_);
      encodeField(bytes, member, value->second);
    }
    case_.buffers[0] = bytes;
  }
  // Prefer the most general shape that fits: full rows when the threadgroup allows it.
  auto shapes = shapesOf(case_.launch);
  compiler::ThreadgroupShape shape = shapes[0];
  for (const auto &candidate : shapes)
    if (candidate.kind == compiler::ThreadgroupShape::Kind::RowMultiple)
      shape = candidate;
  return runOn(case_, executor, shape);
}

std::vector<Executor> familyExecutors() {
  std::vector<Executor> chosen;
  auto text = environment("PEWTER_GGML_EXECUTORS");
  for (Executor executor : kAllExecutors)
    if (text ? ("," + *text + ",").find(fmt::format(",{},", nameOf(executor))) != std::string::npos
             : isAvailable(executor))
      chosen.push_back(executor);
  if (!text && chosen.size() > 1)
    chosen = {chosen.back()}; // The enum goes from the plainest to the widest.
  return chosen;
}

bool libraryIsPresent() { return !library().modules.empty(); }

std::vector<std::string> libraryKernels() {
  std::vector<std::string> names;
  for (const auto &[name, module] : library().modules)
    names.push_back(name);
  return names;
}

Bytes constantArray(const std::string &kernel, const std::string &name) {
  auto module = library().modules.find(kernel);
  if (module == library().modules.end())
    return {};
  std::string_view text = textOf(module->second);
  llvm::LLVMContext context;
  auto parsed =
      llvm::parseBitcodeFile(llvm::MemoryBufferRef({text.data(), text.size()}, "library"), context);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return {};
  }
  for (const llvm::GlobalVariable &global : (*parsed)->globals())
    if (global.hasInitializer() && global.getName().contains(name))
      if (auto *data = llvm::dyn_cast<llvm::ConstantDataSequential>(global.getInitializer())) {
        llvm::StringRef raw = data->getRawDataValues();
        ByteView view = viewOf({raw.data(), raw.size()});
        return Bytes(view.begin(), view.end());
      }
  return {};
}

void setFamily(const std::string &family) { currentFamily = family; }

void checkWith(Dispatch &dispatch, uint32_t slot, const std::function<double(const Bytes &)> &error,
               double tolerance) {
  for (Executor executor : familyExecutors()) {
    auto results = dispatch.run(executor);
    if (!results) {
      ADD_FAILURE() << dispatch.kernel() << " on " << nameOf(executor) << ": "
                    << results.error().describe();
      continue;
    }
    double worst = error(results->at(slot));
    EXPECT_LE(worst, tolerance) << dispatch.kernel() << " on " << nameOf(executor);
    if (worst <= tolerance)
      record({dispatch.kernel()}, results->at(slot).size(), worst);
  }
}

namespace {
struct Comparison {
  double error = 0;
  std::string where;
};
/// The largest error relative to the largest reference; infinities and NaN must be matched exactly.
Comparison compare(const Bytes &bytes, const std::vector<double> &reference, ElementType type) {
  std::vector<double> values = loadAs(bytes, type);
  Comparison result;
  if (values.size() < reference.size()) {
    result.error = INFINITY;
    result.where = fmt::format("{} elements, expected {}", values.size(), reference.size());
    return result;
  }
  double scale = 1e-30;
  for (double expected : reference)
    if (std::isfinite(expected))
      scale = std::max(scale, std::abs(expected));
  for (size_t i = 0; i < reference.size(); ++i) {
    double expected = reference[i], actual = values[i], error;
    if (std::isfinite(expected))
      error = std::isfinite(actual) ? std::abs(actual - expected) / scale : INFINITY;
    else
      error = actual == expected || (std::isnan(actual) && std::isnan(expected)) ? 0 : INFINITY;
    if (error > result.error) {
      result.error = error;
      result.where = fmt::format("element {} of {}: expected {}, got {}", i, reference.size(),
                                 expected, actual);
    }
  }
  return result;
}
} // namespace

void checkOutput(Dispatch &dispatch, uint32_t slot, const std::vector<double> &reference,
                 double tolerance, ElementType type) {
  checkChain(
      {dispatch.kernel()}, [&](Executor executor) { return runFor(dispatch, slot, executor); },
      reference, tolerance, type);
}

Bytes runFor(Dispatch &dispatch, uint32_t slot, Executor executor) {
  auto results = dispatch.run(executor);
  if (results)
    return results->at(slot);
  ADD_FAILURE() << dispatch.kernel() << " on " << nameOf(executor) << ": "
                << results.error().describe();
  return {};
}

void checkChain(const std::vector<std::string> &kernels, const std::function<Bytes(Executor)> &make,
                const std::vector<double> &reference, double tolerance, ElementType type) {
  for (Executor executor : familyExecutors()) {
    Bytes bytes = make(executor);
    if (bytes.empty())
      continue;
    Comparison comparison = compare(bytes, reference, type);
    EXPECT_LE(comparison.error, tolerance)
        << kernels.back() << " on " << nameOf(executor) << ": " << comparison.where;
    if (comparison.error <= tolerance)
      record(kernels, reference.size(), comparison.error);
  }
}

std::vector<double> Numbers::uniform(size_t n, double low, double high) {
  std::vector<double> values(n);
  for (double &value : values)
    value = low + (high - low) * double(random_() >> 11) * 0x1p-53;
  return values;
}

uint32_t elementBytes(ElementType type) {
  return type == ElementType::F16 || type == ElementType::BF16 ? 2 : 4;
}
const char *suffixOf(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return "f32";
  case ElementType::F16:
    return "f16";
  case ElementType::BF16:
    return "bf16";
  case ElementType::I32:
    return "i32";
  }
  return "";
}

Bytes storeAs(std::vector<double> &values, ElementType type) {
  Bytes bytes(values.size() * elementBytes(type));
  for (size_t i = 0; i < values.size(); ++i) {
    std::byte *at = bytes.data() + i * elementBytes(type);
    float f = float(values[i]);
    if (type == ElementType::F32) {
      std::memcpy(at, &f, 4);
      values[i] = f;
    } else if (type == ElementType::F16) {
      uint16_t bits = halfFromFloat(f);
      std::memcpy(at, &bits, 2);
      values[i] = floatFromHalf(bits);
    } else if (type == ElementType::BF16) {
      uint16_t bits = bfloatFromFloat(f);
      std::memcpy(at, &bits, 2);
      values[i] = floatFromBfloat(bits);
    } else {
      int32_t n = int32_t(values[i]);
      std::memcpy(at, &n, 4);
      values[i] = n;
    }
  }
  return bytes;
}

std::vector<double> loadAs(const Bytes &bytes, ElementType type) {
  std::vector<double> values(bytes.size() / elementBytes(type));
  for (size_t i = 0; i < values.size(); ++i) {
    const std::byte *at = bytes.data() + i * elementBytes(type);
    uint16_t half;
    std::memcpy(&half, at, 2);
    if (type == ElementType::F16) {
      values[i] = floatFromHalf(half);
    } else if (type == ElementType::BF16) {
      values[i] = floatFromBfloat(half);
    } else if (type == ElementType::F32) {
      float f;
      std::memcpy(&f, at, 4);
      values[i] = f;
    } else {
      int32_t n;
      std::memcpy(&n, at, 4);
      values[i] = n;
    }
  }
  return values;
}

} // namespace pewter::testing
