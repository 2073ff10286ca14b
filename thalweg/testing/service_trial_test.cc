// SPDX-License-Identifier: Apache-2.0
// The fuzzer's first inputs, whole, cut short and with single bytes changed: calls end, in an
// answer or an error. What the fuzzer found stays among them (found_*).
#include "thalweg/testing/service_trial.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "thalweg/base/philox.h"

namespace thalweg {
namespace {

std::vector<std::vector<uint8_t>> Seeds() {
  std::vector<std::vector<uint8_t>> seeds;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(THALWEG_SERVICES_CORPUS)) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return seeds;
}

TEST(ServiceTrialTest, RecordedCallsAreAnswered) {
  ServiceTrials trials;
  const auto seeds = Seeds();
  ASSERT_GE(seeds.size(), 10);
  for (const auto& seed : seeds) {
    const int64_t before = trials.num_answers();
    trials.Try(seed);
    EXPECT_GT(trials.num_answers(), before);
  }
}

TEST(ServiceTrialTest, CutAndChangedCallsEnd) {
  ServiceTrials trials;
  Philox random(1, 2);
  for (const auto& seed : Seeds()) {
    for (int i = 0; i < 20; ++i) {
      const auto word = random.Next();
      std::vector<uint8_t> changed = seed;
      changed[word[0] % changed.size()] = static_cast<uint8_t>(word[1]);
      if (i % 4 == 0) changed.resize(word[2] % changed.size());
      trials.Try(changed);
    }
  }
}

TEST(ServiceTrialTest, MethodsHaveBytesOfTheirOwn) {
  EXPECT_EQ(ServiceTrials::MethodByte("MasterService/RunStep"), 9);
  EXPECT_EQ(ServiceTrials::MethodByte("WorkerService/RunGraph"), 19);
  EXPECT_EQ(ServiceTrials::MethodByte("WorkerService/Dance"), 20);
}

}  // namespace
}  // namespace thalweg
