// SPDX-License-Identifier: Apache-2.0
//
// Chapters on types, operators, swizzles, conversions, matrices and memory.
#include "Conformance.h"

namespace pewter::test {
namespace {

struct Types : Chapter {
  Types() : Chapter("types") {}
};
TEST_F(Types, SizesAndTraits) {
  auto out = room(4);
  run("types", {out}, 1);
  EXPECT_EQ(contents<uint32_t>(out)[0], 1u);
}

struct Operators : Chapter {
  Operators() : Chapter("operators") {}

  template <class T> void integers() {
    constexpr size_t n = 96;
    std::vector<T> a(n + 4), b(n + 4);
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] = anyInteger<T>(random);
      do
        b[i] = anyInteger<T>(random);
      while (b[i] == 0);
      if (std::is_signed_v<T> && a[i] == std::numeric_limits<T>::min() && b[i] == T(-1))
        b[i] = 3; // Its quotient has no value.
    }
    auto out = room(n * 13 * sizeof(T)), flags = room(n * 4), wrong = room(n * 4);
    run(std::string("integer_") + kTypeName<T>, {buffer(a), buffer(b), out, flags, wrong}, n);
    auto got = contents<T>(out);
    for (size_t i = 0; i < n; ++i) {
      using U = std::make_unsigned_t<T>;
      using Wide = std::conditional_t<sizeof(T) < 4, int32_t, T>; // As C++ promotes.
      using Word = std::conditional_t<sizeof(T) < 8, uint64_t, uint64_t>;
      const T x = a[i], y = b[i];
      const unsigned shift = unsigned(U(y)) & (sizeof(T) * 8 - 1);
      const T want[13] = {T(Word(x) + Word(y)), T(Word(x) - Word(y)), T(Word(x) * Word(y)), T(x / y), T(x % y),
                          T(x & y), T(x | y), T(x ^ y), T(~x), T(Word(0) - Word(x)), x, T(Word(x) << shift),
                          T(Wide(x) >> shift)};
      for (size_t k = 0; k < 13; ++k)
        ASSERT_EQ(got[i * 13 + k], want[k]) << kTypeName<T> << " operator " << k << " of " << +x << ", " << +y;
      const uint32_t f = (x < y) | (x > y) << 1 | (x <= y) << 2 | (x >= y) << 3 | (x == y) << 4 | (x != y) << 5 |
                         !x << 6 | (x && y) << 7 | (x || y) << 8;
      ASSERT_EQ(contents<uint32_t>(flags)[i], f) << kTypeName<T>;
      ASSERT_EQ(contents<uint32_t>(wrong)[i], 0u) << kTypeName<T> << ": vectors differ from scalars, thread " << i;
    }
  }

  template <class T> void floats() {
    constexpr size_t n = 96;
    std::vector<T> a(n + 4), b(n + 4);
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] = T(double(int(random() % 4001) - 2000) / 16);
      b[i] = T(double(int(random() % 401) - 200) / 8);
      if (b[i] == 0)
        b[i] = T(0.5);
      if (random() % 8 == 0)
        b[i] = a[i];
    }
    auto out = room(n * 6 * sizeof(T)), flags = room(n * 4), wrong = room(n * 4);
    run(std::string("float_") + kTypeName<T>, {buffer(a), buffer(b), out, flags, wrong}, n);
    auto got = contents<T>(out);
    for (size_t i = 0; i < n; ++i) {
      const double x = a[i], y = b[i];
      // One rounding of the exact result: double holds it, but for the quotient, whose second rounding
      // cannot matter at these widths.
      const double want[6] = {x + y, x - y, x * y, x / y, -x, x};
      for (size_t k = 0; k < 6; ++k)
        ASSERT_EQ(double(got[i * 6 + k]), double(T(want[k]))) << kTypeName<T> << " operator " << k << " of " << x << ", " << y;
      const uint32_t f = (x < y) | (x > y) << 1 | (x <= y) << 2 | (x >= y) << 3 | (x == y) << 4 | (x != y) << 5 |
                         !x << 6 | (x && y) << 7 | (x || y) << 8;
      ASSERT_EQ(contents<uint32_t>(flags)[i], f) << kTypeName<T>;
      ASSERT_EQ(contents<uint32_t>(wrong)[i], 0u) << kTypeName<T> << ": vectors differ from scalars, thread " << i;
    }
  }
};
TEST_F(Operators, OnIntegers) {
  integers<int8_t>();
  integers<uint8_t>();
  integers<int16_t>();
  integers<uint16_t>();
  integers<int32_t>();
  integers<uint32_t>();
  integers<int64_t>();
  integers<uint64_t>();
}
TEST_F(Operators, OnFloats) {
  floats<float>();
  floats<Half>();
  floats<BFloat>();
}

