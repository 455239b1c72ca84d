// SPDX-License-Identifier: Apache-2.0
// `pewter toggles`: prints base/Toggles.def.
#include "base/Toggles.h"
#include "pewter/Commands.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace pewter::tools {

void addToggles(CLI::App &app, int &status) {
  CLI::App *command = app.add_subcommand("toggles", "Print the switches that PEWTER_TOGGLES sets");
  command->callback([&status] {
    for (const ToggleInfo &toggle : allToggles())
      fmt::print("{:24} {:4} {}\n", toggle.name, toggle.defaultValue ? "on" : "off", toggle.meaning);
    status = 0;
  });
}

} // namespace pewter::tools
