// SPDX-License-Identifier: Apache-2.0
// Every operation with a CPU kernel, 200 calls with random types, attributes, shapes and
// values: a Status or a result, never a crash. The same calls every time. One operation again, or
// other and more calls: --op=Conv2D --seeds=100:200.
#include "thalweg/testing/kernel_trial.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "thalweg/base/crc32c.h"
#include "thalweg/base/philox.h"
#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/testing/sanitized.h"

// NOLINTNEXTLINE(bugprone-reserved-identifier): the sanitizers' own name
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace thalweg {
namespace {

constexpr int kGroups = 16;
constexpr unsigned kSecondsToHang = kSanitized ? 300 : 60;
constexpr int64_t kMemoryLimit = int64_t{32} << 20;

KernelTrials& Trials() {
  static KernelTrials trials(kMemoryLimit);
  return trials;
}

void SayWhatWasTried() {
  const std::string& text = Trials().last_trial();
  static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
  static_cast<void>(!write(STDERR_FILENO, "\n", 1));
}

void OnSignal(int number) {
  SayWhatWasTried();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

std::vector<uint8_t> RandomBytes(std::string_view op, int seed) {
  Philox generator(Crc32c(op), static_cast<uint64_t>(seed));
  std::vector<uint8_t> bytes;
  while (bytes.size() < 512) {
    for (const uint32_t word : generator.Next()) {
      for (int shift = 0; shift < 32; shift += 8)
        bytes.push_back(static_cast<uint8_t>(word >> shift));
    }
  }
  return bytes;
}

// The value of --NAME=VALUE, "" without.
std::string Flag(std::string_view name) {
  const std::string prefix = "--" + std::string(name) + "=";
  for (const std::string& argument : testing::internal::GetArgvs()) {
    if (argument.starts_with(prefix)) return argument.substr(prefix.size());
  }
  return "";
}

void TryAll(const std::string& op, int begin, int end) {
  for (int seed = begin; seed < end; ++seed) {
    alarm(kSecondsToHang);
    const std::string wrong = Trials().Try(op, RandomBytes(op, seed));
    alarm(0);
    EXPECT_EQ(wrong, "") << "--op=" << op << " --seeds=" << seed << ":" << seed + 1 << "\n"
                         << Trials().last_trial();
  }
}

class KernelTrialTest : public testing::TestWithParam<int> {
 protected:
  static void SetUpTestSuite() {
    // Some operations write files, whatever their names.
    folder_.emplace();
    ASSERT_EQ(chdir(folder_->path().c_str()), 0);
    Trials();
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

 private:
  static inline std::optional<TemporaryDirectory> folder_;
};

TEST_P(KernelTrialTest, AStatusOrAResultNeverACrash) {
  const std::string seeds = Flag("seeds");
  const size_t colon = seeds.find(':');
  const int begin = colon == std::string::npos ? 0 : std::atoi(seeds.c_str());
  const int end = colon == std::string::npos ? 200 : std::atoi(seeds.c_str() + colon + 1);
  const std::string only = Flag("op");
  const std::vector<std::string>& ops = Trials().ops();
  const int64_t before = Trials().num_results();
  for (size_t i = static_cast<size_t>(GetParam()); i < ops.size(); i += kGroups) {
    if (only.empty() || only == ops[i]) TryAll(ops[i], begin, end);
  }
  EXPECT_TRUE(!only.empty() || Trials().num_results() > before);
}

INSTANTIATE_TEST_SUITE_P(Groups, KernelTrialTest, testing::Range(0, kGroups));

}  // namespace
}  // namespace thalweg
