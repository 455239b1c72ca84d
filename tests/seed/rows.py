#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that each row A1 to A59 of the engine's contract is in the name of a test: rows.py TEST_PROGRAM."""
import re
import subprocess
import sys

names = subprocess.run([sys.argv[1], "--gtest_list_tests"], check=True, capture_output=True, text=True).stdout
tested = {int(row) for line in names.splitlines() if line.startswith("  ") for row in re.findall(r"A(\d\d)_", line)}
missing = [f"A{row}" for row in range(1, 60) if row not in tested]
print("rows without a test: " + (", ".join(missing) or "none"))
sys.exit(bool(missing))
