// SPDX-License-Identifier: Apache-2.0
#include "Peers.h"
#include "air/Metallib.h"
#include "air/MetallibFormat.h"
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pewter::air {
namespace {

using ::testing::HasSubstr;
using testing::kLlamaLibrary;
using testing::kOldLlamaLibrary;
using testing::kWhisperLibrary;

/// Two functions over made-up bitcode; the modules live as long as the object.
struct Sample {
  Bytes first, second;
  Metallib library;
  Sample() {
    for (int i = 0; i < 50; ++i)
      first.push_back(std::byte(i));
    for (int i = 0; i < 77; ++i)
      second.push_back(std::byte(255 - i));
    MetallibFunction a, b;
    a.name = "alpha";
    a.module = first;
    a.constants = {{"wide", DataType::Bool, 3, true}, {"scale", DataType::Float3, 65535, false}};
    b.name = "beta";
    b.module = second;
    b.airVersion = {2, 8};
    b.languageVersion = {4, 0};
    library.functions = {a, b};
    library.madeByPewter = true;
  }
};

void expectEqual(const Metallib &got, const Metallib &want) {
  EXPECT_EQ(got.platform, want.platform);
  EXPECT_EQ(got.system, want.system);
  EXPECT_EQ(got.version.isMac, want.version.isMac);
  EXPECT_EQ(got.version.patch, want.version.patch);
  EXPECT_EQ(got.fileType, want.fileType);
  ASSERT_EQ(got.functions.size(), want.functions.size());
  for (size_t i = 0; i < got.functions.size(); ++i) {
    const MetallibFunction &g = got.functions[i], &w = want.functions[i];
    EXPECT_EQ(g.name, w.name);
    EXPECT_EQ(g.kind, w.kind);
    EXPECT_EQ(g.airVersion, w.airVersion);
    EXPECT_EQ(g.languageVersion, w.languageVersion);
    EXPECT_EQ(g.constants, w.constants);
    EXPECT_TRUE(std::ranges::equal(g.module, wrapBitcode(w.module))) << w.name;
    EXPECT_TRUE(hashMatches(g)) << w.name;
  }
}

TEST(Metallib, WhatIsWrittenReadsBack) {
  const Sample sample;
  auto bytes = writeMetallib(sample.library);
  ASSERT_TRUE(bytes.has_value());
  auto read = readMetallib(*bytes);
  ASSERT_TRUE(read.has_value()) << read.error().describe();
  expectEqual(*read, sample.library);
  EXPECT_TRUE(read->madeByPewter);
  auto inner = unwrapBitcode(read->functions[0].module);
  ASSERT_TRUE(inner.has_value());
  EXPECT_TRUE(std::ranges::equal(*inner, sample.first));
}

TEST(Metallib, SameInputGivesSameBytes) {
  EXPECT_EQ(*writeMetallib(Sample().library), *writeMetallib(Sample().library));
  Sample other;
  other.first[7] = std::byte(99);
  EXPECT_NE(readMetallib(*writeMetallib(other.library))->uuid,
            readMetallib(*writeMetallib(Sample().library))->uuid);
}

TEST(Metallib, EmptyLibraryIsValid) {
  auto bytes = writeMetallib({});
  ASSERT_TRUE(bytes.has_value());
  auto read = readMetallib(*bytes);
  ASSERT_TRUE(read.has_value()) << read.error().describe();
  EXPECT_TRUE(read->functions.empty());
  EXPECT_FALSE(read->madeByPewter);
}

TEST(Metallib, EveryTruncationIsRefused) {
  const Sample sample;
  const Bytes bytes = *writeMetallib(sample.library);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(readMetallib(ByteView(bytes).first(size)).has_value()) << size;
}

// Whatever a field holds, the answer is an error or a library whose views lie inside the bytes.
TEST(Metallib, HostileFieldsNeverEscapeTheFile) {
  const Sample sample;
  const Bytes bytes = *writeMetallib(sample.library);
  for (size_t at = 4; at < bytes.size(); ++at)
    for (unsigned value : {0u, 1u, 0x7fu, 0x80u, 0xffu})
      for (size_t width : {1u, 8u}) {
        Bytes changed = bytes;
        for (size_t i = at; i < std::min(at + width, changed.size()); ++i)
          changed[i] = std::byte(value);
        if (auto read = readMetallib(changed))
          for (const MetallibFunction &function : read->functions)
            if (!function.module.empty()) {
              EXPECT_GE(function.module.data(), changed.data());
              EXPECT_LE(function.module.data() + function.module.size(),
                        changed.data() + changed.size());
            }
      }
}

TEST(Metallib, ErrorsNameTheField) {
  const Sample sample;
  Bytes bytes = *writeMetallib(sample.library);
  auto withWord = [&](size_t at, uint64_t value) {
    Bytes changed = bytes;
    std::memcpy(changed.data() + at, &value, sizeof(value));
    auto read = readMetallib(changed);
    return read ? std::string() : read.error().message();
  };
  EXPECT_THAT(withWord(metallib::kFileSizeAt, UINT64_MAX), HasSubstr("18446744073709551615"));
  EXPECT_THAT(withWord(metallib::kSectionsAt, UINT64_MAX), HasSubstr("function list"));
  EXPECT_THAT(withWord(metallib::kSectionsAt + 8, UINT64_MAX - 3), HasSubstr("function list"));
  EXPECT_THAT(withWord(metallib::kSectionsAt + 48, 1ull << 63), HasSubstr("bitcode section"));
  EXPECT_THAT(withWord(metallib::kHeaderSize, 0xffffffff),
              HasSubstr("claims [4294967295] functions"));
  auto text = readMetallib(viewOf("#include <metal_stdlib>"));
  ASSERT_FALSE(text.has_value());
  EXPECT_THAT(text.error().message(), HasSubstr("MTLB"));
}

TEST(Metallib, TwoFunctionsOfOneNameAreRefused) {
  Sample sample;
  sample.library.functions[1].name = "alpha";
  auto bytes = writeMetallib(sample.library);
  ASSERT_FALSE(bytes.has_value());
  EXPECT_THAT(bytes.error().message(), HasSubstr("\"alpha\""));
}

class ApplesMetallib : public ::testing::TestWithParam<std::pair<std::filesystem::path, size_t>> {};

// Read, written again and read once more, it is the same library; and Apple's hashes are ours.
TEST_P(ApplesMetallib, RoundTrips) {
  const auto &[path, count] = GetParam();
  PEWTER_NEEDS_PEER(path);
  auto bytes = readFile(path);
  ASSERT_TRUE(bytes.has_value());
  auto library = readMetallib(*bytes);
  ASSERT_TRUE(library.has_value()) << library.error().describe();
  EXPECT_EQ(library->functions.size(), count);
  EXPECT_FALSE(library->madeByPewter);
  size_t verified = 0;
  for (const MetallibFunction &function : library->functions)
    verified += hashMatches(function);
  EXPECT_EQ(verified, count);
  auto written = writeMetallib(*library);
  ASSERT_TRUE(written.has_value());
  auto again = readMetallib(*written);
  ASSERT_TRUE(again.has_value()) << again.error().describe();
  expectEqual(*again, *library);
  for (size_t i = 0; i < count; ++i)
    EXPECT_EQ(again->functions[i].hash, library->functions[i].hash);
}

INSTANTIATE_TEST_SUITE_P(, ApplesMetallib,
                         ::testing::Values(std::pair{kLlamaLibrary, size_t(574)},
                                           std::pair{kOldLlamaLibrary, size_t(354)},
                                           std::pair{kWhisperLibrary, size_t(385)}));

} // namespace
} // namespace pewter::air
