#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a file's bytes as a C array initialiser.

Usage: embed.py INPUT OUTPUT
"""
import pathlib
import sys

data = pathlib.Path(sys.argv[1]).read_bytes()
rows = (data[i:i + 24] for i in range(0, len(data), 24))
pathlib.Path(sys.argv[2]).write_text("".join(",".join(map(str, row)) + ",\n" for row in rows))
