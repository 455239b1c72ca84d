// SPDX-License-Identifier: Apache-2.0
// `pewter inspect LIB`: what is in a .metallib: the container's fields, and per function its
// versions, constants and arguments. Container facts need no compiler; arguments stand in the
// bitcode, so the compiler is loaded for them, and left out with a note where it is not there.
#include "air/BuiltinNames.h"
#include "air/Metallib.h"
#include "device/CompilerLibrary.h"
#include "pewter/Commands.h"
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace pewter::tools {
namespace {

using Json = nlohmann::ordered_json;
using air::Argument;
using air::ArgumentKind;
using air::Metallib;
using air::MetallibFunction;

struct InspectOptions {
  std::string path;
  std::string kernel; ///< "" for all.
  bool json = false;
  bool names = false;
};

std::string hexOf(ByteView bytes) {
  std::string text;
  for (std::byte byte : bytes)
    text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

/// Names come out of files: nothing that could confuse a terminal or a JSON reader.
std::string printable(std::string_view text) {
  std::string out;
  for (unsigned char c : text)
    out += c < 0x20 || c > 0x7e ? '?' : static_cast<char>(c);
  return out;
}

std::string_view platformName(uint8_t platform) {
  switch (platform & 0x7f) {
  case 1:
    return "macOS";
  case 2:
    return "iOS";
  case 3:
    return "tvOS";
  case 4:
    return "watchOS";
  case 6:
    return "Catalyst";
  case 7:
    return "iOS simulator";
  case 8:
    return "tvOS simulator";
  case 9:
    return "watchOS simulator";
  case 11:
    return "visionOS";
  default:
    return "unknown";
  }
}

std::string_view kindName(air::MetallibFunctionKind kind) {
  static constexpr std::string_view kNames[] = {"vertex",  "fragment", "kernel",      "unqualified",
                                                "visible", "extern",   "intersection"};
  const auto number = static_cast<size_t>(kind);
  return number < std::size(kNames) ? kNames[number] : "unknown";
}

std::string_view kindName(ArgumentKind kind) {
  switch (kind) {
  case ArgumentKind::Buffer:
    return "buffer";
  case ArgumentKind::ThreadgroupMemory:
    return "threadgroup";
  case ArgumentKind::Texture:
    return "texture";
  case ArgumentKind::Sampler:
    return "sampler";
  case ArgumentKind::Builtin:
    return "builtin";
  case ArgumentKind::Unsupported:
    return "unsupported";
  }
  return "unknown";
}

std::string_view accessName(air::Access access) {
  switch (access) {
  case air::Access::Read:
    return "read";
  case air::Access::Write:
    return "write";
  case air::Access::ReadWrite:
    return "read_write";
  case air::Access::Sample:
    return "sample";
  }
  return "unknown";
}

std::string_view spaceName(air::AddressSpace space) {
  static constexpr std::string_view kNames[] = {"thread", "device", "constant", "threadgroup"};
  return kNames[static_cast<size_t>(space)];
}

/// The built-in, or the AIR kind, without "air.".
std::string roleOf(const Argument &argument) {
  std::string_view text = argument.kind == ArgumentKind::Builtin ? air::airNameOf(argument.builtin)
                                                                 : argument.metadataKind;
  if (text.starts_with("air."))
    text.remove_prefix(4);
  return std::string(text);
}

Json toJson(const Argument &argument) {
  Json out;
  out["name"] = printable(argument.name);
  out["kind"] = kindName(argument.kind);
  out["type"] = printable(argument.typeName);
  if (argument.kind == ArgumentKind::Builtin || argument.kind == ArgumentKind::Unsupported) {
    out["role"] = printable(roleOf(argument));
  } else {
    out["slot"] = argument.slot;
    if (argument.arrayLength != 1)
      out["arrayLength"] = argument.arrayLength;
    out["access"] = accessName(argument.access);
    out["addressSpace"] = spaceName(argument.addressSpace);
    if (argument.dataSize) {
      out["dataSize"] = argument.dataSize;
      out["dataAlignment"] = argument.dataAlignment;
    }
    if (argument.boundSize)
      out["boundSize"] = argument.boundSize;
    if (argument.isArgumentBuffer)
      out["argumentBuffer"] = true;
  }
  out["used"] = argument.used;
  for (const air::StructMember &member : argument.members) {
    Json entry{{"name", printable(member.name)},
               {"type", printable(member.typeName)},
               {"offset", member.offset},
               {"size", member.size}};
    if (member.arrayLength)
      entry["arrayLength"] = member.arrayLength;
    out["members"].push_back(std::move(entry));
  }
  return out;
}

/// One function with what the compiler says about it; `reflection` may be null.
Json toJson(const MetallibFunction &function, const air::KernelReflection *reflection) {
  Json out;
  out["name"] = printable(function.name);
  out["kind"] = kindName(function.kind);
  out["airVersion"] = fmt::format("{}.{}", function.airVersion[0], function.airVersion[1]);
  out["languageVersion"] =
      fmt::format("{}.{}", function.languageVersion[0], function.languageVersion[1]);
  out["moduleBytes"] = function.module.size();
  out["hash"] = hexOf(function.hash);
  out["hashMatches"] = air::hashMatches(function);
  out["constants"] = Json::array();
  for (const air::MetallibConstant &constant : function.constants) {
    Json entry{{"name", printable(constant.name)},
               {"type", air::nameOf(constant.type)},
               {"index", constant.index}};
    if (reflection)
      for (const air::FunctionConstant &known : reflection->constants)
        if (known.index == constant.index)
          entry["required"] = known.required;
    out["constants"].push_back(std::move(entry));
  }
  if (!reflection)
    return out;
  out["arguments"] = Json::array();
  for (const Argument &argument : reflection->arguments)
    out["arguments"].push_back(toJson(argument));
  out["maxTotalThreadsPerThreadgroup"] = reflection->maxTotalThreadsPerThreadgroup;
  out["staticThreadgroupBytes"] = reflection->staticThreadgroupBytes;
  out["usesThreadgroupBarrier"] = reflection->usesThreadgroupBarrier;
  out["usesSimdgroupOperations"] = reflection->usesSimdgroupOperations;
  return out;
}

Json containerJson(const Metallib &library, size_t bytes) {
  Json out;
  out["fileBytes"] = bytes;
  out["containerVersion"] =
      fmt::format("{}.{}.{}", library.version.major, library.version.minor, library.version.patch);
  out["flavour"] = library.version.isMac ? "macOS" : "device";
  out["platform"] = platformName(library.platform);
  out["system"] = fmt::format("{}.{}.{}", library.system[0], library.system[1], library.system[2]);
  out["fileType"] = static_cast<unsigned>(library.fileType);
  out["uuid"] = hexOf(library.uuid);
  out["madeByPewter"] = library.madeByPewter;
  out["functionCount"] = library.functions.size();
  return out;
}

void printArgument(const Json &argument) {
  std::string place;
  if (argument.contains("slot"))
    place = fmt::format("[[{}({})]]",
                        argument["kind"] == "threadgroup" ? "threadgroup"
                                                          : argument["kind"].get<std::string>(),
                        argument["slot"].get<uint32_t>());
  else
    place = fmt::format("[[{}]]", argument["role"].get<std::string>());
  std::string notes;
  if (argument.contains("access"))
    notes = fmt::format("{} {}", argument["addressSpace"].get<std::string>(),
                        argument["access"].get<std::string>());
  if (argument.contains("dataSize"))
    notes += fmt::format(", {} bytes", argument["dataSize"].get<uint32_t>());
  if (argument.contains("boundSize"))
    notes += ", reference";
  if (!argument["used"].get<bool>())
    notes += notes.empty() ? "unused" : ", unused";
  fmt::print("    {:24} {:16} {:36} {}\n", argument["name"].get<std::string>(),
             argument["type"].get<std::string>(), place, notes);
  if (argument.contains("members"))
    for (const Json &member : argument["members"])
      fmt::print("      +{:<6} {:16} {}{}\n", member["offset"].get<uint32_t>(),
                 member["type"].get<std::string>(), member["name"].get<std::string>(),
                 member.contains("arrayLength")
                     ? fmt::format("[{}]", member["arrayLength"].get<uint32_t>())
                     : "");
}

void printText(const Json &report) {
  for (const auto &[key, value] : report["container"].items())
    fmt::print("{:18} {}\n", key, value.is_string() ? value.get<std::string>() : value.dump());
  for (const Json &function : report["functions"]) {
    fmt::print("\n{} {} (AIR {}, MSL {}, {} bytes{})\n", function["kind"].get<std::string>(),
               function["name"].get<std::string>(), function["airVersion"].get<std::string>(),
               function["languageVersion"].get<std::string>(),
               function["moduleBytes"].get<size_t>(),
               function["hashMatches"].get<bool>() ? "" : ", hash differs");
    if (!function["constants"].empty())
      fmt::print("  constants\n");
    for (const Json &constant : function["constants"])
      fmt::print("    {:24} {:16} [[function_constant({})]]{}\n",
                 constant["name"].get<std::string>(), constant["type"].get<std::string>(),
                 constant["index"].get<uint32_t>(),
                 constant.value("required", false) ? " required" : "");
    if (!function.contains("arguments"))
      continue;
    fmt::print("  arguments\n");
    for (const Json &argument : function["arguments"])
      printArgument(argument);
    fmt::print("  {}{}at most {} threads per threadgroup, {} bytes of threadgroup variables\n",
               function["usesThreadgroupBarrier"].get<bool>() ? "threadgroup barriers, " : "",
               function["usesSimdgroupOperations"].get<bool>() ? "SIMD-group operations, " : "",
               function["maxTotalThreadsPerThreadgroup"].get<uint32_t>(),
               function["staticThreadgroupBytes"].get<uint32_t>());
  }
}

Result<void> inspect(const InspectOptions &options) {
  PEWTER_TRY(const Bytes bytes, readFile(options.path));
  PEWTER_TRY(Metallib library, air::readMetallib(bytes));
  if (!options.kernel.empty()) {
    std::erase_if(library.functions, [&](const MetallibFunction &function) {
      return function.name != options.kernel;
    });
    if (library.functions.empty())
      return fail(ErrorKind::Validation, "\"{}\" has no function \"{}\".", options.path,
                  options.kernel);
  }
  if (options.names) {
    for (const MetallibFunction &function : library.functions)
      fmt::print("{}\n", printable(function.name));
    return {};
  }
  Json report;
  report["container"] = containerJson(library, bytes.size());
  report["functions"] = Json::array();
  bool compilerIsThere = true;
  for (const MetallibFunction &function : library.functions) {
    const air::KernelReflection *reflection = nullptr;
    compiler::ModuleDescription description;
    if (compilerIsThere && function.kind == air::MetallibFunctionKind::Kernel) {
      auto described = device::describeModule(function.module);
      if (described) {
        description = std::move(*described);
        for (const air::KernelReflection &kernel : description.kernels)
          if (kernel.name == function.name)
            reflection = &kernel;
      } else if (described.error().kind() == ErrorKind::Unsupported &&
                 !device::compilerLibraryIsLoaded()) {
        fmt::print(stderr, "Arguments are left out: {}\n", described.error().describe());
        compilerIsThere = false;
      } else {
        return std::unexpected(std::move(described).error().whileDoing(
            fmt::format("reading the arguments of \"{}\"", printable(function.name))));
      }
    }
    report["functions"].push_back(toJson(function, reflection));
  }
  if (options.json)
    fmt::print("{}\n", report.dump(2));
  else
    printText(report);
  return {};
}

} // namespace

void addInspect(CLI::App &app, int &status) {
  CLI::App *command = app.add_subcommand("inspect", "Show what is in a .metallib");
  auto options = std::make_shared<InspectOptions>();
  command->add_option("library", options->path, "The .metallib")->required();
  command->add_option("--kernel", options->kernel, "Only this function");
  command->add_flag("--json", options->json, "Print JSON");
  command->add_flag("--names", options->names, "Print the names of the functions, nothing else");
  command->callback([options, &status] {
    Result<void> done = inspect(*options);
    if (!done)
      done = std::unexpected(std::move(done).error().whileDoing(
          fmt::format("inspecting \"{}\"", options->path)));
    status = report(done);
  });
}

} // namespace pewter::tools
