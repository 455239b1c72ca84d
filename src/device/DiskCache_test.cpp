// SPDX-License-Identifier: Apache-2.0
#include "device/DiskCache.h"
#include "ScopedEnvironment.h"
#include "TemporaryFolder.h"
#include "base/Toggles.h"
#include <fstream>
#include <gtest/gtest.h>

namespace pewter::device {
namespace {

using pewter::testing::ScopedEnvironment;
using pewter::testing::TemporaryFolder;

Bytes bytesOf(size_t size, int seed) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i)
    bytes[i] = std::byte(i * 31 + seed);
  return bytes;
}

TEST(DiskCache, KeepsEntriesByKindAndKey) {
  TemporaryFolder folder;
  DiskCache cache(folder.path() / "made" / "as needed", 1 << 20);
  Hash128 key{1, 2};
  EXPECT_FALSE(cache.load(CacheKind::Image, key));
  cache.store(CacheKind::Image, key, bytesOf(1000, 1));
  EXPECT_EQ(cache.load(CacheKind::Image, key), bytesOf(1000, 1));
  EXPECT_FALSE(cache.load(CacheKind::Library, key));
  EXPECT_FALSE(cache.load(CacheKind::Image, Hash128{2, 1}));
  cache.store(CacheKind::Image, key, {});
  EXPECT_EQ(cache.load(CacheKind::Image, key), Bytes());
}

// Any single damaged byte, and any cut, makes the entry absent; the next store mends it.
TEST(DiskCache, DamagedEntriesAreAbsent) {
  TemporaryFolder folder;
  DiskCache cache(folder.path(), 1 << 20);
  Hash128 key{3, 4};
  cache.store(CacheKind::Image, key, bytesOf(64, 2));
  auto path = cache.pathOf(CacheKind::Image, key);
  Bytes good = readFile(path).value();
  for (size_t i = 0; i < good.size(); ++i) {
    Bytes bad = good;
    bad[i] ^= std::byte(0x10);
    ASSERT_TRUE(writeFileAtomically(path, bad));
    EXPECT_FALSE(cache.load(CacheKind::Image, key)) << "byte " << i;
    EXPECT_FALSE(std::filesystem::exists(path));
    ASSERT_TRUE(writeFileAtomically(path, ByteView(good).first(i)));
    EXPECT_FALSE(cache.load(CacheKind::Image, key)) << "cut at " << i;
  }
  cache.store(CacheKind::Image, key, bytesOf(64, 2));
  EXPECT_TRUE(cache.load(CacheKind::Image, key));
}

TEST(DiskCache, EvictsTheOldestBeyondItsBound) {
  TemporaryFolder folder;
  DiskCache cache(folder.path(), 100'000);
  auto old = std::filesystem::file_time_type::clock::now() - std::chrono::hours(10);
  for (uint64_t i = 0; i < 30; ++i) {
    cache.store(CacheKind::Image, Hash128{i, i << 56}, bytesOf(10'000, int(i)));
    auto path = cache.pathOf(CacheKind::Image, Hash128{i, i << 56});
    if (std::filesystem::exists(path))
      std::filesystem::last_write_time(path, old + std::chrono::minutes(i));
  }
  uint64_t total = 0;
  for (auto &entry : std::filesystem::recursive_directory_iterator(folder.path()))
    if (entry.is_regular_file())
      total += entry.file_size();
  EXPECT_LE(total, 100'000u);
  EXPECT_GE(total, 50'000u);
  EXPECT_FALSE(cache.load(CacheKind::Image, Hash128{0, 0}));
  EXPECT_TRUE(cache.load(CacheKind::Image, Hash128{29, uint64_t(29) << 56}));
}

TEST(DiskCache, EnvironmentAndToggleDecide) {
  TemporaryFolder folder;
  ScopedEnvironment xdg("XDG_CACHE_HOME", folder.path().string());
  {
    ScopedEnvironment own("PEWTER_CACHE_DIR", (folder.path() / "own").string());
    EXPECT_EQ(DiskCache::standard()->folder(), folder.path() / "own");
    setToggle(Toggle::disk_cache, false);
    auto cache = DiskCache::standard();
    cache->store(CacheKind::Image, Hash128{1, 1}, bytesOf(10, 1));
    EXPECT_FALSE(cache->load(CacheKind::Image, Hash128{1, 1}));
    setToggle(Toggle::disk_cache, true);
    EXPECT_FALSE(DiskCache::standard()->load(CacheKind::Image, Hash128{1, 1}));
  }
}

// A folder that cannot be written costs nothing but the caching.
TEST(DiskCache, UnusableFolderIsNoError) {
  DiskCache cache("/proc/nothing/here", 1 << 20);
  cache.store(CacheKind::Image, Hash128{1, 1}, bytesOf(10, 1));
  EXPECT_FALSE(cache.load(CacheKind::Image, Hash128{1, 1}));
}

} // namespace
} // namespace pewter::device