struct Swizzles : Chapter {
  Swizzles() : Chapter("swizzles") {}
  static uint32_t code(const std::vector<int> &digits) {
    uint32_t sum = 0, weight = 1;
    for (int d : digits) {
      sum += uint32_t(d) * weight;
      weight *= 5;
    }
    return sum;
  }
  /// In the order of swizzles.metal: of each length, by letters.
  static void all(int components, std::vector<uint32_t> &want) {
    for (int length = 2; length <= 4; ++length) {
      int count = 1;
      for (int i = 0; i < length; ++i)
        count *= components;
      for (int k = 0; k < count; ++k) {
        std::vector<int> digits;
        for (int i = 0, rest = count / components, left = k; i < length; ++i, left %= rest, rest /= components, rest = std::max(rest, 1))
          digits.push_back(left / rest + 1);
        want.push_back(code(digits));
      }
    }
  }
  template <class T> void reads() {
    std::vector<T> in{T(1), T(2), T(3), T(4)};
    std::vector<uint32_t> want;
    for (int components : {4, 3, 2})
      all(components, want);
    for (auto &digits : std::vector<std::vector<int>>{{1, 2}, {3, 2, 1}, {4, 3, 2, 1}, {1, 1, 1, 1}, {2, 3, 4, 1}})
      want.push_back(code(digits));
    auto out = room(want.size() * 4);
    run(std::string("read_") + kTypeName<T>, {buffer(in), out}, 1, 1);
    EXPECT_EQ(contents<uint32_t>(out), want) << kTypeName<T>;
  }
  template <class T> void writes() {
    std::vector<T> in{T(1), T(2), T(3), T(4), T(5), T(6), T(7), T(8)};
    std::vector<uint32_t> want;
    for (int length = 2; length <= 4; ++length) {
      std::vector<std::vector<int>> chosen;
      for (int k = 0; k < 256; ++k) {
        std::vector<int> at{k / 64, k / 16 % 4, k / 4 % 4, k % 4};
        at.resize(size_t(length));
        bool distinct = true;
        for (size_t i = 0; i < at.size(); ++i)
          for (size_t j = 0; j < i; ++j)
            distinct &= at[i] != at[j];
        if (distinct && (chosen.empty() || chosen.back() != at))
          chosen.push_back(at);
      }
      for (auto &at : chosen) {
        int v[4] = {1, 2, 3, 4};
        for (size_t i = 0; i < at.size(); ++i)
          v[at[i]] = 5 + int(i);
        want.push_back(uint32_t(v[0] + 9 * v[1] + 81 * v[2] + 729 * v[3]));
      }
    }
    auto out = room(want.size() * 4);
    run(std::string("write_") + kTypeName<T>, {buffer(in), out}, 1, 1);
    EXPECT_EQ(contents<uint32_t>(out), want) << kTypeName<T>;
  }
};
template <class Use> void withEveryNumber(Use use) {
  use(float()), use(Half()), use(BFloat()), use(int8_t()), use(uint8_t()), use(int16_t()), use(uint16_t());
  use(int32_t()), use(uint32_t()), use(int64_t()), use(uint64_t());
}
TEST_F(Swizzles, Read) {
  withEveryNumber([&](auto number) { reads<decltype(number)>(); });
}
TEST_F(Swizzles, Written) {
  withEveryNumber([&](auto number) { writes<decltype(number)>(); });
}
TEST_F(Swizzles, WrittenWhereTheyLie) {
  withEveryNumber([&](auto number) {
    using T = decltype(number);
    auto out = room(64 * 4 * sizeof(T));
    run(std::string("place_") + kTypeName<T>, {out}, 32);
    const auto got = contents<T>(out);
    const double device[4] = {3, 8, 4, 10}, shared[4] = {3, 3, 10, 3};
    for (size_t i = 0; i < 64 * 4; ++i)
      EXPECT_EQ(double(got[i]), (i < 32 * 4 ? device : shared)[i % 4]) << kTypeName<T> << " " << i;
  });
}
TEST_F(Swizzles, Constructors) {
  std::vector<float> in{1, 2, 3, 4};
  auto out = room(17 * 4);
  run("constructors", {buffer(in), out}, 1, 1);
  std::vector<uint32_t> want(16, code({1, 2, 3, 4}));
  want.push_back(code({1, 1, 1, 1}));
  EXPECT_EQ(contents<uint32_t>(out), want);
}

