// SPDX-License-Identifier: Apache-2.0
#include "device/CompilerLibrary.h"
#include "ScopedEnvironment.h"
#include "TemporaryFolder.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pewter::device {
namespace {

using pewter::testing::ScopedEnvironment;
using pewter::testing::TemporaryFolder;
using ::testing::HasSubstr;

const std::string kBuild = PEWTER_BINARY_DIR;

int compiles = 0;
Result<compiler::LibraryImage> countingCompileSource(const compiler::SourceRequest &request) {
  ++compiles;
  if (request.source == "bad")
    return fail(ErrorKind::Compile, "program_source:1:1: error: unknown type name 'bad'");
  auto bytes = viewOf(request.source);
  return compiler::LibraryImage{Bytes(bytes.begin(), bytes.end()), "a warning", {}};
}

/// Counts the compiles and starts with an empty cache.
class CompilerLibraryCached : public ::testing::Test {
protected:
  void SetUp() override {
    compiles = 0;
    before_ = replaceCompiler(&points_);
  }
  void TearDown() override { replaceCompiler(before_); }

  TemporaryFolder folder_;
  ScopedEnvironment cache_{"PEWTER_CACHE_DIR", folder_.path().string()};
  compiler::EntryPoints points_{PEWTER_BINARY_DIR, countingCompileSource, {}, {}, {}, {}};
  const compiler::EntryPoints *before_ = nullptr;
};

TEST(CompilerLibrary, AbsentLibraryIsNamed) {
  auto points = openCompilerLibrary("/nowhere/libpewter-compiler.so");
  ASSERT_FALSE(points.has_value());
  EXPECT_EQ(points.error().kind(), ErrorKind::Unsupported);
  EXPECT_THAT(points.error().message(), HasSubstr("/nowhere/libpewter-compiler.so"));
}

TEST(CompilerLibrary, ForeignLibraryIsRefused) {
  auto points = openCompilerLibrary(kBuild + "/lib/libpewter.so");
  ASSERT_FALSE(points.has_value());
  EXPECT_THAT(points.error().message(), HasSubstr("pewterCompilerEntryPoints"));
}

TEST(CompilerLibrary, OtherBuildIsRefused) {
  auto points = openCompilerLibrary(kBuild + "/lib/libpewter_other_build_compiler.so");
  ASSERT_FALSE(points.has_value());
  EXPECT_THAT(points.error().message(), HasSubstr("another-build"));
  EXPECT_THAT(points.error().message(), HasSubstr(compilerBuildId()));
}

TEST(CompilerLibrary, EnvironmentNamesThePath) {
  auto before = replaceCompiler(nullptr);
  ScopedEnvironment path("PEWTER_COMPILER", "/nowhere/else.so");
  auto points = compilerLibrary();
  ASSERT_FALSE(points.has_value());
  EXPECT_THAT(points.error().message(), HasSubstr("/nowhere/else.so"));
  EXPECT_FALSE(compilerLibraryIsLoaded());
  replaceCompiler(before);
}

TEST_F(CompilerLibraryCached, SourceIsCompiledOnce) {
  compiler::SourceRequest request;
  request.source = "kernel";
  auto first = compileSource(request);
  auto second = compileSource(request);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(compiles, 1);
  EXPECT_EQ(first->metallib, second->metallib);
  EXPECT_EQ(second->diagnostics, "a warning");
  request.mathMode = compiler::MathMode::Safe;
  EXPECT_TRUE(compileSource(request));
  request.macros["A"] = "1";
  EXPECT_TRUE(compileSource(request));
  request.macros["A"] = "2";
  EXPECT_TRUE(compileSource(request));
  EXPECT_EQ(compiles, 4);
}

// A cached source needs no compiler at all.
TEST_F(CompilerLibraryCached, CachedSourceNeedsNoCompiler) {
  compiler::SourceRequest request;
  request.source = "kernel";
  ASSERT_TRUE(compileSource(request));
  ScopedEnvironment path("PEWTER_COMPILER", "/nowhere/else.so");
  replaceCompiler(nullptr);
  EXPECT_TRUE(compileSource(request));
  EXPECT_FALSE(compilerLibraryIsLoaded());
}

TEST_F(CompilerLibraryCached, ErrorsAreNotKept) {
  compiler::SourceRequest request;
  request.source = "bad";
  EXPECT_FALSE(compileSource(request));
  EXPECT_FALSE(compileSource(request));
  EXPECT_EQ(compiles, 2);
}

TEST_F(CompilerLibraryCached, IncludeDirectoriesAreCompiledAlways) {
  compiler::SourceRequest request;
  request.source = "kernel";
  request.includeDirectories = {"/somewhere"};
  EXPECT_TRUE(compileSource(request));
  EXPECT_TRUE(compileSource(request));
  EXPECT_EQ(compiles, 2);
}

} // namespace
} // namespace pewter::device
