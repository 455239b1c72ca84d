#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a muse-glimmer file with random weights, for measuring speed.

    make_model.py OUT.gguf [--shape S|M] [--type Q4_K|Q8_0] [--context N] [--window N] [--seed N]

"Q4_K" is the usual mix: ffn_down and output in Q6_K, the rest in Q4_K. Codes are uniform random bytes and
scales make the weights of a row have the variance 1 / inputs, so that activations stay in range. A tensor
is drawn from a pool of 8,192 distinct blocks per type and width, which takes seconds to write.
"""
import argparse
import os
import random
import struct

#          hidden layers heads kv  dim  ffn   vocabulary
SHAPES = {"S": (1024, 8, 8, 2, 128, 3072, 8192), "M": (2048, 16, 16, 2, 128, 6144, 32000)}
F32, Q8_0, Q4_K, Q6_K = 0, 8, 12, 14
BLOCK = {Q8_0: 272, Q4_K: 144, Q6_K: 210}  # bytes of 256 weights
FILE_TYPE = {"Q4_K": 15, "Q8_0": 7}
POOL = 8192
CONTROLS = ["<|begin_of_text|>", "<|end_of_text|>", "<|start|>", "<|message|>", "<|eot|>", "<|eom|>", "<|pad|>",
            "<|reserved|>"]


def half(value):
    return struct.pack("<e", value)


def block(kind, deviation, draw):
    """256 weights of this standard deviation."""
    if kind == Q8_0:  # codes of -128..127 deviate by 73.9
        return b"".join(half(deviation / 73.9) + draw.randbytes(32) for _ in range(8))
    if kind == Q6_K:  # codes of -32..31 deviate by 18.5; scales of 32..63, half of them negative
        scales = bytes((draw.randrange(32, 64) * draw.choice((1, -1))) & 255 for _ in range(16))
        return draw.randbytes(192) + scales + half(deviation / (18.5 * 48))
    # Q4_K: codes of 0..15 deviate by 4.61 from 7.5, which the minimum takes away; scale = minimum < 64.
    scales = [draw.randrange(32, 64) for _ in range(8)]
    packed = bytearray(12)
    for j in range(4):
        packed[j] = packed[j + 4] = scales[j] | (scales[j + 4] >> 4) << 6
        packed[j + 8] = (scales[j + 4] & 15) | (scales[j + 4] & 15) << 4
    step = deviation / (4.61 * 48)
    return half(step) + half(7.5 * step) + bytes(packed) + draw.randbytes(128)


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def entry(key, kind, value):
    head = text(key)
    if kind == "strings":
        return head + struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text, value))
    if kind == "integers":
        return head + struct.pack("<IIQ", 9, 5, len(value)) + struct.pack(f"<{len(value)}i", *value)
    if kind == "string":
        return head + struct.pack("<I", 8) + text(value)
    code, number = {"u32": ("I", 4), "f32": ("f", 6), "bool": ("?", 7)}[kind]
    return head + struct.pack("<I" + code, number, value)


def byte_characters():
    """The printable stand-in of each byte in a byte-level vocabulary."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    stand_in = {b: chr(b) for b in printable}
    rest = (b for b in range(256) if b not in stand_in)
    stand_in.update({b: chr(256 + n) for n, b in enumerate(rest)})
    return [stand_in[b] for b in range(256)]


