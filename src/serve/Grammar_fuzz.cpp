// SPDX-License-Identifier: Apache-2.0
// Any bytes are a grammar or refused; what a grammar says may come next, fits.
#include "serve/Grammar.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace pewter::serve;
  auto grammar = Grammar::parse({reinterpret_cast<const char *>(data), size});
  if (!grammar)
    return 0;
  GrammarMatcher matcher(*grammar);
  uint32_t random = static_cast<uint32_t>(size);
  for (int i = 0; i < 24; ++i) {
    Grammar::ByteSet next = matcher.next();
    if (next.none())
      break;
    random = random * 1664525u + 1013904223u;
    unsigned byte = random >> 24;
    while (!next[byte])
      byte = (byte + 1) % 256;
    if (!matcher.push(static_cast<unsigned char>(byte)) && !matcher.overwhelmed())
      __builtin_trap();
  }
  size_t length = matcher.length();
  if (length)
    matcher.pop(length);
  return 0;
}
