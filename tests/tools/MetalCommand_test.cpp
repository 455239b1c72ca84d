// SPDX-License-Identifier: Apache-2.0
// Command lines of other projects' build systems, given to `pewter metal` and `pewter metallib`.
#include "TemporaryFolder.h"
#include "air/Metallib.h"
#include "pewter/Commands.h"
#include <CLI/CLI.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace pewter::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char *kSource = R"(
#include "scale.h"
kernel void KERNEL(device float *v [[buffer(0)]], uint i [[thread_position_in_grid]]) { v[i] *= SCALE; }
)";

class MetalCommandLines : public ::testing::Test {
protected:
  void SetUp() override {
    std::filesystem::create_directories(path("include"));
    write("a.metal", kSource);
    write("b.metal", kSource);
    write("include/scale.h", "#include <metal_stdlib>\nusing namespace metal;\n#define SCALE 2\n");
  }
  std::string path(const std::string &name) { return (folder_.path() / name).string(); }
  void write(const std::string &name, const std::string &text) {
    ASSERT_TRUE(writeFileAtomically(path(name), viewOf(text)));
  }

  int run(const std::string &line) {
    CLI::App app;
    app.require_subcommand(1); // As the command has it: a later "metal" is no subcommand.
    int status = 0;
    addMetal(app, status);
    std::vector<std::string> words;
    std::istringstream stream(line);
    for (std::string word; stream >> word;) {
      if (const size_t at = word.find('@'); at != std::string::npos && !word.starts_with("@rpath"))
        word.replace(at, 1, folder_.path().string());
      words.push_back(word);
    }
    std::reverse(words.begin(), words.end());
    ::testing::internal::CaptureStderr();
    app.parse(words);
    errors_ = ::testing::internal::GetCapturedStderr();
    return status;
  }
  std::vector<std::string> functionsOf(const std::string &name) {
    const auto bytes = readFile(path(name));
    EXPECT_TRUE(bytes.has_value()) << name;
    const auto library = air::readMetallib(bytes.value());
    EXPECT_TRUE(library.has_value()) << name;
    std::vector<std::string> names;
    for (const air::MetallibFunction &function : library->functions)
      names.push_back(function.name);
    return names;
  }
  std::string textOf(const std::string &name) {
    const auto bytes = readFile(path(name));
    return bytes ? std::string(pewter::textOf(*bytes)) : "";
  }

  testing::TemporaryFolder folder_;
  std::string errors_;
};

TEST_F(MetalCommandLines, OfProjectsAreAccepted) {
  for (const char *line :
       {"-x metal -Wall -Wextra -fno-fast-math -Wno-c++17-extensions -mmacosx-version-min=14.0 -c @/a.metal "
        "-I@/include -DKERNEL=a -o @/a.air",
        "-O3 -std=metal3.1 -fno-fast-math -I @/include -MMD -MF @/a.d -gline-tables-only -frecord-sources -D "
        "KERNEL=a -c @/a.metal -o @/a.air",
        "-std=macos-metal2.4 -w -c -I@/include -DKERNEL=a @/a.metal -o @/a.air",
        "-target air64-apple-macos14.0 -isysroot /sdk -arch air64 -O2 -ffast-math -MO -frecord-sources=flat -c "
        "-I@/include -DKERNEL=a -include @/include/scale.h @/a.metal -o @/a.air",
        "-fno-inline -g -funroll-loops -ferror-limit=20 -fmodules-cache-path=/tmp/m -c -iquote @/include "
        "-UKERNEL -DKERNEL=a @/a.metal -o @/a.air"}) {
    SCOPED_TRACE(line);
    std::filesystem::remove(path("a.air"));
    EXPECT_EQ(run(std::string("metal ") + line), 0) << errors_;
    EXPECT_EQ(errors_, "");
    EXPECT_THAT(functionsOf("a.air"), ElementsAre("a"));
  }
  EXPECT_THAT(textOf("a.d"), HasSubstr("include/scale.h"));
  EXPECT_EQ(run("metal -c -I@/include -DKERNEL=b @/b.metal -o @/b.air"), 0) << errors_;
  EXPECT_EQ(run("metallib @/a.air @/b.air -o @/both.metallib"), 0) << errors_;
  EXPECT_THAT(functionsOf("both.metallib"), ElementsAre("a", "b"));
  EXPECT_EQ(run("metal -fsyntax-only -I@/include -DKERNEL=b @/b.metal"), 0) << errors_;
}

