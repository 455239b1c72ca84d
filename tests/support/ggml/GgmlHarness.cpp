// SPDX-License-Identifier: Apache-2.0
#include "ggml/GgmlHarness.h"
#include "PeerSource.h"
#include "air/Metallib.h"
#include "base/Half.h"
#include "base/Toggles.h"
#include "device/CompilerLibrary.h"
#include "ggml/Families.h"
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

struct LoadedLibrary {
  Bytes bytes;
  std::map<std::string, ByteView> modules;
};
void addModules(LoadedLibrary &into) {
  auto parsed = air::readMetallib(into.bytes);
  if (!parsed) {
    ADD_FAILURE() << parsed.error().describe();
    return;
  }
  for (const air::MetallibFunction &function : parsed->functions)
    into.modules[function.name] = function.module;
}
const LoadedLibrary &library() {
  static const LoadedLibrary loaded = [] {
    LoadedLibrary result;
    if (auto bytes = readFile(kLlamaLibrary)) {
      result.bytes = std::move(*bytes);
      addModules(result);
    }
    return result;
  }();
  return loaded;
}
/// The same kernels compiled by us; empty when there is no source or it was not asked for.
const LoadedLibrary &ourLibrary() {
  static const LoadedLibrary loaded = [] {
    LoadedLibrary result;
    if (environment("PEWTER_GGML_LIBRARIES") == "apple")
      return result;
    auto source = sourceOfLlamaLibrary();
    if (!source) {
      std::puts("There is no Metal source to compile and compare with (scripts/fetch-peers.sh).");
      return result;
    }
    auto image = device::compileSource(source->request);
    if (!image) {
      ADD_FAILURE() << image.error().describe();
      return result;
    }
    EXPECT_NE(image->metallib, library().bytes);
    result.bytes = std::move(image->metallib);
    addModules(result);
    for (const std::string &kernel : source->changed)
      result.modules.erase(kernel);
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
  std::set<std::string> compiled, checked;
  uint64_t cases = 0, elements = 0;
  double error = 0;
  // Our build beside Apple's.
  std::set<std::string> compared, different;
  double difference = 0;
  // The executors beside the first.
  std::set<std::string> repeated, changed;
};
std::map<std::string, Row> &table() {
  static std::map<std::string, Row> rows;
  return rows;
}
Row &rowOf(const std::string &kernel) {
  std::string family = familyOf(kernel);
  EXPECT_NE(family, "") << kernel << " belongs to no family (tests/support/ggml/Families.cpp)";
  return table()[family];
}

void record(const std::vector<std::string> &kernels, uint64_t elements, double error) {
  for (const std::string &kernel : kernels) {
    Row &row = rowOf(kernel);
    row.checked.insert(kernel);
    ++row.cases;
    row.elements += elements;
    row.error = std::max(row.error, error);
  }
}
void recordDifference(const std::vector<std::string> &kernels, bool isSame, double difference) {
  for (const std::string &kernel : kernels) {
    Row &row = rowOf(kernel);
    row.compared.insert(kernel);
    if (!isSame)
      row.different.insert(kernel);
    row.difference = std::max(row.difference, difference);
  }
}

void recordExecutor(const std::vector<std::string> &kernels, bool isSame) {
  for (const std::string &kernel : kernels) {
    Row &row = rowOf(kernel);
    row.repeated.insert(kernel);
    if (!isSame)
      row.changed.insert(kernel);
  }
}

/// Set by Dispatch::run.
bool someKernelPrefersExactShape = false;

uint64_t runSeed() {
  static const uint64_t seed = [] {
    auto text = environment("PEWTER_GGML_SEED");
    uint64_t value = text ? std::strtoull(text->c_str(), nullptr, 0) : std::random_device{}();
    std::printf("PEWTER_GGML_SEED=%llu\n", static_cast<unsigned long long>(value));
    return value;
  }();
  return seed;
}

std::string countOr(size_t count, const char *none) { return count ? std::to_string(count) : none; }

/// Prints the tables when all tests have run, as they stand in docs/compatibility.md.
class TablePrinter : public ::testing::Environment {
public:
  void TearDown() override {
    if (table().empty())
      return;
    std::map<std::string, size_t> sizes;
    for (const auto &[kernel, module] : library().modules)
      ++sizes[familyOf(kernel)];
    std::string text =
        "| family | kernels | compiled | run and checked | cases | elements | largest error |\n"
        "|---|---|---|---|---|---|---|\n";
    std::string ours = "| family | kernels in both | same bits | largest difference |\n"
                       "|---|---|---|---|\n";
    std::string executors = "| family | kernels on every executor | same bits |\n|---|---|---|\n";
    Row all;
    size_t compared = 0, same = 0, repeated = 0, unchanged = 0;
    for (const std::string &family : ggmlFamilies()) {
      auto found = table().find(family);
      if (found == table().end())
        continue;
      const Row &row = found->second;
      text += fmt::format("| {} | {} | {} | {} | {} | {} | {:.1e} |\n", family, sizes[family],
                          countOr(row.compiled.size(), "-"), countOr(row.checked.size(), "-"),
                          row.cases, row.elements, row.error);
      if (!row.compared.empty())
        ours += fmt::format("| {} | {} | {} | {:.1e} |\n", family, row.compared.size(),
                            row.compared.size() - row.different.size(), row.difference);
      all.compiled.insert(row.compiled.begin(), row.compiled.end());
      all.checked.insert(row.checked.begin(), row.checked.end());
      all.cases += row.cases;
      all.elements += row.elements;
      if (!row.repeated.empty())
        executors += fmt::format("| {} | {} | {} |\n", family, row.repeated.size(),
                                 row.repeated.size() - row.changed.size());
      repeated += row.repeated.size();
      unchanged += row.repeated.size() - row.changed.size();
      compared += row.compared.size();
      same += row.compared.size() - row.different.size();
    }
    text +=
        fmt::format("| all | {} | {} | {} | {} | {} | |\n", library().modules.size(),
                    countOr(all.compiled.size(), "-"), all.checked.size(), all.cases, all.elements);
    if (compared)
      text += fmt::format("\n{}| all | {} | {} | |\n", ours, compared, same);
    for (const auto &[family, row] : table())
      for (const std::string &kernel : row.different)
        text += fmt::format("other bits from our build: {}\n", kernel);
    for (const auto &[family, row] : table())
      for (const std::string &kernel : row.changed)
        text += fmt::format("other bits on another executor: {}\n", kernel);
    if (repeated)
      text += fmt::format("\n{}| all | {} | {} |\n", executors, repeated, unchanged);
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

std::string nameOf(const Subject &subject) {
  return std::string(nameOf(subject.executor)) +
         (subject.library == Library::Ours ? ", compiled by us" : "") +
         (subject.exactShapes ? ", exact shapes" : "");
}

Dispatch::Dispatch(std::string kernel) : kernel_(std::move(kernel)) { case_.function = kernel_; }
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

Result<Buffers> Dispatch::run(const Subject &subject) {
  const air::KernelReflection *reflection = reflectionOf(kernel_);
  const auto &modules = (subject.library == Library::Ours ? ourLibrary() : library()).modules;
  const auto module = modules.find(kernel_);
  if (!reflection || module == modules.end())
    return fail(ErrorKind::Validation, "Kernel \"{}\" is not there.", kernel_);
  case_.module = std::make_shared<Bytes>(module->second.begin(), module->second.end());
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
  // The most general shape that fits: full rows when the threadgroup allows it.
  using Kind = compiler::ThreadgroupShape::Kind;
  auto shapes = shapesOf(case_.launch);
  compiler::ThreadgroupShape shape = shapes[0];
  for (const auto &candidate : shapes)
    if (candidate.kind == Kind::RowMultiple)
      shape = candidate;
  PEWTER_TRY(auto code, compiled(case_, subject.executor, shape));
  if (code->image().prefersExactShape && shapes.back().kind == Kind::Exact) {
    someKernelPrefersExactShape = true;
    if (subject.exactShapes)
      shape = shapes.back();
  }
  return runOn(case_, subject.executor, shape);
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

void recordCompiled(const std::string &kernel) { rowOf(kernel).compiled.insert(kernel); }

namespace {
struct Comparison {
  double error = 0;
  std::string where;
  uint64_t elements = 0;
};
/// The largest error relative to the largest reference; infinities and NaN must be matched exactly.
Comparison compare(const Bytes &bytes, const std::vector<double> &reference, ElementType type) {
  std::vector<double> values = loadAs(bytes, type);
  Comparison result;
  result.elements = reference.size();
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

namespace {
/// Whether our build has all of these.
bool weHave(const std::vector<std::string> &kernels) {
  for (const std::string &kernel : kernels)
    if (!ourLibrary().modules.contains(kernel))
      return false;
  return true;
}

/// How far the two builds may be apart, of the largest result. Fast math lets either compiler form
/// sums and products in its own order, so results may differ in the last digits of a float.
constexpr double kFastMathBound = 1e-5;

/// One case on every executor and of both libraries. `compareOne` gives the error of some bytes,
/// `compareTwo` how far two correct results are apart.
void checkEverywhere(const std::vector<std::string> &kernels,
                     const std::function<Bytes(const Subject &)> &make,
                     const std::function<Comparison(const Bytes &)> &compareOne,
                     const std::function<double(const Bytes &, const Bytes &)> &compareTwo,
                     double tolerance, double bound) {
  Bytes first;
  for (Executor executor : familyExecutors()) {
    Bytes apple;
    someKernelPrefersExactShape = false;
    for (const Subject &subject : {Subject{executor, Library::Apple},
                                   Subject{executor, Library::Apple, /*exactShapes=*/true},
                                   Subject{executor, Library::Ours}}) {
      if (subject.library == Library::Ours ? !weHave(kernels)
                                           : subject.exactShapes && !someKernelPrefersExactShape)
        continue;
      Bytes bytes = make(subject);
      if (bytes.empty())
        continue;
      Comparison comparison = compareOne(bytes);
      EXPECT_LE(comparison.error, tolerance)
          << kernels.back() << " on " << nameOf(subject) << ": " << comparison.where;
      if (!(comparison.error <= tolerance))
        continue;
      if (subject.library == Library::Apple) {
        record(kernels, comparison.elements, comparison.error);
        if (subject.exactShapes)
          continue;
        if (!first.empty())
          recordExecutor(kernels, first == bytes);
        else
          first = bytes;
        apple = std::move(bytes);
      } else if (!apple.empty()) {
        const double difference = compareTwo(apple, bytes);
        recordDifference(kernels, apple == bytes, difference);
        EXPECT_LE(difference, bound) << kernels.back() << " on " << nameOf(subject);
      }
    }
  }
}
} // namespace

void checkWith(Dispatch &dispatch, uint32_t slot, const std::function<double(const Bytes &)> &error,
               double tolerance) {
  checkEverywhere(
      {dispatch.kernel()}, [&](const Subject &subject) { return runFor(dispatch, slot, subject); },
      [&](const Bytes &bytes) {
        return Comparison{error(bytes), "", bytes.size()};
      },
      [&](const Bytes &a, const Bytes &b) { return a == b ? 0 : error(a) + error(b); }, tolerance,
      /*bound=*/0);
}

void checkOutput(Dispatch &dispatch, uint32_t slot, const std::vector<double> &reference,
                 double tolerance, ElementType type) {
  checkChain(
      {dispatch.kernel()}, [&](const Subject &subject) { return runFor(dispatch, slot, subject); },
      reference, tolerance, type);
}

Bytes runFor(Dispatch &dispatch, uint32_t slot, const Subject &subject) {
  auto results = dispatch.run(subject);
  if (results)
    return results->at(slot);
  ADD_FAILURE() << dispatch.kernel() << " on " << nameOf(subject) << ": "
                << results.error().describe();
  return {};
}

void checkChain(const std::vector<std::string> &kernels,
                const std::function<Bytes(const Subject &)> &make,
                const std::vector<double> &reference, double tolerance, ElementType type) {
  checkEverywhere(
      kernels, make, [&](const Bytes &bytes) { return compare(bytes, reference, type); },
      [&](const Bytes &a, const Bytes &b) {
        return a == b ? 0 : compare(b, loadAs(a, type), type).error;
      },
      tolerance, kFastMathBound);
}

Numbers::Numbers(uint64_t stream) : random_(runSeed() * 0x9e3779b97f4a7c15u + stream) {}

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
