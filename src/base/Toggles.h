// SPDX-License-Identifier: Apache-2.0
//
// Toggles: every behaviour switch, in one table (Toggles.def), and the environment variables that
// Pewter reads. This is the one place that calls getenv. Reading a toggle is a relaxed atomic load;
// any thread may read or set one.
//
//   if (enabled(Toggle::dump_air))
//     print(module);
#pragma once
#include "base/Error.h"
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pewter {

enum class Toggle {
#define TOGGLE(name, defaultValue, meaning) name,
#include "base/Toggles.def"
#undef TOGGLE
};

bool enabled(Toggle toggle);
void setToggle(Toggle toggle, bool on);

/// Sets toggles from a list like "dump_air,no-disk_cache". An unknown name is an error naming it.
Result<void> setToggles(std::string_view list);

struct ToggleInfo {
  std::string_view name;
  std::string_view meaning;
  bool defaultValue;
};
std::span<const ToggleInfo> allToggles();

/// The value of an environment variable, or nothing when it is unset.
std::optional<std::string> environment(const char *name);

} // namespace pewter
