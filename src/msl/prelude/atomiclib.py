# SPDX-License-Identifier: Apache-2.0
"""metal_atomic. A bool is kept in 32 bits. compare_exchange: AIR's call gives the old value and also
writes it to *expected; success is told by comparing with what was expected before."""
from emit import EFFECT, external, out

SPACES = [("device", "global", 2), ("threadgroup", "local", 1)]
# type: (stored as, AIR type, sign, read-modify-write operations)
TYPES = {"int": ("int", "i32", "s.", ["add", "sub", "min", "max", "and", "or", "xor"]),
         "uint": ("uint", "i32", "u.", ["add", "sub", "min", "max", "and", "or", "xor"]),
         "float": ("float", "f32", "", ["add", "sub"]),
         "bool": ("uint", "i32", "", [])}


def operations(space, air_space, scope, t):
    stored, a, s, fetch = TYPES[t]
    raw = f"volatile {space} {stored}*"
    pointer = f"volatile {space} _atomic<{t}>*"
    tail = f"memory_order o, thread_scope scope = thread_scope_{'device' if scope == 2 else 'threadgroup'}"
    args = f"o, {scope}, true"
    P = f"({raw})p"
    if t != "bool":
        external("__air_atomic_load", f"air.atomic.{air_space}.load.{a}", stored,
                 [f"const {raw}", "uint", "uint", "bool"], EFFECT)
        external("__air_atomic_store", f"air.atomic.{air_space}.store.{a}", "void",
                 [raw, stored, "uint", "uint", "bool"], EFFECT)
        external("__air_atomic_xchg", f"air.atomic.{air_space}.xchg.{a}", stored,
                 [raw, stored, "uint", "uint", "bool"], EFFECT)
        external("__air_atomic_cmpxchg", f"air.atomic.{air_space}.cmpxchg.weak.{a}", stored,
                 [raw, f"thread {stored}*", stored, "uint", "uint", "uint", "bool"], EFFECT)
    out(f"METAL_FUNC {t} atomic_load_explicit(const {pointer} p, {tail}) "
        f"{{ return ({t})__air_atomic_load((const {raw})p, {args}); }}")
    out(f"METAL_FUNC void atomic_store_explicit({pointer} p, {t} v, {tail}) "
        f"{{ __air_atomic_store({P}, ({stored})v, {args}); }}")
    out(f"METAL_FUNC {t} atomic_exchange_explicit({pointer} p, {t} v, {tail}) "
        f"{{ return ({t})__air_atomic_xchg({P}, ({stored})v, {args}); }}")
    same = "as_type<uint>(was) == as_type<uint>(old)" if t == "float" else "was == old"
    out(f"METAL_FUNC bool atomic_compare_exchange_weak_explicit({pointer} p, thread {t}* expected, {t} v, "
        f"memory_order o, memory_order failure, thread_scope scope = thread_scope_device) "
        f"{{ {stored} was = ({stored})*expected, old = was; "
        f"old = __air_atomic_cmpxchg({P}, &old, ({stored})v, o, failure, {scope}, true); "
        f"*expected = ({t})old; return {same}; }}")
    for op in fetch:
        external(f"__air_atomic_{op}", f"air.atomic.{air_space}.{op}.{s}{a}", t,
                 [raw, t, "uint", "uint", "bool"], EFFECT)
        out(f"METAL_FUNC {t} atomic_fetch_{op}_explicit({pointer} p, {t} v, {tail}) "
            f"{{ return __air_atomic_{op}({P}, v, {args}); }}")


def generate():
    out("namespace metal {")
    out("template<class T> struct _atomic { T __s; METAL_FUNC _atomic() = default; "
        "METAL_FUNC explicit constexpr _atomic(T v) : __s(v) {} };")
    out("template<> struct _atomic<bool> { uint __s; METAL_FUNC _atomic() = default; "
        "METAL_FUNC explicit constexpr _atomic(bool v) : __s(v) {} };")
    out("template<class T> using atomic = _atomic<T>;")
    for t in ("int", "uint", "bool", "float", "ulong", "long"):
        out(f"typedef _atomic<{t}> atomic_{t};")
    for space, air_space, scope in SPACES:
        for t in TYPES:
            operations(space, air_space, scope, t)
    for op in ("min", "max"):
        external(f"__air_atomic_{op}", f"air.atomic.global.{op}.u.i64", "void",
                 ["volatile device ulong*", "ulong", "uint", "uint", "bool"], EFFECT)
        out(f"METAL_FUNC void atomic_{op}_explicit(volatile device _atomic<ulong>* p, ulong v, memory_order o) "
            f"{{ __air_atomic_{op}((volatile device ulong*)p, v, o, 2, true); }}")
    out("}")
