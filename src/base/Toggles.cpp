// SPDX-License-Identifier: Apache-2.0
// Tested by Toggles_test.cpp.
#include "base/Toggles.h"
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace pewter {
namespace {

constexpr auto kToggles = std::to_array<ToggleInfo>({
#define TOGGLE(name, defaultValue, meaning) {#name, meaning, defaultValue},
#include "base/Toggles.def"
#undef TOGGLE
});

Result<void> applyList(std::array<std::atomic<bool>, kToggles.size()> &values, std::string_view list) {
  while (!list.empty()) {
    std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), item.size() + 1));
    if (item.empty())
      continue;
    bool on = !item.starts_with("no-");
    std::string_view name = on ? item : item.substr(3);
    bool known = false;
    for (size_t i = 0; i < kToggles.size(); ++i) {
      if (kToggles[i].name == name) {
        values[i].store(on, std::memory_order_relaxed);
        known = true;
      }
    }
    if (!known)
      return fail(ErrorKind::Validation,
                  "Toggle \"{}\" does not exist; `pewter toggles` prints those that do.", name);
  }
  return {};
}

std::array<std::atomic<bool>, kToggles.size()> &values() {
  static auto &table = []() -> std::array<std::atomic<bool>, kToggles.size()> & {
    static std::array<std::atomic<bool>, kToggles.size()> storage;
    for (size_t i = 0; i < kToggles.size(); ++i)
      storage[i].store(kToggles[i].defaultValue, std::memory_order_relaxed);
    if (auto list = environment("PEWTER_TOGGLES"))
      if (auto applied = applyList(storage, *list); !applied)
        std::fprintf(stderr, "pewter: PEWTER_TOGGLES: %s\n", applied.error().message().c_str());
    return storage;
  }();
  return table;
}

} // namespace

bool enabled(Toggle toggle) {
  return values()[static_cast<size_t>(toggle)].load(std::memory_order_relaxed);
}

void setToggle(Toggle toggle, bool on) {
  values()[static_cast<size_t>(toggle)].store(on, std::memory_order_relaxed);
}

Result<void> setToggles(std::string_view list) { return applyList(values(), list); }

std::span<const ToggleInfo> allToggles() { return kToggles; }

std::optional<std::string> environment(const char *name) {
  const char *value = std::getenv(name);
  if (!value)
    return std::nullopt;
  return std::string(value);
}

} // namespace pewter
