#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs everything that building, running and testing Pewter needs on Debian 12. Run as root.
set -euo pipefail

packages=(
  clang-22 llvm-22-dev libclang-22-dev libclang-cpp22-dev libclang-rt-22-dev lld-22 llvm-22-tools
  g++ cmake ninja-build ccache git python3
  libboost-context-dev libfmt-dev libcli11-dev nlohmann-json3-dev libpcre2-dev libxxhash-dev libpng-dev
  libcpp-httplib-dev libssl-dev prometheus-cpp-dev
  libgtest-dev libgmock-dev libbenchmark-dev
)

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' ||
    missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  export DEBIAN_FRONTEND=noninteractive
  echo "setup: installing ${missing[*]}"
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi
echo "setup: done"
