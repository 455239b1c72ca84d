#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Fuzzes what reads requests and grammars: scripts/fuzz-serve.sh [SECONDS] [TARGET...]
#
# Builds the targets in build/fuzz, writes seeds into build/fuzz/corpus/TARGET, and runs each for SECONDS
# (600), one after the other. Ends with 1 at the first finding, which stays in build/fuzz/TARGET-*.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-600}
targets=("${@:2}")
[ ${#targets[@]} -gt 0 ] || targets=(Request_fuzz Grammar_fuzz)
[ -f build/fuzz/build.ninja ] || cmake -S . -B build/fuzz -G Ninja -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 \
  -DCMAKE_BUILD_TYPE=Release -DPEWTER_BUILD_FUZZERS=ON -DPEWTER_BUILD_COMPILER=OFF -DPEWTER_BUILD_TESTS=OFF \
  -DPEWTER_BUILD_BENCHMARKS=OFF
cmake --build build/fuzz --target "${targets[@]}"
python3 tests/serve/fuzz_seeds.py build/fuzz/corpus
for target in "${targets[@]}"; do
  echo "$target: $seconds s"
  build/fuzz/bin/"$target" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=150 -max_len=16384 -print_final_stats=1 \
    -dict=build/fuzz/corpus/$target.dict -artifact_prefix=build/fuzz/$target- build/fuzz/corpus/$target
done
