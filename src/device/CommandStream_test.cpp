// SPDX-License-Identifier: Apache-2.0
#include "device/CommandStream.h"
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

namespace pewter::device {
namespace {

TEST(CommandStream, EmptyStreamHasNoCommands) {
  CommandStream stream;
  EXPECT_EQ(stream.first(), nullptr);
  EXPECT_EQ(stream.commandCount(), 0u);
  stream.allocateData(8);
  EXPECT_EQ(stream.first(), nullptr);
}

// Commands and data of many blocks, oversized ones among them, come back in order and whole.
TEST(CommandStream, WalksAcrossBlocks) {
  CommandStream stream;
  std::vector<std::pair<const unsigned char *, size_t>> data;
  for (uint64_t i = 0; i < 5000; ++i) {
    size_t extra = i % 1000 == 7 ? 100'000 : i % 64 * 8;
    auto *barrier = stream.append<BarrierCommand>(CommandKind::Barrier, extra);
    barrier->scope = uint32_t(i);
    std::memset(barrier + 1, int(i & 0xff), extra);
    size_t size = i % 700 == 3 ? 90'000 : i % 700 == 4 ? 65536 - 16 : i % 97;
    auto *bytes = static_cast<unsigned char *>(stream.allocateData(size));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes) % 16, 0u);
    std::memset(bytes, int(i * 7 & 0xff), size);
    data.emplace_back(bytes, size);
  }
  uint64_t i = 0;
  for (const Command *c = stream.first(); c; c = stream.next(c), ++i) {
    ASSERT_EQ(c->kind, CommandKind::Barrier);
    auto *barrier = static_cast<const BarrierCommand *>(c);
    ASSERT_EQ(barrier->scope, i);
    size_t extra = i % 1000 == 7 ? 100'000 : i % 64 * 8;
    auto *tail = reinterpret_cast<const unsigned char *>(barrier + 1);
    for (size_t b = 0; b < extra; ++b)
      ASSERT_EQ(tail[b], i & 0xff);
    for (size_t b = 0; b < data[i].second; ++b)
      ASSERT_EQ(data[i].first[b], i * 7 & 0xff);
  }
  EXPECT_EQ(i, 5000u);
  EXPECT_EQ(stream.commandCount(), 5000u);
}

TEST(CommandStream, KeepsObjectsUntilItDies) {
  auto object = std::make_shared<int>(3);
  {
    CommandStream stream;
    for (int i = 0; i < 10'000; ++i)
      stream.keep(object);
    EXPECT_EQ(object.use_count(), 10'001);
  }
  EXPECT_EQ(object.use_count(), 1);
}

TEST(CommandStream, CopiesText) {
  CommandStream stream;
  char text[] = "label";
  const char *copy = stream.copyText(text);
  text[0] = 'x';
  EXPECT_STREQ(copy, "label");
  EXPECT_STREQ(stream.copyText(nullptr), "");
}

TEST(CommandStream, RecordsWithoutAllocationWhenWarm) {
  auto record = [] {
    auto stream = std::make_unique<CommandStream>();
    for (int i = 0; i < 2000; ++i) {
      stream->append<DispatchCommand>(CommandKind::Dispatch, 6 * sizeof(ArgumentBinding));
      stream->allocateData(16);
    }
  };
  record();
  uint64_t before = CommandStream::blocksAllocated();
  for (int i = 0; i < 10; ++i)
    record();
  EXPECT_EQ(CommandStream::blocksAllocated(), before);
}

} // namespace
} // namespace pewter::device
