// SPDX-License-Identifier: Apache-2.0
// FileSizeLimit: while it lives, this process writes no file beyond so many bytes: a full disk, for
// tests.
//
//   const FileSizeLimit limit(100);
//
// Threads: the limit is the process's: one at a time.
#pragma once

#include <sys/resource.h>

#include <csignal>

namespace thalweg {

class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

}  // namespace thalweg