struct Conversions : Chapter {
  Conversions() : Chapter("conversions") {}

  template <class D, class S> static D converted(S s) {
    if constexpr (std::is_same_v<D, bool>)
      return s != S();
    else if constexpr (std::is_same_v<D, Half> || std::is_same_v<D, BFloat>) {
      if constexpr (std::is_integral_v<S> && sizeof(S) == 8)
        return narrow<D>(s);
      else
        return D(double(s));
    } else if constexpr (std::is_same_v<D, float>) {
      if constexpr (std::is_integral_v<S>)
        return float(s);
      else
        return float(double(s));
    } else if constexpr (std::is_integral_v<S>) {
      return D(s);
    } else {
      const double x = double(s);
      if (std::isnan(x))
        return 0;
      const double low = double(std::numeric_limits<D>::min()), high = double(std::numeric_limits<D>::max());
      return x <= low ? std::numeric_limits<D>::min() : x >= high ? std::numeric_limits<D>::max() : D(x);
    }
  }
  /// A 64-bit integer rounded once: double could round before.
  template <class D, class S> static D narrow(S s) {
    const bool negative = s < S(0);
    uint64_t magnitude = negative ? uint64_t(0) - uint64_t(s) : uint64_t(s);
    if (magnitude >> 40) // Sticky bit: everything below stays out of the rounding's way.
      magnitude = (magnitude >> 16 | ((magnitude & 0xffff) != 0)) << 16;
    return D(negative ? -double(magnitude) : double(magnitude));
  }

  template <class D, class S> void expect(const NS::SharedPtr<MTL::Buffer> &out, const std::vector<S> &in, size_t n) {
    auto got = contents<uint8_t>(out);
    for (size_t i = 0; i < n; ++i) {
      const D want = converted<D>(in[i]);
      D have;
      std::memcpy(&have, &got[i * sizeof(D)], sizeof(D));
      const bool same = std::memcmp(&have, &want, sizeof(D)) == 0 || (double(have) != double(have) && double(want) != double(want));
      ASSERT_TRUE(same) << kTypeName<S> << " " << double(in[i]) << " to " << kTypeName<D> << " gives " << double(have)
                        << ", not " << double(want);
    }
  }

  template <class S> void from() {
    constexpr size_t n = 256;
    std::vector<S> in;
    for (size_t i = 0; i < n + 4; ++i) {
      if constexpr (std::is_same_v<S, bool>) {
        in.push_back(random() % 2);
      } else if constexpr (std::is_integral_v<S>) {
        in.push_back(anyInteger<S>(random));
      } else {
        double x = double(int64_t(random() % 2000001) - 1000000) / double(1 << (random() % 21));
        if (random() % 8 == 0)
          x = std::array{0.0, -0.0, 1e9, -1e9, 3e18, 1e30, double(NAN), double(INFINITY), -double(INFINITY), 0.5, 65504.0}[random() % 11];
        in.push_back(S(x));
      }
    }
    // vector<bool> has no data.
    std::vector<uint8_t> raw(in.size() * sizeof(S));
    for (size_t i = 0; i < in.size(); ++i) {
      const S s = in[i];
      std::memcpy(&raw[i * sizeof(S)], &s, sizeof(S));
    }
    std::vector<NS::SharedPtr<MTL::Buffer>> b{buffer(raw), room(n * 4)};
    for (size_t size : {1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 1})
      b.push_back(room(n * size));
    run(std::string("convert_") + kTypeName<S>, b, n);
    expect<int8_t>(b[2], in, n);
    expect<uint8_t>(b[3], in, n);
    expect<int16_t>(b[4], in, n);
    expect<uint16_t>(b[5], in, n);
    expect<int32_t>(b[6], in, n);
    expect<uint32_t>(b[7], in, n);
    expect<int64_t>(b[8], in, n);
    expect<uint64_t>(b[9], in, n);
    expect<Half>(b[10], in, n);
    expect<BFloat>(b[11], in, n);
    expect<float>(b[12], in, n);
    expect<bool>(b[13], in, n);
    EXPECT_EQ(contents<uint32_t>(b[1]), std::vector<uint32_t>(n, 0)) << kTypeName<S> << ": vectors differ from scalars";
  }
};
TEST_F(Conversions, FromIntegers) {
  from<int8_t>();
  from<uint8_t>();
  from<int16_t>();
  from<uint16_t>();
  from<int32_t>();
  from<uint32_t>();
  from<int64_t>();
  from<uint64_t>();
  from<bool>();
}
TEST_F(Conversions, FromFloats) {
  from<Half>();
  from<BFloat>();
  from<float>();
}
TEST_F(Conversions, BitsKeepTheirOrder) {
  constexpr size_t n = 64;
  std::vector<uint32_t> in(4 * n);
  for (uint32_t &v : in)
    v = uint32_t(random()) & 0xfbff7bffu; // No NaN in the floats and halves.
  auto out = room(n * 8 * 16);
  run("reinterpret", {buffer(in), out}, n);
  auto got = contents<uint32_t>(out);
  for (size_t i = 0; i < n; ++i) {
    const uint32_t *v = &in[4 * i];
    const std::vector<uint32_t> want{
        v[0], v[1], v[2], v[3], v[0], v[1], v[2], v[3], v[0], v[1], v[2], v[3], v[0], v[1], v[2], v[3],
        v[0] & 0xffff, v[0] >> 16, v[1] & 0xffff, v[1] >> 16,
        v[0] & 255, v[0] >> 8 & 255, v[0] >> 16 & 255, v[0] >> 24, v[0], v[1], v[2], v[3],
        v[0] >> 16, v[1] >> 24, v[2] & 0xffff, v[3]};
    for (size_t k = 0; k < 32; ++k)
      ASSERT_EQ(got[32 * i + k], want[k]) << "word " << k;
  }
}

