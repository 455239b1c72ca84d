// SPDX-License-Identifier: Apache-2.0
// The pewter command: one subcommand per file; here only the list of them. Exit codes: 0 done,
// 1 failed, 2 usage.
#include "pewter/Commands.h"
#include <CLI/CLI.hpp>
#include <cstdio>

int main(int argc, char **argv) {
  CLI::App app{"Pewter: Metal compute on machines that have no Metal."};
  app.require_subcommand(1);
  int status = 0;
  pewter::tools::addBench(app, status);
  pewter::tools::addChat(app, status);
  pewter::tools::addCompile(app, status);
  pewter::tools::addDevices(app, status);
  pewter::tools::addGenerate(app, status);
  pewter::tools::addGguf(app, status);
  pewter::tools::addInspect(app, status);
  pewter::tools::addMetal(app, status);
  pewter::tools::addPerplexity(app, status);
  pewter::tools::addQuantize(app, status);
  pewter::tools::addRun(app, status);
  pewter::tools::addToggles(app, status);
  if (pewter::tools::isMetalCommandLine(argc, argv))
    argv[1] = const_cast<char *>("metal");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  // A full disk must not look like success.
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    std::perror("pewter: standard output cannot be written");
    return 1;
  }
  return status;
}
