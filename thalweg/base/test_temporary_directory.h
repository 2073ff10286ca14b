// SPDX-License-Identifier: Apache-2.0
// TemporaryDirectory: a new empty directory of a test's own, removed with all that lies in it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace thalweg {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    for (int i = 0; path_.empty(); ++i) {
      std::string name = ::testing::TempDir() + "thalweg_test_" + std::to_string(::getpid()) + "_" +
                         std::to_string(i);
      if (std::filesystem::create_directory(name)) path_ = std::move(name);
    }
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }
  std::string Path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace thalweg
