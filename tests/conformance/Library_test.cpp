// SPDX-License-Identifier: Apache-2.0
//
// Chapters on the standard library: functions, SIMD groups and quads, atomics.
#include "Conformance.h"
#include <algorithm>
#include <numeric>

namespace pewter::test {
namespace {

struct Functions : Chapter {
  Functions() : Chapter("functions") {}

  template <class T> static std::array<T, 23> expected(T a, T b, T c) {
    using U = std::make_unsigned_t<T>;
    constexpr int kBits = sizeof(T) * 8;
    using Wide = __int128;
    auto saturated = [](Wide x) {
      return T(std::clamp<Wide>(x, Wide(std::numeric_limits<T>::min()), Wide(std::numeric_limits<T>::max())));
    };
    auto median = [](T x, T y, T z) { return std::max(std::min(x, y), std::min(std::max(x, y), z)); };
    U reversed = 0;
    for (int i = 0; i < kBits; ++i)
      reversed = U(reversed | (U(U(a) >> i & 1) << (kBits - 1 - i)));
    const int turn = int(U(b)) & (kBits - 1);
    const U rotated = turn ? U(U(U(a) << turn) | U(U(a) >> (kBits - turn))) : U(a);
    const U field = U(U(a) >> 2 & 31);
    const T extracted = std::is_signed_v<T> ? T(U(U(field) << (kBits - 5))) >> (kBits - 5) : T(field);
    const U mask = U(15u << 1);
    return {T(a < 0 ? U(0) - U(a) : U(a)),
            T(a > b ? U(a) - U(b) : U(b) - U(a)),
            saturated(Wide(a) + Wide(b)),
            saturated(Wide(a) - Wide(b)),
            T(U(a) == 0 ? kBits : std::countl_zero(U(a))),
            T(U(a) == 0 ? kBits : std::countr_zero(U(a))),
            T(std::popcount(U(a))),
            T(reversed),
            T((Wide(a) + Wide(b)) >> 1),
            T((Wide(a) + Wide(b) + 1) >> 1),
            high(a, b),
            T(U(U(high(a, b)) + U(c))),
            saturated(Wide(a) * Wide(b) + Wide(c)),
            std::max(a, b),
            std::min(a, b),
            std::max({a, b, c}),
            std::min({a, b, c}),
            median(a, b, c),
            std::clamp(a, std::min(b, c), std::max(b, c)),
            T(rotated),
            extracted,
            T(U((U(a) & U(~mask)) | (U(U(b) << 1) & mask))),
            c > b ? b : a};
  }
  template <class T> static T high(T a, T b) {
    if constexpr (std::is_same_v<T, uint64_t>)
      return T((unsigned __int128)(a) * (unsigned __int128)(b) >> 64);
    else
      return T(__int128(a) * __int128(b) >> (sizeof(T) * 8));
  }

  template <class T> void integers() {
    constexpr size_t n = 128;
    std::vector<T> a(n + 3), b(n + 3), c(n + 3);
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] = anyInteger<T>(random);
      b[i] = anyInteger<T>(random);
      c[i] = anyInteger<T>(random);
      // madsat of 64 bits overflows the reference where both factors are extreme.
      if constexpr (sizeof(T) == 8)
        if (random() % 2)
          b[i] = T(random() % 1000);
    }
    auto out = room(n * 23 * sizeof(T)), wrong = room(n * 4);
    run(std::string("integers_") + kTypeName<T>, {buffer(a), buffer(b), buffer(c), out, wrong}, n);
    auto got = contents<T>(out);
    for (size_t i = 0; i < n; ++i) {
      const auto want = expected<T>(a[i], b[i], c[i]);
      for (size_t k = 0; k < 23; ++k) {
        if (k == 12 && std::is_same_v<T, uint64_t> && (unsigned __int128)(a[i]) * (unsigned __int128)(b[i]) >> 127)
          continue; // Beyond the reference's width.
        ASSERT_EQ(got[i * 23 + k], want[k]) << kTypeName<T> << " function " << k << " of " << +a[i] << ", " << +b[i] << ", " << +c[i];
      }
      ASSERT_EQ(contents<uint32_t>(wrong)[i], 0u) << kTypeName<T> << ": vectors differ from scalars (a bit per function)";
    }
  }

