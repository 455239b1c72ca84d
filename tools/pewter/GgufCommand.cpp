// SPDX-License-Identifier: Apache-2.0
// `pewter gguf FILE`: what is in a model file, and whether the engine would take it. `pewter quantize`:
// the same model in another format.
#include "muse/ModelConfig.h"
#include "muse/Quantize.h"
#include "muse/Tokenizer.h"
#include "pewter/Commands.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace pewter::tools {
namespace {

using Json = nlohmann::ordered_json;

/// Text from a file as valid UTF-8, so that any file can be printed.
std::string printable(std::string_view text) {
  std::string out;
  for (unsigned char c : text)
    out += c < 0x20 && c != '\n' && c != '\t' ? '?' : static_cast<char>(c);
  return out;
}

Json toJson(const muse::GgufArray &array) {
  Json out = Json::array();
  std::visit(
      [&](const auto &elements) {
        using T = typename std::decay_t<decltype(elements)>::value_type;
        for (const T &element : elements)
          if constexpr (std::is_same_v<T, std::string_view>)
            out.push_back(std::string(element));
          else if constexpr (std::is_same_v<T, muse::GgufArray>)
            out.push_back(toJson(element));
          else
            out.push_back(element);
      },
      array.elements);
  return out;
}

Json toJson(const muse::GgufValue &value) {
  return std::visit(
      [](const auto &held) -> Json {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, std::string_view>)
          return std::string(held);
        else if constexpr (std::is_same_v<T, std::shared_ptr<muse::GgufArray>>)
          return toJson(*held);
        else
          return held;
      },
      value.value);
}

std::string oneLine(const muse::GgufValue &value) {
  if (const muse::GgufArray *array = value.asArray())
    return fmt::format("{} x {}", array->size(), muse::nameOf(array->elementType));
  if (auto text = value.asString()) {
    std::string shown = printable(text->substr(0, 60));
    std::ranges::replace(shown, '\n', ' ');
    return fmt::format("\"{}\"{}", shown, text->size() > 60 ? "..." : "");
  }
  return toJson(value).dump();
}

static int report(const Error &error) {
  fmt::print(stderr, "pewter: {}\n", error.describe());
  return 1;
}

void printSummary(const muse::GgufModel &model, bool withTensors) {
  std::map<std::string_view, std::pair<uint64_t, uint64_t>> types; // count, bytes
  uint64_t parameters = 0;
  for (const muse::GgufTensor &tensor : model.tensors()) {
    auto &[count, bytes] = types[tensor.format->name];
    ++count;
    bytes += tensor.bytes;
    parameters += tensor.elements();
  }
  fmt::print("file        {} ({} bytes, {} shard{}, GGUF version {}, alignment {})\n", model.label(),
             model.fileBytes(), model.shards().size(), model.shards().size() == 1 ? "" : "s",
             model.header().version(), model.header().alignment());
  fmt::print("tensors     {} ({} elements):", model.tensors().size(), parameters);
  for (const auto &[name, use] : types)
    fmt::print(" {} {} ({} bytes)", use.first, name, use.second);
  fmt::print("\nmetadata    {} keys\n", model.header().metadata().size());
  for (const auto &[key, value] : model.header().metadata())
    fmt::print("  {:48} {:7} {}\n", printable(key), muse::nameOf(value.type), oneLine(value));
  if (!withTensors)
    return;
  fmt::print("\n{:40} {:10} {:20} {:>12} {:>12}\n", "tensor", "type", "shape", "offset", "bytes");
  for (const muse::GgufTensor &tensor : model.tensors())
    fmt::print("{:40} {:10} {:20} {:12} {:12}\n", printable(tensor.name), tensor.format->name,
               tensor.shape(), tensor.offset, tensor.bytes);
}

