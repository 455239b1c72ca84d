// SPDX-License-Identifier: Apache-2.0
// `pewter run`: one kernel on one device through the public API: bind, dispatch, wait, time, show.
#include "base/Error.h"
#include "pewter/Commands.h"
#include "pewter/Devices.h"
#include "pewter/LibraryInput.h"
#include "pewter/TypedArray.h"
#include <CLI/CLI.hpp>
#include <Metal/Metal.hpp>
#include <Pewter/Pewter.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

namespace pewter::tools {
namespace {

struct RunOptions {
  InputOptions input;
  std::string kernel, device, archive;
  std::string grid, threadgroups, threadgroup = "32,1,1";
  std::vector<std::string> buffers, bytes, threadgroupMemory, constants, saves;
  std::vector<uint32_t> prints;
  uint32_t repeat = 1;
  uint64_t printCount = 16;
};

/// "SLOT=VALUE" -> slot and value; `option` names it in errors.
Result<std::pair<uint32_t, std::string>> slotAndValue(const std::string &text, const char *option) {
  size_t equals = text.find('=');
  if (equals == std::string::npos)
    return fail(ErrorKind::Validation, "{} \"{}\" is not of the form SLOT=VALUE.", option, text);
  PEWTER_TRY(std::vector<uint64_t> slot, numbersFrom(text.substr(0, equals), "a slot"));
  if (slot.size() != 1 || slot[0] > 30)
    return fail(ErrorKind::Validation, "{} \"{}\": the slot is not in 0..30.", option, text);
  return std::pair(uint32_t(slot[0]), text.substr(equals + 1));
}

Result<MTL::Size> sizeFrom(const std::string &text, const char *option) {
  PEWTER_TRY(std::vector<uint64_t> numbers, numbersFrom(text, option));
  if (numbers.size() > 3)
    return fail(ErrorKind::Validation, "{} \"{}\" has {} numbers; at most 3 make sense.", option, text,
                numbers.size());
  numbers.resize(3, 1);
  if (std::ranges::find(numbers, 0u) != numbers.end())
    return fail(ErrorKind::Validation, "{} \"{}\" has an extent of 0; 1 is the least.", option, text);
  return MTL::Size(numbers[0], numbers[1], numbers[2]);
}

/// A function constant's value, typed by what the function declares.
Result<void> addConstant(MTL::FunctionConstantValues *values, const MTL::Function *function,
                         const std::string &text) {
  size_t equals = text.find('=');
  if (equals == std::string::npos)
    return fail(ErrorKind::Validation, "--constant \"{}\" is not of the form NAME=VALUE.", text);
  std::string name = text.substr(0, equals), value = text.substr(equals + 1);
  NS::Dictionary *declared = function->functionConstantsDictionary();
  auto *constant = static_cast<MTL::FunctionConstant *>(
      declared->object(NS::String::string(name.c_str(), NS::UTF8StringEncoding)));
  if (!constant) {
    std::string known;
    NS::Enumerator<NS::Object> *keys = declared->keyEnumerator<NS::Object>();
    while (NS::Object *key = keys->nextObject())
      known += (known.empty() ? "" : ", ") +
               std::string(static_cast<NS::String *>(key)->utf8String());
    return fail(ErrorKind::Validation, "Function \"{}\" has no constant \"{}\"; it has {}.",
                function->name()->utf8String(), name, known.empty() ? "none" : known);
  }
  const char *element = nullptr;
  switch (constant->type()) {
  case MTL::DataTypeBool: element = "bool"; break;
  case MTL::DataTypeInt: case MTL::DataTypeInt2: case MTL::DataTypeInt3: case MTL::DataTypeInt4:
    element = "i32"; break;
  case MTL::DataTypeUInt: case MTL::DataTypeUInt2: case MTL::DataTypeUInt3: case MTL::DataTypeUInt4:
    element = "u32"; break;
  case MTL::DataTypeShort: element = "i16"; break;
  case MTL::DataTypeUShort: element = "u16"; break;
  case MTL::DataTypeChar: element = "i8"; break;
  case MTL::DataTypeUChar: element = "u8"; break;
  case MTL::DataTypeLong: element = "i64"; break;
  case MTL::DataTypeULong: element = "u64"; break;
  case MTL::DataTypeHalf: element = "f16"; break;
  case MTL::DataTypeBFloat: element = "bf16"; break;
  case MTL::DataTypeFloat: case MTL::DataTypeFloat2: case MTL::DataTypeFloat3:
  case MTL::DataTypeFloat4: element = "f32"; break;
  default:
    return fail(ErrorKind::Unsupported, "Constant \"{}\" has a type (MTLDataType {}) that the command "
                "line cannot write.", name, int(constant->type()));
  }
  PEWTER_TRY(TypedArray typed, valueFromSpec(std::string(element) + ":" + value));
  values->setConstantValue(typed.bytes.data(), constant->type(), constant->index());
  return {};
}

struct Bound {
  TypedArray array; ///< Type and shape; its bytes are moved into `buffer`.
  NS::SharedPtr<MTL::Buffer> buffer;
};

void print(uint32_t slot, const Bound &bound, uint64_t most) {
  std::string shape;
  for (uint64_t extent : bound.array.shape)
    shape += (shape.empty() ? "" : ",") + fmt::format("{}", extent);
  fmt::print("buffer {}: {}[{}]", slot, nameOf(bound.array.type), shape);
  uint64_t count = bound.array.count();
  for (uint64_t i = 0; i < std::min(count, most); ++i)
    fmt::print(" {}", elementText(bound.array, i));
  fmt::print("{}\n", count > most ? " ..." : "");
}

Result<void> run(const RunOptions &options) {
  NS::SharedPtr<NS::AutoreleasePool> pool = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
  if (options.grid.empty() == options.threadgroups.empty())
    return fail(ErrorKind::Validation,
                "Exactly one of --grid (threads) and --threadgroups says how much to run.");
  PEWTER_TRY(MTL::Size threadgroup, sizeFrom(options.threadgroup, "--threadgroup"));
  PEWTER_TRY(MTL::Size grid, sizeFrom(options.grid.empty() ? options.threadgroups : options.grid,
                                      options.grid.empty() ? "--threadgroups" : "--grid"));
  PEWTER_TRY(NS::SharedPtr<MTL::Device> device, deviceNamed(options.device));
  PEWTER_TRY(Bytes metallib, loadLibrary(options.input));

  NS::Error *error = nullptr;
  dispatch_data_t data = dispatch_data_create(metallib.data(), metallib.size(), nullptr, nullptr);
  NS::SharedPtr<MTL::Library> library = NS::TransferPtr(device->newLibrary(data, &error));
  dispatch_release(data);
  if (!library)
    return fail(ErrorKind::Validation, "\"{}\": {}", options.input.path,
                textOf(error, "the library could not be loaded"));
  NS::String *name = NS::String::string(options.kernel.c_str(), NS::UTF8StringEncoding);
  NS::SharedPtr<MTL::Function> function = NS::TransferPtr(library->newFunction(name, nullptr, &error));
  if (!function && error->code() != MTL::LibraryErrorFunctionNotFound)
    return fail(ErrorKind::Compile, "\"{}\": {}", options.input.path, textOf(error, "no error text"));
  if (!function) {
    std::string known;
    NS::Array *names = library->functionNames();
    for (NS::UInteger i = 0; i < std::min<NS::UInteger>(names->count(), 20); ++i)
      known += (i ? ", " : "") + std::string(names->object<NS::String>(i)->utf8String());
    return fail(ErrorKind::Validation, "\"{}\" has no kernel \"{}\"; it has {}{}.", options.input.path,
                options.kernel, known, names->count() > 20 ? ", ..." : "");
  }
  if (!options.constants.empty()) {
    auto values = NS::TransferPtr(MTL::FunctionConstantValues::alloc()->init());
    for (const std::string &constant : options.constants)
      PEWTER_TRY_VOID(addConstant(values.get(), function.get(), constant));
    function = NS::TransferPtr(library->newFunction(name, values.get(), &error));
    if (!function)
      return fail(ErrorKind::Validation, "{}", textOf(error, "the constants were refused"));
  }
  auto descriptor = NS::TransferPtr(MTL::ComputePipelineDescriptor::alloc()->init());
  descriptor->setComputeFunction(function.get());
  if (!options.archive.empty()) {
    auto files = NS::TransferPtr(MTL::BinaryArchiveDescriptor::alloc()->init());
    NS::String *path = NS::String::string(options.archive.c_str(), NS::UTF8StringEncoding);
    files->setUrl(NS::URL::fileURLWithPath(path));
    auto archive = NS::TransferPtr(device->newBinaryArchive(files.get(), &error));
    if (!archive)
      return fail(ErrorKind::Validation, "{}", textOf(error, "the archive could not be read"));
    const NS::Object *list[] = {archive.get()};
    descriptor->setBinaryArchives(NS::Array::array(list, 1));
  }
  NS::SharedPtr<MTL::ComputePipelineState> pipeline = NS::TransferPtr(device->newComputePipelineState(
      descriptor.get(),
      options.archive.empty() ? MTL::PipelineOptionNone : MTL::PipelineOptionFailOnBinaryArchiveMiss,
      nullptr, &error));
  if (!pipeline)
    return fail(ErrorKind::Compile, "{}", textOf(error, "the pipeline could not be made"));

  std::map<uint32_t, Bound> buffers;
  uint64_t boundBytes = 0;
  for (const std::string &text : options.buffers) {
    PEWTER_TRY(auto slot, slotAndValue(text, "--buffer"));
    PEWTER_TRY(TypedArray array, arrayFromSpec(slot.second));
    Bound bound{std::move(array), {}};
    size_t size = std::max<size_t>(bound.array.bytes.size(), 4);
    bound.buffer = NS::TransferPtr(device->newBuffer(size, MTL::ResourceStorageModeShared));
    if (!bound.buffer)
      return fail(ErrorKind::OutOfMemory, "Buffer {} ({} bytes) could not be allocated.", slot.first,
                  size);
    std::memcpy(bound.buffer->contents(), bound.array.bytes.data(), bound.array.bytes.size());
    boundBytes += bound.array.bytes.size();
    if (!buffers.emplace(slot.first, std::move(bound)).second)
      return fail(ErrorKind::Validation, "Slot {} is bound twice.", slot.first);
  }

  std::vector<std::pair<uint32_t, TypedArray>> constants;
  for (const std::string &text : options.bytes) {
    PEWTER_TRY(auto slot, slotAndValue(text, "--bytes"));
    PEWTER_TRY(TypedArray value, valueFromSpec(slot.second));
    constants.emplace_back(slot.first, std::move(value));
  }
  std::vector<std::pair<uint32_t, uint64_t>> threadgroupMemory;
  for (const std::string &text : options.threadgroupMemory) {
    PEWTER_TRY(auto slot, slotAndValue(text, "--threadgroup-memory"));
    PEWTER_TRY(std::vector<uint64_t> size, numbersFrom(slot.second, "--threadgroup-memory"));
    threadgroupMemory.emplace_back(slot.first, size[0]);
  }

  // A misuse fails the command buffer, whose error is reported below.
  Pewter::SetMisuseHandler([](const char *) {});
  NS::SharedPtr<MTL::CommandQueue> queue = NS::TransferPtr(device->newCommandQueue());
  std::vector<double> seconds;
  for (uint32_t i = 0; i < options.repeat; ++i) {
    NS::SharedPtr<NS::AutoreleasePool> inner = NS::TransferPtr(NS::AutoreleasePool::alloc()->init());
    MTL::CommandBuffer *commands = queue->commandBuffer();
    commands->setLabel(name);
    MTL::ComputeCommandEncoder *encoder = commands->computeCommandEncoder();
    encoder->setComputePipelineState(pipeline.get());
    for (auto &[slot, bound] : buffers)
      encoder->setBuffer(bound.buffer.get(), 0, slot);
    for (const auto &[slot, value] : constants)
      encoder->setBytes(value.bytes.data(), value.bytes.size(), slot);
    for (auto [slot, size] : threadgroupMemory)
      encoder->setThreadgroupMemoryLength(size, slot);
    if (options.grid.empty())
      encoder->dispatchThreadgroups(grid, threadgroup);
    else
      encoder->dispatchThreads(grid, threadgroup);
    encoder->endEncoding();
    commands->commit();
    commands->waitUntilCompleted();
    if (commands->status() != MTL::CommandBufferStatusCompleted)
      return fail(ErrorKind::Internal, "{}", textOf(commands->error(), "the command buffer failed"));
    seconds.push_back(commands->GPUEndTime() - commands->GPUStartTime());
  }

  for (auto &[slot, bound] : buffers)
    std::memcpy(bound.array.bytes.data(), bound.buffer->contents(), bound.array.bytes.size());
  for (uint32_t slot : options.prints) {
    if (!buffers.contains(slot))
      return fail(ErrorKind::Validation, "--print {}: no buffer is bound to that slot.", slot);
    print(slot, buffers[slot], options.printCount);
  }
  for (const std::string &text : options.saves) {
    PEWTER_TRY(auto slot, slotAndValue(text, "--save"));
    if (!buffers.contains(slot.first))
      return fail(ErrorKind::Validation, "--save {}: no buffer is bound to that slot.", text);
    PEWTER_TRY_VOID(writeNpy(slot.second, buffers[slot.first].array));
  }
  std::sort(seconds.begin(), seconds.end());
  double median = seconds[seconds.size() / 2];
  fmt::print("{} on {}: median {:.3f} us of {} (min {:.3f}), {:.2f} GB/s over {} bound bytes\n",
             options.kernel, device->name()->utf8String(), median * 1e6, seconds.size(),
             seconds[0] * 1e6, median > 0 ? double(boundBytes) / median * 1e-9 : 0.0, boundBytes);
  return {};
}

} // namespace

void addRun(CLI::App &app, int &status) {
  auto options = std::make_shared<RunOptions>();
  CLI::App *command = app.add_subcommand("run", "Run one kernel and show its results and its speed");
  command->add_option("INPUT", options->input.path, ".metal, .air, .bc or .metallib")->required();
  command->add_option("--kernel", options->kernel, "Name of the kernel")->required();
  command->add_option("--device", options->device, "cpu, cuda[:N] or null; default: the first");
  command->add_option("--archive", options->archive, "Archive of `compile` that holds the pipeline");
  command->add_option("--grid", options->grid, "X[,Y[,Z]] threads in the grid");
  command->add_option("--threadgroups", options->threadgroups, "X[,Y[,Z]] threadgroups in the grid");
  command->add_option("--threadgroup", options->threadgroup, "X[,Y[,Z]] threads in a threadgroup")
      ->capture_default_str();
  command->add_option("--buffer", options->buffers,
                      "SLOT=FILE.npy, SLOT=zeros:TYPE[SHAPE] or SLOT=random:TYPE[SHAPE]:SEED");
  command->add_option("--bytes", options->bytes, "SLOT=TYPE:VALUE[,VALUE...], as in 3=u32:6656");
  command->add_option("--threadgroup-memory", options->threadgroupMemory, "SLOT=BYTES");
  command->add_option("--constant", options->constants, "NAME=VALUE of a function constant");
  command->add_option("--save", options->saves, "SLOT=FILE.npy, after the last run");
  command->add_option("--print", options->prints, "SLOT whose first elements are printed");
  command->add_option("--print-count", options->printCount, "Elements that --print shows")
      ->capture_default_str();
  command->add_option("--repeat", options->repeat, "Runs; times are given as medians")
      ->check(CLI::Range(1u, 1000000u))
      ->capture_default_str();
  command->add_option("--math", options->input.mathMode, "fast, relaxed or safe; for .metal")
      ->capture_default_str();
  command->add_option("-D", options->input.macros, "NAME[=VALUE]; for .metal");
  command->add_option("-I", options->input.includeDirectories, "Include directory; for .metal");
  command->callback([options, &status] { status = report(run(*options)); });
}

} // namespace pewter::tools
