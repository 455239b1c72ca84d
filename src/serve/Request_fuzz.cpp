// SPDX-License-Identifier: Apache-2.0
// Any body is read or refused by each route's reader. The first byte picks the reader.
#include "serve/CompletionRequest.h"
#include "serve/JsonSchema.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace pewter::serve;
  if (size == 0)
    return 0;
  auto body = parseJson({reinterpret_cast<const char *>(data) + 1, size - 1});
  if (!body)
    return 0;
  static_cast<void>(dumpJson(*body));
  ReadingOptions options{.lenient = (data[0] & 4) != 0, .vocabulary = 2048};
  switch (data[0] & 3) {
  case 0: static_cast<void>(readChatRequest(*body, options).has_value()); break;
  case 1: static_cast<void>(readCompletionRequest(*body, options).has_value()); break;
  case 2: static_cast<void>(readLlamaRequest(*body, options).has_value()); break;
  case 3:
    // Whatever a schema becomes is a grammar.
    if (auto text = grammarOfSchema(*body, options.lenient))
      if (auto grammar = Grammar::parse(*text); !grammar && grammar.error().message().find("symbols") == std::string::npos)
        __builtin_trap();
  }
  return 0;
}
