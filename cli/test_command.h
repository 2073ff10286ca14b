// SPDX-License-Identifier: Apache-2.0
// For tests: the command as a shell sees it, in a folder of its own.
//   EXPECT_EQ(Run("checkpoint ls " + Path("model-7")), 0) << output;
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "thalweg/base/test_temporary_directory.h"

namespace cli {

class CommandFolder : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.Path(name); }
  static std::string Golden(const std::string& name);
  // model.pb and model.pbtxt, y = Relu(NAME), NAME = OP(x w, [10, 20]) with the weights
  // [[1, 2], [3, 4]], and x.npy, a value of x: [[1, 1], [-9, -9]].
  void WriteModel(const std::string& op, const std::string& name);
  // The exit status; what the command wrote is in `output`.
  int Run(const std::string& arguments);
  int RunShell(const std::string& command);

  std::string output;

 private:
  thalweg::TemporaryDirectory folder_;
};

}  // namespace cli
