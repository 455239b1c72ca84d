#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starts the server on a free port and runs the openai client's test against it.

Usage: run.py PEWTER CACHE_FOLDER. Ends with 77 (skipped) where node or the package cannot be had.
"""
import pathlib
import shutil
import subprocess
import sys


def main(pewter, cache):
    here = pathlib.Path(__file__).resolve().parent
    cache = pathlib.Path(cache)
    if not shutil.which("node") or not shutil.which("npm"):
        print("skipped: there is no node")
        return 77
    cache.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "client.mjs"):
        shutil.copy(here / name, cache / name)
    if not (cache / "node_modules" / "openai").exists():
        try:
            installed = subprocess.run(["npm", "install", "--no-audit", "--no-fund"], cwd=cache, timeout=200,
                                       capture_output=True, text=True)
        except subprocess.TimeoutExpired:
            print("skipped: the package registry does not answer")
            return 77
        if installed.returncode:
            print("skipped: the openai package cannot be installed:\n" + installed.stderr)
            return 77
    server = subprocess.Popen([pewter, "serve", "--port", "0", "--slots", "1", "-q"], stdout=subprocess.PIPE, text=True)
    try:
        url = server.stdout.readline().removeprefix("listening on ").strip()
        return subprocess.run(["node", "client.mjs", url], cwd=cache, timeout=200).returncode
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