  template <class T> void floats(double tolerance) {
    constexpr size_t n = 128;
    std::vector<T> a(n + 3), b(n + 3), p(n + 3), u(n + 3);
    std::uniform_real_distribution<double> any(-8, 8), positive(0.05, 20), unit(-0.95, 0.95);
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] = T(random() % 4 ? any(random) : double(int(random() % 17) - 8) / 2);
      b[i] = T(random() % 4 ? any(random) : double(a[i]));
      if (double(b[i]) == 0)
        b[i] = T(1.5);
      p[i] = T(positive(random));
      u[i] = T(unit(random));
    }
    auto out = room(n * 58 * sizeof(T)), wrong = room(n * 8);
    run(std::string("floats_") + kTypeName<T>, {buffer(a), buffer(b), buffer(p), buffer(u), out, wrong}, n);
    auto got = contents<T>(out);
    const double pi = M_PI;
    for (size_t i = 0; i < n; ++i) {
      const double x = a[i], y = b[i], q = p[i], w = u[i], t = std::clamp((x + 1) / 3, 0.0, 1.0);
      auto median = [](double r, double s, double v) { return std::max(std::min(r, s), std::min(std::max(r, s), v)); };
      const double step = std::is_same_v<T, float> ? double(std::nextafter(float(x), float(y)))
                                                   : double(nextHalf(a[i], b[i]));
      const double want[58] = {
          std::acos(w), std::acosh(double(T(q + 1))), std::asin(w), std::asinh(x), std::atan(x), std::atan2(x, y),
          std::atanh(w), std::ceil(x), std::copysign(x, y), std::cos(x), std::cosh(w), std::cos(pi * x), x / y,
          std::exp(w), std::exp2(w), std::pow(10, w), std::abs(x), x > y ? x - y : 0, std::floor(x), x * y + w,
          std::max(x, y), std::max({x, y, w}), median(x, y, w), std::min(x, y), std::min({x, y, w}), std::fmod(x, y),
          x - std::floor(x), x * 8, std::log(q), std::log10(q), std::log2(q), step, std::pow(q, w), std::pow(q, w),
          std::nearbyint(x), std::round(x), 1 / std::sqrt(q), std::sin(x), std::sinh(w), std::sin(pi * x),
          std::sqrt(q), std::tan(w), std::tanh(x), std::tan(pi * double(T(w * 0.25))), std::trunc(x),
          std::clamp(x, -1.0, q), x + (y - x) * 0.25, std::clamp(x, 0.0, 1.0), double((x > 0) - (x < 0)),
          t * t * (3 - 2 * t), double(x >= y), std::max(x, y), std::min(x, y), std::abs(x), x < y ? y : x,
          median(x, y, q), std::max({x, y, w}), std::min({x, y, q})};
      for (size_t k = 0; k < 58; ++k) {
        const double have = got[i * 58 + k];
        const double scale = std::max(std::abs(want[k]), k == 19 || k == 46 ? std::abs(x * y) : 1.0);
        ASSERT_NEAR(have, want[k], tolerance * scale)
            << kTypeName<T> << " function " << k << " of " << x << ", " << y << ", " << q << ", " << w;
      }
      ASSERT_EQ(contents<uint64_t>(wrong)[i], 0u) << kTypeName<T> << ": vectors differ from scalars (a bit per function)";
    }
  }
  static Half nextHalf(auto a, auto b) {
    if constexpr (std::is_same_v<decltype(a), Half>) {
      const double x = a, y = b;
      if (x == y)
        return b;
      Half r = a;
      if (x == 0)
        r.bits = y > 0 ? 1 : 0x8001;
      else
        r.bits = uint16_t((y > x) == (x > 0) ? a.bits + 1 : a.bits - 1);
      return r;
    }
    return Half();
  }
};
TEST_F(Functions, OfIntegers) {
  integers<int8_t>();
  integers<uint8_t>();
  integers<int16_t>();
  integers<uint16_t>();
  integers<int32_t>();
  integers<uint32_t>();
  integers<int64_t>();
  integers<uint64_t>();
}
TEST_F(Functions, MultipliesOf24Bits) {
  constexpr size_t n = 64;
  std::vector<int32_t> a(n), b(n);
  for (size_t i = 0; i < n; ++i) {
    a[i] = anyInteger<int32_t>(random);
    b[i] = anyInteger<int32_t>(random);
  }
  auto out = room(n * 16);
  run("mul24s", {buffer(a), buffer(b), out}, n);
  auto got = contents<int32_t>(out);
  for (size_t i = 0; i < n; ++i) {
    const int64_t x = int32_t(uint32_t(a[i]) << 8) >> 8, y = int32_t(uint32_t(b[i]) << 8) >> 8;
    const uint64_t ux = uint64_t(x) & 0xffffff, uy = uint64_t(y) & 0xffffff;
    EXPECT_EQ(got[4 * i], int32_t(x * y));
    EXPECT_EQ(got[4 * i + 1], int32_t(uint32_t(x * y) + uint32_t(a[i])));
    EXPECT_EQ(uint32_t(got[4 * i + 2]), uint32_t(ux * uy));
    EXPECT_EQ(uint32_t(got[4 * i + 3]), uint32_t(ux * uy) + uint32_t(b[i]));
  }
}
// Bounds a little above the specification's for the worst function; tests/accuracy has them one by one.
TEST_F(Functions, OfFloats) { floats<float>(3e-6); }
TEST_F(Functions, OfHalves) { floats<Half>(3e-3); }

