#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fetches what tests and benchmarks compare with into .cache/peers (never committed): npm packages
# that carry libraries built by Apple's compiler, and their sources. Needs npm and its registry; each
# package that cannot be had is reported and left out. Usage: fetch-peers.sh [PACKAGE@VERSION...]
set -uo pipefail
cd "$(dirname "$0")/.."
destination=.cache/peers
packages=("$@")
[ ${#packages[@]} -gt 0 ] || packages=(
  llama.rn@0.8.3 llama.rn@0.5.11 whisper.rn@0.4.3 # libraries
  llama.rn@0.9.0                                  # the source of the first (tests/support/PeerSource.h)
  llama.rn@0.12.9                                 # a larger source
)

if ! command -v npm >/dev/null; then
  if ! { apt-get update -qq && apt-get install -y -qq --no-install-recommends npm >/dev/null; }; then
    echo "fetch-peers: npm is not here and cannot be installed; nothing fetched" >&2
    exit 1
  fi
fi
mkdir -p "$destination"
status=0
for package in "${packages[@]}"; do
  target="$destination/$package"
  [ -d "$target/package" ] && continue
  work=$(mktemp -d)
  if (cd "$work" && npm pack --silent "$package" >/dev/null 2>&1) &&
    mkdir -p "$target" && tar -xzf "$work"/*.tgz -C "$target"; then
    echo "fetch-peers: $package"
  else
    echo "fetch-peers: $package could not be fetched" >&2
    status=1
  fi
  rm -rf "$work"
done
exit $status
