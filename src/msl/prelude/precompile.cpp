// SPDX-License-Identifier: Apache-2.0
//
// pewter-precompile PRELUDE.metal PRELUDE.pch: a build step; see Extra.cmake.
#include "base/Bytes.h"
#include "msl/frontend/Session.h"
#include <fmt/format.h>

int main(int count, char **arguments) {
  if (count != 3) {
    fmt::print(stderr, "usage: pewter-precompile PRELUDE.metal PRELUDE.pch\n");
    return 2;
  }
  const auto text = pewter::readFile(arguments[1]);
  if (!text) {
    fmt::print(stderr, "{}\n", text.error().describe());
    return 1;
  }
  pewter::msl::Diagnostics diagnostics;
  std::string precompiled;
  pewter::msl::withDeepStack([&] {
    precompiled = pewter::msl::precompile(pewter::textOf(*text), diagnostics);
  });
  fmt::print(stderr, "{}", diagnostics.text());
  if (precompiled.empty())
    return 1;
  const auto written = pewter::writeFileAtomically(arguments[2], pewter::viewOf(precompiled));
  if (!written) {
    fmt::print(stderr, "{}\n", written.error().describe());
    return 1;
  }
  return 0;
}
