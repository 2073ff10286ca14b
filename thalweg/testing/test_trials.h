// SPDX-License-Identifier: Apache-2.0
// TrialFixture: tests that try every operation with random bytes, group by group, and say what was
// tried last when the process ends in the middle of it.
//
//   struct KernelTrialTest : TrialFixture<KernelTrials>, testing::WithParamInterface<int> {};
//   TEST_P(KernelTrialTest, NeverACrash) { TryGroup(GetParam(), 200, 512); }
//
// The program defines TrialFixture<KernelTrials>::trials().
// The program's argument --op=Conv2D chooses one operation, --seeds=100:200 other bytes.
// Threads: one.
// Errors: a wrong result is a failure of the test; a trial that lasts too long and a
// signal end the process, after what was tried stands on standard error.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/crc32c.h"
#include "thalweg/base/philox.h"
#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/testing/sanitized.h"

// NOLINTNEXTLINE(bugprone-reserved-identifier): the sanitizers' own name
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace thalweg {

template <class Trials>
class TrialFixture : public testing::Test {
 public:
  static constexpr int kGroups = 16;

 protected:
  // One for all tests; the program defines it.
  static Trials& trials();

  static void SetUpTestSuite() {
    folder_.emplace();  // some operations write files, whatever their names
    ASSERT_EQ(chdir(folder_->path().c_str()), 0);
    trials();
    if (__sanitizer_set_death_callback != nullptr) {
      __sanitizer_set_death_callback(SayWhatWasTried);
    } else {
      for (const int number : {SIGSEGV, SIGFPE, SIGABRT, SIGBUS, SIGILL}) {
        std::signal(number, OnSignal);
      }
    }
    std::signal(SIGALRM, OnSignal);
  }
  static void TearDownTestSuite() {
    ASSERT_EQ(chdir("/"), 0);
    folder_.reset();
  }

  // What `attempt` gives, unless it lasts too long.
  template <class F>
  static auto InTime(F&& attempt) {
    alarm(kSanitized ? 300 : 60);
    auto result = attempt();
    alarm(0);
    return result;
  }

  // Every operation of the group, each `count` times with `size` bytes, or as the arguments say.
  // Some must give results: trials that are all refused try nothing.
  static void TryGroup(int group, int count, size_t size) {
    const int64_t before = trials().num_results();
    const std::string seeds = Flag("seeds"), only = Flag("op");
    const size_t colon = seeds.find(':');
    const int begin = colon == std::string::npos ? 0 : std::atoi(seeds.c_str());
    const int end = colon == std::string::npos ? count : std::atoi(seeds.c_str() + colon + 1);
    const std::vector<std::string>& ops = trials().ops();
    for (size_t i = static_cast<size_t>(group); i < ops.size(); i += kGroups) {
      if (!only.empty() && only != ops[i]) continue;
      for (int seed = begin; seed < end; ++seed) {
        const std::vector<uint8_t> bytes = RandomBytes(ops[i], seed, size);
        EXPECT_EQ(InTime([&] { return trials().Try(ops[i], bytes); }), "")
            << "--op=" << ops[i] << " --seeds=" << seed << ":" << seed + 1 << "\n"
            << trials().last_trial();
      }
    }
    EXPECT_TRUE(!only.empty() || begin >= end || trials().num_results() > before)
        << "no trial of the group has given a result";
  }

  // The value of --NAME=VALUE, "" without.
  static std::string Flag(std::string_view name) {
    const std::string prefix = "--" + std::string(name) + "=";
    for (const std::string& argument : testing::internal::GetArgvs()) {
      if (argument.starts_with(prefix)) return argument.substr(prefix.size());
    }
    return "";
  }

 private:
  static void SayWhatWasTried() {
    const std::string text = trials().last_trial() + "\n";
    static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
  }
  static void OnSignal(int number) {
    SayWhatWasTried();
    std::signal(number, SIG_DFL);
    std::raise(number);
  }
  static std::vector<uint8_t> RandomBytes(std::string_view op, int seed, size_t size) {
    Philox generator(Crc32c(op), static_cast<uint64_t>(seed));
    std::vector<uint8_t> bytes;
    while (bytes.size() < size) {
      for (const uint32_t word : generator.Next()) {
        for (int shift = 0; shift < 32; shift += 8)
          bytes.push_back(static_cast<uint8_t>(word >> shift));
      }
    }
    return bytes;
  }

  static inline std::optional<TemporaryDirectory> folder_;
};

}  // namespace thalweg