void printJson(const muse::GgufModel &model) {
  Json out;
  out["file"] = model.label();
  out["bytes"] = model.fileBytes();
  out["shards"] = model.shards().size();
  out["version"] = model.header().version();
  out["alignment"] = model.header().alignment();
  Json &metadata = out["metadata"] = Json::object();
  for (const auto &[key, value] : model.header().metadata())
    metadata[std::string(key)] = toJson(value);
  Json &tensors = out["tensors"] = Json::array();
  for (const muse::GgufTensor &tensor : model.tensors())
    tensors.push_back({{"name", std::string(tensor.name)},
                       {"type", std::string(tensor.format->name)},
                       {"shape", std::vector<uint64_t>(tensor.dims, tensor.dims + tensor.rank)},
                       {"shard", tensor.shard},
                       {"offset", tensor.offset},
                       {"bytes", tensor.bytes}});
  fmt::print("{}\n", out.dump(1, ' ', false, Json::error_handler_t::replace));
}

/// Everything that loading would check, and the contents of every tensor.
int check(const muse::GgufModel &model) {
  auto config = muse::ModelConfig::read(model);
  if (!config)
    return report(config.error());
  auto tensors = muse::ModelTensors::find(model, *config);
  if (!tensors)
    return report(tensors.error());
  if (auto tokenizer = muse::Tokenizer::load(model); !tokenizer)
    return report(tokenizer.error());
  if (auto contents = model.checkContents(); !contents)
    return report(contents.error());
  fmt::print("{}: a muse-glimmer model of {} blocks, hidden {}, {} query and {} key-value heads of {}, "
             "feed-forward {}, vocabulary {}, window {}; all {} tensors are whole.\n",
             model.label(), config->layers, config->hidden, config->heads, config->kvHeads,
             config->headDim, config->ffn, config->vocab, config->window, model.tensors().size());
  return 0;
}

} // namespace

void addGguf(CLI::App &app, int &status) {
  struct Options {
    std::string file;
    bool json = false, tensors = false, check = false;
  };
  CLI::App *command = app.add_subcommand("gguf", "Show or check a model file");
  auto options = std::make_shared<Options>();
  command->add_option("FILE", options->file, "GGUF file, or the first of its shards")->required();
  command->add_flag("--json", options->json, "Everything, as JSON");
  command->add_flag("--tensors", options->tensors, "Also list the tensors");
  command->add_flag("--check", options->check, "Check that the engine can run the file");
  command->callback([options, &status] {
    auto model = muse::GgufModel::open(options->file);
    if (!model) {
      status = report(model.error());
      return;
    }
    if (options->json)
      printJson(**model);
    else if (!options->check || options->tensors)
      printSummary(**model, options->tensors);
    status = options->check ? check(**model) : 0;
  });
}

void addQuantize(CLI::App &app, int &status) {
  struct Options {
    std::string input, output, type;
  };
  CLI::App *command = app.add_subcommand("quantize", "Write a model file in another format");
  auto options = std::make_shared<Options>();
  command->add_option("IN", options->input, "GGUF file")->required();
  command->add_option("OUT", options->output, "File to write")->required();
  command->add_option("TYPE", options->type,
                      "F32 F16 BF16 Q8_0 Q4_0 Q4_K Q4_K_M Q5_K Q5_K_M Q6_K IQ4_NL MXFP4 NVFP4")
      ->required();
  command->callback([options, &status] {
    auto model = muse::GgufModel::open(options->input);
    if (!model) {
      status = report(model.error());
      return;
    }
    std::error_code unknown;
    if (std::filesystem::equivalent(options->input, options->output, unknown)) {
      status = report(fail(ErrorKind::Validation, "OUT \"{}\" is the file that is read; another one is expected.",
                           options->output));
      return;
    }
    bool terminal = ::isatty(STDERR_FILENO);
    auto result = muse::quantizeModel(**model, options->output, options->type, [&](double done) {
      if (terminal)
        fmt::print(stderr, "\rquantize: {:3.0f} %", done * 100);
    });
    if (terminal)
      fmt::print(stderr, "\r\033[K");
    if (!result) {
      status = report(result.error());
      return;
    }
    auto written = muse::GgufModel::open(options->output);
    if (!written) {
      status = report(written.error());
      return;
    }
    fmt::print("{}: {} bytes -> {}: {} bytes ({})\n", options->input, (*model)->fileBytes(),
               options->output, (*written)->fileBytes(), options->type);
    status = 0;
  });
}

} // namespace pewter::tools