def vocabulary(size):
    """Bytes, then merges of two to four letters, then the control tokens."""
    tokens = byte_characters()
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    pairs = [a + b for a in letters for b in letters]

    def candidates():
        yield from ((tokens[32], a) for a in letters)
        yield from ((p[0], p[1]) for p in pairs)
        yield from ((p, c) for p in pairs for c in letters)
        yield from ((p, q) for p in pairs for q in pairs)

    merges = []
    for left, right in candidates():
        if len(tokens) == size - len(CONTROLS):
            break
        tokens.append(left + right)
        merges.append(left + " " + right)
    return tokens + CONTROLS, merges


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--shape", choices=SHAPES, default="M")
    parser.add_argument("--type", choices=FILE_TYPE, default="Q4_K")
    parser.add_argument("--context", type=int, default=8192)
    parser.add_argument("--window", type=int, default=2048)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    hidden, layers, heads, kv, dim, ffn, size = SHAPES[options.shape]
    base = Q8_0 if options.type == "Q8_0" else Q4_K
    big = Q8_0 if options.type == "Q8_0" else Q6_K

    tensors = [("token_embd.weight", (hidden, size), base), ("output_norm.weight", (hidden,), F32),
               ("output.weight", (hidden, size), big)]
    for layer in range(layers):
        for name, shape, kind in (
                ("attn_norm", (hidden,), F32), ("attn_q", (hidden, heads * dim), base),
                ("attn_k", (hidden, kv * dim), base), ("attn_v", (hidden, kv * dim), base),
                ("attn_q_norm", (dim,), F32), ("attn_k_norm", (dim,), F32),
                ("attn_gate", (hidden, heads * dim), base), ("attn_output", (heads * dim, hidden), base),
                ("post_attention_norm", (hidden,), F32), ("ffn_norm", (hidden,), F32),
                ("ffn_gate", (hidden, ffn), base), ("ffn_up", (hidden, ffn), base),
                ("ffn_down", (ffn, hidden), big), ("post_ffw_norm", (hidden,), F32)):
            tensors.append((f"blk.{layer}.{name}.weight", shape, kind))

    tokens, merges = vocabulary(size)
    p = "muse-glimmer."
    metadata = [
        entry("general.architecture", "string", "muse-glimmer"),
        entry("general.name", "string", f"random {options.shape} {options.type}"),
        entry("general.file_type", "u32", FILE_TYPE[options.type]),
        entry("general.quantization_version", "u32", 2),
        entry("general.alignment", "u32", 32),
        entry(p + "block_count", "u32", layers),
        entry(p + "context_length", "u32", options.context),
        entry(p + "embedding_length", "u32", hidden),
        entry(p + "feed_forward_length", "u32", ffn),
        entry(p + "vocab_size", "u32", size),
        entry(p + "attention.head_count", "u32", heads),
        entry(p + "attention.head_count_kv", "u32", kv),
        entry(p + "attention.key_length", "u32", dim),
        entry(p + "attention.value_length", "u32", dim),
        entry(p + "attention.layer_norm_rms_epsilon", "f32", 1e-5),
        entry(p + "attention.sliding_window", "u32", options.window),
        entry(p + "attention.sliding_window_pattern", "u32", 4),
        entry(p + "rope.dimension_count", "u32", dim),
        entry(p + "rope.freq_base", "f32", 500000.0),
        entry(p + "rope.freq_base_swa", "f32", 500000.0),
        entry(p + "logit_scale", "f32", 0.5),
        entry(p + "final_logit_softcapping", "f32", 20.0),
        entry("tokenizer.ggml.model", "string", "gpt2"),
        entry("tokenizer.ggml.pre", "string", "llama4"),
        entry("tokenizer.ggml.tokens", "strings", tokens),
        entry("tokenizer.ggml.token_type", "integers",
              [1] * (size - len(CONTROLS)) + [3] * len(CONTROLS)),
        entry("tokenizer.ggml.merges", "strings", merges),
        entry("tokenizer.ggml.bos_token_id", "u32", size - 8),
        entry("tokenizer.ggml.eos_token_id", "u32", size - 7),
        entry("tokenizer.ggml.eot_token_id", "u32", size - 4),
        entry("tokenizer.ggml.padding_token_id", "u32", size - 2),
        entry("tokenizer.ggml.add_bos_token", "bool", True),
    ]

    def size_of(shape, kind):
        return 4 * shape[0] if kind == F32 else shape[0] * shape[1] // 256 * BLOCK[kind]

    infos, offset = [], 0
    for name, shape, kind in tensors:
        infos.append(text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset))
        offset += (size_of(shape, kind) + 31) // 32 * 32
    pools = {}
    with open(options.out, "wb") as file:
        file.write(struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(metadata)))
        file.write(b"".join(metadata) + b"".join(infos))
        file.write(bytes(-file.tell() % 32))
        for name, shape, kind in tensors:
            draw = random.Random(f"{options.seed}:{name}")
            if kind == F32:
                # The norms of heads are constants in this architecture.
                mean, spread = (3.87, 0) if "_q_norm" in name else (1, 0) if "_k_norm" in name else (1, 0.1)
                file.write(struct.pack(f"<{shape[0]}f", *(draw.gauss(mean, spread) for _ in range(shape[0]))))
            else:
                key = (kind, shape[0])
                if key not in pools:
                    source = random.Random(f"{options.seed}:{key}")
                    pools[key] = [block(kind, shape[0] ** -0.5, source) for _ in range(POOL)]
                left = shape[0] * shape[1] // 256
                while left:
                    count = min(left, 65536)
                    file.write(b"".join(draw.choices(pools[key], k=count)))
                    left -= count
            file.write(bytes(-size_of(shape, kind) % 32))
        # Out of the page cache: what is read from the disk comes in larger pages than what was written.
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


if __name__ == "__main__":
    main()
