# SPDX-License-Identifier: Apache-2.0
"""The typed calls below metal_simdgroup_matrix, and the functions on them."""
from emit import AIR, CROSS_LANE, external, out

TYPES = ["float", "half", "bfloat"]
SPACES = [("device", 1), ("threadgroup", 3), ("thread", 0)]
PREFIX = "air.simdgroup_matrix_8x8"

FUNCTIONS = """
template<class T> METAL_FUNC simdgroup_matrix<T,8,8>::simdgroup_matrix(T diagonal) : __v(__air_sgm_diag(diagonal)) {}
template<class T, int C, int R = C> METAL_FUNC simdgroup_matrix<T,C,R> make_filled_simdgroup_matrix(T value) {
  simdgroup_matrix<T,C,R> m; m.__v = __air_sgm_fill(value); return m; }
template<class T, int C, int R = C> METAL_FUNC simdgroup_matrix<T,C,R> make_diagonal_simdgroup_matrix(T value) {
  return simdgroup_matrix<T,C,R>(value); }
template<class D, class A, class B, class C> METAL_FUNC void simdgroup_multiply_accumulate(
    thread simdgroup_matrix<D,8,8>& d, const thread simdgroup_matrix<A,8,8>& a,
    const thread simdgroup_matrix<B,8,8>& b, const thread simdgroup_matrix<C,8,8>& c) {
  d.__v = __air_sgm_mac(a.__v, b.__v, c.__v); }
template<class D, class A, class B> METAL_FUNC void simdgroup_multiply(
    thread simdgroup_matrix<D,8,8>& d, const thread simdgroup_matrix<A,8,8>& a,
    const thread simdgroup_matrix<B,8,8>& b) { d.__v = __air_sgm_mac(a.__v, b.__v, __air_sgm_fill((D)0)); }
template<class A, class B> METAL_FUNC simdgroup_matrix<A,8,8> operator*(
    const thread simdgroup_matrix<A,8,8>& a, const thread simdgroup_matrix<B,8,8>& b) {
  simdgroup_matrix<A,8,8> d; simdgroup_multiply(d, a, b); return d; }
"""


def generate():
    for t in TYPES:
        a = AIR[t]
        external("__air_sgm_fill", f"{PREFIX}_init_filled.v64{a}.{a}", f"__m64<{t}>", [t], CROSS_LANE)
        external("__air_sgm_diag", f"{PREFIX}_init_diag.v64{a}.{a}", f"__m64<{t}>", [t], CROSS_LANE)
        for space, number in SPACES:
            external("__air_sgm_load", f"{PREFIX}_load.v64{a}.p{number}{a}", f"__m64<{t}>",
                     [f"const {space} {t}*", "long", "__long2", "bool"],
                     "__attribute__((pure,nothrow,convergent))")
            external("__air_sgm_store", f"{PREFIX}_store.v64{a}.p{number}{a}", "void",
                     [f"__m64<{t}>", f"{space} {t}*", "long", "__long2", "bool"],
                     "__attribute__((nothrow,convergent))")
    for space, _ in SPACES:
        out(f"template<class T> METAL_FUNC void simdgroup_load(thread simdgroup_matrix<T,8,8>& m, "
            f"const {space} T* p, ulong elements_per_row = 8, ulong2 origin = 0, bool transpose = false) "
            f"{{ m.__v = __air_sgm_load(p, (long)elements_per_row, __builtin_convertvector(origin.__v, __long2), transpose); }}")
        out(f"template<class T> METAL_FUNC void simdgroup_store(const thread simdgroup_matrix<T,8,8>& m, "
            f"{space} T* p, ulong elements_per_row = 8, ulong2 origin = 0, bool transpose = false) "
            f"{{ __air_sgm_store(m.__v, p, (long)elements_per_row, __builtin_convertvector(origin.__v, __long2), transpose); }}")
    for d in TYPES:
        for a in TYPES:
            for b in TYPES:
                external("__air_sgm_mac",
                         f"{PREFIX}_multiply_accumulate.v64{AIR[d]}.v64{AIR[a]}.v64{AIR[b]}.v64{AIR[d]}",
                         f"__m64<{d}>", [f"__m64<{a}>", f"__m64<{b}>", f"__m64<{d}>"], CROSS_LANE)
    out(FUNCTIONS)
    out("}")
