// SPDX-License-Identifier: Apache-2.0
// For tests: the command as a shell sees it, in a folder of its own.
//   EXPECT_EQ(Run("checkpoint ls " + Path("model-7")), 0) << output;
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace cli {

class CommandFolder : public ::testing::Test {
 protected:
  CommandFolder() {
    char name[] = "/tmp/thalweg_cli_XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~CommandFolder() override {
    const int ignored = std::system(("rm -r '" + folder_ + "'").c_str());
    EXPECT_EQ(ignored, 0);
  }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  static std::string Golden(const std::string& name);
  // The exit status; what the command wrote is in `output`.
  int Run(const std::string& arguments);

  std::string output;

 private:
  std::string folder_;
};

}  // namespace cli
