#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many clients at a time, good, slow, broken and hostile ones, against the real program on a free port.

    load.py PEWTER [--seconds 20] [--connections 200] [--seed 1] [--pause 1] [-- MORE FLAGS OF serve]

PEWTER_LOAD_SECONDS overrides --seconds. Every answer must have one of the statuses that its request can
earn, good answers must say what they said the first time, the server must live and stop in order, and in
runs of five minutes or more its memory must be flat within 2 % once all caches are warm (the first third).
Where this program itself is stopped for a while (a machine that is put to sleep, or frozen for others'
measurements), the time does not count, and requests of that time may have run out of theirs. Standard
library only.
"""
import argparse
import asyncio
import collections
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

KEY = "load-key"
BUSY = {429, 503}  # no slot in time, or more connections than the server takes
FLAT_FROM, FLAT = 300, 0.02


class Wrong(Exception):
    pass


class Stopped(Exception):
    pass


def head(method, path, fields=(), key=KEY):
    lines = [f"{method} {path} HTTP/1.1", "Host: load"] + ([f"Authorization: Bearer {key}"] if key else []) + list(fields)
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def post(path, body, key=KEY, fields=()):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return head("POST", path, ["Content-Type: application/json", f"Content-Length: {len(data)}", *fields], key) + data


class Client:
    """One connection."""

    def __init__(self, port):
        self.port = port

    async def __aenter__(self):
        self.reader, self.writer = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", self.port, limit=1 << 22), 20)
        return self

    async def __aexit__(self, *_):
        self.writer.close()

    async def send(self, data):
        try:
            self.writer.write(data)
            await asyncio.wait_for(self.writer.drain(), 30)
            return True
        except (ConnectionError, asyncio.TimeoutError):
            return False

    async def answer(self, onPart=None):
        """Status and body; 0 when the connection ends without an answer."""
        try:
            top = await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), 60)
        except (asyncio.IncompleteReadError, ConnectionError):
            return 0, b""
        lines = top.decode("latin-1").split("\r\n")
        status = int(lines[0].split()[1])
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        body = b""
        try:
            if fields.get("transfer-encoding") == "chunked":
                while True:
                    size = int(await asyncio.wait_for(self.reader.readline(), 60), 16)
                    part = (await asyncio.wait_for(self.reader.readexactly(size + 2), 60))[:-2]
                    body += part
                    if size == 0:
                        break
                    if onPart and not await onPart(part):
                        return status, None
            else:
                body = await asyncio.wait_for(self.reader.readexactly(int(fields.get("content-length", 0))), 60)
        except (asyncio.IncompleteReadError, ConnectionError, ValueError):
            return status, None
        return status, body

    def reset(self):
        import socket
        import struct
        self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class Load:
    def __init__(self, port, args, seconds):
        self.port, self.args = port, args
        self.counts = collections.Counter()
        self.known = {}
        self.wrong = []
        self.until = time.monotonic() + seconds
        self.stopped = 0  # seconds in which this program did not run
        self.stoppedAt = 0

    def check(self, kind, status, allowed):
        if status in (0, 400, 408) and status not in allowed and time.monotonic() - self.stoppedAt < 61:
            self.counts[(kind + " (stopped)", status)] += 1
            raise Stopped()
        self.counts[(kind, status)] += 1
        if status not in allowed:
            raise Wrong(f"{kind}: status {status}; one of {sorted(allowed)} is expected")

    def same(self, name, text):
        if self.known.setdefault(name, text) != text:
            raise Wrong(f"{name} said {text!r} instead of {self.known[name]!r}")

    # Good ones.
    async def chat(self, c, r):
        i = r.randrange(4)
        await c.send(post("/v1/chat/completions", {"messages": [{"role": "user", "content": f"What is 7 plus {i}?"}],
                                                   "temperature": 0, "max_tokens": 20}))
        status, body = await c.answer()
        self.check("chat", status, {200} | BUSY)
        if status == 200:
            self.same(f"chat {i}", json.loads(body)["choices"][0]["message"]["content"])

    async def stream(self, c, r, pause=0):
        i = r.randrange(4)

        async def read(_):
            if pause:
                await asyncio.sleep(pause * r.random())
            return True
        await c.send(post("/completion", {"prompt": "Once upon a time" * (1 + i), "n_predict": 24, "seed": 5, "stream": True,
                                          "ignore_eos": True}))
        status, body = await c.answer(read)
        self.check("slow reader" if pause else "stream", status, {200} | BUSY)
        if status == 200 and body is not None:
            events = [json.loads(line[6:]) for line in body.decode().split("\n") if line.startswith("data: ")]
            if not events[-1]["stop"]:
                raise Wrong("a stream has no end")
            self.same(f"stream {i}", "".join(event["content"] for event in events))
        elif status == 200:
            self.check("stream that broke off", 0, set())

    async def slowReader(self, c, r):
        await self.stream(c, r, pause=0.2)

    async def several(self, c, r):
        for _ in range(r.randrange(1, 6)):
            await c.send(post("/tokenize", {"content": "the old miller" * r.randrange(1, 50)}) if r.random() < 0.5
                         else head("GET", r.choice(["/health", "/props", "/slots", "/metrics", "/telemetry", "/v1/models", "/"])))
            status, _ = await c.answer()
            self.check("keep-alive", status, {200} | BUSY)
            if status != 200:
                return

    async def grammar(self, c, r):
        await c.send(post("/v1/chat/completions", {
            "messages": [{"role": "user", "content": "Name one."}], "seed": 3, "max_tokens": 40,
            "response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": {
                "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}}}}))
        status, body = await c.answer()
        self.check("schema", status, {200} | BUSY)
        if status == 200:
            self.same("schema", json.loads(body)["choices"][0]["message"]["content"])

    async def longPrompt(self, c, r):
        await c.send(post("/completion", {"prompt": [5 + i % 900 for i in range(r.randrange(100, 700))], "n_predict": 2}))
        self.check("long prompt", (await c.answer())[0], {200} | BUSY)

    # Those that leave.
    async def leaves(self, c, r):
        left = r.randrange(1, 9)

        async def read(_):
            nonlocal left
            left -= 1
            return left > 0
        await c.send(post("/completion", {"prompt": "Once", "n_predict": 400, "ignore_eos": True, "stream": True}))
        status, _ = await c.answer(read)
        self.check("leaves", status, {200} | BUSY)
        if r.random() < 0.5:
            c.reset()

    async def leavesAtOnce(self, c, r):
        whole = post("/completion", {"prompt": "Once", "n_predict": 50})
        await c.send(whole[:r.randrange(1, len(whole) + 1)])
        if r.random() < 0.5:
            c.reset()
        self.counts[("leaves at once", 0)] += 1

    async def saysNothing(self, c, r):
        await asyncio.sleep(r.random() * 3)
        self.counts[("says nothing", 0)] += 1

    # Slow ones.
    async def slowHead(self, c, r):
        await self.drip(c, head("GET", "/health", ["X-Slow: " + "y" * 300]), 0.05)
        self.check("slow head", (await c.answer())[0], {408, 503})

    async def slowBody(self, c, r):
        whole = post("/tokenize", {"content": "a" * 300})
        await c.send(whole[:-280])
        await self.drip(c, whole[-280:], 0.05)
        self.check("slow body", (await c.answer())[0], {400, 503})

    async def drip(self, c, data, pause):
        for i in range(len(data)):
            if not await c.send(data[i:i + 1]) or c.reader.at_eof() or c.reader._buffer:
                return
            await asyncio.sleep(pause)

    # Hostile ones.
    async def one(self, c, kind, data, allowed):
        await c.send(data)
        self.check(kind, (await c.answer())[0], allowed | {503})

    async def badJson(self, c, r):
        body = r.choice([b"", b"{", b"nul", b"[1]", b'{"prompt":', b"{'prompt':1}", b'{"prompt":"x","temperature":1e999}',
                         b'{"prompt":"\\ud800"}', b'{"prompt":"x","odd":1}', bytes(r.randrange(256) for _ in range(60))])
        await self.one(c, "bad JSON", post(r.choice(["/completion", "/v1/completions", "/v1/chat/completions"]), body), {400})

    async def badText(self, c, r):
        text = r.choice([b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\xaf"])
        await self.one(c, "invalid UTF-8", post("/tokenize", b'{"content":"' + text + b'"}'), {400})

    async def deep(self, c, r):
        await self.one(c, "deep nesting", post("/tokenize", b"[" * r.choice([65, 1000, 200000])), {400})

    async def hugeHead(self, c, r):
        await self.one(c, "huge head", head("GET", "/health", [f"X{i}: " + "y" * 100 for i in range(r.choice([400, 4000]))]), {431})

    async def longTarget(self, c, r):
        await self.one(c, "long target", head("GET", "/" + "a" * 4000), {414})

    async def wrongKey(self, c, r):
        await self.one(c, "wrong key", post("/completion", {"prompt": "x"}, key=r.choice(["", "load-ke", "load-key2", "x" * 900])), {401})

    async def wrongRoute(self, c, r):
        await self.one(c, "wrong route", head("GET", r.choice(["/nowhere", "/v1/chat/../x", "/%00"])), {404})
        async with Client(self.port) as other:
            await self.one(other, "wrong method", head(r.choice(["DELETE", "GET"]), "/completion"), {405})

    async def wrongType(self, c, r):
        await self.one(c, "wrong type", b"POST /tokenize HTTP/1.1\r\nAuthorization: Bearer load-key\r\nContent-Type: text/plain\r\n"
                       b"Content-Length: 2\r\n\r\n{}", {415})

    async def largeBody(self, c, r):
        await self.one(c, "large body", post("/tokenize", b'{"content":"' + b"x" * (3 << 20) + b'"}'), {413, 0})

    async def twoReadings(self, c, r):
        await self.one(c, "two readings", r.choice([
            head("POST", "/tokenize", ["Content-Length: 2", "Content-Length: 3"]) + b"{}",
            head("POST", "/tokenize", ["Content-Length: 2", "Transfer-Encoding: chunked"]) + b"{}",
            b"GET /health HTTP/1.1\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"]), {400})

    async def badGrammar(self, c, r):
        grammar = r.choice(["root ::= ", "root ::= x", 'root ::= "a"{2000}{2000}', "(" * 500, 'root ::= root root | "" | [^"]'])
        await self.one(c, "bad grammar", post("/completion", {"prompt": "x", "n_predict": 4, "grammar": grammar}), {400, 200} | BUSY)

    async def worker(self, number):
        r = random.Random(self.args.seed * 1000 + number)
        good = [self.chat, self.stream, self.several, self.grammar, self.longPrompt, self.slowReader]
        bad = [self.leaves, self.leavesAtOnce, self.saysNothing, self.slowHead, self.slowBody, self.badJson, self.badText, self.deep,
               self.hugeHead, self.longTarget, self.wrongKey, self.wrongRoute, self.wrongType, self.largeBody, self.twoReadings,
               self.badGrammar]
        while time.monotonic() < self.until and len(self.wrong) < 10:
            act = r.choice(good if r.random() < 0.4 else bad)
            try:
                async with Client(self.port) as client:
                    await act(client, r)
            except Stopped:
                pass
            except Wrong as wrong:
                self.wrong.append(str(wrong))
            except Exception as error:  # a connection that fails, an answer that cannot be read, or none in a minute
                if time.monotonic() - self.stoppedAt < 61:
                    self.counts[(act.__name__ + " (stopped)", 0)] += 1
                else:
                    self.wrong.append(f"{act.__name__}: {type(error).__name__}: {error}")
            await asyncio.sleep(r.random() * 2 * self.args.pause)


def resident(pid):
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


async def run(load, server, seconds, connections):
    samples = []

    async def watch():
        every = min(5, seconds / 20)
        taken = last = time.monotonic()
        while time.monotonic() < load.until and server.poll() is None:
            await asyncio.sleep(0.1)
            now = time.monotonic()
            if now - last > 1.5:
                load.stopped += now - last
                load.until += now - last
                load.stoppedAt = now
            last = now
            if now - taken > every:
                samples.append(resident(server.pid))
                taken = now
    await asyncio.gather(watch(), *(load.worker(i) for i in range(connections)))
    return samples


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pewter")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--connections", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pause", type=float, default=1.0, help="mean seconds of a client between its requests")
    words = sys.argv[1:]
    cut = words.index("--") if "--" in words else len(words)
    args, more = parser.parse_args(words[:cut]), words[cut + 1:]
    seconds = float(os.environ.get("PEWTER_LOAD_SECONDS", args.seconds))
    errors = tempfile.TemporaryFile("w+")
    server = subprocess.Popen([args.pewter, "serve", "--port", "0", "-q", "--slots", "4", "--api-key", KEY, "--head-seconds", "2",
                               "--body-seconds", "2", "--write-seconds", "2", "--queue-seconds", "10", "--body-megabytes", "1",
                               "--max-connections", "256", "--stop-seconds", "5", *more],
                              stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        port = int(server.stdout.readline().rpartition(":")[2])
        load = Load(port, args, seconds)
        samples = asyncio.run(run(load, server, seconds, args.connections))
        if server.poll() is not None:
            load.wrong.append(f"the server ended with {server.returncode}")
        server.send_signal(signal.SIGTERM)
        try:
            if server.wait(60) != 0:
                load.wrong.append(f"the server stopped with {server.returncode}")
        except subprocess.TimeoutExpired:
            load.wrong.append("the server does not stop")
    finally:
        server.kill()
    errors.seek(0)
    if text := errors.read():
        load.wrong.append("the server wrote: " + text[-2000:])

    for (kind, status), count in sorted(load.counts.items()):
        print(f"{kind:16} {status or 'none':>5} {count:8}")
    first, last = samples[len(samples) // 3:len(samples) // 2], samples[-len(samples) // 6:]
    growth = statistics.median(last) / statistics.median(first) - 1
    print(f"{sum(load.counts.values())} requests, {args.connections} clients, {seconds:.0f} s (and {load.stopped:.0f} s stopped); resident "
          f"{samples[0] / 1e6:.1f} MB at first, {statistics.median(first) / 1e6:.1f} warm, {statistics.median(last) / 1e6:.1f} at the "
          f"end ({growth:+.2%}), at most {max(samples) / 1e6:.1f}")
    if seconds >= FLAT_FROM and abs(growth) > FLAT:
        load.wrong.append(f"the memory changed by {growth:+.2%}; {FLAT:.0%} is allowed")
    if sum(count for (_, status), count in load.counts.items() if status == 200) < seconds:
        load.wrong.append("hardly any request was served")
    for wrong in load.wrong:
        print("WRONG:", wrong)
    return 1 if load.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
