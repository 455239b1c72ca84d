// SPDX-License-Identifier: Apache-2.0
// Scalar types, limits and language macros.
namespace std {
template <class E> class initializer_list {
  const E *first_;
  unsigned long count_;

public:
  constexpr initializer_list() : first_(0), count_(0) {}
  constexpr const E *begin() const { return first_; }
  constexpr const E *end() const { return first_ + count_; }
  constexpr unsigned long size() const { return count_; }
};
} // namespace std

#define METAL_FUNC inline __attribute__((__always_inline__))
#define METAL_ALIGN(x) __attribute__((aligned(x)))
#define METAL_CONST __attribute__((const))
#define METAL_PURE __attribute__((pure))
#define METAL_INTERNAL static
#define METAL_VALID_ARGS(...)
#define __METAL_PRECISE_MATH__ false
#define __METAL_FAST_MATH__ true

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
typedef unsigned long size_t;
typedef long ptrdiff_t;
typedef unsigned long uintptr_t;
typedef long intptr_t;
typedef decltype(nullptr) nullptr_t;
typedef _Float16 half;
typedef __bf16 bfloat;

#define NULL __null
#define offsetof(type, member) __builtin_offsetof(type, member)
#define assert(condition) ((void)0)
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define HUGE_VALF __builtin_inff()
#define HUGE_VALH ((half)__builtin_inff())
#define MAXFLOAT FLT_MAX
#define MAXHALF HALF_MAX
#define CHAR_BIT 8
#define SCHAR_MAX 127
#define SCHAR_MIN (-128)
#define UCHAR_MAX 255
#define CHAR_MAX SCHAR_MAX
#define CHAR_MIN SCHAR_MIN
#define SHRT_MAX 32767
#define SHRT_MIN (-32768)
#define USHRT_MAX 65535
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define UINT_MAX 4294967295u
#define LONG_MAX 9223372036854775807L
#define LONG_MIN (-9223372036854775807L - 1)
#define ULONG_MAX 18446744073709551615UL
#define FLT_DIG 6
#define FLT_MANT_DIG 24
#define FLT_MAX_10_EXP 38
#define FLT_MAX_EXP 128
#define FLT_MIN_10_EXP (-37)
#define FLT_MIN_EXP (-125)
#define FLT_RADIX 2
#define FLT_MAX 0x1.fffffep127f
#define FLT_MIN 0x1.0p-126f
#define FLT_EPSILON 0x1.0p-23f
#define FP_ILOGB0 (-2147483647 - 1)
#define FP_ILOGBNAN (-2147483647 - 1)
#define HALF_DIG 3
#define HALF_MANT_DIG 11
#define HALF_MAX_10_EXP 4
#define HALF_MAX_EXP 16
#define HALF_MIN_10_EXP (-4)
#define HALF_MIN_EXP (-13)
#define HALF_RADIX 2
#define HALF_MAX ((half)0x1.ffcp15f)
#define HALF_MIN ((half)0x1.0p-14f)
#define HALF_EPSILON ((half)0x1.0p-10f)
#define BFLT_DIG 2
#define BFLT_MANT_DIG 8
#define BFLT_MAX ((bfloat)0x1.fep127f)
#define BFLT_MIN ((bfloat)0x1.0p-126f)
#define BFLT_EPSILON ((bfloat)0x1.0p-7f)
#define M_E_F 2.71828182845904523536f
#define M_LOG2E_F 1.44269504088896340736f
#define M_LOG10E_F 0.43429448190325182765f
#define M_LN2_F 0.69314718055994530942f
#define M_LN10_F 2.30258509299404568402f
#define M_PI_F 3.14159265358979323846f
#define M_PI_2_F 1.57079632679489661923f
#define M_PI_4_F 0.78539816339744830962f
#define M_1_PI_F 0.31830988618379067154f
#define M_2_PI_F 0.63661977236758134308f
#define M_2_SQRTPI_F 1.12837916709551257390f
#define M_SQRT2_F 1.41421356237309504880f
#define M_SQRT1_2_F 0.70710678118654752440f
#define M_E_H ((half)M_E_F)
#define M_LOG2E_H ((half)M_LOG2E_F)
#define M_LOG10E_H ((half)M_LOG10E_F)
#define M_LN2_H ((half)M_LN2_F)
#define M_LN10_H ((half)M_LN10_F)
#define M_PI_H ((half)M_PI_F)
#define M_PI_2_H ((half)M_PI_2_F)
#define M_PI_4_H ((half)M_PI_4_F)
#define M_1_PI_H ((half)M_1_PI_F)
#define M_2_PI_H ((half)M_2_PI_F)
#define M_2_SQRTPI_H ((half)M_2_SQRTPI_F)
#define M_SQRT2_H ((half)M_SQRT2_F)
#define M_SQRT1_2_H ((half)M_SQRT1_2_F)

namespace metal {
using ::int8_t; using ::uint8_t; using ::int16_t; using ::uint16_t;
using ::int32_t; using ::uint32_t; using ::int64_t; using ::uint64_t;
using ::size_t; using ::ptrdiff_t; using ::intptr_t; using ::uintptr_t; using ::nullptr_t;
using ::uchar; using ::ushort; using ::uint; using ::ulong; using ::half; using ::bfloat;

// What the token rewriter puts into conditionals and casts (docs/msl.md).
struct __rv_t {};
inline constexpr __rv_t __rv{};
template <class T> METAL_FUNC constexpr T operator<<=(__rv_t, T x) { return x; }
METAL_FUNC constexpr float __widen(half x) { return x; }
METAL_FUNC constexpr float __widen(bfloat x) { return x; }
template <class T> METAL_FUNC constexpr T __widen(T x) { return x; }
} // namespace metal
