// Sums of four products of bytes become the dot products that a target has, in each way of writing them.
//
// RUN: pewter compile %s --kernel vectors --device avx512vnni --emit asm | FileCheck %s --check-prefix=BYTES
// RUN: pewter compile %s --kernel members --device avx512vnni --emit asm | FileCheck %s --check-prefix=BYTES
// RUN: pewter compile %s --kernel members_unsigned --device avx512vnni --emit asm | FileCheck %s --check-prefix=UNSIGNED
// RUN: pewter compile %s --kernel vectors_signed --device avx512vnni --emit asm | FileCheck %s --check-prefix=SIGNED
// RUN: pewter compile %s --kernel shared --device avx512vnni --emit asm | FileCheck %s --check-prefix=SHARED
// RUN: pewter compile %s --kernel vectors --device avx512 --emit asm | FileCheck %s --check-prefix=PAIRS512
// RUN: pewter compile %s --kernel vectors --device avx2 --emit asm | FileCheck %s --check-prefix=PAIRS256
// RUN: pewter compile %s --kernel members --device avx2 --emit asm | FileCheck %s --check-prefix=PAIRS256
// RUN: pewter compile %s --kernel vectors --device baseline --emit asm | FileCheck %s --check-prefix=PAIRS128
// RUN: pewter compile %s --kernel vectors --device neon --emit asm | FileCheck %s --check-prefix=PLAIN
//
// BYTES-COUNT-2: vpdpbusd {{.*}}zmm
// BYTES-NOT: vpdpbusd
// UNSIGNED-COUNT-6: vpdpbusd {{.*}}zmm
// UNSIGNED-NOT: vpdpbusd
// SIGNED-COUNT-4: vpdpbusd {{.*}}zmm
// SIGNED-NOT: vpdpbusd
// SHARED: vpbroadcastd
// SHARED: vpdpbusd {{.*}}zmm
// PAIRS512-NOT: vpdpbusd
// PAIRS512-COUNT-4: vpmaddwd {{.*}}zmm
// PAIRS512-NOT: vpmaddwd
// PAIRS256-COUNT-8: vpmaddwd {{.*}}ymm
// PAIRS256-NOT: vpmaddwd
// PAIRS128-COUNT-16: pmaddwd
// PAIRS128-NOT: pmaddwd
// PLAIN-NOT: pewter.dot
// PLAIN: mul
#include <metal_stdlib>
using namespace metal;

kernel void vectors(device const uint *a [[buffer(0)]], device const uint *b [[buffer(1)]],
                    device int *sums [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  const int4 products = int4(as_type<uchar4>(a[i])) * int4(as_type<char4>(b[i]));
  sums[i] += (products.x + products.y) + (products.z + products.w);
}

kernel void vectors_signed(device const char4 *a [[buffer(0)]], device const char4 *b [[buffer(1)]],
                           device int *sums [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  const int4 products = int4(a[i]) * int4(b[i]);
  sums[i] = products.x + products.y + products.z + products.w;
}

kernel void members(device const uint *a [[buffer(0)]], device const uint *b [[buffer(1)]],
                    device int *sums [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  const char4 x = as_type<char4>(a[i]);
  const uchar4 y = as_type<uchar4>(b[i]);
  sums[i] = x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
}

kernel void members_unsigned(device const uint *a [[buffer(0)]], device const uint *b [[buffer(1)]],
                             device int *sums [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  const uchar4 x = as_type<uchar4>(a[i]), y = as_type<uchar4>(b[i]);
  sums[i] -= 7 + x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
}

/// What all lanes share is spread over a register as it is read.
kernel void shared(constant uint *a [[buffer(0)]], device const uint *b [[buffer(1)]],
                   device int *sums [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  for (uint k = 0; k < 4; ++k) {
    const int4 products = int4(as_type<uchar4>(a[k])) * int4(as_type<char4>(b[32 * k + i]));
    sums[i] += (products.x + products.y) + (products.z + products.w);
  }
}
