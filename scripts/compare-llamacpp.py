#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures Pewter beside llama.cpp on this machine, taking turns, and prints ratios.

    scripts/compare-llamacpp.py [--types Q4_K,Q8_0] [--rounds 5] [--only decode|prefill|busy|start|error]
                               [--activations f32|int8] [--check] [--json FILE]

Fetches the prebuilt llama.cpp of the npm package node-llama-cpp 3.21.1 and its headers into .cache/peers,
writes models with random weights (0.95 billion) into .cache/models, and starts one process per engine and
number of threads. Each measurement asks both engines in turn, and the figure is the median over rounds of
the ratio within a round, because the speed of a shared machine drifts. Other work disturbs the figures:
run it alone, or compare processor time (--processor-time). --wait FILE prepares everything and measures when FILE exists.

--check compares each figure with its limit, prints those that miss it and then ends with status 1.

"error" measures exactness instead, on a smaller random model: the logits that follow prompts, with activations of
either kind, beside the same model in double.

Needs build/release/bin/PewterWorker (ninja -C build/release PewterWorker), for "error" also ReferenceLogits, g++, npm
and git.
"""
import argparse
import array
import contextlib
import json
import math
import mmap
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
VERSION = "3.21.1"
PEERS = ROOT / ".cache/peers"
LIBRARIES = PEERS / f"@node-llama-cpp/linux-x64@{VERSION}/package/bins/linux-x64"
PACKAGE = PEERS / f"node-llama-cpp@{VERSION}"
SOURCE = PACKAGE / "llama.cpp"
PROGRAMS = ROOT / "build/release/bin"
CONTEXT = 2048


# What --check wants, of llama.cpp's rate: at a depth with so many threads, and for prompts by activations.
LEAST_DECODE = {("16", "1"): 1.15, ("16", "2"): 1.10, ("1024", "2"): 1.25}
LEAST_PREFILL = {"f32": 1.0, "int8": 1.5}
MOST_LOSS = 0.06            # of a decode's rate from depth 16 to 1,024
LEAST_BESIDE_BUSY = 0.9     # of the rate of one thread of Pewter's alone
MOST_FIRST_TOKEN_S = 0.3


def fetch_peer():
    subprocess.run([ROOT / "scripts/fetch-peers.sh", f"@node-llama-cpp/linux-x64@{VERSION}", f"node-llama-cpp@{VERSION}"],
                   check=True, stdout=subprocess.DEVNULL)
    if not SOURCE.is_dir():
        subprocess.run(["git", "clone", "-q", "-c", "advice.detachedHead=false",
                        PACKAGE / "package/llama/gitRelease.bundle", SOURCE], check=True)
    source = ROOT / "bench/llamacpp/LlamaWorker.cpp"
    program = PROGRAMS / "LlamaWorker"
    if program.exists() and program.stat().st_mtime > source.stat().st_mtime:
        return
    subprocess.run(["g++", "-std=c++20", "-O2", f"-I{ROOT}/bench", f"-I{SOURCE}/include", f"-I{SOURCE}/ggml/include", source,
                    "-o", program, LIBRARIES / "libllama.v0.4.0.so", LIBRARIES / "libggml.v0.4.0.so",
                    LIBRARIES / "libggml-base.so", f"-Wl,-rpath,{LIBRARIES}", "-Wl,--allow-shlib-undefined"], check=True)


def make_model(kind, shape="M"):
    path = ROOT / f".cache/models/{shape}-{kind}.gguf"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        subprocess.run([sys.executable, ROOT / "bench/llamacpp/make_model.py", partial, "--type", kind, "--shape", shape],
                       check=True)
        partial.rename(path)
    with path.open("rb") as file:
        # Once out of the cache and in again in large pages, as Pewter's first start after a boot reads it.
        # What somebody else has mapped stays as it is.
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
            mapped.madvise(mmap.MADV_HUGEPAGE)
            sum(mapped[::4096])
    return path


class Stopped(Exception):
    """SIGTERM came: report what has been measured."""


def stop(signum, frame):
    raise Stopped


class Worker:
    """A process that holds one engine; see bench/llamacpp/Worker.h."""

    by_processor = False
    activations = "f32"

    def __init__(self, engine, model, threads, activations=None):
        environment = dict(os.environ, PEWTER_THREADS=str(threads))
        command = ([PROGRAMS / "PewterWorker", model, str(CONTEXT), activations or self.activations] if engine == "pewter" else
                   [PROGRAMS / "LlamaWorker", LIBRARIES, model, str(threads), str(CONTEXT)])
        self.began = time.perf_counter()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        if self.process.stdout.readline().strip() != "ready":
            raise SystemExit(f"compare: the {engine} worker did not start")

    def ask(self, request):
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"compare: a worker ended at \"{request}\"")
        wall, processor = map(float, answer.split())
        return processor if self.by_processor else wall

    def memory(self):
        """MiB that are not pages of a file."""
        fields = dict(line.split(":", 1) for line in
                      pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines())
        return sum(int(fields[name].split()[0]) for name in ("RssAnon", "RssShmem")) / 1024

    def stop(self):
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def busy_process():
    """One process that computes without end, as a neighbour."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    time.sleep(0.05)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def start_figures(model, threads):
    """Seconds from the start of a process to its first token, and its memory after a prompt of 512."""
    out = {}
    for engine in ("pewter", "llama"):
        Worker(engine, model, threads).stop()  # caches are warm, as at any start but the first
        seconds, memory = [], []
        for _ in range(3):
            worker = Worker(engine, model, threads)
            worker.ask("open 1")
            seconds.append(time.perf_counter() - worker.began)
            worker.ask("prefill 512")
            worker.ask("decode 1 16")
            memory.append(worker.memory())
            worker.stop()
        out[engine] = {"first_token_s": statistics.median(seconds), "memory_mib": max(memory)}
    return out


