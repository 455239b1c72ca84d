# SPDX-License-Identifier: Apache-2.0
"""Shared pieces of the prelude generator: MSL's types, AIR's spelling of them, and the shape of a
library function (a wrapper around an external function that carries the AIR name)."""

SCALARS = ["bool", "char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "half",
           "float", "bfloat"]
INTEGERS = ["char", "uchar", "short", "ushort", "int", "uint", "long", "ulong"]
SIGNED = {"char": "uchar", "short": "ushort", "int": "uint", "long": "ulong"}
FLOATS = ["float", "half"]
BITS = {"bool": 1, "char": 8, "uchar": 8, "short": 16, "ushort": 16, "int": 32, "uint": 32,
        "long": 64, "ulong": 64, "half": 16, "float": 32, "bfloat": 16}
AIR = {"float": "f32", "half": "f16", "bfloat": "bf16", "bool": "i1"} | {
    t: f"i{BITS[t]}" for t in INTEGERS}
SIZES = [1, 2, 3, 4]

INLINE = "__attribute__((__always_inline__,__nodebug__))"
PURE = "__attribute__((const,nothrow))"
CROSS_LANE = "__attribute__((const,nothrow,convergent))"
EFFECT = "__attribute__((nothrow))"

lines = []


def out(text):
    lines.append(text)


def sign(t):
    """The letter that AIR puts before an integer type where signedness matters."""
    return "s" if t in SIGNED else "u"


def air(t, n):
    return AIR[t] if n == 1 else f"v{n}{AIR[t]}"


def typ(t, n):
    return t if n == 1 else f"vec<{t},{n}>"


def raw(t, n):
    """The type of an AIR call's operand."""
    return t if n == 1 else f"__ev<{t},{n}>"


def param(t, n, name):
    return f"{t} {name}" if n == 1 else f"const vec<{t},{n}>& {name}"


def value(n, name):
    return name if n == 1 else f"{name}.__v"


def result(t, n, expression):
    return expression if n == 1 else f"vec<{t},{n}>(vec<{t},{n}>::__raw(), {expression})"


def external(name, label, returns, operands, attributes=PURE):
    out(f'{returns} {name}({", ".join(operands)}) {attributes} __asm("{label}");')


def wrapper(name, called, t, n, count, extra_params="", extra_args="", head=""):
    """METAL_FUNC T name(T a0, ..): calls `called` on `count` operands of the same type."""
    params = ", ".join(param(t, n, f"a{i}") for i in range(count)) + extra_params
    args = ", ".join(value(n, f"a{i}") for i in range(count)) + extra_args
    out(f"{head}METAL_FUNC {typ(t, n)} {name}({params}) {{ return {result(t, n, f'{called}({args})')}; }}")


def define(t, n, name, count, body):
    """METAL_FUNC T name(T x, T y, ..) { return body; } with x, y, z as parameters."""
    params = ", ".join(param(t, n, "xyzw"[i]) for i in range(count))
    out(f"METAL_FUNC {typ(t, n)} {name}({params}) {{ return {body}; }}")
