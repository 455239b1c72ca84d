#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that `pewter bench --race` records what it finds: check_race.py PEWTER."""
import json
import os
import re
import subprocess
import sys
import tempfile

pewter = sys.argv[1]


def bench(folder, *options):
    done = subprocess.run([pewter, "bench", "-q", *options], check=True, capture_output=True, text=True,
                          env=dict(os.environ, PEWTER_CACHE_DIR=folder))
    return done.stdout


def geometry(folder, *options):
    return json.loads(bench(folder, "-p", "0", "-d", "1", "-n", "1", "-r", "1", "--json", *options))["matvec"]


with tempfile.TemporaryDirectory() as folder:
    usual = geometry(folder)
    said = re.search(r"<- use --matvec (\S+)", bench(folder, "--race", "-r", "1")).group(1)
    assert geometry(folder) == said, f"{said} was found, {geometry(folder)} is taken"
    other = next(name for name in ("1r1s", "2r1s", "4r2s") if name != said)
    assert geometry(folder, "--matvec", other) == other
    # For another number of threads nothing was recorded.
    assert geometry(folder, "-t", "7") == usual
