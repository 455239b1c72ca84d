#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds and runs every test. README.md's second command.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
scripts/fetch-peers.sh llama.rn@0.8.3 || true
cmake --preset release >/dev/null
cmake --build --preset release
ctest --preset release -j"$(nproc)" "$@"
