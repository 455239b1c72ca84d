# SPDX-License-Identifier: Apache-2.0
"""metal_math, metal_common, metal_geometric, metal_relational, for float and half. A function that
has a fast and a precise form exists three times: in metal::fast, in metal::precise, and in metal
itself under a name ("air.mode_exp.f32") that lowering turns into one of the two."""
from emit import (BITS, FLOATS, INTEGERS, SIZES, air, define, external, out, param, raw, result, typ, value,
                  wrapper)

UNARY = ("acos acosh asin asinh atan atanh ceil cos cosh cospi exp exp10 exp2 fabs floor log log10 "
         "log2 rint round rsqrt sin sinh sinpi sqrt tan tanh tanpi trunc fract saturate").split()
BINARY = "atan2 fmax fmin fmod pow powr".split()
TERNARY = "fmin3 fmax3 fmedian3 clamp".split()
# Only one form each.
PLAIN = {"sign": 1, "copysign": 2, "nextafter": 2, "fma": 3, "mix": 3}
FAMILIES = [(UNARY, 1), (BINARY, 2), (TERNARY, 3)]


def externals():
    for names, count in FAMILIES:
        for name in names:
            for t in FLOATS:
                for n in SIZES:
                    operands = [raw(t, n)] * count
                    external(f"__air_{name}", f"air.{name}.{air(t, n)}", raw(t, n), operands)
                    if t == "float":
                        for form in ("fast", "mode"):
                            external(f"__air_{form}_{name}", f"air.{form}_{name}.{air(t, n)}",
                                     raw(t, n), operands)
    for name, count in PLAIN.items():
        for t in FLOATS:
            for n in SIZES:
                external(f"__air_{name}", f"air.{name}.{air(t, n)}", raw(t, n), [raw(t, n)] * count)
    for t in FLOATS:
        for n in SIZES:
            external("__air_ldexp", f"air.ldexp.{air(t, n)}", raw(t, n), [raw(t, n), raw("int", n)])
            if n > 1:
                external("__air_dot", f"air.dot.{air(t, n)}", t, [raw(t, n)] * 2)


def bits(t, n):
    return typ("uint" if t == "float" else "ushort", n)


def derived(t, n):
    """What the intrinsics do not have, written with the functions of the enclosing namespace."""
    T = typ(t, n)
    define(t, n, "abs", 1, "fabs(x)")
    define(t, n, "max", 2, "fmax(x, y)")
    define(t, n, "min", 2, "fmin(x, y)")
    define(t, n, "max3", 3, "fmax3(x, y, z)")
    define(t, n, "min3", 3, "fmin3(x, y, z)")
    define(t, n, "median3", 3, "fmedian3(x, y, z)")
    define(t, n, "divide", 2, "x / y")
    out(f"METAL_FUNC {T} sincos({param(t, n, 'x')}, thread {T}& c) {{ c = cos(x); return sin(x); }}")
    out(f"METAL_FUNC {T} modf({param(t, n, 'x')}, thread {T}& whole) {{ whole = trunc(x); "
        f"return copysign({result_select(t, n)}, x); }}")
    if n > 1:
        define(t, n, "normalize", 1, "x * rsqrt(__air_dot(x.__v, x.__v))")
        out(f"METAL_FUNC {t} length({param(t, n, 'x')}) {{ return sqrt(__air_dot(x.__v, x.__v)); }}")
        out(f"METAL_FUNC {t} distance({param(t, n, 'x')}, {param(t, n, 'y')}) {{ return length(x - y); }}")


def result_select(t, n):
    # The fraction of an infinity is zero.
    if n == 1:
        return f"isinf(x) ? ({t})0 : x - whole"
    return f"select(x - whole, {typ(t, n)}(({t})0), isinf(x))"


