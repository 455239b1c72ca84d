# SPDX-License-Identifier: Apache-2.0
"""metal_simdgroup and metal_quadgroup: operations across the lanes of a SIMD group or of a quad.
There are none for bfloat and 64-bit integers: programs define those themselves."""
from emit import (CROSS_LANE, SIZES, SIGNED, air, external, out, raw, sign, typ, wrapper)

TYPES = ["float", "half", "int", "uint", "short", "ushort", "char", "uchar"]
REDUCTIONS = ["sum", "product", "min", "max", "prefix_inclusive_sum", "prefix_exclusive_sum",
              "prefix_inclusive_product", "prefix_exclusive_product", "broadcast_first"]
BITWISE = ["and", "or", "xor"]
INDEXED = ["shuffle", "shuffle_xor", "shuffle_up", "shuffle_down", "shuffle_rotate_up",
           "shuffle_rotate_down", "broadcast"]
# As in Metal's headers these are templates: a program's own function of the same name and type goes first.
TEMPLATE = "template <class = void> "
FILLING = ["shuffle_and_fill_up", "shuffle_and_fill_down"]


def label(group, name, t, n):
    integer = "" if t in ("float", "half") else sign(t) + "."
    return f"air.{group}_{name}.{integer}{air(t, n)}"


def operations(group, width, t, n):
    r = raw(t, n)
    for name in REDUCTIONS + ([] if t in ("float", "half") else BITWISE):
        called = f"__air_{group}_{name}"
        external(called, label(group, name, t, n), r, [r], CROSS_LANE)
        wrapper(f"{group}_{name}", called, t, n, 1, head=TEMPLATE)
    for name in INDEXED:
        called = f"__air_{group}_{name}"
        external(called, label(group, name, t, n), r, [r, "ushort"], CROSS_LANE)
        wrapper(f"{group}_{name}", called, t, n, 1, ", ushort lane", ", lane", TEMPLATE)
    for name in FILLING:
        called = f"__air_{group}_{name}"
        external(called, label(group, name, t, n), r, [r, r, "ushort", "ushort"], CROSS_LANE)
        wrapper(f"{group}_{name}", called, t, n, 2, f", ushort delta, ushort modulo = {width}",
                ", delta, modulo", TEMPLATE)


VOTES = """
struct simd_vote {
  typedef ulong vote_t;
  METAL_FUNC constexpr explicit simd_vote(vote_t v = 0) : v_(v) {}
  METAL_FUNC constexpr explicit operator vote_t() const { return v_; }
  METAL_FUNC bool all() const { return (v_ & 0xfffffffful) == 0xfffffffful; }
  METAL_FUNC bool any() const { return (v_ & 0xfffffffful) != 0; }
  vote_t v_;
};
struct quad_vote {
  typedef uint vote_t;
  METAL_FUNC constexpr explicit quad_vote(vote_t v = 0) : v_(v) {}
  METAL_FUNC constexpr explicit operator vote_t() const { return v_; }
  METAL_FUNC bool all() const { return (v_ & 15u) == 15u; }
  METAL_FUNC bool any() const { return (v_ & 15u) != 0; }
  vote_t v_;
};
METAL_FUNC simd_vote simd_ballot(bool b) { return simd_vote(__air_simd_ballot(b)); }
METAL_FUNC simd_vote simd_active_threads_mask() { return simd_vote(__air_simd_active_threads_mask()); }
METAL_FUNC quad_vote quad_ballot(bool b) { return quad_vote(uint(__air_quad_ballot(b)) & 15u); }
METAL_FUNC quad_vote quad_active_threads_mask() { return quad_vote(uint(__air_quad_active_threads_mask()) & 15u); }
METAL_FUNC bool simd_is_helper_thread() { return false; }
METAL_FUNC bool quad_is_helper_thread() { return false; }
"""


def generate():
    out("namespace metal {")
    for group, width in (("simd", 32), ("quad", 4)):
        for t in TYPES:
            for n in SIZES:
                operations(group, width, t, n)
        for name, params in (("all", ["bool"]), ("any", ["bool"]), ("is_first", [])):
            external(f"__air_{group}_{name}", f"air.{group}_{name}", "bool", params, CROSS_LANE)
        for name in ("all", "any"):
            out(f"METAL_FUNC bool {group}_{name}(bool b) {{ return __air_{group}_{name}(b); }}")
        out(f"METAL_FUNC bool {group}_is_first() {{ return __air_{group}_is_first(); }}")
    external("__air_simd_ballot", "air.simd_ballot.i64", "ulong", ["bool"], CROSS_LANE)
    external("__air_simd_active_threads_mask", "air.simd_active_threads_mask.i64", "ulong", [], CROSS_LANE)
    external("__air_quad_ballot", "air.quad_ballot", "ushort", ["bool"], CROSS_LANE)
    external("__air_quad_active_threads_mask", "air.quad_active_threads_mask", "ushort", [], CROSS_LANE)
    out(VOTES)
    out("}")
