// SPDX-License-Identifier: Apache-2.0
#include "test_command.h"

#include <sys/wait.h>

#include <cstdio>

namespace cli {

std::string CommandFolder::Golden(const std::string& name) { return THALWEG_GOLDEN "/" + name; }

int CommandFolder::Run(const std::string& arguments) {
  return RunShell(std::string(THALWEG_COMMAND) + " " + arguments + " 2>&1");
}

int CommandFolder::RunShell(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  output.clear();
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) output.append(buffer, n);
  const int status = pclose(pipe);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace cli
