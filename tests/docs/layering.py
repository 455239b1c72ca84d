#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails on any #include in src/ that cmake/layers.txt does not allow.

Usage: layering.py SOURCE_DIR
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def read_table(path):
    table, llvm = {}, set()
    for line in path.read_text().splitlines():
        line = line.split("#")[0].strip()
        if not line:
            continue
        name, allowed = line.split(":")
        name = name.strip()
        if name.endswith("[L]"):
            name = name[:-3].strip()
            llvm.add(name)
        table[name] = set(allowed.split()) | {name}
    return table, llvm


def main(root):
    root = pathlib.Path(root)
    table, llvm = read_table(root / "cmake" / "layers.txt")
    problems = []
    files = 0
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in (".h", ".cpp", ".def", ".inc"):
            continue
        folder = path.parent.relative_to(root / "src").as_posix()
        if folder not in table:
            problems.append(f"{path}: folder \"{folder}\" is not in cmake/layers.txt")
            continue
        files += 1
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            quoted, name = match.group(1) == '"', match.group(2)
            where = f"{path.relative_to(root)}:{number}"
            if name.split("/")[0] in ("llvm", "llvm-c", "clang", "clang-c"):
                if folder not in llvm:
                    problems.append(f"{where}: \"{name}\": only folders marked [L] include LLVM")
            elif name.startswith(("Metal/", "Foundation/", "QuartzCore/", "Pewter/", "dispatch/")):
                if "include" not in table[folder]:
                    problems.append(f"{where}: \"{folder}\" may not include \"{name}\"")
            elif quoted:
                target = pathlib.PurePosixPath(name).parent.as_posix()
                if not (root / "src" / name).exists() and not (path.parent / name).exists():
                    continue  # generated or from another library
                if target == "." and (path.parent / name).exists():
                    problems.append(f"{where}: write \"{folder}/{name}\", from src/")
                elif target not in table[folder]:
                    problems.append(f"{where}: \"{folder}\" may not include \"{name}\"")
    for problem in problems:
        print(problem)
    print(f"layering: {files} files, {len(problems)} problems")
    return 1 if problems or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
