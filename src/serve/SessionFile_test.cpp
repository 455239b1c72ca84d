// SPDX-License-Identifier: Apache-2.0
#include "serve/SessionFile.h"
#include "TemporaryFolder.h"
#include <gtest/gtest.h>

namespace pewter::serve {
namespace {

TEST(SessionFile, RefusesWhatDiffersAndWhatIsDamaged) {
  testing::TemporaryFolder folder;
  auto path = folder.path() / "one";
  SessionFile session{.identity = {{"model", "m"}, {"device", "d"}}, .exactRows = 48, .snapshot = Bytes(1000, std::byte{7})};
  ASSERT_TRUE(writeSession(path, session));
  auto read = readSession(path, session.identity);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->exactRows, 48u);
  EXPECT_EQ(read->snapshot, session.snapshot);
  auto other = readSession(path, {{"model", "m"}, {"device", "e"}});
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message().find("another device"), std::string::npos) << other.error().message();
  EXPECT_FALSE(readSession(path, {{"model", "m"}, {"device", "d"}, {"cache", "f16"}}));

  Bytes whole = readFile(path).value();
  for (size_t i = 0; i < whole.size(); i += 13) { // any byte
    Bytes damaged = whole;
    damaged[i] ^= std::byte{0x10};
    ASSERT_TRUE(writeFileAtomically(path, damaged));
    EXPECT_FALSE(readSession(path, session.identity)) << i;
  }
  for (size_t size : {size_t(0), size_t(7), size_t(40), whole.size() / 2, whole.size() - 1}) {
    ASSERT_TRUE(writeFileAtomically(path, ByteView(whole).first(size)));
    EXPECT_FALSE(readSession(path, session.identity)) << size;
  }
}

TEST(SessionFile, NamesStayInTheFolder) {
  for (const char *name : {"a", "chat-1.session", "A_b.c"})
    EXPECT_TRUE(checkSessionName(name)) << name;
  for (const char *name : {"", ".", "..", "../x", "a/b", "/etc/x", ".hidden", "a b", "a\n", "é"})
    EXPECT_FALSE(checkSessionName(name)) << name;
}

} // namespace
} // namespace pewter::serve