TEST_F(Functions, WithTwoResults) {
  constexpr size_t n = 64;
  std::vector<float> a(n), b(n);
  for (size_t i = 0; i < n; ++i) {
    a[i] = float(std::ldexp(double(int(random() % 2001) - 1000), int(random() % 20) - 10));
    b[i] = float(int(random() % 201) - 100) / 4;
  }
  const float special[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e-40f, 1.0f, -2.5f};
  std::copy(std::begin(special), std::end(special), a.begin());
  b[6] = NAN;
  auto out = room(n * 80);
  run("pairs", {buffer(a), buffer(b), out}, n);
  auto got = contents<float>(out);
  for (size_t i = 0; i < n; ++i) {
    const float x = a[i], y = b[i];
    const float *g = &got[i * 20];
    const bool finite = std::isfinite(x), tiny = x != 0 && std::abs(x) < 1.2e-38f; // May be flushed.
    int e = 0;
    const float m = std::frexp(x, &e);
    float whole = 0;
    const float part = std::modf(x, &whole);
    SCOPED_TRACE(fmt::format("thread {}: {}, {}", i, x, y));
    if (finite && !tiny) {
      EXPECT_EQ(g[0], m);
      EXPECT_EQ(g[1], float(x == 0 ? 0 : e));
      EXPECT_EQ(g[2], part);
      EXPECT_EQ(g[3], whole);
      EXPECT_NEAR(g[4], std::sin(double(x)), 2e-6);
      EXPECT_NEAR(g[5], std::cos(double(x)), 2e-6);
      if (x != 0)
        EXPECT_EQ(g[6], float(std::ilogb(x)));
      EXPECT_EQ(g[18], float(double(Half(x))));
      EXPECT_EQ(g[19], float(double(BFloat(x))));
    }
    EXPECT_EQ(g[7], float(finite));
    EXPECT_EQ(g[8], float(std::isinf(x)));
    EXPECT_EQ(g[9], float(std::isnan(x)));
    if (!tiny)
      EXPECT_EQ(g[10], float(std::isnormal(x)));
    if (!std::isnan(x))
      EXPECT_EQ(g[11], float(std::signbit(x)));
    EXPECT_EQ(g[12], float(!std::isunordered(x, y)));
    EXPECT_EQ(g[13], float(std::isunordered(x, y)));
    if (!tiny) {
      EXPECT_EQ(g[14], float(x > 0 && y > 0));
      EXPECT_EQ(g[15], float(x > 0 || y > 0));
    }
    if (std::isfinite(y)) {
      EXPECT_EQ(g[16], std::frexp(y, &e));
      EXPECT_EQ(g[17], float(y == 0 ? 0 : e));
    }
  }
}

