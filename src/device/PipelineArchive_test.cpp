// SPDX-License-Identifier: Apache-2.0
#include "device/PipelineArchive.h"
#include "TemporaryFolder.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pewter::device {
namespace {

using pewter::testing::TemporaryFolder;
using ::testing::HasSubstr;

Bytes imageOf(size_t size, int seed) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i)
    bytes[i] = std::byte(i * 13 + seed);
  return bytes;
}

TEST(PipelineArchive, SavesAndLoads) {
  TemporaryFolder folder;
  auto path = folder.path() / "a.archive";
  PipelineArchive archive;
  for (uint64_t i = 0; i < 50; ++i)
    archive.add({i, 100 - i}, imageOf(i * 37, int(i)));
  archive.add({3, 97}, imageOf(5, 99)); // Replaces.
  ASSERT_TRUE(archive.save(path));
  auto loaded = PipelineArchive::load(path).value();
  EXPECT_EQ(loaded->count(), 50u);
  for (uint64_t i = 0; i < 50; ++i)
    EXPECT_EQ(loaded->find({i, 100 - i}), i == 3 ? imageOf(5, 99) : imageOf(i * 37, int(i)));
  EXPECT_FALSE(loaded->find({1, 1}));
  // Over the very file that is mapped, with one more.
  loaded->add({1, 1}, imageOf(10, 1));
  ASSERT_TRUE(loaded->save(path));
  auto again = PipelineArchive::load(path).value();
  EXPECT_EQ(again->count(), 51u);
  EXPECT_EQ(again->find({1, 1}), imageOf(10, 1));
  EXPECT_EQ(again->find({49, 51}), imageOf(49 * 37, 49));
}

TEST(PipelineArchive, EmptyOneIsAnArchive) {
  TemporaryFolder folder;
  auto path = folder.path() / "a.archive";
  ASSERT_TRUE(PipelineArchive().save(path));
  EXPECT_EQ(PipelineArchive::load(path).value()->count(), 0u);
}

// Whatever byte is damaged, nothing wrong comes out, and cuts are noticed.
TEST(PipelineArchive, DamageIsNoticed) {
  TemporaryFolder folder;
  auto path = folder.path() / "a.archive";
  PipelineArchive archive;
  archive.add({1, 2}, imageOf(100, 1));
  archive.add({3, 4}, imageOf(50, 2));
  ASSERT_TRUE(archive.save(path));
  Bytes good = readFile(path).value();
  for (size_t i = 0; i < good.size(); ++i) {
    Bytes bad = good;
    bad[i] ^= std::byte(0x41);
    ASSERT_TRUE(writeFileAtomically(path, bad));
    if (auto loaded = PipelineArchive::load(path)) {
      auto first = (*loaded)->find({1, 2}), second = (*loaded)->find({3, 4});
      EXPECT_TRUE(!first || *first == imageOf(100, 1)) << i;
      EXPECT_TRUE(!second || *second == imageOf(50, 2)) << i;
    }
    ASSERT_TRUE(writeFileAtomically(path, ByteView(good).first(i)));
    EXPECT_FALSE(PipelineArchive::load(path)) << i;
  }
}

TEST(PipelineArchive, ErrorsNameTheFile) {
  TemporaryFolder folder;
  auto path = folder.path() / "text";
  EXPECT_FALSE(PipelineArchive::load(path));
  ASSERT_TRUE(writeFileAtomically(path, viewOf(std::string(100, 'x'))));
  auto loaded = PipelineArchive::load(path);
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().message(), HasSubstr(path.string()));
}

} // namespace
} // namespace pewter::device
