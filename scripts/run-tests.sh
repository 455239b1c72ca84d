#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds and runs the tests. README.md's second command.
#
#   scripts/run-tests.sh          everything but the long runs and the benchmarks
#   scripts/run-tests.sh --slow   the long runs alone: every kernel of the fetched libraries
#   scripts/run-tests.sh ARGS...  further arguments go to ctest
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
scripts/fetch-peers.sh llama.rn@0.8.3 || true
cmake --preset release >/dev/null
cmake --build --preset release
selection=(-LE 'slow|perf')
if [ "${1:-}" = --slow ]; then
  selection=(-L slow)
  shift
fi
ctest --preset release -j"$(nproc)" "${selection[@]}" "$@"