TEST_F(Functions, Geometry) {
  constexpr size_t n = 64;
  std::vector<std::array<float, 4>> a(n), b(n);
  std::uniform_real_distribution<float> any(-3, 3);
  for (size_t i = 0; i < n; ++i)
    for (size_t k = 0; k < 4; ++k) {
      a[i][k] = any(random);
      b[i][k] = any(random);
    }
  auto out = room(n * 160);
  run("geometry", {buffer(a), buffer(b), out}, n);
  auto got = contents<float>(out);
  for (size_t i = 0; i < n; ++i) {
    std::array<double, 4> x, y;
    std::copy(a[i].begin(), a[i].end(), x.begin());
    std::copy(b[i].begin(), b[i].end(), y.begin());
    auto dot = [](auto &p, auto &q, size_t count) {
      double sum = 0;
      for (size_t k = 0; k < count; ++k)
        sum += p[k] * q[k];
      return sum;
    };
    const double lx = std::sqrt(dot(x, x, 4)), ly = std::sqrt(dot(y, y, 4)), l3 = std::sqrt(dot(x, x, 3));
    std::array<double, 4> d, nx, ny;
    for (size_t k = 0; k < 4; ++k) {
      d[k] = x[k] - y[k];
      nx[k] = x[k] / lx;
      ny[k] = y[k] / ly;
    }
    std::vector<double> want{dot(x, y, 4), dot(x, y, 3), dot(x, y, 2), lx, l3, lx * lx, std::sqrt(dot(d, d, 4)), dot(d, d, 4),
                             x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0], 0};
    want.insert(want.end(), nx.begin(), nx.end());
    for (size_t k = 0; k < 4; ++k)
      want.push_back(x[k] - 2 * dot(ny, x, 4) * ny[k]);
    const double cosine = dot(nx, ny, 4), k2 = 1 - 0.75 * 0.75 * (1 - cosine * cosine);
    for (size_t k = 0; k < 4; ++k)
      want.push_back(k2 < 0 ? 0 : 0.75 * nx[k] - (0.75 * cosine + std::sqrt(k2)) * ny[k]);
    std::array<double, 4> s;
    for (size_t k = 0; k < 4; ++k)
      s[k] = x[k] + y[k];
    for (size_t k = 0; k < 4; ++k)
      want.push_back(dot(y, s, 4) < 0 ? x[k] : -x[k]);
    for (size_t k = 0; k < 3; ++k)
      want.push_back(x[k] / l3);
    want.push_back(std::sqrt(dot(x, x, 2)));
    want.insert(want.end(), {dot(x, y, 4), std::sqrt(dot(x, x, 2)), 0, 0, std::sqrt(dot(d, d, 2))});
    for (size_t k = 0; k < 3; ++k)
      want.push_back(x[k] / l3);
    for (size_t k = 0; k < 40; ++k) {
      const bool isHalf = k == 32 || k == 33;
      EXPECT_NEAR(got[i * 40 + k], want[k], (isHalf ? 0.05 : 2e-5) * std::max(1.0, lx * ly)) << "value " << k;
    }
  }
}

TEST_F(Functions, Packing) {
  constexpr size_t n = 64;
  std::vector<std::array<float, 4>> a(n);
  std::uniform_real_distribution<float> any(-1.3f, 1.3f);
  for (auto &v : a)
    for (float &c : v)
      c = any(random);
  auto out = room(n * 32), back = room(n * 8 * 16);
  run("packing", {buffer(a), out, back}, n);
  auto got = contents<uint32_t>(out);
  auto unpacked = contents<float>(back);
  // Fields from the lowest bit on: components, bits of each, signed?, encoded?
  struct Form {
    std::vector<int> bits;
    bool isSigned, isSrgb, isReversed;
  };
  const Form forms[8] = {{{8, 8, 8, 8}, false, false, false},   {{8, 8, 8, 8}, true, false, false},
                         {{16, 16}, false, false, false},       {{16, 16}, true, false, false},
                         {{10, 10, 10, 2}, false, false, false}, {{5, 6, 5}, false, false, true},
                         {{8, 8, 8, 8}, false, true, false},    {{8, 8, 8, 8}, false, false, false}};
  for (size_t i = 0; i < n; ++i)
    for (size_t f = 0; f < 8; ++f) {
      int at = 0;
      const size_t count = forms[f].bits.size();
      for (size_t k = 0; k < count; ++k) {
        const size_t component = forms[f].isReversed ? count - 1 - k : k;
        const int bits = forms[f].bits[k];
        const double scale = forms[f].isSigned ? (1 << (bits - 1)) - 1 : double((int64_t(1) << bits) - 1);
        double x = std::clamp<double>(a[i][component], forms[f].isSigned ? -1 : 0, 1);
        if (forms[f].isSrgb && component < 3)
          x = x < 0.0031308 ? x * 12.92 : 1.055 * std::pow(x, 1 / 2.4) - 0.055;
        const int64_t field = int64_t(uint64_t(got[i * 8 + f]) << (64 - bits - at)) >> (64 - bits);
        const double have = forms[f].isSigned ? double(field) : double(uint64_t(field) & ((uint64_t(1) << bits) - 1));
        EXPECT_NEAR(have, x * scale, f == 7 ? 0.7 : 0.5 + scale * 1e-6) << "form " << f << " component " << component;
        double value = forms[f].isSigned ? std::max(have / scale, -1.0) : have / scale;
        if (forms[f].isSrgb && component < 3)
          value = value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
        EXPECT_NEAR(unpacked[(i * 8 + f) * 4 + component], value, f == 7 ? 1e-3 : 2e-6) << "form " << f << " component " << component;
        at += bits;
      }
    }
}

