// SPDX-License-Identifier: Apache-2.0
#include "base/Bytes.h"
#include <gtest/gtest.h>

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
