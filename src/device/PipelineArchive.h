// SPDX-License-Identifier: Apache-2.0
//
// PipelineArchive: compiled images in one file, by key: what a MTL::BinaryArchive holds. A loaded
// archive is mapped, and an entry is read and checked only when somebody asks for it; entries that
// are added live in memory until save(). Keys are those of PipelineImage.h, so an archive of another
// device, compiler or calling convention is simply one without matching entries. Any thread.
//
//   auto archive = PipelineArchive::load("kernels.pwarchive").value();
//   request.lookUp = [archive](const Hash128 &key) { return archive->find(key); };
#pragma once
#include "base/Bytes.h"
#include <map>
#include <mutex>
#include <optional>

namespace pewter::device {

class PipelineArchive {
public:
  PipelineArchive() = default;
  /// Names what is wrong with a file that is no archive, is of another version, or is damaged.
  static Result<std::shared_ptr<PipelineArchive>> load(const std::filesystem::path &path);

  /// Nothing when there is no such entry, or when its bytes do not match their checksum.
  std::optional<Bytes> find(const Hash128 &key) const;
  /// Replaces an entry of the same key.
  void add(const Hash128 &key, ByteView image);
  size_t count() const;
  /// Writes everything, the entries of the loaded file too; damaged ones are left out.
  Result<void> save(const std::filesystem::path &path) const;

private:
  struct KeyLess {
    bool operator()(const Hash128 &a, const Hash128 &b) const {
      return a.high != b.high ? a.high < b.high : a.low < b.low;
    }
  };
  struct Entry {
    Bytes added;     ///< When it is not in the file.
    ByteView mapped; ///< When it is.
    Hash128 checksum;
    ByteView bytes() const { return mapped.data() ? mapped : ByteView(added); }
  };
  mutable std::mutex mutex_;
  std::shared_ptr<const MappedFile> file_;
  std::map<Hash128, Entry, KeyLess> entries_;
};

} // namespace pewter::device