struct Lanes : Chapter {
  Lanes() : Chapter("lanes") {}

  /// Results of the active lanes of one group, whose values are in[first + lane].
  template <class T> void reductions(const std::string &group, size_t width) {
    constexpr size_t n = 64;
    std::vector<T> in(n);
    for (T &v : in)
      v = T(double(int(random() % 4) + 1)); // Products and sums stay exact or wrap.
    for (uint32_t mask : {0xffffffffu, 0x1u, 0x80000000u, 0xaaaaaaaau, uint32_t(random()) | 1u, uint32_t(random())}) {
      auto masked = buffer(std::vector<uint32_t>{mask});
      auto out = room(n * 10 * sizeof(T)), votes = room(n * 20);
      std::memset(out->contents(), 0, out->length());
      run(group + "_reductions_" + kTypeName<T>, {buffer(in), masked, out, votes}, n);
      auto got = contents<T>(out);
      auto voted = contents<uint32_t>(votes);
      for (size_t first = 0; first < n; first += width) {
        std::vector<size_t> active;
        uint32_t activeMask = 0, ballot = 0;
        for (size_t lane = 0; lane < width; ++lane)
          if (mask >> ((first + lane) % 32) & 1) {
            active.push_back(first + lane);
            activeMask |= 1u << lane;
            if (double(in[first + lane]) > 2)
              ballot |= 1u << lane;
          }
        T sum = T(), product = T(1);
        for (size_t i : active) {
          sum = add(sum, in[i]);
          product = multiply(product, in[i]);
        }
        T before = T(), times = T(1);
        for (size_t i : active) {
          SCOPED_TRACE(fmt::format("{} of {}, mask {:#x}, thread {}", group, kTypeName<T>, mask, i));
          const T *g = &got[i * 10];
          auto least = [&](auto less) {
            double best = in[active[0]];
            for (size_t k : active)
              if (less(double(in[k]), best))
                best = in[k];
            return best;
          };
          ASSERT_EQ(double(g[0]), double(sum));
          if (!std::is_same_v<T, float> && !std::is_same_v<T, Half>)
            ASSERT_EQ(double(g[1]), double(product));
          else if (std::isfinite(double(product)))
            ASSERT_NEAR(double(g[1]) / double(product), 1, 1e-2);
          else // Near the limit the order of the products decides.
            ASSERT_GT(double(g[1]), 32768);
          ASSERT_EQ(double(g[2]), least(std::less<>()));
          ASSERT_EQ(double(g[3]), least(std::greater<>()));
          ASSERT_EQ(double(g[5]), double(before));
          const double prefixProduct = double(times);
          before = add(before, in[i]);
          times = multiply(times, in[i]);
          ASSERT_EQ(double(g[4]), double(before));
          if (std::isfinite(double(times))) {
            ASSERT_NEAR(double(g[6]), double(times), std::abs(double(times)) * 1e-2);
            ASSERT_NEAR(double(g[7]), prefixProduct, std::abs(prefixProduct) * 1e-2);
          }
          ASSERT_EQ(double(g[8]), double(in[active[0]]));
          ASSERT_EQ(double(g[9]), double(in[i]));
          const uint32_t *v = &voted[i * 5];
          ASSERT_EQ(v[0], uint32_t(ballot == activeMask));
          ASSERT_EQ(v[1], uint32_t(ballot != 0));
          ASSERT_EQ(v[2], uint32_t(i == active[0]));
          ASSERT_EQ(v[3], ballot);
          ASSERT_EQ(v[4], activeMask);
        }
        for (size_t lane = 0; lane < width; ++lane)
          if (!(mask >> ((first + lane) % 32) & 1))
            for (size_t k = 0; k < 10; ++k)
              ASSERT_EQ(double(got[(first + lane) * 10 + k]), 0) << "an inactive lane stored";
      }
    }
  }
  template <class T> static T add(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return T(uint64_t(a) + uint64_t(b));
    else
      return T(double(a) + double(b));
  }
  template <class T> static T multiply(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return T(uint64_t(a) * uint64_t(b));
    else
      return T(double(a) * double(b));
  }

