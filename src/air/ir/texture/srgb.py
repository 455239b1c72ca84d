# SPDX-License-Identifier: Apache-2.0
"""The sRGB encoding of 8-bit channels as tables of C: what each code means, and where the codes begin."""
import sys


def linear(code):
    x = code / 255
    return x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4


def table(name, values):
    body = ",\n  ".join(f"(float){value!r}" for value in values)
    return (f"extern const CONSTANT float {name}[256];\n"
            f"const CONSTANT float {name}[256] = {{\n  {body}}};\n")


with open(sys.argv[1], "w") as out:
    out.write("/* Made by srgb.py. */\n#include \"air/ir/texture/Texture.h\"\n")
    out.write(table("pewter_srgb_values", [linear(code) for code in range(256)]))
    out.write(table("pewter_srgb_starts", [0.0] + [linear(code - 0.5) for code in range(1, 256)]))
