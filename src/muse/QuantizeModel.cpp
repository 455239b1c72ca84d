// SPDX-License-Identifier: Apache-2.0
//
// Rewriting a whole file in another format: which tensor gets which type, and the metadata that has
// to say so. Tested by Quantize_test.cpp and tests/engine/QuantizeFile.cpp.
#include "muse/Dequantize.h"
#include "muse/GgufWriter.h"
#include "muse/Quantize.h"
#include <cstring>

namespace pewter::muse {
namespace {

struct Recipe {
  TensorType most;     ///< Of an ordinary matrix.
  TensorType valuable; ///< Of attn_v, ffn_down and output.
  uint32_t fileType;   ///< general.file_type.
};

Result<Recipe> recipeOf(std::string_view name) {
  std::string upper;
  for (char c : name)
    upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (upper == "Q4_K_M")
    return Recipe{TensorType::Q4_K, TensorType::Q6_K, 15};
  if (upper == "Q5_K_M")
    return Recipe{TensorType::Q5_K, TensorType::Q6_K, 17};
  const TensorFormat *format = findTensorFormat(upper);
  if (!format || !format->runnable || format->type() == TensorType::F8_E4M3)
    return fail(ErrorKind::Validation,
                "Files cannot be written in the type [{}]; F32, F16, BF16, Q8_0, Q4_0, Q4_K, Q4_K_M, Q5_K, "
                "Q5_K_M, Q6_K, IQ4_NL, MXFP4 and NVFP4 are known.",
                name);
  static constexpr std::pair<TensorType, uint32_t> kFileTypes[] = {
      {TensorType::F32, 0},   {TensorType::F16, 1},   {TensorType::Q4_0, 2},
      {TensorType::Q8_0, 7},  {TensorType::Q4_K, 14}, {TensorType::Q5_K, 16},
      {TensorType::Q6_K, 18}, {TensorType::IQ4_NL, 25}, {TensorType::BF16, 32},
      {TensorType::MXFP4, 38}, {TensorType::NVFP4_E2M1, 1000}};
  uint32_t fileType = 0;
  for (auto [type, number] : kFileTypes)
    if (type == format->type())
      fileType = number;
  return Recipe{format->type(), format->type(), fileType};
}

bool isValuable(std::string_view name) {
  return name == "output.weight" || name.ends_with(".attn_v.weight") ||
         name.ends_with(".ffn_down.weight");
}

TensorType typeFor(const Recipe &recipe, const GgufTensor &tensor) {
  if (tensor.rank < 2)
    return tensor.format->type();
  TensorType wanted = isValuable(tensor.name) ? recipe.valuable : recipe.most;
  uint32_t block = wanted == TensorType::NVFP4_E2M1 ? 16 : formatOf(wanted).blockElements;
  // The embedding and the head of an NVFP4 file stay 16 bits wide.
  if (wanted == TensorType::NVFP4_E2M1 &&
      (tensor.rank != 2 || tensor.name == "output.weight" || tensor.name == "token_embd.weight"))
    return TensorType::F16;
  if (tensor.dims[0] % block == 0)
    return wanted;
  return tensor.dims[0] % 32 == 0 ? TensorType::Q8_0 : TensorType::F16;
}

bool isScaleCompanion(std::string_view name) { return name.find(".nvfp4_") != std::string_view::npos; }

} // namespace

Result<void> quantizeModel(const GgufModel &model, const std::filesystem::path &output,
                           std::string_view recipeName, const std::function<void(double)> &progress) {
  PEWTER_TRY(Recipe recipe, recipeOf(recipeName));
  bool toNvfp4 = recipe.most == TensorType::NVFP4_E2M1;
  GgufWriter writer;
  bool hasFileType = false;
  for (const auto &[key, value] : model.header().metadata()) {
    if (key.starts_with("split.") || key.starts_with("muser.") || key == "general.alignment")
      continue;
    if (key == "general.file_type") {
      hasFileType = true;
      writer.addU32(key, recipe.fileType);
    } else {
      writer.addValue(key, value);
    }
  }
  if (!hasFileType)
    writer.addU32("general.file_type", recipe.fileType);
  if (toNvfp4)
    writer.addString("muser.weight_precision", "nvfp4");

  uint64_t done = 0, total = model.fileBytes();
  auto step = [&](const GgufTensor &tensor) {
    done += tensor.bytes;
    if (progress)
      progress(static_cast<double>(done) / static_cast<double>(total));
  };
  // The parts of the NVFP4 tensor that is being written; its companions follow it at once.
  auto parts = std::make_shared<Nvfp4>();
  for (const GgufTensor &tensor : model.tensors()) {
    if (isScaleCompanion(tensor.name))
      continue;
    if (!tensor.format->runnable)
      return fail(ErrorKind::Unsupported, "Tensor \"{}\" has the type {}, which cannot be decoded.",
                  tensor.name, tensor.format->name);
    TensorType type = typeFor(recipe, tensor);
    std::vector<uint64_t> dims(tensor.dims, tensor.dims + tensor.rank);
    std::string name(tensor.name);
    if (type == tensor.format->type() && type != TensorType::NVFP4_E2M1) {
      writer.addTensor(name, type, dims, [&model, &tensor, step]() -> Result<Bytes> {
        ByteView data = model.dataOf(tensor);
        step(tensor);
        return Bytes(data.begin(), data.end());
      });
      continue;
    }
    auto values = [&model, &tensor] {
      return dequantizeRows(model, tensor, 0, tensor.elements() / tensor.dims[0]);
    };
    if (type != TensorType::NVFP4_E2M1) {
      writer.addTensor(name, type, dims, [=, &tensor]() -> Result<Bytes> {
        PEWTER_TRY(std::vector<float> decoded, values());
        step(tensor);
        return quantizeBlocks(type, decoded);
      });
      continue;
    }
    writer.addTensor(name, type, dims, [=, &tensor]() -> Result<Bytes> {
      PEWTER_TRY(std::vector<float> decoded, values());
      step(tensor);
      *parts = quantizeNvfp4(decoded);
      return std::move(parts->codes);
    });
    writer.addTensor(name + ".nvfp4_scale", TensorType::F8_E4M3, {dims[0] / 16, dims[1]},
                     [parts]() -> Result<Bytes> { return std::move(parts->scales); });
    writer.addTensor(name + ".nvfp4_scale2", TensorType::F32, {1}, [parts]() -> Result<Bytes> {
      Bytes bytes(4);
      std::memcpy(bytes.data(), &parts->scale, 4);
      return bytes;
    });
  }
  return writer.write(output);
}

} // namespace pewter::muse
