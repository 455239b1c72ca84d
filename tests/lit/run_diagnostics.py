#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles a wrong MSL program and compares its first error with the expectation beside it.

Usage: run_diagnostics.py PEWTER FILE.metal

FILE.expected holds the line as the API prints it: program_source:LINE:COLUMN: error: TEXT. The
command prints the file's path in place of program_source.
"""
import pathlib
import subprocess
import sys


def main(pewter, path):
    path = pathlib.Path(path)
    expected = path.with_suffix(".expected").read_text().splitlines()[0]
    if expected.startswith("program_source:"):
        expected = path.name + expected.removeprefix("program_source")
    run = subprocess.run([pewter, "compile", str(path)], capture_output=True, text=True, timeout=60)
    errors = [line for line in run.stderr.splitlines() if ": error: " in line]
    if run.returncode != 1:
        print(f"exit status {run.returncode}, expected 1\n{run.stderr}")
        return 1
    if not errors or not errors[0].endswith(expected):
        print(f"first error: {errors[0] if errors else run.stderr}\nexpected:    {expected}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
