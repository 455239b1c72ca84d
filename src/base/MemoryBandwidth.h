// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace pewter {

/// How fast this machine reads memory, in bytes a second: the best of five passes over 256 MiB by `threads`
/// threads (at least one). Takes some tenths of a second.
double measureReadBandwidth(unsigned threads);

} // namespace pewter
