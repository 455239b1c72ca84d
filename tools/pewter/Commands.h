// SPDX-License-Identifier: Apache-2.0
//
// Each function adds one subcommand to the command line; its callback writes the exit status.
#pragma once

namespace CLI {
class App;
}

namespace pewter::tools {

void addGguf(CLI::App &app, int &status);
void addInspect(CLI::App &app, int &status);
void addQuantize(CLI::App &app, int &status);
void addToggles(CLI::App &app, int &status);

} // namespace pewter::tools