struct Matrices : Chapter {
  Matrices() : Chapter("matrices") {}
  using M = std::vector<std::vector<double>>; ///< Columns.

  static void append(std::vector<double> &out, const M &m) {
    for (auto &column : m)
      out.insert(out.end(), column.begin(), column.end());
  }
  static M map(const M &a, const M &b, auto f) {
    M r = a;
    for (size_t c = 0; c < a.size(); ++c)
      for (size_t k = 0; k < a[c].size(); ++k)
        r[c][k] = f(a[c][k], b[c][k]);
    return r;
  }
  static M times(const M &a, const M &b) {
    M r(b.size(), std::vector<double>(a[0].size()));
    for (size_t c = 0; c < b.size(); ++c)
      for (size_t k = 0; k < a.size(); ++k)
        for (size_t i = 0; i < a[0].size(); ++i)
          r[c][i] += a[k][i] * b[c][k];
    return r;
  }
  static M transposed(const M &a) {
    M r(a[0].size(), std::vector<double>(a.size()));
    for (size_t c = 0; c < a.size(); ++c)
      for (size_t i = 0; i < a[0].size(); ++i)
        r[i][c] = a[c][i];
    return r;
  }
  static std::vector<double> expected(const float *in, size_t columns, size_t rows, size_t k) {
    auto take = [&in](size_t c, size_t r) {
      M m(c, std::vector<double>(r));
      for (auto &column : m)
        for (double &v : column)
          v = *in++;
      return m;
    };
    const M a = take(columns, rows), b = take(columns, rows), kk = take(k, columns);
    const M v = take(1, columns), w = take(1, rows);
    std::vector<double> out;
    append(out, map(a, b, [](double x, double y) { return x + y; }));
    append(out, map(a, b, [](double x, double y) { return x - y; }));
    append(out, times(a, kk));
    append(out, map(a, a, [](double x, double) { return x * 2; }));
    append(out, map(b, b, [](double x, double) { return x * 3; }));
    append(out, times(a, v));
    append(out, transposed(times(transposed(w), a)));
    append(out, transposed(a));
    append(out, map(a, a, [](double x, double) { return -x; }));
    M c = map(b, b, [](double x, double) { return x * 2; }); // a + b - a, exactly, of small integers.
    append(out, c);
    c[columns - 1] = w[0];
    c[0][rows - 1] = 9;
    append(out, c);
    out.push_back(1);
    return out;
  }
};
TEST_F(Matrices, AlgebraOfEveryShape) {
  for (size_t columns = 2; columns <= 4; ++columns)
    for (size_t rows = 2; rows <= 4; ++rows) {
      std::vector<float> in(400);
      for (float &v : in)
        v = float(int(random() % 17) - 8); // Exact in every type here.
      auto out = room(800 * 4);
      run(fmt::format("algebra_{}{}", columns, rows), {buffer(in), out}, 1, 1);
      auto got = contents<float>(out);
      const size_t ks[4] = {2, 3, 4, 3};
      for (size_t part = 0; part < 4; ++part) {
        auto want = expected(&in[100 * part], columns, rows, ks[part]);
        for (size_t i = 0; i < want.size(); ++i)
          ASSERT_EQ(double(got[200 * part + i]), want[i]) << columns << " x " << rows << ", part " << part << ", value " << i;
      }
    }
}
TEST_F(Matrices, SquareOnes) {
  std::vector<float> in(16);
  for (float &v : in)
    v = float(int(random() % 9) - 4);
  auto out = room((3 + 4 + 9 + 6 + 8 + 9) * 4);
  run("square", {buffer(in), out}, 1, 1);
  auto determinant = [&](size_t n) {
    std::vector<size_t> p(n);
    double sum = 0;
    for (size_t i = 0; i < n; ++i)
      p[i] = i;
    do {
      double product = 1;
      for (size_t i = 0; i < n; ++i) {
        product *= in[i * n + p[i]];
        for (size_t j = 0; j < i; ++j)
          if (p[j] > p[i])
            product = -product;
      }
      sum += product;
    } while (std::next_permutation(p.begin(), p.end()));
    return sum;
  };
  std::vector<double> want{determinant(2), determinant(3), determinant(4)};
  for (size_t n : {2, 3})
    for (size_t c = 0; c < n; ++c)
      for (size_t r = 0; r < n; ++r)
        want.push_back(c == r ? in[0] : 0);
  for (size_t count : {6, 8, 9})
    want.insert(want.end(), in.begin(), in.begin() + long(count));
  auto got = contents<float>(out);
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_EQ(double(got[i]), want[i]) << i;
}

