#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds and runs the main job. README.md's first command.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
cmake --preset release >/dev/null
cmake --build --preset release --target pewter-cli
build/release/bin/pewter generate -p "Once upon a time there was a shy owl named" -n 160 --temp 0.7 --seed 4
