// SPDX-License-Identifier: Apache-2.0
//
// tests/lit/msl: wrong programs, each beside a file with the first line that the compiler must say.
#include "base/Bytes.h"
#include "msl/Compile.h"
#include "msl/frontend/Diagnostics.h"
#include <algorithm>
#include <gmock/gmock.h>

namespace pewter::msl {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Diagnostics, SpeakMsl) {
  EXPECT_EQ(inMslTerms("cannot initialize 'const __attribute__((address_space(1))) float *'"),
            "cannot initialize 'const device float *'");
  EXPECT_EQ(inMslTerms("'float4' (aka 'metal::vec<float, 4>') to 'vec<unsigned int, 2>'"),
            "'float4' to 'uint2'");
  EXPECT_EQ(inMslTerms("'packed_vec<float, 3>' and 'metal::matrix<_Float16, 4, 2>'"),
            "'packed_float3' and 'half4x2'");
  EXPECT_EQ(inMslTerms("'myvec<float, 4>'"), "'myvec<float, 4>'");
}

TEST(Diagnostics, OfWrongPrograms) {
  const std::filesystem::path folder = std::filesystem::path(PEWTER_SOURCE_DIR) / "tests/lit/msl";
  std::vector<std::filesystem::path> programs;
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".metal")
      programs.push_back(entry.path());
  std::ranges::sort(programs);
  EXPECT_GE(programs.size(), 40u);
  for (const auto &program : programs) {
    SCOPED_TRACE(program.filename().string());
    const auto source = readFile(program);
    ASSERT_TRUE(source.has_value());
    const auto expected =
        readFile(std::filesystem::path(program).replace_extension(".expected"));
    ASSERT_TRUE(expected.has_value()) << "no expectation file";
    compiler::SourceRequest request;
    request.source = textOf(*source);
    request.includeDirectories = {folder};
    const auto image = compileSource(request);
    ASSERT_FALSE(image.has_value()) << "compiles";
    std::string text = image.error().message();
    if (text.starts_with(folder.string() + "/"))
      text.erase(0, folder.string().size() + 1);
    EXPECT_EQ(text.substr(0, text.find('\n') + 1), textOf(*expected));
    EXPECT_THAT(text, Not(HasSubstr("/pewter/")));
    EXPECT_THAT(text, Not(HasSubstr("address_space")));
    EXPECT_THAT(text, Not(HasSubstr("__air")));
  }
}

} // namespace
} // namespace pewter::msl
