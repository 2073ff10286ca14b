// SPDX-License-Identifier: Apache-2.0
#include "test_command.h"

#include <sys/wait.h>

#include <cstdio>

#include "npy.h"

namespace cli {

std::string CommandFolder::Golden(const std::string& name) { return THALWEG_GOLDEN "/" + name; }

void CommandFolder::WriteModel(const std::string& op, const std::string& name) {
  tw::Environment environment = tw::Environment::Create({.threads = 0}).OrThrow();
  tw::Graph g(environment);
  const tw::Output x = g.Placeholder("x", tw::kFloat, {-1, 2});
  const tw::Output w = g.Const<float>({1, 2, 3, 4}, {2, 2});
  g.Op("Relu",
       {g.Op(op, {g.Op("MatMul", {x, w}, {}, "m"), g.Const<float>({10, 20}, {2})}, {}, name)}, {},
       "y");
  WriteFile(Path("model.pb"), g.Export().OrThrow());
  WriteFile(Path("model.pbtxt"), g.Export(true).OrThrow());
  WriteFile(Path("x.npy"), NpyOf(tw::Tensor::Of<float>({1, 1, -9, -9}, {2, 2}), "x"));
}

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