def family(form):
    for names, count in FAMILIES:
        for name in names:
            for t in FLOATS:
                for n in SIZES:
                    prefix = f"__air_{form}_" if form and t == "float" else "__air_"
                    wrapper(name, prefix + name, t, n, count)
    for name, count in PLAIN.items():
        for t in FLOATS:
            for n in SIZES:
                wrapper(name, f"__air_{name}", t, n, count)
    for t in FLOATS:
        for n in SIZES:
            derived(t, n)


def classification():
    """By bits: a comparison of x with itself could be folded away where NaN is assumed absent."""
    for t in FLOATS:
        width = BITS[t]
        mantissa = 23 if t == "float" else 10
        ones = ((1 << (width - 1 - mantissa)) - 1) << mantissa
        rest = (1 << (width - 1)) - 1
        smallest = 1 << mantissa
        for n in SIZES:
            u = bits(t, n)
            magnitude = f"(as_type<{u}>(x) & {u}({rest}))" if n > 1 else f"(as_type<{u}>(x) & {rest}u)"

            def lit(number):
                return f"{u}({number})" if n > 1 else f"{number}u"
            for name, test in (("isnan", f"{magnitude} > {lit(ones)}"),
                               ("isinf", f"{magnitude} == {lit(ones)}"),
                               ("isfinite", f"{magnitude} < {lit(ones)}"),
                               ("isnormal", f"({magnitude} - {lit(smallest)}) < {lit(ones - smallest)}"),
                               ("signbit", f"(as_type<{u}>(x) >> {lit(width - 1)}) != {lit(0)}")):
                if n == 1 and name == "isnormal":
                    test = f"({u})({magnitude} - {lit(smallest)}) < {lit(ones - smallest)}"
                out(f"METAL_FUNC {typ('bool', n)} {name}({param(t, n, 'x')}) {{ return {test}; }}")
            both = f"{param(t, n, 'x')}, {param(t, n, 'y')}"
            out(f"METAL_FUNC {typ('bool', n)} isunordered({both}) {{ return isnan(x) || isnan(y); }} "
                f"METAL_FUNC {typ('bool', n)} isordered({both}) {{ return !(isnan(x) || isnan(y)); }}")


def exponents():
    """frexp, ilogb and ldexp, by bits; subnormal numbers are scaled up first."""
    for t in FLOATS:
        u = "uint" if t == "float" else "ushort"
        mantissa = 23 if t == "float" else 10
        mask = 255 if t == "float" else 31
        bias = 127 if t == "float" else 15
        scale = 1 << (mantissa + 1)
        out(f"METAL_FUNC {t} frexp({t} x, thread int& e) {{ "
            f"if (x == ({t})0 || !isfinite(x)) {{ e = 0; return x; }} "
            f"int shift = 0; if (!isnormal(x)) {{ x = x * ({t}){scale}; shift = {mantissa + 1}; }} "
            f"{u} b = as_type<{u}>(x); int field = int(b >> {mantissa}) & {mask}; "
            f"e = field - {bias - 1} - shift; "
            f"return as_type<{t}>({u}((b & {u}(~({mask}u << {mantissa}))) | {u}({bias - 1}u << {mantissa}))); }}")
        out(f"METAL_FUNC int ilogb({t} x) {{ if (x == ({t})0) return FP_ILOGB0; if (isnan(x)) return FP_ILOGBNAN; "
            f"if (isinf(x)) return INT_MAX; int e; frexp(x, e); return e - 1; }}")
        out(f"METAL_FUNC {t} ldexp({t} x, int e) {{ return __air_ldexp(x, e); }}")
        for n in (2, 3, 4):
            T, I = typ(t, n), typ("int", n)
            each = " ".join(f"r[{i}] = frexp(x.__v[{i}], k); e[{i}] = k;" for i in range(n))
            out(f"METAL_FUNC {T} frexp(const {T}& x, thread {I}& e) {{ {T} r; int k; {each} return r; }}")
            parts = ", ".join(f"ilogb(({t})x.__v[{i}])" for i in range(n))
            out(f"METAL_FUNC {I} ilogb(const {T}& x) {{ return {I}({parts}); }}")
            out(f"METAL_FUNC {T} ldexp(const {T}& x, const {I}& e) {{ return {T}({T}::__raw(), __air_ldexp(x.__v, e.__v)); }}")


