// SPDX-License-Identifier: Apache-2.0
#include "serve/ServerProcess.h"
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pewter::testing {

ServerProcess::ServerProcess(std::vector<std::string> flags) {
  errorFile_ = (std::filesystem::temp_directory_path() / "pewter-serve-XXXXXX").string();
  int errorFd = ::mkstemp(errorFile_.data());
  int pipes[2];
  if (errorFd < 0 || ::pipe2(pipes, O_CLOEXEC) != 0)
    return;
  std::vector<std::string> words = {PEWTER_BINARY_DIR "/bin/pewter", "serve", "--port", "0", "-q"};
  words.insert(words.end(), flags.begin(), flags.end());
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t test = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    // A test that aborts runs no destructor.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != test)
      ::_exit(127);
    ::dup2(pipes[1], STDOUT_FILENO);
    ::dup2(errorFd, STDERR_FILENO);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(pipes[1]);
  ::close(errorFd);
  output_ = pipes[0];
  std::string line;
  // The first start on a machine compiles the kernels.
  for (pollfd entry{output_, POLLIN, 0}; ::poll(&entry, 1, 240'000) > 0;) {
    char c;
    if (::read(output_, &c, 1) != 1 || c == '\n')
      break;
    line += c;
  }
  if (size_t colon = line.rfind(':'); line.starts_with("listening on ") && colon != line.npos)
    port_ = static_cast<uint16_t>(std::stoi(line.substr(colon + 1)));
}

ServerProcess::~ServerProcess() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  if (output_ >= 0)
    ::close(output_);
  std::error_code ignored;
  std::filesystem::remove(errorFile_, ignored);
}

std::string ServerProcess::errors() const {
  std::ifstream file(errorFile_);
  std::string text(std::istreambuf_iterator<char>(file), {});
  siginfo_t info{};
  if (pid_ > 0 && ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid)
    text += "(the program has ended: code " + std::to_string(info.si_code) + ", status " +
            std::to_string(info.si_status) + ")";
  return text;
}

void ServerProcess::signal(int number) const { ::kill(pid_, number); }

int ServerProcess::wait(int *signal) {
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  if (signal)
    *signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

uint64_t ServerProcess::residentBytes() const {
  std::ifstream file("/proc/" + std::to_string(pid_) + "/statm");
  uint64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

HttpAnswer ServerProcess::get(const std::string &path, const HttpHeaders &headers) const {
  return HttpClient(port_).request("GET", path, "", headers);
}
HttpAnswer ServerProcess::post(const std::string &path, const Json &body, const HttpHeaders &headers) const {
  return HttpClient(port_).request("POST", path, body.dump(), headers);
}

} // namespace pewter::testing
