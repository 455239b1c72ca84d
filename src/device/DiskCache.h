// SPDX-License-Identifier: Apache-2.0
//
// DiskCache: what the compiler made, kept between runs: one file an entry, named by its key. An
// entry is checked (kind, key, length, checksum) before it is handed out; one that is damaged is
// removed and counts as absent. Files are written beside their place and renamed, so any number of
// processes may share a folder. Losing an entry only costs a compile: no failure here is an error.
//
// The folder is PEWTER_CACHE_DIR, else XDG_CACHE_HOME/pewter, else ~/.cache/pewter; its size is
// bounded (PEWTER_CACHE_MEGABYTES, 2048 when unset), the entries unused for longest go first. The
// toggle `disk_cache` turns it off. Any thread.
#pragma once
#include "base/Bytes.h"
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

namespace pewter::device {

/// Part of each entry's name and header, so that one kind is never taken for another.
enum class CacheKind : uint32_t { Library = 1, Description = 2, Image = 3, Choice = 4 };

class DiskCache {
public:
  DiskCache(std::filesystem::path folder, uint64_t maxBytes);
  /// The cache that the environment names, as it stands now.
  static std::shared_ptr<DiskCache> standard();

  std::optional<Bytes> load(CacheKind kind, const Hash128 &key);
  void store(CacheKind kind, const Hash128 &key, ByteView payload);

  const std::filesystem::path &folder() const { return folder_; }
  std::filesystem::path pathOf(CacheKind kind, const Hash128 &key) const;

private:
  void evict();

  const std::filesystem::path folder_; ///< Empty: no cache.
  const uint64_t maxBytes_;
  std::mutex evictionMutex_;
  std::atomic<uint64_t> writtenBytes_{0}; ///< Since the folder was last measured.
  std::atomic<uint64_t> measuredBytes_{~uint64_t(0)}; ///< ~0: not measured yet.
};

} // namespace pewter::device
