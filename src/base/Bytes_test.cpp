// SPDX-License-Identifier: Apache-2.0
#include "base/Bytes.h"
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pewter {
namespace {

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (std::byte b : bytes)
    text += fmt::format("{:02x}", unsigned(b));
  return text;
}

// The examples of FIPS 180-4: empty, one block, two blocks, and a length that pads to two blocks.
TEST(Bytes, Sha256KnownAnswers) {
  EXPECT_EQ(hex(sha256({})), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(sha256(viewOf("abc"))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(sha256(viewOf("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"))),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Bytes, LinksAndDevicesAreNotReplaced) {
  const auto folder = std::filesystem::temp_directory_path();
  const std::string number = std::to_string(::getpid());
  const auto path = folder / ("pewter-bytes-" + number), link = folder / ("pewter-link-" + number),
             pipe = folder / ("pewter-pipe-" + number);
  ASSERT_TRUE(writeFileAtomically(path, viewOf("old")).has_value());
  std::filesystem::create_symlink(path, link);
  ASSERT_TRUE(writeFileAtomically(link, viewOf("new")).has_value());
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(textOf(readFile(path).value()), "new");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_TRUE(writeFileAtomically(pipe, viewOf("through")).has_value());
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  char got[16] = {};
  EXPECT_EQ(::read(reader, got, sizeof got), 7);
  EXPECT_STREQ(got, "through");
  ::close(reader);
  for (const auto &made : {path, link, pipe})
    std::filesystem::remove(made);
}

TEST(Bytes, FilesRoundTripAndErrorsNameThePath) {
  auto path = std::filesystem::temp_directory_path() / "pewter-bytes-test.bin";
  ASSERT_TRUE(writeFileAtomically(path, viewOf("hello")).has_value());
  EXPECT_EQ(textOf(readFile(path).value()), "hello");
  EXPECT_EQ(textOf(MappedFile::open(path).value()->bytes()), "hello");
  std::filesystem::remove(path);
  auto missing = readFile(path);
  ASSERT_FALSE(missing.has_value());
  EXPECT_NE(missing.error().message().find(path.string()), std::string::npos);
}

} // namespace
} // namespace pewter
