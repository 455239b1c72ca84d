// SPDX-License-Identifier: Apache-2.0
//
// The folder is measured at the first store and then only when what was written since could have
// filled it. Eviction goes down to three quarters of the bound. A load refreshes the time stamp of
// an entry that is more than an hour old: the order of eviction needs no more.
//
// Tested by DiskCache_test.cpp.
#include "device/DiskCache.h"
#include "base/Toggles.h"
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pewter::device {
namespace fs = std::filesystem;
namespace {

struct EntryHeader {
  char magic[8];
  uint32_t version;
  CacheKind kind;
  Hash128 key;
  uint64_t length;
  Hash128 checksum; ///< Of the payload.
};
static_assert(sizeof(EntryHeader) == 56);
constexpr char kMagic[8] = {'P', 'E', 'W', 'T', 'E', 'R', 'C', 'E'};
constexpr uint32_t kVersion = 1;
constexpr uint64_t kDefaultMegabytes = 2048;
constexpr time_t kRefreshSeconds = 3600;

fs::path standardFolder() {
  if (auto path = environment("PEWTER_CACHE_DIR"))
    return *path;
  if (auto path = environment("XDG_CACHE_HOME"); path && path->starts_with('/'))
    return fs::path(*path) / "pewter";
  if (auto path = environment("HOME"); path && path->starts_with('/'))
    return fs::path(*path) / ".cache" / "pewter";
  return {};
}

uint64_t standardBytes() {
  uint64_t megabytes = kDefaultMegabytes;
  if (auto text = environment("PEWTER_CACHE_MEGABYTES"))
    std::from_chars(text->data(), text->data() + text->size(), megabytes);
  return std::min(megabytes, uint64_t(1) << 32) << 20;
}

void refresh(const fs::path &path) {
  struct stat info;
  if (::stat(path.c_str(), &info) == 0 && info.st_mtime + kRefreshSeconds < ::time(nullptr))
    ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
}

} // namespace

DiskCache::DiskCache(fs::path folder, uint64_t maxBytes)
    : folder_(std::move(folder)), maxBytes_(maxBytes) {}

std::shared_ptr<DiskCache> DiskCache::standard() {
  static std::mutex &mutex = *new std::mutex;
  static auto &current = *new std::shared_ptr<DiskCache>;
  fs::path folder = enabled(Toggle::disk_cache) ? standardFolder() : fs::path();
  uint64_t bytes = standardBytes();
  std::lock_guard lock(mutex);
  if (!current || current->folder_ != folder || current->maxBytes_ != bytes)
    current = std::make_shared<DiskCache>(folder, bytes);
  return current;
}

fs::path DiskCache::pathOf(CacheKind kind, const Hash128 &key) const {
  std::string name = key.hex();
  return folder_ / name.substr(0, 2) / fmt::format("{}-{}", name.substr(2), uint32_t(kind));
}

std::optional<Bytes> DiskCache::load(CacheKind kind, const Hash128 &key) {
  if (folder_.empty())
    return std::nullopt;
  fs::path path = pathOf(kind, key);
  auto bytes = readFile(path);
  if (!bytes)
    return std::nullopt;
  EntryHeader header;
  ByteView payload;
  bool good = bytes->size() >= sizeof(header);
  if (good) {
    std::memcpy(&header, bytes->data(), sizeof(header));
    payload = ByteView(*bytes).subspan(sizeof(header));
    good = std::memcmp(header.magic, kMagic, sizeof(kMagic)) == 0 && header.version == kVersion &&
           header.kind == kind && header.key == key && header.length == payload.size() &&
           header.checksum == hashOf(payload);
  }
  if (!good) {
    ::unlink(path.c_str());
    return std::nullopt;
  }
  refresh(path);
  return Bytes(payload.begin(), payload.end());
}

void DiskCache::store(CacheKind kind, const Hash128 &key, ByteView payload) {
  if (folder_.empty() || payload.size() + sizeof(EntryHeader) > maxBytes_)
    return;
  fs::path path = pathOf(kind, key);
  std::error_code failed;
  fs::create_directories(path.parent_path(), failed);
  if (failed)
    return;
  EntryHeader header{{}, kVersion, kind, key, payload.size(), hashOf(payload)};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  Bytes bytes(sizeof(header) + payload.size());
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::copy(payload.begin(), payload.end(), bytes.begin() + sizeof(header));
  if (!writeFileAtomically(path, bytes))
    return;
  writtenBytes_.fetch_add(bytes.size(), std::memory_order_relaxed);
  uint64_t measured = measuredBytes_.load(std::memory_order_relaxed);
  if (measured == ~uint64_t(0) ||
      measured + writtenBytes_.load(std::memory_order_relaxed) > maxBytes_)
    evict();
}

void DiskCache::evict() {
  std::unique_lock lock(evictionMutex_, std::try_to_lock);
  if (!lock)
    return; // Another thread is at it.
  struct Entry {
    fs::path path;
    fs::file_time_type time;
    uint64_t size;
  };
  std::vector<Entry> entries;
  uint64_t total = 0;
  std::error_code failed;
  auto now = fs::file_time_type::clock::now();
  for (fs::recursive_directory_iterator it(folder_, failed), end; !failed && it != end;
       it.increment(failed)) {
    std::error_code gone;
    if (!it->is_regular_file(gone) || gone)
      continue;
    Entry entry{it->path(), it->last_write_time(gone), it->file_size(gone)};
    if (gone)
      continue;
    // What a process that died left half written.
    if (entry.path.has_extension() && now - entry.time > std::chrono::hours(1)) {
      fs::remove(entry.path, gone);
      continue;
    }
    total += entry.size;
    entries.push_back(std::move(entry));
  }
  if (total > maxBytes_) {
    std::sort(entries.begin(), entries.end(),
              [](const Entry &a, const Entry &b) { return a.time < b.time; });
    for (const Entry &entry : entries) {
      if (total <= maxBytes_ / 4 * 3)
        break;
      std::error_code gone;
      if (fs::remove(entry.path, gone))
        total -= std::min(total, entry.size);
    }
  }
  measuredBytes_.store(total, std::memory_order_relaxed);
  writtenBytes_.store(0, std::memory_order_relaxed);
}

} // namespace pewter::device
