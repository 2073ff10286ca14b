// SPDX-License-Identifier: Apache-2.0
// For tests: files of a system, /proc/..., below a folder of their own.
//   Has("/proc/self/cgroup", "0::/\n");
//   EXPECT_EQ(ReadProcessLimits(root()).memory, 0);
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "thalweg/base/test_temporary_directory.h"

namespace thalweg {

class SystemFilesTest : public ::testing::Test {
 protected:
  void Has(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  const std::string& root() const { return folder_.path(); }

 private:
  TemporaryDirectory folder_;
};

}  // namespace thalweg
