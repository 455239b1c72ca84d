#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes seeds and dictionaries for Request_fuzz and Grammar_fuzz: fuzz_seeds.py FOLDER.

A request's first byte picks its reader: 0 chat, 1 completions, 2 llama.cpp's, 3 a schema; 4 more is lenient.
"""
import json
import pathlib
import sys

MESSAGES = [{"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "What is 7 plus 5?"}]},
            {"role": "assistant", "content": "12.", "reasoning_content": "7 + 5", "name": "x"},
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": "{\"a\": 7}"}}]},
            {"role": "tool", "content": "12", "tool_call_id": "call_1"}]
SAMPLING = {"temperature": 0.5, "top_k": 40, "top_p": 0.9, "min_p": 0.1, "typical_p": 0.9, "repeat_last_n": 64,
            "repeat_penalty": 1.1, "presence_penalty": 0.1, "frequency_penalty": -0.1, "mirostat": 2, "mirostat_tau": 5,
            "mirostat_eta": 0.1, "seed": 12345678901, "logit_bias": {"15": -100}, "stop": ["a", "\n"], "stream": True,
            "dry_multiplier": 0.8, "dry_base": 1.75, "dry_allowed_length": 2, "dry_penalty_last_n": -1,
            "dry_sequence_breakers": ["\n", ":"], "xtc_probability": 0.5, "xtc_threshold": 0.1,
            "ignore_eos": True, "cache_prompt": False, "id_slot": 1}
SCHEMAS = [{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "array", "items": {"type": "string"},
                                                                           "minItems": 1, "maxItems": 3}},
            "required": ["a"], "additionalProperties": False},
           {"anyOf": [{"const": 1}, {"enum": ["x", None, 2.5, True]}, {"type": ["string", "null"], "maxLength": 9}]},
           {"$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}}, "$ref": "#/$defs/node"},
           {"oneOf": [{"type": "number"}, {"type": "boolean"}], "description": "d", "title": "t"},
           {"type": "object", "additionalProperties": {"type": "string", "minLength": 2}}, True, {}]
GRAMMARS = ['root ::= "a"', 'root ::= [a-zé🙂]+ ("," ws [^\\"\\x00-\\x1f]{2,4})* # end\nws ::= [ \\t\\n]?',
            'root ::= root "+" term | term\nterm ::= [0-9]{1,9} | "(" root ")"', 'root ::= a a*\na ::= "" | "x" root?',
            'root ::= . | "\\u00e9\\U0001F642"{3} | (("a" | "b")? "c"){0,5}']


def main(folder):
    folder = pathlib.Path(folder)
    requests, grammars = [], list(GRAMMARS)
    chat = {"model": "m", "messages": MESSAGES, "n": 2, "logprobs": True, "top_logprobs": 3, "max_tokens": 9,
            "stream_options": {"include_usage": True}, "user": "u"}
    requests += [(0, chat), (0, chat | SAMPLING), (4, {"messages": [{"role": "x", "content": None}], "odd": [1, {}]})]
    for schema in SCHEMAS:
        requests += [(3, schema), (0, {"messages": MESSAGES[:2], "response_format": {
            "type": "json_schema", "json_schema": {"name": "s", "strict": True, "schema": schema}}})]
    requests += [(0, {"messages": MESSAGES[1:2], "response_format": {"type": "json_object"}}),
                 (0, {"messages": MESSAGES[1:2], "tool_choice": "auto", "tools": [
                     {"type": "function", "function": {"name": "add", "description": "d", "parameters": SCHEMAS[0]}}]}),
                 (1, {"prompt": ["a", [1, 2]], "max_tokens": 3, "echo": True, "logprobs": 2, "n": 2, "best_of": 2, "suffix": ""}),
                 (1, {"prompt": [1, 2, 3]} | SAMPLING),
                 (2, {"prompt": "Once", "n_predict": 4, "n_probs": 3, "return_tokens": True, "logit_bias": [[15, False]]}),
                 (6, {"prompt": "x", "grammar": GRAMMARS[2], "unknown": 1})]
    for name, seeds in (("Request_fuzz", [bytes([kind]) + json.dumps(body, ensure_ascii=False).encode() for kind, body in requests]),
                        ("Grammar_fuzz", [text.encode() for text in grammars])):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for i, seed in enumerate(seeds):
            (folder / name / f"seed-{i}").write_bytes(seed)

    words = set()

    def collect(value):
        if isinstance(value, dict):
            words.update(value)
            value = list(value.values())
        if isinstance(value, list):
            for each in value:
                collect(each)
        elif isinstance(value, str) and value.isascii() and value.isprintable() and len(value) < 30:
            words.add(value)

    collect([body for _, body in requests])
    escape = lambda word: word.replace("\\", "\\\\").replace('"', '\\"')
    (folder / "Request_fuzz.dict").write_text("".join(f'"\\"{escape(w)}\\""\n' for w in sorted(words) if w))
    (folder / "Grammar_fuzz.dict").write_text("".join(f'"{escape(w)}"\n' for w in
                                                      ("root", "::=", "{2,3}", "{0,}", '""', "[^", "\\x41", "\\u00e9", "a ::= ", "| ")))


if __name__ == "__main__":
    main(sys.argv[1])