TEST_F(MetalCommandLines, ReadAndWriteStandardStreams) {
  // xcrun metal -O3 -c a.metal -o - | xcrun metallib - -o default.metallib
  const int output = ::dup(1), input = ::dup(0);
  std::fflush(stdout);
  FILE *air = std::fopen(path("stream.air").c_str(), "w+b");
  ASSERT_NE(air, nullptr);
  ::dup2(::fileno(air), 1);
  const int status = run("metal -O3 -I@/include -DKERNEL=piped -c @/a.metal -o -");
  std::fflush(stdout);
  ::dup2(output, 1);
  EXPECT_EQ(status, 0) << errors_;
  std::fclose(air);
  ASSERT_NE(std::freopen(path("stream.air").c_str(), "rb", stdin), nullptr);
  EXPECT_EQ(run("metallib - -o @/piped.metallib"), 0) << errors_;
  EXPECT_THAT(functionsOf("piped.metallib"), ElementsAre("piped"));
  ::dup2(input, 0);
  ::close(input);
  ::close(output);
}

TEST_F(MetalCommandLines, MakeAndUseDynamicLibraries) {
  write("help.metal", "float help(float x) { return x + 1; }\n");
  write("use.metal", "float help(float);\nkernel void use(device float *v) { v[0] = help(v[1]); }\n");
  EXPECT_EQ(run("metal -dynamiclib -install_name @rpath/libhelp.metallib @/help.metal -o @/libhelp.metallib"), 0)
      << errors_;
  EXPECT_THAT(functionsOf("libhelp.metallib"), ElementsAre("_Z4helpf"));
  EXPECT_NE(run("metal @/use.metal -o @/use.metallib"), 0);
  EXPECT_THAT(errors_, HasSubstr("use.metal:2:43: error: function 'help' is used but not defined"));
  EXPECT_EQ(run("metal @/use.metal -L @ -lhelp -o @/use.metallib"), 0) << errors_;
  EXPECT_THAT(functionsOf("use.metallib"), ElementsAre("use"));
  EXPECT_NE(run("metal @/use.metal -L @ -lother -o @/use.metallib"), 0);
  EXPECT_THAT(errors_, HasSubstr("libother.metallib"));
  EXPECT_NE(run("metal -dynamiclib @/help.metal -o @/libhelp.metallib"), 0);
  EXPECT_THAT(errors_, HasSubstr("-install_name"));
}

TEST_F(MetalCommandLines, ThatAskForSomethingElseAreRefused) {
  for (const auto &[line, message] :
       {std::pair{"metal -E -x metal -P -DKERNEL=a @/a.metal", "Option \"-E\" asks for something other than a library"},
        std::pair{"metal -S -emit-llvm @/a.metal", "Option \"-S\" asks"},
        std::pair{"metal -std=c++20 @/a.metal", "Language \"c++20\""},
        std::pair{"metal -x c++ @/a.metal", "Language \"c++\" of -x is not metal"},
        std::pair{"metal --no-such-thing @/a.metal", "Option \"--no-such-thing\" is not known"},
        std::pair{"metal -c", "No input file"},
        std::pair{"metallib @/missing.air -o @/x.metallib", "missing.air"}}) {
    EXPECT_NE(run(line), 0) << line;
    EXPECT_THAT(errors_, HasSubstr(message)) << line;
  }
}

} // namespace
} // namespace pewter::tools
