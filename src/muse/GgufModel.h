// SPDX-License-Identifier: Apache-2.0
//
// GgufModel: a model's file or files, mapped once and shared by everything that reads weights. A
// name like "model-00001-of-00003.gguf" names the first of several shards, which are all opened;
// metadata comes from the first. Tensors are views into the mappings, checked against their size.
//
//   PEWTER_TRY(auto model, GgufModel::open("model.gguf"));
//   const GgufTensor *head = model->findTensor("output.weight");
//   ByteView weights = model->dataOf(*head);
//
// Immutable after open; any thread; views live as long as the model.
#pragma once
#include "muse/GgufFile.h"

namespace pewter::muse {

class GgufModel {
public:
  static Result<std::shared_ptr<const GgufModel>> open(const std::filesystem::path &path);
  /// From bytes that the caller keeps; for models that are part of a program, and for tests.
  static Result<std::shared_ptr<const GgufModel>> fromBytes(ByteView bytes, std::string label);

  const std::string &label() const { return shards_.front().label(); }
  /// The first shard, which holds the metadata.
  const GgufFile &header() const { return shards_.front(); }
  const std::vector<GgufFile> &shards() const { return shards_; }
  const GgufValue *find(std::string_view key) const { return header().find(key); }
  /// Of all shards, in shard order.
  const std::vector<GgufTensor> &tensors() const { return tensors_; }
  const GgufTensor *findTensor(std::string_view name) const;
  ByteView dataOf(const GgufTensor &tensor) const;
  uint64_t fileBytes() const; ///< Of all shards.

  /// Looks at every value that a block's scale, a norm or a plain element holds, and refuses what is
  /// not finite, naming tensor and row. Reads the whole file.
  Result<void> checkContents() const;

private:
  GgufModel() = default;
  Result<void> joinShards();

  std::vector<std::shared_ptr<const MappedFile>> mappings_;
  std::vector<GgufFile> shards_;
  std::vector<GgufTensor> tensors_;
  std::unordered_map<std::string_view, size_t> index_;
};

/// The shard names that belong to a file called like "x-00001-of-00003.gguf", in order; just the
/// path itself for any other name. An error when the path names a shard other than the first.
Result<std::vector<std::filesystem::path>> shardPaths(const std::filesystem::path &path);

} // namespace pewter::muse
