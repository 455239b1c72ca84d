// SPDX-License-Identifier: Apache-2.0
// Tested by tests/engine/DamagedGguf.cpp.
#include "muse/GgufModel.h"
#include <cmath>
#include <cstring>
#include <optional>

namespace pewter::muse {
namespace {

constexpr uint32_t kMaxShards = 9'999;

std::optional<uint32_t> fiveDigits(std::string_view text) {
  uint32_t value = 0;
  for (char c : text) {
    if (c < '0' || c > '9')
      return std::nullopt;
    value = value * 10 + static_cast<uint32_t>(c - '0');
  }
  return value;
}

/// Where in a tensor's bytes a block keeps the 16-bit floats that scale it.
std::span<const uint32_t> halfOffsets(TensorType type) {
  static constexpr uint32_t kFirst[] = {0}, kFirstTwo[] = {0, 2}, kLast[] = {208};
  switch (type) {
  case TensorType::F16:
  case TensorType::Q4_0:
  case TensorType::Q8_0:
  case TensorType::IQ4_NL: return kFirst;
  case TensorType::Q4_K:
  case TensorType::Q5_K: return kFirstTwo;
  case TensorType::Q6_K: return kLast;
  default: return {};
  }
}

/// The index of the first block that holds something not finite.
std::optional<uint64_t> firstBadBlock(TensorType type, ByteView data) {
  const TensorFormat &format = formatOf(type);
  const auto *bytes = reinterpret_cast<const uint8_t *>(data.data());
  uint64_t blocks = data.size() / format.blockBytes;
  auto offsets = halfOffsets(type);
  for (uint64_t i = 0; i < blocks; ++i) {
    const uint8_t *block = bytes + i * format.blockBytes;
    bool bad = false;
    for (uint32_t offset : offsets) {
      uint16_t bits;
      std::memcpy(&bits, block + offset, 2);
      bad |= (bits & 0x7c00) == 0x7c00;
    }
    if (type == TensorType::F32) {
      float value;
      std::memcpy(&value, block, 4);
      bad = !std::isfinite(value);
    } else if (type == TensorType::BF16) {
      uint16_t bits;
      std::memcpy(&bits, block, 2);
      bad = (bits & 0x7f80) == 0x7f80;
    } else if (type == TensorType::MXFP4) {
      bad = block[0] == 0xff;
    } else if (type == TensorType::F8_E4M3) {
      bad = (block[0] & 0x7f) == 0x7f;
    }
    if (bad)
      return i;
  }
  return std::nullopt;
}

} // namespace

Result<std::vector<std::filesystem::path>> shardPaths(const std::filesystem::path &path) {
  // "NAME-00001-of-00003.gguf"
  std::string name = path.filename().string();
  constexpr std::string_view kTail = "-00001-of-00003.gguf";
  if (name.size() <= kTail.size() || !name.ends_with(".gguf"))
    return std::vector{path};
  std::string_view tail = std::string_view(name).substr(name.size() - kTail.size());
  auto number = fiveDigits(tail.substr(1, 5)), count = fiveDigits(tail.substr(10, 5));
  if (tail[0] != '-' || tail.substr(6, 4) != "-of-" || !number || !count)
    return std::vector{path};
  if (*count == 0 || *count > kMaxShards || *number == 0 || *number > *count)
    return fail(ErrorKind::Validation, "The name \"{}\" speaks of shard [{}] of [{}].", name, *number,
                *count);
  if (*number != 1)
    return fail(ErrorKind::Validation,
                "\"{}\" is shard [{}] of {}; name the first shard, which ends in \"-00001-of-{:05}.gguf\".",
                name, *number, *count, *count);
  std::string stem = name.substr(0, name.size() - kTail.size());
  std::vector<std::filesystem::path> paths;
  for (uint32_t i = 1; i <= *count; ++i)
    paths.push_back(path.parent_path() / fmt::format("{}-{:05}-of-{:05}.gguf", stem, i, *count));
  return paths;
}

Result<std::shared_ptr<const GgufModel>> GgufModel::open(const std::filesystem::path &path) {
  PEWTER_TRY(auto paths, shardPaths(path));
  auto model = std::shared_ptr<GgufModel>(new GgufModel);
  for (const auto &shard : paths) {
    PEWTER_TRY(auto mapping, MappedFile::open(shard));
    PEWTER_TRY(GgufFile file, GgufFile::parse(mapping->bytes(), shard.filename().string()));
    model->mappings_.push_back(std::move(mapping));
    model->shards_.push_back(std::move(file));
  }
  PEWTER_TRY_VOID(model->joinShards());
  return model;
}

Result<std::shared_ptr<const GgufModel>> GgufModel::fromBytes(ByteView bytes, std::string label) {
  auto model = std::shared_ptr<GgufModel>(new GgufModel);
  PEWTER_TRY(GgufFile file, GgufFile::parse(bytes, std::move(label)));
  model->shards_.push_back(std::move(file));
  PEWTER_TRY_VOID(model->joinShards());
  return model;
}

Result<void> GgufModel::joinShards() {
  // split.no, split.count and split.tensors.count come as integers of several widths.
  auto integer = [](const GgufFile &file, std::string_view key) -> std::optional<uint64_t> {
    const GgufValue *value = file.find(key);
    if (!value)
      return std::nullopt;
    if (const auto *u = std::get_if<uint64_t>(&value->value))
      return *u;
    if (const auto *i = std::get_if<int64_t>(&value->value))
      return static_cast<uint64_t>(*i);
    return ~uint64_t(0);
  };
  for (uint32_t i = 0; i < shards_.size(); ++i) {
    const GgufFile &file = shards_[i];
    auto number = integer(file, "split.no"), count = integer(file, "split.count");
    if (count && *count > 1 && *count != shards_.size())
      return fail(ErrorKind::Validation,
                  "GGUF file \"{}\" says that it is one of [{}] shards, but {} were opened.", file.label(),
                  *count, shards_.size());
    if (shards_.size() > 1 && (!number || *number != i))
      return fail(ErrorKind::Validation, "GGUF file \"{}\" has the shard number [{}]; {} is expected.",
                  file.label(), number ? fmt::to_string(*number) : "none", i);
    for (GgufTensor tensor : file.tensors()) {
      tensor.shard = i;
      if (!index_.emplace(tensor.name, tensors_.size()).second)
        return fail(ErrorKind::Validation, "Tensor \"{}\" is in \"{}\" and in an earlier shard.",
                    tensor.name, file.label());
      tensors_.push_back(tensor);
    }
  }
  auto total = integer(header(), "split.tensors.count");
  if (total && shards_.size() > 1 && *total != tensors_.size())
    return fail(ErrorKind::Validation, "\"{}\" announces [{}] tensors in its {} shards; they hold {}.",
                label(), *total, shards_.size(), tensors_.size());
  return {};
}

const GgufTensor *GgufModel::findTensor(std::string_view name) const {
  auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

ByteView GgufModel::dataOf(const GgufTensor &tensor) const {
  return shards_[tensor.shard].bytes().subspan(tensor.offset, tensor.bytes);
}

uint64_t GgufModel::fileBytes() const {
  uint64_t total = 0;
  for (const GgufFile &file : shards_)
    total += file.bytes().size();
  return total;
}

Result<void> GgufModel::checkContents() const {
  for (const GgufTensor &tensor : tensors_) {
    if (!tensor.format->runnable)
      continue;
    auto bad = firstBadBlock(tensor.format->type(), dataOf(tensor));
    if (bad)
      return fail(ErrorKind::Validation,
                  "GGUF file \"{}\": tensor \"{}\" ({}) holds a value or scale that is not finite, in "
                  "row [{}].",
                  shards_[tensor.shard].label(), tensor.name, tensor.format->name,
                  *bad * tensor.format->blockElements / tensor.dims[0]);
  }
  return {};
}

} // namespace pewter::muse