struct MemoryChapter : Chapter {
  MemoryChapter() : Chapter("memory") {}
};
TEST_F(MemoryChapter, AddressSpaces) {
  constexpr int n = 64;
  std::vector<int32_t> in{3, 4, 5, 6}, counters{11, 12};
  auto out = room(n * 16 * 4);
  run("spaces", {out, buffer(in), buffer(counters)}, n, n, n * 4);
  auto got = contents<int32_t>(out);
  for (int i = 0; i < n; ++i) {
    const int counter = counters[size_t(i % 2)];
    const int want[16] = {2, 10, 18, 2 + 2 + 3 + i, 64 * 63 / 2, 64 * 63, 1000 + 200 + 30 + 4,
                          int((1.5 + i % 4) * 2), 8 + (i % 2 ? 2 + 6 : 1 + 3), counter * 3, counter * 2, 20,
                          i % 2 ? 0 : 77, i % 2 ? 77 : 0, 63 - i, 40};
    for (int k = 0; k < 16; ++k)
      ASSERT_EQ(got[size_t(i * 16 + k)], want[k]) << "thread " << i << ", value " << k;
  }
}
TEST_F(MemoryChapter, BarriersInLoops) {
  std::vector<int32_t> values(128);
  for (size_t i = 0; i < 128; ++i)
    values[i] = int32_t(random());
  auto b = buffer(values);
  run("rotate_values", {b}, 128, 128);
  for (size_t i = 0; i < 128; ++i)
    ASSERT_EQ(contents<int32_t>(b)[i], values[(i + 5) % 128]) << i;
}
TEST_F(MemoryChapter, FunctionConstants) {
  for (bool set : {true, false}) {
    auto values = NS::TransferPtr(MTL::FunctionConstantValues::alloc()->init());
    const bool flag = set;
    const int32_t number = 20;
    const float colour[4] = {1, 2.5f, 3, 0};
    const uint16_t small[2] = {7, 9};
    const uint16_t fraction = 0x3800; // 0.5
    const uint8_t bytes[4] = {1, 2, 3, 200};
    values->setConstantValue(&flag, MTL::DataTypeBool, NS::UInteger(0));
    if (set)
      values->setConstantValue(&number, MTL::DataTypeInt, NS::UInteger(1));
    values->setConstantValue(colour, MTL::DataTypeFloat3, textFor("colour"));
    values->setConstantValue(small, MTL::DataTypeUShort2, NS::UInteger(3));
    values->setConstantValue(&fraction, MTL::DataTypeHalf, NS::UInteger(4));
    values->setConstantValue(bytes, MTL::DataTypeUChar4, NS::UInteger(5));
    auto out = room(7 * 4), extra = room(4);
    run("constants", {out, set ? extra : NS::SharedPtr<MTL::Buffer>()}, 1, 1, 0, values.get());
    EXPECT_EQ(contents<float>(out), (std::vector<float>{set ? 1.f : 0.f, set ? 20.f : 99.f, 2.5f, 9, set ? 41.f : -1.f, 0.5f, 200}));
    if (set)
      EXPECT_EQ(contents<float>(extra)[0], 5);
  }
}