  template <class T> void bits(const std::string &group, size_t width) {
    constexpr size_t n = 64;
    std::vector<T> in(n);
    for (T &v : in)
      v = anyInteger<T>(random);
    const uint32_t mask = uint32_t(random()) | 0x100u;
    auto out = room(n * 3 * sizeof(T));
    run(group + "_bits_" + kTypeName<T>, {buffer(in), buffer(std::vector<uint32_t>{mask}), out}, n);
    auto got = contents<T>(out);
    for (size_t first = 0; first < n; first += width) {
      T a = T(-1), o = 0, x = 0;
      for (size_t i = first; i < first + width; ++i)
        if (mask >> (i % 32) & 1) {
          a = T(a & in[i]);
          o = T(o | in[i]);
          x = T(x ^ in[i]);
        }
      for (size_t i = first; i < first + width; ++i)
        if (mask >> (i % 32) & 1) {
          ASSERT_EQ(got[3 * i], a) << group << kTypeName<T>;
          ASSERT_EQ(got[3 * i + 1], o) << group << kTypeName<T>;
          ASSERT_EQ(got[3 * i + 2], x) << group << kTypeName<T>;
        }
    }
  }

  template <class T> void shuffles(const std::string &group, size_t width) {
    constexpr size_t n = 64;
    std::vector<T> in(n);
    std::vector<uint16_t> from(n);
    for (size_t i = 0; i < n; ++i) {
      in[i] = T(double(random() % 100));
      from[i] = uint16_t(random());
    }
    for (uint16_t lane : {uint16_t(0), uint16_t(1), uint16_t(random() % width), uint16_t(width - 1)}) {
      auto out = room(n * 9 * sizeof(T));
      run(group + "_shuffles_" + kTypeName<T>, {buffer(in), buffer(std::vector<uint16_t>{lane}), buffer(from), out}, n);
      auto got = contents<T>(out);
      for (size_t i = 0; i < n; ++i) {
        const size_t first = i / width * width, own = i % width;
        auto at = [&](size_t k) { return double(in[first + k % width]); };
        auto fill = [&](size_t k) { return double(in[first + k % width]) + 1; };
        const double none = -1; // Not defined.
        const double want[9] = {at(lane), at(from[i] % width), at(own ^ lane), own >= lane ? at(own - lane) : none,
                                own + lane < width ? at(own + lane) : none, at(own + width - lane), at(own + lane),
                                own >= lane ? at(own - lane) : fill(own + width - lane),
                                own + lane < width ? at(own + lane) : fill(own + lane - width)};
        for (size_t k = 0; k < 9; ++k)
          if (want[k] != none)
            ASSERT_EQ(double(got[i * 9 + k]), want[k]) << group << " " << kTypeName<T> << " shuffle " << k << " lane " << own << " by " << lane;
      }
    }
  }
};
TEST_F(Lanes, ReduceWithInactiveLanes) {
  for (auto [group, width] : {std::pair{"simd", 32u}, {"quad", 4u}}) {
    reductions<float>(group, width);
    reductions<Half>(group, width);
    reductions<int32_t>(group, width);
    reductions<uint32_t>(group, width);
    reductions<int16_t>(group, width);
    reductions<uint16_t>(group, width);
    reductions<int8_t>(group, width);
    reductions<uint8_t>(group, width);
  }
}
TEST_F(Lanes, CombineBits) {
  for (auto [group, width] : {std::pair{"simd", 32u}, {"quad", 4u}}) {
    bits<int32_t>(group, width);
    bits<uint32_t>(group, width);
    bits<int16_t>(group, width);
    bits<uint16_t>(group, width);
    bits<int8_t>(group, width);
    bits<uint8_t>(group, width);
  }
}
TEST_F(Lanes, Shuffle) {
  for (auto [group, width] : {std::pair{"simd", 32u}, {"quad", 4u}}) {
    shuffles<float>(group, width);
    shuffles<Half>(group, width);
    shuffles<int32_t>(group, width);
    shuffles<uint32_t>(group, width);
    shuffles<int16_t>(group, width);
    shuffles<uint16_t>(group, width);
    shuffles<int8_t>(group, width);
    shuffles<uint8_t>(group, width);
  }
}
TEST_F(Lanes, LeaveALoopOneByOne) {
  std::vector<uint32_t> in(64);
  for (uint32_t &v : in)
    v = uint32_t(random() % 1000);
  auto out = room(64 * 4);
  run("leaving", {buffer(in), out}, 64);
  for (size_t i = 0; i < 64; ++i) {
    uint32_t sum = 0;
    for (size_t k = 0; k <= i % 32; ++k) {
      uint32_t group = 0;
      for (size_t lane = k; lane < 32; ++lane)
        group += in[i / 32 * 32 + lane];
      sum += group * uint32_t(k + 1);
    }
    EXPECT_EQ(contents<uint32_t>(out)[i], sum) << i;
  }
}
TEST_F(Lanes, TakeVectors) {
  std::vector<std::array<float, 4>> in(64);
  for (auto &v : in)
    for (float &c : v)
      c = float(random() % 50);
  auto out = room(64 * 3 * 16);
  run("vectors", {buffer(in), out}, 64);
  auto got = contents<std::array<float, 4>>(out);
  for (size_t i = 0; i < 64; ++i)
    for (size_t c = 0; c < 4; ++c) {
      float sum = 0, most = 0, least = 1000;
      for (size_t k = i / 32 * 32; k < i / 32 * 32 + 32; ++k) {
        sum += in[k][c];
        least = std::min(least, in[k][c]);
      }
      for (size_t k = i / 4 * 4; k < i / 4 * 4 + 4; ++k)
        most = std::max(most, in[k][c]);
      EXPECT_EQ(got[3 * i][c], sum);
      EXPECT_EQ(got[3 * i + 1][c], c == 3 ? least : most);
      EXPECT_EQ(got[3 * i + 2][c], in[i ^ 5][c]);
    }
}
TEST_F(Lanes, KnowTheirPlaces) {
  auto out = room(128 * 32);
  run("places", {out}, 128, 128);
  auto got = contents<uint32_t>(out);
  for (uint32_t i = 0; i < 128; ++i) {
    const uint32_t want[6] = {i % 32, i / 32, 32, 4, i / 4, i % 4};
    for (size_t k = 0; k < 6; ++k)
      EXPECT_EQ(got[8 * i + k], want[k]) << "thread " << i << " place " << k;
  }
}

