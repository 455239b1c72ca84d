#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks a trace of `pewter bench --phase-profile --trace`: complete events, one per group, in order."""
import json
import sys

events = json.load(open(sys.argv[1]))["traceEvents"]
for process in (1, 2):  # a token, a prompt
    spans = [e for e in events if e["pid"] == process and e["ph"] == "X"]
    names = [e["name"] for e in spans]
    assert names[0] == "embedding" and names[-1] == "softcap", names
    assert names.count("qkvg") == 8 and names.count("rope") == 6, names
    assert {e["tid"] for e in spans} == set(range(9)), "one row per layer, and one for the rest"
    assert all(e["dur"] >= 0 for e in spans)
    assert all(a["ts"] <= b["ts"] for a, b in zip(spans, spans[1:])), "groups follow each other"
