// SPDX-License-Identifier: Apache-2.0
//
// GgufFile: the header of one GGUF file, read from bytes that stay where they are: metadata and the
// table of tensors, every count, length, type, name and extent checked before it is used. Strings
// and arrays of strings are views into the bytes, which must outlive the object. It does not know
// what a model is (ModelConfig.h does), and one file may be only a part of one (GgufModel.h).
//
//   PEWTER_TRY(GgufFile file, GgufFile::parse(mapping->bytes(), "model.gguf"));
//   const GgufValue *name = file.find("general.name");
//
// Immutable after parse; any thread.
#pragma once
#include "base/Bytes.h"
#include "muse/TensorFormat.h"
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace pewter::muse {

enum class GgufValueType : uint32_t {
  U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64,
};
std::string_view nameOf(GgufValueType type);

struct GgufArray;

/// One metadata value. Integers are kept as 64 bits, f32 as the double of the same value.
struct GgufValue {
  GgufValueType type = GgufValueType::U32;
  std::variant<uint64_t, int64_t, double, bool, std::string_view, std::shared_ptr<GgufArray>> value;

  /// u32 or u64 (truncated to 32 bits), as the model keys have it; nothing for any other type.
  std::optional<uint32_t> asU32() const;
  std::optional<float> asF32() const;             ///< f32 only.
  std::optional<bool> asBool() const;             ///< bool only.
  std::optional<std::string_view> asString() const;
  const GgufArray *asArray() const;               ///< Null when it is not an array.
};

struct GgufArray {
  GgufValueType elementType = GgufValueType::U32;
  std::variant<std::vector<uint64_t>, std::vector<int64_t>, std::vector<double>,
               std::vector<std::string_view>, std::vector<GgufArray>>
      elements; ///< Bools are kept as integers.
  size_t size() const;
  /// Integers of any width and bools, as 64-bit numbers; nothing for other element types.
  std::optional<std::vector<int64_t>> asIntegers() const;
  const std::vector<std::string_view> *asStrings() const;
};

struct GgufTensor {
  std::string_view name;
  const TensorFormat *format = nullptr;
  uint32_t rank = 0;
  uint64_t dims[4] = {1, 1, 1, 1}; ///< Fastest first: [inputs, outputs, ...].
  uint64_t offset = 0;             ///< From the beginning of the file.
  uint64_t bytes = 0;
  uint32_t shard = 0;              ///< Which file of a GgufModel holds it.
  uint64_t elements() const { return dims[0] * dims[1] * dims[2] * dims[3]; }
  std::string shape() const;       ///< Like "[256, 2048]".
};

class GgufFile {
public:
  /// `label` names the file in messages.
  static Result<GgufFile> parse(ByteView bytes, std::string label);

  const std::string &label() const { return label_; }
  uint32_t version() const { return version_; }
  uint64_t alignment() const { return alignment_; }
  uint64_t dataOffset() const { return dataOffset_; }
  ByteView bytes() const { return bytes_; }
  /// In file order.
  const std::vector<std::pair<std::string_view, GgufValue>> &metadata() const { return metadata_; }
  const std::vector<GgufTensor> &tensors() const { return tensors_; }
  const GgufValue *find(std::string_view key) const;
  const GgufTensor *findTensor(std::string_view name) const;

private:
  friend class GgufModel;
  GgufFile() = default;
  Result<void> checkExtents() const;

  ByteView bytes_;
  std::string label_;
  uint32_t version_ = 0;
  uint64_t alignment_ = 32, dataOffset_ = 0;
  std::vector<std::pair<std::string_view, GgufValue>> metadata_;
  std::vector<GgufTensor> tensors_;
  std::unordered_map<std::string_view, size_t> keyIndex_, tensorIndex_;
};

} // namespace pewter::muse
