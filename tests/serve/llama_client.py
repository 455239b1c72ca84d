#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A client as people write them against llama.cpp's own routes: llama_client.py PEWTER. Standard library only.

Starts the server on a free port with two slots and checks each route's answer.
"""
import json
import re
import subprocess
import sys
import unittest
import urllib.error
import urllib.request

PROMPT = "Once upon a time there was a brave fox who lived near the river and"


class Client:
    def __init__(self, url):
        self.url = url

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=60) as answer:
            return json.load(answer)

    def post(self, path, **body):
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)

    def stream(self, **body):
        """The events of /completion as they come."""
        request = urllib.request.Request(self.url + "/completion", json.dumps(body | {"stream": True}).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=120) as answer:
            assert answer.headers["Content-Type"].startswith("text/event-stream")
            for line in answer:
                if line.startswith(b"data: "):
                    yield json.loads(line[6:])

    def tokens(self, text):
        return self.post("/tokenize", content=text)["tokens"]


class LlamaClient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = subprocess.Popen([PEWTER, "serve", "--port", "0", "--slots", "2", "--ctx", "512", "--alias", "tiny", "-q"],
                                      stdout=subprocess.PIPE, text=True)
        cls.client = Client(cls.server.stdout.readline().removeprefix("listening on ").strip())

    @classmethod
    def tearDownClass(cls):
        cls.server.terminate()
        status = cls.server.wait()
        cls.server.stdout.close()
        assert status == 0, status

    def test_props_and_health(self):
        self.assertEqual(self.client.get("/health"), {"status": "ok"})
        props = self.client.get("/props")
        self.assertEqual(props["total_slots"], 2)
        self.assertEqual(props["model_alias"], "tiny")
        self.assertEqual(props["default_generation_settings"]["n_ctx"], 512)
        self.assertIn("messages", props["chat_template"])

    def test_tokens_there_and_back(self):
        for text in ("Once upon a time", "naïve 🙂 façade\n\n\ttab", ""):
            ids = self.client.tokens(text)
            self.assertEqual(self.client.post("/detokenize", tokens=ids)["content"], text)
        pieces = self.client.post("/tokenize", content="the fox", with_pieces=True)["tokens"]
        self.assertEqual("".join(each["piece"] for each in pieces), "the fox")
        self.assertEqual([each["id"] for each in pieces], self.client.tokens("the fox"))

    def test_completion_whole_and_in_pieces(self):
        settings = dict(prompt=PROMPT, n_predict=24, temperature=0.9, seed=11, ignore_eos=True, return_tokens=True)
        whole = self.client.post("/completion", **settings)
        self.assertEqual(whole["tokens_predicted"], 24)
        self.assertEqual(whole["stop_type"], "limit")
        self.assertEqual(len(whole["tokens"]), 24)
        self.assertIn(whole["tokens_evaluated"] - len(self.client.tokens(PROMPT)), (0, 1))  # with or without a first token
        self.assertEqual(whole["generation_settings"]["seed"], 11)
        self.assertGreater(whole["timings"]["predicted_per_second"], 0)
        events = list(self.client.stream(**settings))
        self.assertGreater(len(events), 5)
        self.assertEqual([event["stop"] for event in events], [False] * (len(events) - 1) + [True])
        self.assertEqual("".join(event["content"] for event in events), whole["content"])
        self.assertEqual(events[-1]["tokens_predicted"], 24)

    def test_stop_strings(self):
        text = self.client.post("/completion", prompt=PROMPT, n_predict=40, temperature=0, ignore_eos=True)["content"]
        word = text.split()[3]
        cut = self.client.post("/completion", prompt=PROMPT, n_predict=40, temperature=0, ignore_eos=True, stop=[word])
        self.assertEqual(cut["stop_type"], "word")
        self.assertEqual(cut["stopping_word"], word)
        self.assertEqual(cut["content"], text[:text.index(word)])

    def test_probabilities(self):
        answer = self.client.post("/completion", prompt=PROMPT, n_predict=6, temperature=0, n_probs=4, return_tokens=True)
        tokens = answer["completion_probabilities"]
        self.assertEqual([token["id"] for token in tokens], answer["tokens"])
        for token in tokens:
            best = [each["logprob"] for each in token["top_logprobs"]]
            self.assertEqual(len(best), 4)
            self.assertEqual(best, sorted(best, reverse=True))
            self.assertEqual(token["id"], token["top_logprobs"][0]["id"])  # greedy
            self.assertEqual(token["logprob"], best[0])
            self.assertEqual(bytes(token["bytes"]).decode("utf-8", "replace"), token["token"])

    def test_grammar(self):
        grammar = r'root ::= "(" [0-9]{2,3} ("," [0-9]{2,3}){1,2} ")"'
        for seed in range(4):
            text = self.client.post("/completion", prompt=PROMPT, n_predict=40, seed=seed, grammar=grammar)["content"]
            self.assertRegex(text, r"^\([0-9]{2,3}(,[0-9]{2,3}){1,2}\)$")
        text = self.client.post("/completion", prompt=PROMPT, n_predict=60, seed=1, json_schema={"enum": ["red", "blue"]})["content"]
        self.assertIn(json.loads(text), ("red", "blue"))

    def test_cached_prompts(self):
        settings = dict(prompt=PROMPT * 4, n_predict=8, temperature=0, id_slot=1, return_tokens=True)
        fresh = self.client.post("/completion", cache_prompt=False, **settings)
        again = self.client.post("/completion", cache_prompt=True, **settings)
        self.assertEqual(fresh["tokens_cached"], 0)
        self.assertGreater(again["tokens_cached"], 16)
        self.assertEqual(again["timings"]["prompt_n"], again["tokens_evaluated"] - again["tokens_cached"])
        self.assertEqual(again["tokens"], fresh["tokens"])

    def test_slots(self):
        for wanted in (1, 0):
            events = self.client.stream(prompt=PROMPT, n_predict=200, ignore_eos=True, id_slot=wanted)
            next(events)
            slots = self.client.get("/slots")
            self.assertEqual([slot["id"] for slot in slots], [0, 1])
            self.assertEqual(slots[wanted]["is_processing"], True)
            self.assertEqual(slots[1 - wanted]["is_processing"], False)
            self.assertEqual(list(events)[-1]["stop"], True)
        with self.assertRaises(urllib.error.HTTPError) as refused:
            self.client.post("/completion", prompt="x", id_slot=2)
        self.assertEqual(refused.exception.code, 400)
        refused.exception.close()

    def test_refusals_name_the_field(self):
        with self.assertRaises(urllib.error.HTTPError) as refused:
            self.client.post("/completion", prompt="x", n_predcit=3)
        error = json.load(refused.exception)["error"]
        self.assertEqual(error["code"], 400)
        self.assertTrue(re.search("n_predcit", error["message"]))
        refused.exception.close()


if __name__ == "__main__":
    PEWTER = sys.argv.pop(1)
    unittest.main()
