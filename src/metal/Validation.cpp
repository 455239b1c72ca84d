// SPDX-License-Identifier: Apache-2.0
// Tested by tests/api/ComputeEncoder_test.cpp.
#include "metal/Validation.h"
#include "base/Toggles.h"
#include <Pewter/Pewter.hpp>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace pewter::metal {
namespace {

struct Handler {
  std::recursive_mutex mutex;
  Pewter::MisuseHandler call;
};

Handler &handler() {
  static auto *handler = new Handler();
  return *handler;
}

} // namespace

void reportMisuse(const Error &error) {
  Handler &current = handler();
  std::lock_guard lock(current.mutex);
  std::string text = error.describe();
  if (current.call)
    current.call(text.c_str());
  else if (enabled(Toggle::validation))
    std::fprintf(stderr, "pewter: %s\n", text.c_str());
  if (enabled(Toggle::abort_on_misuse))
    std::abort();
}

} // namespace pewter::metal

void Pewter::SetMisuseHandler(MisuseHandler newHandler) {
  auto &current = pewter::metal::handler();
  std::lock_guard lock(current.mutex);
  current.call = std::move(newHandler);
}
