// SPDX-License-Identifier: Apache-2.0
//
// Sources that would cost their compiler without end: each must end with an error, in bounded time and memory.
#include "msl/TestCompile.h"
#include <ctime>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/resource.h>

namespace pewter::msl {
namespace {

std::string repeated(std::string_view text, size_t count) {
  std::string all;
  all.reserve(text.size() * count);
  for (size_t i = 0; i < count; ++i)
    all += text;
  return all;
}
/// `line` for every number from `first` on; {0} is the number, {1} the one before.
std::string numbered(size_t first, size_t end, std::string_view line) {
  std::string all;
  for (size_t i = first; i < end; ++i)
    all += fmt::format(fmt::runtime(line), i, i - 1);
  return all;
}
std::string kernelWith(const std::string &statement, const std::string &before = "") {
  return before + "kernel void k(device int *o, uint i [[thread_position_in_grid]]) {\n" + statement + "\n}\n";
}

struct Hostile {
  const char *name;
  std::string source, message;
};
void PrintTo(const Hostile &one, std::ostream *out) { *out << one.name; }

std::vector<Hostile> hostileSources() {
  return {
      {"Parentheses", kernelWith("o[i] = " + repeated("(", 100000) + "1" + repeated(")", 100000) + ";"),
       "bracket nesting level exceeded maximum of 2048"},
      {"Subscripts", kernelWith("o" + repeated("[o", 50000) + "[0]" + repeated("]", 50000) + " = 1;"),
       "bracket nesting level exceeded maximum of 2048"},
      {"Blocks", kernelWith(repeated("{", 50000) + repeated("}", 50000)),
       "bracket nesting level exceeded maximum of 2048"},
      {"Namespaces", repeated("namespace a { ", 20000) + repeated("}", 20000),
       "bracket nesting level exceeded maximum of 2048"},
      {"DoublingMacros", kernelWith("o[i] = A39;", "#define A0 1\n" + numbered(1, 40, "#define A{0} A{1} + A{1}\n")),
       "macro 'A39' expands to more than 20000000 tokens"},
      {"MultiplyingArguments",
       kernelWith("o[i] = " + repeated("TEN(", 30) + "1" + repeated(")", 30) + ";",
                  "#define TEN(a) a + a + a + a + a + a + a + a + a + a\n"),
       "macro 'TEN' expands to more than 20000000 tokens"},
      {"MultiplyingCalls",
       kernelWith("o[i] = X30(1);", "#define X0(a) a + a\n" + numbered(1, 31, "#define X{0}(a) X{1}(X{1}(a))\n")),
       "expands to more than 20000000 tokens"},
      {"MultiplyingLists",
       kernelWith("o[i] = L9(1, 2, 3);",
                  "#define L0(...) __VA_ARGS__, __VA_ARGS__, __VA_ARGS__\n" +
                      numbered(1, 10, "#define L{0}(...) L{1}(L{1}(__VA_ARGS__, __VA_ARGS__))\n")),
       "expands to more than 20000000 tokens"},
      {"Attributes", "kernel void k(device int *o " + repeated("[[buffer(0)]] ", 100000) + ") {}",
       "more than 256 attributes in a row"},
      {"Arguments", "kernel void k(device int *o" + numbered(1, 20000, ", constant int &a{0}") + ") {}",
       "has more than 31 buffer arguments"},
      {"Errors", kernelWith(numbered(1, 50000, "x{0} = 1;")), "use of undeclared identifier 'x1'"},
      {"Digits", kernelWith("o[i] = " + repeated("1", 1000000) + ";"), "integer literal is too large"},
      {"ArraysInStructures",
       kernelWith("S5 s; o[i] = s.a[i].a[0].a[0].a[0].a[0].x[0];",
                  "struct S0 { int x[1000]; };\n" + numbered(1, 6, "struct S{0} {{ S{1} a[1000]; }};\n")),
       "array is too large"},
      {"DeepTemplates",
       kernelWith("o[i] = F<5000>::v;", "template <int N> struct F { static constexpr constant int v = F<N - 1>::v + "
                                        "F<N - 2>::v; };\n"),
       "recursive template instantiation exceeded maximum depth"},
      {"DoublingTypes",
       kernelWith("D40 x; o[i] = sizeof(x);", "template <class A, class B> struct P { A *a; B *b; };\ntypedef int D0;\n" +
                                                  numbered(1, 41, "typedef P<D{1}, D{1}> D{0};\n")),
       "too many or too large templates"},
      {"DoublingInstantiations",
       kernelWith("T<30, int, float> t; o[i] = sizeof(t);",
                  "template <int N, class A, class B> struct T { typedef T<N - 1, T<N - 1, A, B>, T<N - 1, B, A>> type; "
                  "typename type::type x; };\n"),
       "too many or too large templates"},
      {"EndlessConstants",
       kernelWith("", "constexpr int f(int n) { int s = 0; while (true) s += ++n & 7; return s; }\n" +
                          numbered(1, 2000, "static_assert(f({0}) != -1, \"\");\n")),
       "constant expression"},
      {"UnclosedComment", repeated("/*", 1000000), "unterminated /* comment"},
      {"DoublingCalls",
       kernelWith("o[i] = f40(o[1], o);", "int f0(int x, device int *a) { return a[x]; }\n" +
                                              numbered(1, 41, "int f{0}(int x, device int *a) {{ return f{1}(x ^ a[x], "
                                                              "a) + f{1}(a[x + 1], a); }}\n")),
       "instructions with the functions that it calls"},
  };
}

class HostileSource : public testing::TestWithParam<Hostile> {};

TEST_P(HostileSource, EndsWithAnError) {
  const auto seconds = [] {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
  };
  const double start = seconds();
  const auto compiled = compileForTest("#include <metal_stdlib>\nusing namespace metal;\n" + GetParam().source);
  EXPECT_FALSE(compiled->ok);
  EXPECT_THAT(compiled->diagnostics.substr(0, 2000), testing::HasSubstr(GetParam().message));
  EXPECT_LT(compiled->diagnostics.size(), 1u << 20);
  EXPECT_LT(seconds() - start, 60);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  EXPECT_LT(usage.ru_maxrss >> 10, 4096) << "megabytes";
}

INSTANTIATE_TEST_SUITE_P(All, HostileSource, testing::ValuesIn(hostileSources()),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
} // namespace pewter::msl
