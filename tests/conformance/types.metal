// SPDX-License-Identifier: Apache-2.0
// MSL specification, "Data Types": sizes, alignments, limits, traits. Checked by the compiler itself.
#include <metal_stdlib>
using namespace metal;

#define SAME(...) static_assert(is_same_v<__VA_ARGS__>, "types differ")
#define LAYOUT(type, size, alignment) \
  static_assert(sizeof(type) == size, "size of " #type); \
  static_assert(alignof(type) == alignment, "alignment of " #type)

LAYOUT(bool, 1, 1);   LAYOUT(bool2, 2, 2);   LAYOUT(bool3, 4, 4);    LAYOUT(bool4, 4, 4);
LAYOUT(char, 1, 1);   LAYOUT(char2, 2, 2);   LAYOUT(char3, 4, 4);    LAYOUT(char4, 4, 4);
LAYOUT(uchar, 1, 1);  LAYOUT(uchar2, 2, 2);  LAYOUT(uchar3, 4, 4);   LAYOUT(uchar4, 4, 4);
LAYOUT(short, 2, 2);  LAYOUT(short2, 4, 4);  LAYOUT(short3, 8, 8);   LAYOUT(short4, 8, 8);
LAYOUT(ushort, 2, 2); LAYOUT(ushort2, 4, 4); LAYOUT(ushort3, 8, 8);  LAYOUT(ushort4, 8, 8);
LAYOUT(int, 4, 4);    LAYOUT(int2, 8, 8);    LAYOUT(int3, 16, 16);   LAYOUT(int4, 16, 16);
LAYOUT(uint, 4, 4);   LAYOUT(uint2, 8, 8);   LAYOUT(uint3, 16, 16);  LAYOUT(uint4, 16, 16);
LAYOUT(long, 8, 8);   LAYOUT(long2, 16, 16); LAYOUT(long3, 32, 32);  LAYOUT(long4, 32, 32);
LAYOUT(ulong, 8, 8);  LAYOUT(ulong2, 16, 16); LAYOUT(ulong3, 32, 32); LAYOUT(ulong4, 32, 32);
LAYOUT(half, 2, 2);   LAYOUT(half2, 4, 4);   LAYOUT(half3, 8, 8);    LAYOUT(half4, 8, 8);
LAYOUT(bfloat, 2, 2); LAYOUT(bfloat2, 4, 4); LAYOUT(bfloat3, 8, 8);  LAYOUT(bfloat4, 8, 8);
LAYOUT(float, 4, 4);  LAYOUT(float2, 8, 8);  LAYOUT(float3, 16, 16); LAYOUT(float4, 16, 16);
LAYOUT(size_t, 8, 8); LAYOUT(ptrdiff_t, 8, 8);

LAYOUT(packed_char2, 2, 1);   LAYOUT(packed_char3, 3, 1);   LAYOUT(packed_char4, 4, 1);
LAYOUT(packed_uchar2, 2, 1);  LAYOUT(packed_uchar3, 3, 1);  LAYOUT(packed_uchar4, 4, 1);
LAYOUT(packed_short2, 4, 2);  LAYOUT(packed_short3, 6, 2);  LAYOUT(packed_short4, 8, 2);
LAYOUT(packed_ushort2, 4, 2); LAYOUT(packed_ushort3, 6, 2); LAYOUT(packed_ushort4, 8, 2);
LAYOUT(packed_int2, 8, 4);    LAYOUT(packed_int3, 12, 4);   LAYOUT(packed_int4, 16, 4);
LAYOUT(packed_uint2, 8, 4);   LAYOUT(packed_uint3, 12, 4);  LAYOUT(packed_uint4, 16, 4);
LAYOUT(packed_half2, 4, 2);   LAYOUT(packed_half3, 6, 2);   LAYOUT(packed_half4, 8, 2);
LAYOUT(packed_float2, 8, 4);  LAYOUT(packed_float3, 12, 4); LAYOUT(packed_float4, 16, 4);
LAYOUT(packed_long2, 16, 8);  LAYOUT(packed_long3, 24, 8);  LAYOUT(packed_long4, 32, 8);

LAYOUT(half2x2, 8, 4);   LAYOUT(half2x3, 16, 8);  LAYOUT(half2x4, 16, 8);
LAYOUT(half3x2, 12, 4);  LAYOUT(half3x3, 24, 8);  LAYOUT(half3x4, 24, 8);
LAYOUT(half4x2, 16, 4);  LAYOUT(half4x3, 32, 8);  LAYOUT(half4x4, 32, 8);
LAYOUT(float2x2, 16, 8); LAYOUT(float2x3, 32, 16); LAYOUT(float2x4, 32, 16);
LAYOUT(float3x2, 24, 8); LAYOUT(float3x3, 48, 16); LAYOUT(float3x4, 48, 16);
LAYOUT(float4x2, 32, 8); LAYOUT(float4x3, 64, 16); LAYOUT(float4x4, 64, 16);

struct Inner { char a; float3 b; ushort c; };
LAYOUT(Inner, 48, 16);
struct Tight { char a; packed_float3 b; ushort c; };
LAYOUT(Tight, 20, 4);
struct alignas(32) Wide { int a; };
LAYOUT(Wide, 32, 32);
typedef array<float3, 5> Five;
LAYOUT(Five, 80, 16);
static_assert(offsetof(Inner, b) == 16 && offsetof(Inner, c) == 32, "offsets");

SAME(int8_t, char); SAME(uint8_t, uchar); SAME(int16_t, short); SAME(uint16_t, ushort);
SAME(int32_t, int); SAME(uint32_t, uint); SAME(int64_t, long); SAME(uint64_t, ulong);
SAME(vec<float, 3>, float3); SAME(vec<half, 2>, half2); SAME(matrix<float, 2, 3>, float2x3);
SAME(packed_vec<float, 3>, packed_float3);
SAME(decltype(float2(1).x), float); SAME(decltype(1.0), float); SAME(decltype(1.0h), half);
SAME(decltype(1.0f), float); SAME(decltype(1u), uint); SAME(decltype('a'), char);
SAME(decltype(float3(1) < float3(2)), bool3); SAME(decltype(float3(1).xy), float2);
SAME(decltype(half(1) * 2.0h), half); SAME(decltype(half(1) * 2.0f), float);
SAME(decltype(short(1) + short(1)), int);
SAME(remove_cv_t<const volatile int>, int); SAME(conditional_t<true, int, float>, int);
SAME(make_unsigned_t<short>, ushort); SAME(make_signed_t<ulong>, long);

static_assert(is_scalar_v<float> && !is_scalar_v<float2>, "is_scalar");
static_assert(is_floating_point_v<half> && is_floating_point_v<float> && !is_floating_point_v<int>, "floats");
static_assert(is_integral_v<uchar> && is_integral_v<bool> && !is_integral_v<half>, "integers");
static_assert(is_unsigned_v<uint> && is_signed_v<int> && is_arithmetic_v<half>, "signs");
static_assert(is_vector<float4>::value && !is_vector<float>::value, "vectors");
static_assert(is_convertible_v<int, float> && is_same<int, int>::value, "relations");
static_assert(is_enum_v<memory_order> && is_pointer_v<thread int *> && is_void_v<void>, "kinds");

static_assert(numeric_limits<char>::max() == 127 && numeric_limits<char>::min() == -128, "char");
static_assert(numeric_limits<ushort>::max() == 65535 && numeric_limits<short>::lowest() == -32768, "short");
static_assert(numeric_limits<int>::digits == 31 && numeric_limits<uint>::digits == 32, "digits");
static_assert(numeric_limits<ulong>::max() == 0xfffffffffffffffful, "ulong");
static_assert(numeric_limits<float>::max() == FLT_MAX && numeric_limits<float>::min() == FLT_MIN, "float");
static_assert(numeric_limits<float>::epsilon() == 0x1p-23f && numeric_limits<float>::digits == 24, "float");
static_assert(numeric_limits<half>::max() == 65504.0h && numeric_limits<half>::epsilon() == 0x1p-10h, "half");
static_assert(numeric_limits<float>::lowest() == -FLT_MAX && numeric_limits<float>::has_infinity, "float");
static_assert(INT_MAX == 2147483647 && UINT_MAX == 4294967295u && SHRT_MIN == -32768, "macros");

constexpr int factorial(int n) { return n <= 1 ? 1 : n * factorial(n - 1); }
static_assert(factorial(10) == 3628800, "constexpr");
SAME(decltype(1.5bf), bfloat);
static_assert(2.5bf == bfloat(2.5f) && -3bf == bfloat(-3.0f) && 1e-3BF == bfloat(1e-3f), "bfloat literals");
static_assert(1.00390625bf == 1.0bf && 1.005859375bf == 0x1.02p0bf, "rounded to nearest, ties to even");
typedef enum Slot : int Slot; enum Slot : int { slotIn = 0, slotOut = 2 }; // As NS_ENUM makes it.
static_assert(sizeof(Slot) == 4 && Slot(2) == slotOut, "enumeration of a shared header");
enum class Colour : ushort { red = 3, green };
static_assert(sizeof(Colour) == 2 && ushort(Colour::green) == 4, "enum");
union Bits { float f; uint u; };
static_assert(sizeof(Bits) == 4, "union");
template <class... T> constexpr size_t total() { return (sizeof(T) + ...); }
static_assert(total<char, short, int, float3>() == 23, "packs");

kernel void types(device uint *out [[buffer(0)]]) { out[0] = 1; }
