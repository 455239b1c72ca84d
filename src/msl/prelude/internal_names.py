# SPDX-License-Identifier: Apache-2.0
"""Names of Apple's compiler that published headers call directly: __metal_exp(x, fast) and the like."""
from emit import out
from mathlib import BINARY, TERNARY, UNARY

OTHERS = """
METAL_FUNC float __metal_divide(float x, float y, bool = false) { return x / y; }
METAL_FUNC float __metal_fma(float x, float y, float z, bool = false) { return metal::fma(x, y, z); }
METAL_FUNC float __metal_nextafter(float x, float y, bool = false) { return metal::nextafter(x, y); }
METAL_FUNC float __metal_ldexp(float x, int y, bool = false) { return metal::ldexp(x, y); }
METAL_FUNC float __metal_frexp(float x, thread int* e, bool = false) { int k; float m = metal::frexp(x, k); *e = k; return m; }
METAL_FUNC float __metal_frexp(float x, thread int& e, bool = false) { return metal::frexp(x, e); }
METAL_FUNC int __metal_ilogb(float x, bool = false) { return metal::ilogb(x); }
METAL_FUNC ushort __metal_get_simdgroup_size(ushort) { return 32; }
ushort __metal_get_thread_index_in_simdgroup(ushort) __attribute__((const,nothrow)) __asm("air.get_thread_index_in_simdgroup.i16");
METAL_FUNC float __metal_simd_xor(float x) { return (float)metal::simd_xor((int)x); }
"""


def generate():
    out("")
    for names, count in ((UNARY, 1), (BINARY, 2), (TERNARY, 3)):
        for name in names:
            params = ", ".join(f"float {c}" for c in "xyz"[:count])
            args = ", ".join("xyz"[:count])
            out(f"METAL_FUNC float __metal_{name}({params}, bool fast) "
                f"{{ return fast ? metal::__air_fast_{name}({args}) : metal::__air_{name}({args}); }}")
    out(OTHERS)
    for name in ("sum product min max prefix_inclusive_sum prefix_exclusive_sum prefix_inclusive_product "
                 "prefix_exclusive_product shuffle shuffle_xor shuffle_up shuffle_down shuffle_rotate_up "
                 "shuffle_rotate_down broadcast shuffle_and_fill_up shuffle_and_fill_down").split():
        out(f"template<class... A> METAL_FUNC auto __metal_simd_{name}(A... a) {{ return metal::simd_{name}(a...); }}")
