// SPDX-License-Identifier: Apache-2.0
//
// guarded: runs one call of the compiler so that a fault inside it (LLVM's bitcode reader does not
// survive every damaged module) is an error of that call and not the end of the process. The call
// runs on a thread of its own with a stack deep enough for deeply nested input. What the call had
// allocated before the fault is lost.
#pragma once
#include "base/Error.h"
#include <functional>
#include <optional>

namespace pewter::compiler {

/// Runs `work` to its end; an error, which names `doing`, where it faulted.
Result<void> runGuarded(const std::function<void()> &work, std::string_view doing);

template <typename Work> auto guarded(std::string_view doing, Work &&work) -> decltype(work()) {
  std::optional<decltype(work())> result;
  if (auto ended = runGuarded([&] { result.emplace(work()); }, doing); !ended)
    return std::unexpected(std::move(ended).error());
  return std::move(*result);
}

} // namespace pewter::compiler
