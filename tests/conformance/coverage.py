#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails for a function of the MSL standard library that no test names.

Usage: coverage.py CLANG PRELUDE.metal SOURCE_FOLDER

The names come from the library's own text, so a new function needs a test before it can be added. A name
counts as tested where it stands as a word in a source that a test compiles and runs, macros expanded.
"""
import pathlib
import re
import subprocess
import sys

# Names that a kernel cannot run (fragment and mesh functions; Compile_test.cpp parses them), and one that cannot
# be told from doing nothing.
NOT_RUN = set("""
    dfdx dfdy fwidth discard_fragment get_num_samples get_sample_position calculate_clamped_lod
    calculate_unclamped_lod interpolate_at_center interpolate_at_centroid interpolate_at_offset interpolate_at_sample
    set_threadgroups_per_grid set_primitive_count set_vertex set_primitive set_index set_indices
    get_num_colors get_color_coverage_mask slice""".split())
TESTS = ["tests/conformance", "tests/api", "tests/kernels", "tests/accuracy", "src/msl"]
FUNCTION = re.compile(r"\b(?:METAL_FUNC|__nodebug__\)\)\)) (?!friend)[^;{}()=]*?[ &*>](\w+)\(")


def declared(text):
    names = {name for name in FUNCTION.findall(text)
             if not name.startswith("__") and name not in ("operator", "vec", "packed_vec", "matrix")}
    types = set(re.findall(r"\b(?:struct|union|class|enum class) (\w+)", text))
    return names - types - set(re.findall(r"\b__(?:attribute|asm)\w*\b", text))


def expanded(clang, path):
    text = re.sub(r"^ *#include.*$", "", path.read_text(encoding="utf-8"), flags=re.M)
    run = subprocess.run([clang, "-E", "-P", "-x", "c++", "-w", "-"], input=text, capture_output=True, text=True,
                         check=True)
    return text + run.stdout


def used(clang, root):
    words = set()
    for folder in TESTS:
        for path in pathlib.Path(root, folder).rglob("*"):
            if path.is_file() and (path.suffix == ".metal" or path.name.endswith("_test.cpp")
                                   or folder.startswith("tests/") and path.suffix in (".cpp", ".h")):
                if "prelude" not in path.parts:
                    text = expanded(clang, path) if path.suffix == ".metal" else path.read_text(encoding="utf-8")
                    words.update(re.findall(r"\w+", text))
    return words


def main(clang, prelude, root):
    names = declared(pathlib.Path(prelude).read_text(encoding="utf-8"))
    missing = sorted(names - used(clang, root) - NOT_RUN)
    print(f"{len(names)} functions are declared, {len(NOT_RUN & names)} of them for other stages")
    for name in missing:
        print(f"no test names {name}")
    return 1 if missing or len(names) < 200 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
