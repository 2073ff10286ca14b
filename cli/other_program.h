// SPDX-License-Identifier: Apache-2.0
// Another program's run, and a folder for what it reads and writes.
//
//   FileWork work("verifying");
//   const TemporaryFolder folder;
//   RunProgram({"/opt/thalweg/bin/thalweg", "--version"}, "/opt/thalweg/lib", &work);
//
// Its standard output goes to this program's standard error. A signal that ends this program ends
// it, too.
// Ownership: a folder goes with all that is in it.
// Threads: one.
// Errors: throws WorkError for a program that cannot be run, or that says that it failed.
#pragma once

#include <string>
#include <vector>

#include "file_work.h"

namespace cli {

class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();
  std::string Path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Its libraries are looked for in `library_folder` first; "": as the system does, without what this
// program was told.
void RunProgram(const std::vector<std::string>& command, const std::string& library_folder,
                FileWork* work);

}  // namespace cli
