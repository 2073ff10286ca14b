// SPDX-License-Identifier: Apache-2.0
#include "other_program.h"

#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

extern char** environ;

namespace cli {
namespace {

constexpr std::string_view kLibraryPath = "LD_LIBRARY_PATH=";

// This program's, but for where libraries are.
std::vector<std::string> EnvironmentWith(const std::string& library_folder) {
  std::vector<std::string> variables;
  for (char** one = environ; *one != nullptr; ++one) {
    if (!std::string_view(*one).starts_with(kLibraryPath)) variables.emplace_back(*one);
  }
  if (!library_folder.empty()) variables.push_back(std::string(kLibraryPath) + library_folder);
  return variables;
}

std::vector<char*> Mutable(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Waits in poll, which a signal interrupts; one that came just before it is seen a moment later.
// Without pidfd_open (Linux 5.3) poll looks at nothing: then the end, too, is seen a moment later.
int WaitFor(pid_t child, FileWork* work) {
  int status = 0;
  const int end = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  pollfd ready{end, POLLIN, 0};
  try {
    constexpr int kMomentMillis = 100;
    while (waitpid(child, &status, WNOHANG) == 0) {
      work->GoOn(0, 0);
      poll(&ready, 1, kMomentMillis);
    }
  } catch (...) {
    constexpr int kGraceMillis = 2000;  // to clean up; a second signal does not wait for that
    kill(child, SIGTERM);
    if (poll(&ready, 1, kGraceMillis) <= 0) kill(child, SIGKILL);
    waitpid(child, &status, 0);
    close(end);
    throw;
  }
  if (end >= 0) close(end);
  return status;
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string name = std::filesystem::temp_directory_path() / "thalweg-verify-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) {
    throw WorkError(name + ": the folder cannot be made: " + std::strerror(errno));
  }
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void RunProgram(const std::vector<std::string>& command, const std::string& library_folder,
                FileWork* work) {
  const std::vector<std::string> variables = EnvironmentWith(library_folder);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t child = 0;
  const int error = posix_spawnp(&child, command[0].c_str(), &actions, nullptr,
                                 Mutable(command).data(), Mutable(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw WorkError(command[0] + ": it cannot be run: " + std::strerror(error));
  const int status = WaitFor(child, work);
  work->GoOn(0, 0);
  if (WIFSIGNALED(status)) {
    throw WorkError(command[0] + ": it was ended by signal " + std::to_string(WTERMSIG(status)));
  }
  if (WEXITSTATUS(status) != 0) {
    throw WorkError(command[0] + ": it failed with status " + std::to_string(WEXITSTATUS(status)));
  }
}

}  // namespace cli