def error_figures(kind, threads):
    """Root mean square of what logits are off, over that of the logits, for several prompts."""
    model = make_model(kind, "S")
    prompts = (40, 96, 128)
    out = {}
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "logits"
        subprocess.run([PROGRAMS / "ReferenceLogits", model, path, *map(str, prompts)], check=True)
        exact = array.array("d", path.read_bytes())
        size = len(exact) // len(prompts)
        for engine, activations in (("pewter", "f32"), ("pewter", "int8"), ("llama", None)):
            worker = Worker(engine, model, threads, activations)
            errors = []
            for i, prompt in enumerate(prompts):
                worker.ask(f"logits {prompt} {path}")
                logits = array.array("f", path.read_bytes())
                wanted = exact[i * size:(i + 1) * size]
                errors.append(math.sqrt(sum((a - b) ** 2 for a, b in zip(logits, wanted, strict=True)) /
                                        sum(b * b for b in wanted)))
            worker.stop()
            out[engine if activations is None else f"{engine} {activations}"] = errors
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--types", default="Q4_K,Q8_0")
    parser.add_argument("--threads", default="2,1")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=24)
    parser.add_argument("--depths", default="16,1024")
    parser.add_argument("--prompts", default="128,512")
    parser.add_argument("--activations", default="f32", choices=["f32", "int8"], help="Pewter's, in prefill")
    parser.add_argument("--only", help="decode, prefill, busy, start or error, or several with commas")
    parser.add_argument("--wait", type=pathlib.Path)
    parser.add_argument("--processor-time", action="store_true",
                        help="rates by processor time, for a machine that is not quiet; one thread only")
    parser.add_argument("--check", action="store_true", help="end with status 1 when a limit is missed")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    wanted = set((options.only or "decode,prefill,busy,start").split(","))
    Worker.activations = options.activations
    threads = [int(t) for t in options.threads.split(",")]
    depths = options.depths.split(",")
    if options.processor_time:
        threads = [1]  # waiting for a partner costs processor time or not, as an engine likes
        Worker.by_processor = True
    if not (PROGRAMS / "PewterWorker").exists():
        raise SystemExit("compare: build it first: ninja -C build/release PewterWorker")
    fetch_peer()

    results = {}
    for kind in options.types.split(","):
        if "error" in wanted:
            results[kind] = {"error": error_figures(kind, max(threads))}
            for engine, errors in results[kind]["error"].items():
                print(f"{kind:<5} {engine:<12} logits are off by " + ", ".join(f"{e:.2e}" for e in errors))
            if wanted == {"error"}:
                continue
        model = make_model(kind)
        results.setdefault(kind, {})
        print(f"## random model of 0.95 billion weights, {kind}\n")
        if wanted & {"decode", "prefill", "busy"}:
            results[kind] |= compare(options, kind, model, threads, depths, wanted)
        if "start" in wanted:
            figures = start_figures(model, max(threads))
            results[kind]["start"] = figures
            for name, unit in (("first_token_s", "s"), ("memory_mib", "MiB")):
                ours, theirs = figures["pewter"][name], figures["llama"][name]
                print(f"{name:<16} pewter {ours:8.2f} {unit}, llama.cpp {theirs:8.2f} {unit}")
        print()
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    if options.check:
        missed = [text for kind, figures in results.items() for text in misses(kind, figures, options.activations)]
        print("\n".join(missed) or "all limits hold")
        if missed:
            sys.exit(1)


