# SPDX-License-Identifier: Apache-2.0
"""metal_integer, and metal_limits. Functions that LLVM has itself (popcount and the like) still go
through AIR's names, so that a library looks like Apple's."""
from emit import (BITS, INTEGERS, SIGNED, SIZES, air, define, external, out, param, raw, result, sign,
                  typ, value, wrapper)

TWO = {"min": "min", "max": "max", "mulhi": "mul_hi", "absdiff": "abs_diff", "addsat": "add_sat",
       "subsat": "sub_sat", "rhadd": "rhadd", "hadd": "hadd"}
THREE = {"clamp": "clamp", "min3": "min3", "max3": "max3", "median3": "median3", "madhi": "mad_hi",
         "madsat": "mad_sat"}


def functions(t, n):
    s, a, r = sign(t), air(t, n), raw(t, n)
    for names, count in ((TWO, 2), (THREE, 3), ({"abs": "abs"}, 1)):
        for name, label in names.items():
            external(f"__air_{name}", f"air.{label}.{s}.{a}", r, [r] * count)
            wrapper(name, f"__air_{name}", t, n, count)
    for name in ("popcount", "reverse_bits"):
        external(f"__air_{name}", f"air.{name}.{a}", r, [r])
        wrapper(name, f"__air_{name}", t, n, 1)
    for name in ("clz", "ctz"):
        external(f"__air_{name}", f"air.{name}.{a}", r, [r, "bool"])
        wrapper(name, f"__air_{name}", t, n, 1, extra_args=", false")
    external("__air_extract_bits", f"air.extract_bits.{s}.{a}", r, [r, "uint", "uint"])
    wrapper("extract_bits", "__air_extract_bits", t, n, 1, ", uint offset, uint bits", ", offset, bits")
    external("__air_insert_bits", f"air.insert_bits.{s}.{a}", r, [r, r, "uint", "uint"])
    wrapper("insert_bits", "__air_insert_bits", t, n, 2, ", uint offset, uint bits", ", offset, bits")
    # A funnel shift, written so that LLVM sees one.
    u = SIGNED.get(t, t)
    U, T = typ(u, n), typ(t, n)
    width = BITS[t]
    if n == 1:
        out(f"METAL_FUNC {t} rotate({t} v, {t} i) {{ {u} x = ({u})v; uint k = uint(i) & {width - 1}u; "
            f"return ({t})({u})((x << k) | (x >> (({width}u - k) & {width - 1}u))); }}")
    else:
        out(f"METAL_FUNC {T} rotate(const {T}& v, const {T}& i) {{ {U} x = {U}(v), k = {U}(i) & {U}({width - 1}); "
            f"return {T}((x << k) | (x >> (({U}({width - 1}) - k + {U}(1)) & {U}({width - 1})))); }}")
    if t in ("int", "uint"):
        define(t, n, "mul24", 2, "x * y")
        define(t, n, "mad24", 3, "x * y + z")


def limits():
    # Programs specialise the second name, which is the one of Apple's headers.
    out("template<class T> struct _numeric_limits_impl { static constexpr constant bool is_specialized = false; };")
    out("template<class T> struct numeric_limits : _numeric_limits_impl<T> {};")
    flags = ("static constexpr constant bool is_specialized = true, is_iec559 = {iec}, is_bounded = true, "
             "is_integer = {integer}, is_exact = {integer}, is_signed = {signed}, is_modulo = {modulo}, "
             "has_infinity = {iec}, has_quiet_NaN = {iec}, has_signaling_NaN = {iec}; "
             "static constexpr constant int radix = 2, digits = {digits}, digits10 = {digits10}, "
             "max_digits10 = {max_digits10}, min_exponent = {emin}, max_exponent = {emax}, "
             "min_exponent10 = {emin10}, max_exponent10 = {emax10};")

    def emit(t, values, **kw):
        functions = " ".join(f"static constexpr {t} {name}() {{ return {v}; }}" for name, v in values.items())
        out(f"template<> struct _numeric_limits_impl<{t}> {{ {flags.format(**kw)} {functions} }};")

    for t in ["bool"] + INTEGERS:
        width = BITS[t]
        signed = t in SIGNED
        high = (1 << (width - (1 if signed else 0))) - 1 if t != "bool" else 1
        suffix = "L" if signed and width == 64 else "UL" if width == 64 else "u" if t == "uint" else ""
        low = f"(-{high}{suffix} - 1)" if signed else "0"
        digits = width - 1 if signed else width
        values = dict(min=f"({t}){low}", lowest=f"({t}){low}", max=f"({t}){high}{suffix}")
        for name in ("infinity", "quiet_NaN", "signaling_NaN", "denorm_min", "epsilon", "round_error"):
            values[name] = f"({t})0"
        emit(t, values, iec="false", integer="true", signed="true" if signed else "false",
             modulo="false" if signed or t == "bool" else "true", digits=digits,
             digits10=int(digits * 0.30103), max_digits10=0, emin=0, emax=0, emin10=0, emax10=0)
    floats = {
        "float": ("FLT_MIN", "FLT_MAX", "FLT_EPSILON", "0x1.0p-149f", 24, 6, 9, -125, 128, -37, 38),
        "half": ("HALF_MIN", "HALF_MAX", "HALF_EPSILON", "0x1.0p-24f", 11, 3, 5, -13, 16, -4, 4),
        "bfloat": ("BFLT_MIN", "BFLT_MAX", "BFLT_EPSILON", "0x1.0p-133f", 8, 2, 4, -125, 128, -37, 38)}
    for t, (low, high, eps, denorm, digits, d10, m10, emin, emax, emin10, emax10) in floats.items():
        values = dict(min=f"({t}){low}", lowest=f"({t})-{high}", max=f"({t}){high}",
                      epsilon=f"({t}){eps}", round_error=f"({t})0.5f", denorm_min=f"({t}){denorm}",
                      infinity=f"({t})__builtin_inff()", quiet_NaN=f'({t})__builtin_nanf("")',
                      signaling_NaN=f'({t})__builtin_nansf("")')
        emit(t, values, iec="true", integer="false", signed="true", modulo="false", digits=digits,
             digits10=d10, max_digits10=m10, emin=emin, emax=emax, emin10=emin10, emax10=emax10)


def generate():
    out("namespace metal {")
    for t in INTEGERS:
        for n in SIZES:
            functions(t, n)
    limits()
    out("}")