struct Atomics : Chapter {
  Atomics() : Chapter("atomics") {}

  template <class T> void everything(const std::string &kernel, size_t n, size_t group) {
    std::vector<T> in(n), cells(12);
    for (T &v : in)
      v = T(random());
    for (T &v : cells)
      v = T(random());
    cells[9] = 5;
    cells[10] = 0;
    cells[11] = 0;
    auto b = buffer(cells);
    run(kernel, {b, buffer(in)}, n, group);
    auto got = contents<T>(b);
    std::vector<T> want = cells;
    uint32_t total = 0;
    for (T v : in) {
      total += uint32_t(v);
      want[2] = std::min(want[2], v);
      want[3] = std::max(want[3], v);
      want[4] = T(want[4] & v);
      want[5] = T(want[5] | v);
      want[6] = T(want[6] ^ v);
    }
    want[0] = T(uint32_t(cells[0]) + total);
    want[1] = T(uint32_t(cells[1]) - total);
    // What the exchanges gave back, and what they left, is everything that went in.
    want[7] = got[7];
    EXPECT_NE(std::ranges::find(in, got[7]), in.end());
    want[8] = T(uint32_t(cells[8]) + uint32_t(cells[7]) + total - uint32_t(got[7]));
    want[9] = T(5u + total);
    want[10] = T(n);
    want[11] = 0;
    for (size_t k = 0; k < n; ++k)
      want[11] = T(want[11] ^ T(k));
    for (size_t k = 0; k < 12; ++k)
      EXPECT_EQ(got[k], want[k]) << kernel << " cell " << k;
  }
};
TEST_F(Atomics, OfEveryType) {
  everything<int32_t>("device_int", 5000, 64);
  everything<uint32_t>("device_uint", 5000, 256);
  everything<int32_t>("threadgroup_int", 256, 256);
  everything<uint32_t>("threadgroup_uint", 1024, 1024);
}
TEST_F(Atomics, OfFloats) {
  constexpr size_t n = 4000;
  std::vector<float> in(n), cells{10, 20, -1000, 3, 0};
  double total = 0;
  for (float &v : in) {
    v = float(int(random() % 201) - 100); // Sums are exact.
    total += v;
  }
  auto b = buffer(cells);
  run("floats", {b, buffer(in)}, n, 128);
  auto got = contents<float>(b);
  EXPECT_EQ(double(got[0]), 10 + total);
  EXPECT_EQ(double(got[1]), 20 - total);
  EXPECT_EQ(got[2], *std::ranges::max_element(in));
  EXPECT_EQ(double(got[4]), 3 + total - double(got[3]));
}
TEST_F(Atomics, OfSixtyFourBits) {
  constexpr size_t n = 10000;
  std::vector<uint64_t> in(n), cells{~uint64_t(0), 0};
  for (uint64_t &v : in)
    v = (random() & 0xffffffff00000000u) | (random() & 0xffffffffu);
  auto b = buffer(cells);
  run("wide", {b, buffer(in)}, n, 256);
  EXPECT_EQ(contents<uint64_t>(b), (std::vector<uint64_t>{*std::ranges::min_element(in), *std::ranges::max_element(in)}));
}
TEST_F(Atomics, OfFlags) {
  auto cells = buffer(std::vector<uint32_t>{0, 0}), out = buffer(std::vector<uint32_t>{0, 0});
  run("flags", {cells, out}, 1000, 128);
  EXPECT_EQ(contents<uint32_t>(out), (std::vector<uint32_t>{1, 1000}));
  EXPECT_EQ(contents<uint32_t>(cells), (std::vector<uint32_t>{1, 1}));
}
TEST_F(Atomics, OfSomeLanes) {
  constexpr size_t n = 3000;
  std::vector<uint32_t> in(n), want(62);
  for (uint32_t &v : in) {
    v = uint32_t(random() % 1000);
    want[0] += v % 3 == 0;
    want[1 + v % 61] += v;
  }
  auto cells = buffer(std::vector<uint32_t>(62));
  run("some", {cells, buffer(in)}, n, 96);
  EXPECT_EQ(contents<uint32_t>(cells), want);
}

