// SPDX-License-Identifier: Apache-2.0
//
// GgufWriter: builds a version 3 GGUF file: metadata, then tensors whose bytes are asked for one at
// a time while the file is written, so that no more than one tensor is in memory. It writes beside
// the target and renames. It writes what it is told, also nonsense, so that tests can damage files;
// GgufFile is what checks.
//
//   GgufWriter writer;
//   writer.addString("general.architecture", "muse-glimmer");
//   writer.addTensor("output_norm.weight", TensorType::F32, {256}, bytes);
//   PEWTER_TRY_VOID(writer.write("out.gguf"));
#pragma once
#include "muse/GgufFile.h"
#include <functional>

namespace pewter::muse {

class GgufWriter {
public:
  void addU32(std::string_view key, uint32_t value);
  void addF32(std::string_view key, float value);
  void addBool(std::string_view key, bool value);
  void addString(std::string_view key, std::string_view value);
  void addStrings(std::string_view key, std::span<const std::string> values);
  void addIntegers(std::string_view key, GgufValueType elementType, std::span<const int64_t> values);
  /// A value as it was read.
  void addValue(std::string_view key, const GgufValue &value);

  /// `bytesOf` is called once, while writing, and must give as many bytes as type and dims say.
  void addTensor(std::string name, TensorType type, std::vector<uint64_t> dims,
                 std::function<Result<Bytes>()> bytesOf);
  void addTensor(std::string name, TensorType type, std::vector<uint64_t> dims, Bytes bytes);

  /// What stands before the bytes of the tensors, with its padding.
  Bytes header() const;
  Result<void> write(const std::filesystem::path &path) const;
  Result<Bytes> toBytes() const;

private:
  struct Tensor {
    std::string name;
    TensorType type;
    std::vector<uint64_t> dims;
    uint64_t bytes;
    std::function<Result<Bytes>()> bytesOf;
  };
  Result<void> writeTo(const std::function<Result<void>(ByteView)> &sink) const;

  Bytes metadata_;
  uint64_t metadataCount_ = 0;
  std::vector<Tensor> tensors_;
};

} // namespace pewter::muse
