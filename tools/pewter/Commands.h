// SPDX-License-Identifier: Apache-2.0
//
// Each function adds one subcommand to the command line; its callback writes the exit status.
#pragma once
#include "base/Error.h"

namespace CLI {
class App;
}

namespace pewter::tools {

void addBench(CLI::App &app, int &status);
void addChat(CLI::App &app, int &status);
void addCompile(CLI::App &app, int &status);
void addDevices(CLI::App &app, int &status);
void addGenerate(CLI::App &app, int &status);
void addGguf(CLI::App &app, int &status);
void addInspect(CLI::App &app, int &status);
void addMetal(CLI::App &app, int &status);
void addPerplexity(CLI::App &app, int &status);
void addQuantize(CLI::App &app, int &status);
void addRun(CLI::App &app, int &status);
void addServe(CLI::App &app, int &status);
void addToggles(CLI::App &app, int &status);

/// True for `pewter compile` with options of Apple's compiler, which `pewter metal` understands.
bool isMetalCommandLine(int argc, char **argv);

/// The exit status of a command: 0, or 1 after printing the error.
int report(const Result<void> &result);

} // namespace pewter::tools
