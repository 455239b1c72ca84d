// SPDX-License-Identifier: Apache-2.0
// The pewter command: one subcommand per file; here only the list of them. Exit codes: 0 done,
// 1 failed, 2 usage.
#include "pewter/Commands.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <system_error>

int main(int argc, char **argv) {
  CLI::App app{"Pewter: Metal compute on machines that have no Metal."};
  app.require_subcommand(1);
  app.set_version_flag("--version", "pewter " PEWTER_VERSION);
  // A file that may not grow is an error of the write, which then removes what it began.
  std::signal(SIGXFSZ, SIG_IGN);
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
  pewter::tools::addServe(app, status);
  pewter::tools::addToggles(app, status);
  if (pewter::tools::isMetalCommandLine(argc, argv))
    argv[1] = const_cast<char *>("metal");
  const auto commands = app.get_subcommands({});
  if (argc > 1 && argv[1][0] != '-' &&
      std::ranges::none_of(commands, [&](const CLI::App *command) { return command->get_name() == argv[1]; })) {
    std::string known;
    for (const CLI::App *command : commands)
      known += (known.empty() ? "" : ", ") + command->get_name();
    std::fprintf(stderr, "pewter: There is no subcommand \"%s\"; there are %s.\n", argv[1], known.c_str());
    return 2;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::system_error &error) { // fmt::print throws once the buffer does not empty.
    std::fprintf(stderr, "pewter: standard output cannot be written: %s\n", error.code().message().c_str());
    return 1;
  }
  // A full disk must not look like success.
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) {
    std::perror("pewter: standard output cannot be written");
    return 1;
  }
  return status;
}
