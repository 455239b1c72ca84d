#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Comments and documents name only files that exist: tests, passes, scripts and folders move.

Usage: named_files.py SOURCE_TREE
"""
import pathlib
import re
import sys

NAME = re.compile(r"[\w./-]*\b\w+_test\.(?:cpp|py)|(?:tests|docs|scripts|bench|examples|kernels)/[\w./-]+\.(?:cpp|py|sh|md|metal|h)")
SKIPPED = {"build", ".git", ".cache"}
PLACEHOLDERS = {"X_test.cpp", "FILE.metal"}


def files_of(root):
    for path in root.rglob("*"):
        if not SKIPPED.intersection(part for part in path.relative_to(root).parts) and path.is_file():
            yield path


def main(argv):
    root = pathlib.Path(argv[1]).resolve()
    paths = [str(path.relative_to(root)) for path in files_of(root) if not str(path.relative_to(root)).startswith("build")]
    names = {pathlib.Path(path).name for path in paths}
    missing = []
    for path in paths:
        if not path.endswith((".cpp", ".h", ".md", ".hpp", ".metal")):
            continue
        for number, line in enumerate((root / path).read_text(errors="replace").splitlines(), 1):
            is_comment = path.endswith(".md") or line.lstrip().startswith(("//", "*"))
            if not is_comment:
                continue
            for name in NAME.findall(line):
                if pathlib.Path(name).name not in names | PLACEHOLDERS:
                    missing.append(f"{path}:{number}: \"{name}\" is named, but is not in the tree")
    print("\n".join(missing))
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
