// SPDX-License-Identifier: Apache-2.0
// AnsweringThread: for tests that want the kernel to switch threads: one that answers each byte.
// Whoever asks has no processor until it has, or nearly always.
//
//   AnsweringThread other;
//   other.Ask();
//
// Ownership: owns the thread, which ends with it, and two pipes.
// Threads: Ask from one at a time.
// Errors: a pipe that does not work fails the test.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <thread>

namespace thalweg {

class AnsweringThread {
 public:
  AnsweringThread() : made_(::pipe(asks_.data()) == 0 && ::pipe(answers_.data()) == 0) {
    EXPECT_TRUE(made_);
    thread_ = std::thread([this] {
      char byte = 0;
      while (::read(asks_[0], &byte, 1) == 1 && ::write(answers_[1], &byte, 1) == 1) continue;
    });
  }
  ~AnsweringThread() {
    ::close(asks_[1]);
    thread_.join();
    for (const int end : {asks_[0], answers_[0], answers_[1]}) ::close(end);
  }
  AnsweringThread(const AnsweringThread&) = delete;
  AnsweringThread& operator=(const AnsweringThread&) = delete;

  void Ask() {
    char byte = 0;
    EXPECT_TRUE(::write(asks_[1], &byte, 1) == 1 && ::read(answers_[0], &byte, 1) == 1);
  }

 private:
  std::array<int, 2> asks_{}, answers_{};
  const bool made_;
  std::thread thread_;
};

}  // namespace thalweg