def common():
    for t in FLOATS:
        for n in SIZES:
            T = typ(t, n)
            one, zero = f"{T}(({t})1)", f"{T}(({t})0)"
            define(t, n, "fdim", 2, f"select(x - y, {zero}, x <= y)")
            define(t, n, "step", 2, f"select({one}, {zero}, y < x)")
            define(t, n, "mad", 3, "x * y + z")
            out(f"METAL_FUNC {T} smoothstep({param(t, n, 'a')}, {param(t, n, 'b')}, {param(t, n, 'x')}) "
                f"{{ {T} t = saturate((x - a) / (b - a)); return t * t * ({T}(({t})3) - {T}(({t})2) * t); }}")
    for t in FLOATS:
        for n in (2, 3, 4):
            v = param(t, n, "x")
            w = param(t, n, "y")
            T = typ(t, n)
            out(f"METAL_FUNC {t} dot({v}, {w}) {{ return __air_dot(x.__v, y.__v); }}")
            out(f"METAL_FUNC {t} length_squared({v}) {{ return __air_dot(x.__v, x.__v); }}")
            out(f"METAL_FUNC {t} distance_squared({v}, {w}) {{ return length_squared(x - y); }}")
            out(f"METAL_FUNC {T} reflect(const {T}& i, const {T}& n) {{ return i - {T}(({t})2 * dot(n, i)) * n; }}")
            out(f"METAL_FUNC {T} faceforward(const {T}& n, const {T}& i, const {T}& r) "
                f"{{ return dot(r, i) < ({t})0 ? n : -n; }}")
            out(f"METAL_FUNC {T} refract(const {T}& i, const {T}& n, {t} eta) {{ {t} d = dot(n, i); "
                f"{t} k = ({t})1 - eta * eta * (({t})1 - d * d); "
                f"return k < ({t})0 ? {T}(({t})0) : {T}(eta) * i - {T}(eta * d + sqrt(k)) * n; }}")
        out(f"METAL_FUNC vec<{t},3> cross(const vec<{t},3>& a, const vec<{t},3>& b) "
            f"{{ return a.yzx * b.zxy - a.zxy * b.yzx; }}")


def relational():
    out("METAL_FUNC bool any(bool b) { return b; } METAL_FUNC bool all(bool b) { return b; }")
    for n in (2, 3, 4):
        for name, op in (("any", "|"), ("all", "&")):
            joined = f" {op} ".join(f"b.__v[{i}]" for i in range(n))
            out(f"METAL_FUNC bool {name}(const vec<bool,{n}>& b) {{ return ({joined}) != 0; }}")
    # No templates: a scalar beside a vector is converted, as in select(0, v, v > 1).
    for t in ["bool", "bfloat"] + INTEGERS + FLOATS:
        for n in (2, 3, 4):
            T = f"vec<{t},{n}>"
            out(f"METAL_FUNC {T} select(const {T}& a, const {T}& b, const vec<bool,{n}>& c) {{ {T} r; "
                + " ".join(f"r.__v[{i}] = c.__v[{i}] ? b.__v[{i}] : a.__v[{i}];" for i in range(n))
                + " return r; }")
        out(f"METAL_FUNC {t} select({t} a, {t} b, bool c) {{ return c ? b : a; }}")


def generate():
    out("namespace metal {")
    relational()
    externals()
    classification()
    out("namespace fast {")
    family("fast")
    out("} namespace precise {")
    family("")
    out("}")
    family("mode")
    exponents()
    common()
    out("namespace fast { using metal::frexp; using metal::ilogb; using metal::ldexp; using metal::fdim; } "
        "namespace precise { using metal::frexp; using metal::ilogb; using metal::ldexp; using metal::fdim; }")
    out("}")
