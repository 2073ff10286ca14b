// SPDX-License-Identifier: Apache-2.0
// Every operation with a CPU kernel has a valid graph, which runs, and so do its gradients; and 20
// changes of it end in a Status or a result, never a crash. The same changes every time. One
// operation again, or other and more changes: --op=Conv2D --seeds=100:200.
#include "thalweg/testing/case_trial.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

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
constexpr int64_t kMemoryLimit = int64_t{64} << 20;

CaseTrials& Trials() {
  static CaseTrials trials(THALWEG_OP_CASES, kMemoryLimit);
  return trials;
}

void SayWhatWasTried() {
  const std::string text = Trials().last_trial();
  static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
}

void OnSignal(int number) {
  SayWhatWasTried();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

// The value of --NAME=VALUE, "" without.
std::string Flag(std::string_view name) {
  const std::string prefix = "--" + std::string(name) + "=";
  for (const std::string& argument : testing::internal::GetArgvs()) {
    if (argument.starts_with(prefix)) return argument.substr(prefix.size());
  }
  return "";
}

std::vector<uint8_t> RandomBytes(std::string_view op, int seed) {
  Philox generator(Crc32c(op), static_cast<uint64_t>(seed));
  std::vector<uint8_t> bytes;
  while (bytes.size() < 256) {
    for (const uint32_t word : generator.Next()) {
      for (int shift = 0; shift < 32; shift += 8)
        bytes.push_back(static_cast<uint8_t>(word >> shift));
    }
  }
  return bytes;
}

// Lines "WHY: OPERATION ..." of a file beside the cases.
std::map<std::string, std::string> Reasons(const std::string& file) {
  std::map<std::string, std::string> reasons;
  std::ifstream lines(std::string(THALWEG_OP_CASES) + "/" + file);
  EXPECT_TRUE(lines.good()) << file;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t colon = line.find(": ");
    EXPECT_NE(colon, line.npos) << file << ": expected WHY: OPERATION ..., found " << line;
    std::istringstream ops(line.substr(colon + 1));
    for (std::string op; ops >> op;) {
      EXPECT_TRUE(reasons.emplace(op, line.substr(0, colon)).second) << file << ": twice: " << op;
    }
  }
  return reasons;
}

class CaseTrialTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_.emplace();  // for graphs that write files
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

TEST_F(CaseTrialTest, EveryOperationHasAValidCaseOrAReason) {
  const std::map<std::string, std::string> without = Reasons("without.txt");
  int valid = 0;
  for (const std::string& op : Trials().ops_with_kernel()) {
    alarm(kSecondsToHang);
    const Status status = Trials().RunValid(op);
    alarm(0);
    if (status.ok()) ++valid;
    EXPECT_NE(status.ok(), without.contains(op))
        << op << ": " << (status.ok() ? "has a case and a reason for none" : status.ToString());
  }
  for (const auto& [op, why] : without) {
    EXPECT_TRUE(std::binary_search(Trials().ops_with_kernel().begin(),
                                   Trials().ops_with_kernel().end(), op))
        << "without.txt: no such operation: " << op;
  }
  std::printf("%d operations with a kernel: %d with a valid case, %zu with a reason\n",
              static_cast<int>(Trials().ops_with_kernel().size()), valid, without.size());
}

// Loops that are gradients already, and an operation that is there to refuse.
const std::set<std::string_view> kRefuseGradients = {
    "PreventGradient", "_AddProduct",  "_EmptyHistory", "_EndProducts",
    "_PopHistory",     "_PushHistory", "_StartProducts"};

// kUnimplemented: of an operation that has none, or of a graph without numbers to derive.
TEST_F(CaseTrialTest, GradientsOfValidCasesRun) {
  int with_gradients = 0;
  for (const std::string& op : Trials().ops()) {
    alarm(kSecondsToHang);
    const Status status = Trials().RunGradients(op);
    alarm(0);
    if (status.ok()) ++with_gradients;
    if (status.code() == Code::kUnimplemented) continue;
    EXPECT_EQ(status.ok(), !kRefuseGradients.contains(op)) << op << ": " << status.ToString();
  }
  std::printf("%d of %zu with gradients\n", with_gradients, Trials().ops().size());
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

class CaseTrialGroupTest : public CaseTrialTest, public testing::WithParamInterface<int> {};

TEST_P(CaseTrialGroupTest, AStatusOrAResultNeverACrash) {
  const std::string seeds = Flag("seeds");
  const size_t colon = seeds.find(':');
  const int begin = colon == std::string::npos ? 0 : std::atoi(seeds.c_str());
  const int end = colon == std::string::npos ? 20 : std::atoi(seeds.c_str() + colon + 1);
  const std::string only = Flag("op");
  const std::vector<std::string>& ops = Trials().ops();
  for (size_t i = static_cast<size_t>(GetParam()); i < ops.size(); i += kGroups) {
    if (only.empty() || only == ops[i]) TryAll(ops[i], begin, end);
  }
  std::printf("%lld results, %lld with gradients\n", static_cast<long long>(Trials().num_results()),
              static_cast<long long>(Trials().num_gradients()));
}

INSTANTIATE_TEST_SUITE_P(Groups, CaseTrialGroupTest, testing::Range(0, kGroups));

}  // namespace
}  // namespace thalweg
