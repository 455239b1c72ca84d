#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the RUN lines of one test file, as LLVM's lit does, without lit.

Usage: run_lit.py FILE NAME=PROGRAM...

A RUN line is a shell command; lines that end in a backslash go on in the next. %s is the file, %S its
folder, %source the source tree, %t a scratch path, and each NAME stands for its PROGRAM. A leading `not` demands failure.
`REQUIRES: path` skips the test (exit code 77) when the path, relative to the source tree, is absent.
"""
import pathlib
import re
import subprocess
import sys
import tempfile


def run_lines(text):
    lines, pending = [], ""
    for match in re.finditer(r"RUN:\s*(.*)", text):
        piece = match.group(1).rstrip()
        if piece.endswith("\\"):
            pending += piece[:-1] + " "
        else:
            lines.append(pending + piece)
            pending = ""
    return lines


def main(argv):
    path = pathlib.Path(argv[1]).resolve()
    programs = dict(pair.split("=", 1) for pair in argv[2:])
    text = path.read_text()
    for match in re.finditer(r"REQUIRES:\s*(\S+)", text):
        if not (pathlib.Path(programs["SOURCE"]) / match.group(1)).exists():
            print(f"SKIPPED: {match.group(1)} is not here")
            return 77
    commands = run_lines(text)
    if not commands:
        print(f"{path}: no RUN lines")
        return 1
    with tempfile.TemporaryDirectory() as scratch:
        for command in commands:
            shell = command.replace("%source", programs["SOURCE"])
            shell = shell.replace("%s", str(path)).replace("%S", str(path.parent))
            shell = shell.replace("%t", str(pathlib.Path(scratch) / "t"))
            for name, program in programs.items():
                shell = re.sub(rf"(?<![\w/-]){re.escape(name)}(?![\w-])", program, shell)
            shell = "not() { if \"$@\"; then return 1; else return 0; fi; }; set -o pipefail; " + shell
            done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, timeout=120)
            if done.returncode != 0:
                print(f"RUN: {command}\nexit code {done.returncode}")
                print(done.stdout[-4000:], done.stderr[-8000:], sep="\n")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
