# SPDX-License-Identifier: Apache-2.0
"""Writes the MSL standard library: generate.py OUTPUT. Hand-written parts are the .metal files beside
this script; tables of overloads come from the modules. The result is MSL and goes through the same
token rewriter as a program does."""
import os
import sys

import atomiclib
import integerlib
import internal_names
import mathlib
import simdgroupmatrix
import simdlib
import texturelib
import vectors
from emit import lines, out

HERE = os.path.dirname(os.path.abspath(__file__))


def part(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        out(file.read())


def builtin_traits():
    """Traits that clang has built in."""
    for name in ("is_integral is_signed is_unsigned is_pointer is_const is_void is_scalar is_fundamental "
                 "is_class is_union is_enum is_array is_reference is_lvalue_reference is_rvalue_reference "
                 "is_volatile is_pod is_trivial is_trivially_copyable is_standard_layout is_function is_object "
                 "is_compound is_final is_abstract is_polymorphic").split():
        out(f"template<class T> struct {name} : bool_constant<__{name}(T)> {{}}; "
            f"template<class T> inline constexpr constant bool {name}_v = __{name}(T);")
    for name, builtin in (("remove_cv", "__remove_cv"), ("remove_const", "__remove_const"),
                          ("remove_volatile", "__remove_volatile"),
                          ("remove_reference", "__remove_reference_t"), ("remove_pointer", "__remove_pointer"),
                          ("decay", "__decay"), ("make_unsigned", "__make_unsigned"),
                          ("make_signed", "__make_signed"), ("add_pointer", "__add_pointer"),
                          ("remove_extent", "__remove_extent"), ("underlying_type", "__underlying_type")):
        out(f"template<class T> struct {name} {{ typedef {builtin}(T) type; }}; "
            f"template<class T> using {name}_t = {builtin}(T);")


def main():
    part("core.metal")
    part("traits.metal")
    out("namespace metal {")
    builtin_traits()
    out("}")
    vectors.generate()
    integerlib.generate()
    mathlib.generate()
    part("matrix.metal")
    for t in ("float", "half"):
        for c in (2, 3, 4):
            for r in (2, 3, 4):
                out(f"typedef metal::matrix<{t},{c},{r}> {t}{c}x{r};")
                out(f"namespace metal {{ using ::{t}{c}x{r}; }}")
    part("sync.metal")
    simdlib.generate()
    atomiclib.generate()
    part("simdgroup_matrix.metal")
    simdgroupmatrix.generate()
    part("sampler.metal")
    texturelib.generate()
    part("graphics.metal")
    part("absent.metal")
    part("visible_functions.metal")
    part("pack.metal")
    part("logging.metal")
    internal_names.generate()
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


main()
