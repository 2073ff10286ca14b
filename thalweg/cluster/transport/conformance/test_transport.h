// SPDX-License-Identifier: Apache-2.0
// What every transport is tested with: channel_conformance_test.cc has the tests, each transport's
// test instantiates them:
//
//   INSTANTIATE_TEST_SUITE_P(Inproc, ChannelConformance,
//                            testing::Values(TransportCase{.name = "Pair", .connect = Connect}),
//                            TransportName);
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "thalweg/cluster/transport/channel.h"
#include "thalweg/cluster/transport/inproc/inproc_channel.h"

namespace thalweg {

struct TransportCase {
  std::string name;
  std::function<Result<ChannelPair>()> connect;
  bool separate_bulk = true;  // control passes large tensors
  bool calls_on_head = true;  // for plain tensors
  size_t huge_bytes = size_t{320} << 20;
};

// The test's name of a case.
inline std::string TransportName(const testing::TestParamInfo<TransportCase>& info) {
  return info.param.name;
}

class ChannelConformance : public testing::TestWithParam<TransportCase> {};

// Keeps what arrives.
class Collector : public ChannelSink {
 public:
  struct Arrival {
    std::string control;  // of a control message
    TensorHead head;
    Tensor tensor;
    bool is_tensor = false;
  };

  void OnControl(std::string_view message) override {
    EXPECT_FALSE(closed.has_value()) << "after OnClosed";
    arrivals.push_back({.control = std::string(message)});
  }
  Result<Tensor> OnHead(const TensorHead& head) override {
    ++heads;
    if (on_head) return on_head(head);
    return Tensor::AllocateHost(head.dtype, head.shape);
  }
  void OnTensor(const TensorHead& head, Tensor tensor) override {
    EXPECT_FALSE(closed.has_value()) << "after OnClosed";
    arrivals.push_back({.head = head, .tensor = std::move(tensor), .is_tensor = true});
  }
  void OnClosed(const Status& why) override {
    EXPECT_FALSE(closed.has_value()) << "OnClosed twice";
    closed = why;
  }

  std::function<Result<Tensor>(const TensorHead&)> on_head;
  std::vector<Arrival> arrivals;
  int heads = 0;
  std::optional<Status> closed;
};

// Runs `step` until `done`; false when that takes longer than any machine needs.
template <class Step, class Done>
bool RunUntil(Step step, Done done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    step();
    std::this_thread::yield();
  }
  return true;
}

// Polls until `done`.
template <class Done>
bool PollUntil(Channel& channel, ChannelSink& sink, Done done) {
  return RunUntil([&] { channel.Poll(sink, 16); }, done);
}

}  // namespace thalweg