def misses(kind, figures, activations):
    """A line for each figure that is not as its limit wants it."""
    def unless(good, text):
        return [] if good else [f"missed: {kind}, {text}"]
    out = []
    for label, rate in figures.items():
        verb, *words = label.replace(",", "").split()
        least = (LEAST_DECODE.get((words[0], words[-2])) if verb == "decode" else
                 LEAST_PREFILL[activations] if verb == "prefill" and words[-2] == "2" else None)
        if least:
            out += unless(rate["ratio"] >= least, f"{label}: {rate['ratio']:.3f}, at least {least} is wanted")
        if "of_own_quiet_1_thread" in rate:
            share = rate["of_own_quiet_1_thread"]
            out += unless(share >= LEAST_BESIDE_BUSY, f"{label}: {share:.3f} of one quiet thread, at least "
                                                      f"{LEAST_BESIDE_BUSY} is wanted")
    near, far = (next((rate for label, rate in figures.items()
                       if label.startswith(f"decode {depth} ") and label.endswith(" 2 threads")), None)
                 for depth in (16, 1024))
    if near and far:
        loss = 1 - far["pewter"] / near["pewter"]
        out += unless(loss <= MOST_LOSS, f"decode loses {loss:.3f} from depth 16 to 1,024, at most {MOST_LOSS} is wanted")
    if "start" in figures:
        ours, theirs = figures["start"]["pewter"], figures["start"]["llama"]
        out += unless(ours["first_token_s"] <= MOST_FIRST_TOKEN_S, f"first token after {ours['first_token_s']:.2f} s, "
                                                                   f"at most {MOST_FIRST_TOKEN_S} is wanted")
        out += unless(ours["memory_mib"] <= theirs["memory_mib"], f"{ours['memory_mib']:.0f} MiB of memory, at most "
                                                                  f"{theirs['memory_mib']:.0f} are wanted")
    if "error" in figures:
        ours, theirs = (max(figures["error"][engine]) for engine in ("pewter f32", "llama"))
        out += unless(ours <= theirs, f"logits are off by {ours:.2e}, at most {theirs:.2e} is wanted")
    return out


def compare(options, kind, model, threads, depths, wanted):
    workers = {(engine, t): Worker(engine, model, t) for t in threads for engine in ("pewter", "llama")}
    if wanted & {"decode", "busy"}:
        for worker in workers.values():
            for depth in depths:
                worker.ask(f"open {depth}")
    requests = []
    if "decode" in wanted:
        requests += [f"decode {depth} {options.tokens}" for depth in depths]
    if "prefill" in wanted:
        requests += [f"prefill {count}" for count in options.prompts.split(",")]
    if options.wait:
        print(f"prepared; waiting for {options.wait}", file=sys.stderr)
        while not options.wait.exists():
            time.sleep(0.2)
    rates = {}
    opened = wanted & {"decode", "busy"}  # filling the caches has warmed prefill up
    for worker in workers.values():
        for request in requests:
            if not (opened and request.startswith("prefill")):
                worker.ask(request)

    def measure(t, request, label):
        for engine in ("pewter", "llama"):
            time.sleep(0.05)  # the other's threads go to sleep
            rates.setdefault((label, t, engine), []).append(workers[engine, t].ask(request))

    signal.signal(signal.SIGTERM, stop)
    with contextlib.suppress(Stopped):
        if "busy" in wanted:
            request = f"decode {depths[0]} {options.tokens}"
            quiet = rates["busy " + request, max(threads), "own quiet"] = []
            for _ in range(options.rounds):
                quiet.append(workers["pewter", min(threads)].ask(request))
                with busy_process():
                    measure(max(threads), request, "busy " + request)
        for _ in range(options.rounds):
            for t in threads:
                for request in requests:
                    measure(t, request, request)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for worker in workers.values():
        worker.stop()

    print(f"{'what':<24} {'threads':>7} {'pewter':>9} {'llama.cpp':>9} {'ratio':>7}   (least - most)")
    out = {}
    for (label, t, engine), ours in rates.items():
        if engine != "pewter":
            continue
        theirs = rates.get((label, t, "llama"), [])
        if not theirs:
            continue
        ratios = sorted(a / b for a, b in zip(ours, theirs))
        out[f"{label}, {t} threads"] = {"pewter": statistics.median(ours), "llama": statistics.median(theirs),
                                        "ratio": statistics.median(ratios), "least": ratios[0], "most": ratios[-1]}
        print(f"{label:<24} {t:>7} {statistics.median(ours):>9.2f} {statistics.median(theirs):>9.2f} "
              f"{statistics.median(ratios):>7.3f}   ({ratios[0]:.3f} - {ratios[-1]:.3f})")
        own = rates.get((label, t, "own quiet"))
        if own:
            share = statistics.median(a / b for a, b in zip(ours, own))
            out[f"{label}, {t} threads"]["of_own_quiet_1_thread"] = share
            print(f"{'':<24} {'':>7} {share:>9.3f} of pewter's own quiet speed with {min(threads)} thread")
    return out


if __name__ == "__main__":
    main()