template <class T> void packedOf(size_t n, std::mt19937_64 &random, auto run, auto buffer, auto room, auto contents) {
  constexpr size_t threads = 40;
  std::vector<T> in((threads + 1) * n);
  for (T &v : in)
    v = T(double(int(random() % 20)));
  auto b = buffer(in), out = room(threads * 3 * n * sizeof(T)), flat = room(threads * n * sizeof(T));
  run(fmt::format("packed_{}{}", kTypeName<T>, n), b, out, flat, threads);
  std::vector<T> got = contents(out, T()), sums = contents(flat, T());
  for (size_t i = 0; i < threads; ++i) {
    std::vector<double> v, changed;
    for (size_t k = 0; k < n; ++k)
      v.push_back(double(in[i * n + k]));
    changed = v;
    changed[n - 1] = 5;
    changed[0] = v[1];
    for (size_t k = 0; k < n; ++k) {
      ASSERT_EQ(double(got[(3 * i) * n + k]), v[k] * 2) << kTypeName<T> << n;
      ASSERT_EQ(double(got[(3 * i + 1) * n + k]), changed[k]) << kTypeName<T> << n;
      ASSERT_EQ(double(got[(3 * i + 2) * n + k]), k == 1 ? v[0] : v[1]) << kTypeName<T> << n;
      ASSERT_EQ(double(sums[i * n + k]), v[k] + double(in[(i + 1) * n + k])) << kTypeName<T> << n;
    }
  }
}
TEST_F(MemoryChapter, PackedVectors) {
  auto of = [&]<class T>(T) {
    for (size_t n : {2, 3, 4})
      packedOf<T>(
          n, random,
          [&](const std::string &kernel, auto in, auto out, auto flat, size_t threads) { run(kernel, {in, out, flat}, threads); },
          [&](const std::vector<T> &values) { return buffer(values); }, [&](size_t bytes) { return room(bytes); },
          [&](const auto &b, auto) { return contents<T>(b); });
  };
  of(int8_t());
  of(uint8_t());
  of(int16_t());
  of(uint16_t());
  of(int32_t());
  of(uint32_t());
  of(int64_t());
  of(Half());
  of(float());
}

struct Programs : Chapter {
  Programs() : Chapter("programs") {}
};
TEST_F(Programs, OwnNamesAndTailRecursion) {
  for (bool forward : {false, true}) {
    auto values = NS::TransferPtr(MTL::FunctionConstantValues::alloc()->init());
    values->setConstantValue(&forward, MTL::DataTypeBool, NS::UInteger(0));
    auto out = room(40 * 16);
    run("walk", {out, buffer(std::vector<int32_t>{7})}, 40, 32, 0, values.get());
    auto got = contents<int32_t>(out);
    for (int i = 0; i < 40; ++i) {
      const int place = (3 * i + 1) % 7, wraps = (3 * i + 1) / 7;
      ASSERT_EQ(got[size_t(4 * i)], forward ? wraps : place) << i;
      ASSERT_EQ(got[size_t(4 * i + 1)], forward ? place : wraps) << i;
      ASSERT_EQ(got[size_t(4 * i + 2)], std::gcd(12 * i, 90)) << i;
    }
  }
}
TEST_F(Programs, ScalarsBesideVectors) {
  auto out = room(8 * 5 * 16);
  run("scalars", {out}, 8);
  auto got = contents<float>(out);
  for (size_t i = 0; i < 8; ++i)
    for (size_t k = 0; k < 4; ++k) {
      const float v = float(i + k) - 4;
      const float want[] = {v > 1 ? v : 0, std::max(v, 0.f), std::clamp(v, -1.f, 1.f), v / 2, float(v >= 0) + v * v};
      for (size_t row = 0; row < 5; ++row)
        ASSERT_EQ(got[(i * 5 + row) * 4 + k], want[row]) << "thread " << i << ", row " << row;
    }
}

} // namespace
} // namespace pewter::test