struct Halves : Chapter {
  Halves() : Chapter("halves") {}
};
TEST_F(Halves, PackAsFloatsDo) {
  constexpr size_t n = 4096;
  std::vector<uint32_t> words(n);
  std::vector<std::array<float, 4>> values(n);
  std::uniform_real_distribution<float> any(-1.25f, 1.25f);
  for (size_t i = 0; i < n; ++i) {
    words[i] = uint32_t(random());
    for (float &v : values[i])
      v = any(random);
  }
  auto out = room(n * 4);
  run("packing", {buffer(words), buffer(values), out}, n);
  for (uint32_t failures : contents<uint32_t>(out))
    ASSERT_EQ(failures, 0u);
}
TEST_F(Halves, KnowTheNamesOfAGpusCompiler) {
  auto out = room(32 * 4);
  run("names", {buffer(std::vector<float>{7}), out}, 32);
  for (uint32_t failures : contents<uint32_t>(out))
    EXPECT_EQ(failures, 0u);
}

TEST_F(Halves, TakeBuiltinsOfTheCompiler) {
  constexpr size_t n = 1024;
  std::vector<std::array<int32_t, 2>> in(n);
  for (auto &pair : in) {
    pair = {anyInteger<int32_t>(random), anyInteger<int32_t>(random)};
    if (random() % 8 == 0)
      pair[1] = pair[0];
  }
  auto out = room(n * 80);
  run("builtins", {buffer(in), out}, n);
  const auto got = contents<std::array<int32_t, 20>>(out);
  for (size_t i = 0; i < n; ++i) {
    const int32_t a = in[i][0], b = in[i][1];
    const uint32_t ua = uint32_t(a), ub = uint32_t(b);
    std::array<int32_t, 20> want{};
    int32_t s;
    uint32_t u;
    int64_t l;
    want[0] = __builtin_add_overflow(a, b, &s), want[1] = s;
    want[2] = __builtin_sub_overflow(a, b, &s), want[3] = s;
    want[4] = __builtin_mul_overflow(a, b, &s), want[5] = s;
    want[6] = __builtin_add_overflow(ua, ub, &u), want[7] = int32_t(u);
    want[8] = __builtin_sub_overflow(ua, ub, &u), want[9] = int32_t(u);
    want[10] = __builtin_mul_overflow(ua, ub, &u), want[11] = int32_t(u);
    want[12] = __builtin_mul_overflow(int64_t(a) * (1 << 20), int64_t(b), &l), want[13] = int32_t(l >> 20);
    want[14] = a > b ? 1 : 2;
    want[15] = std::popcount(ua) + std::countl_zero(ua | 1) + std::countr_zero(ub | 1);
    want[16] = int32_t(__builtin_bswap32(ua));
    want[17] = 2;
    want[18] = std::bit_cast<int32_t>(std::exp(float(a & 7)));
    want[19] = a == b ? 5 : 6;
    for (size_t k = 0; k < 20; ++k)
      if (k == 18)
        ASSERT_LE(std::abs(got[i][k] - want[k]), 4) << "steps of the last place";
      else
        ASSERT_EQ(got[i][k], want[k]) << "result " << k << " of " << a << " and " << b;
  }
}

} // namespace
} // namespace pewter::test
