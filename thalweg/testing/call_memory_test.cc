// SPDX-License-Identifier: Apache-2.0
// What a call of N bytes may take of a task's memory, for every field of every message in every
// kind of call of clients and of other tasks.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <tuple>

#include "thalweg/testing/hostile_fields.h"
#include "thalweg/testing/process_counters.h"
#include "thalweg/testing/service_seeds.h"
#include "thalweg/testing/service_trial.h"

namespace thalweg {
namespace {

// thalweg/cluster/README.md promises this: for each byte of a call, and beside it.
constexpr int64_t kMostPerByte = 1024;
constexpr int64_t kMostBeside = int64_t{1} << 20;

struct RecordedCall {
  uint8_t method = 0;
  std::string request;
};

std::vector<RecordedCall> CallsOf(const std::vector<uint8_t>& seed) {
  std::vector<RecordedCall> calls;
  for (size_t at = 0; at + 3 <= seed.size();) {
    const size_t size = seed[at + 1] | size_t{seed[at + 2]} << 8;
    calls.push_back(
        {seed[at], std::string(seed.begin() + static_cast<std::ptrdiff_t>(at) + 3,
                               seed.begin() + static_cast<std::ptrdiff_t>(at + 3 + size))});
    at += 3 + size;
  }
  return calls;
}

std::vector<uint8_t> SeedOf(const std::vector<RecordedCall>& calls) {
  std::vector<uint8_t> seed;
  for (const RecordedCall& call : calls) {
    seed.push_back(call.method);
    seed.push_back(static_cast<uint8_t>(call.request.size()));
    seed.push_back(static_cast<uint8_t>(call.request.size() >> 8));
    seed.insert(seed.end(), call.request.begin(), call.request.end());
  }
  return seed;
}

class CallMemoryTest : public ::testing::Test {
 protected:
  int64_t PeakOf(const std::vector<RecordedCall>& calls) {
    const std::vector<uint8_t> seed = SeedOf(calls);
    const int64_t before = BytesHeld();
    ForgetPeak();
    trials_.Try(seed);
    return PeakBytes() - before;
  }

  // Call i of the sequence, with each field of each message made costly; those not tried before.
  void TryCall(std::vector<RecordedCall> calls, size_t i) {
    calls.resize(i + 1);
    const int64_t usual = PeakOf(calls);
    const HostileWrap whole = [](const std::string& changed) { return changed; };
    ForEachHostileMessage(
        ServiceTrials::RequestType(calls[i].method), std::string(calls[i].request), whole,
        [&](const MessageDescriptor& at, const HostileWrap& add) {
          if (!tried_.insert({calls[i].method, std::string(at.full_name)}).second) return;
          for (const FieldDescriptor& field : at.fields) {
            for (const std::string& hostile : HostileFields(field)) {
              const std::string usual_request = calls[i].request;
              calls[i].request = add(hostile);
              const auto size = static_cast<int64_t>(calls[i].request.size());
              const int64_t peak = PeakOf(calls) - usual;
              EXPECT_LE(peak, kMostPerByte * size + kMostBeside)
                  << "method " << int{calls[i].method} << ", " << at.full_name << "." << field.name
                  << " of " << size << " bytes";
              most_ = std::max(most_, static_cast<double>(peak) / static_cast<double>(size));
              ++count_;
              calls[i].request = usual_request;
            }
          }
        });
  }

  ServiceTrials trials_;
  std::set<std::tuple<uint8_t, std::string>> tried_;
  double most_ = 0;
  int count_ = 0;
};

TEST_F(CallMemoryTest, NoFieldTakesMoreThanAMultipleOfItsBytes) {
  for (const auto& seed : ServiceSeeds()) {
    const std::vector<RecordedCall> calls = CallsOf(seed);
    for (size_t i = 0; i < calls.size(); ++i) TryCall(calls, i);
  }
  EXPECT_GT(count_, 1000);  // that the test reaches what it is there for
  RecordProperty("calls", count_);
  RecordProperty("bytes_per_byte", static_cast<int>(most_));
}

// That the measure can fail: a task's session is not as small as the bytes that ask for it.
TEST_F(CallMemoryTest, TheMeasureCounts) {
  const std::vector<RecordedCall> calls = CallsOf(ServiceSeeds().front());
  int64_t bytes = 0;
  for (const RecordedCall& call : calls) bytes += static_cast<int64_t>(call.request.size());
  EXPECT_GT(PeakOf(calls), 2 * bytes);
}

}  // namespace
}  // namespace thalweg
