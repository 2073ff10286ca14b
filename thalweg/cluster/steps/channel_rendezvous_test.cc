// SPDX-License-Identifier: Apache-2.0
// Values that arrive for an edge, and from whom they are taken.
#include "thalweg/cluster/steps/channel_rendezvous.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace thalweg {
namespace {

constexpr uint64_t kIncarnation = 7;

class Nobody : public ConnectionHandler {
 public:
  void OnControl(Connection&, std::string_view) override {}
  Result<Tensor> OnHead(Connection&, const TensorHead&) override { return Internal("no head"); }
  void OnTensor(Connection&, const TensorHead&, Tensor) override {}
  void OnClosed(Connection&, const Status&) override {}
};

class ChannelRendezvousTest : public ::testing::Test {
 protected:
  std::shared_ptr<Connection> To(const std::string& task, uint64_t incarnation = kIncarnation) {
    auto connection = std::make_shared<Connection>(task, nullptr, handler_);
    connection->set_incarnation(incarnation);
    return connection;
  }

  // What a Recv of an edge from /job:ps gets when the value comes through this connection.
  Result<Delivery> Received(Connection& arrives_by, bool value_first) {
    auto edges = std::make_shared<ChannelEdges>();
    edges->Add("x", {.number = 0, .dtype = DType::kFloat, .connection = To("/job:ps")});
    ChannelRendezvous step(1);
    step.SetPlan(edges);
    const RendezvousKey key{"/job:ps", 1, "/job:worker", "x", 0};
    Result<Delivery> received = Internal("nothing came");
    const auto recv = [&] {
      step.Recv(key, [&](Result<Delivery> got) { received = std::move(got); });
    };
    if (!value_first) recv();
    EXPECT_TRUE(step.Arrive(arrives_by, {.step = 1, .edge = 0}, Tensor::Scalar<float>(3)));
    if (value_first) recv();
    return received;
  }

  Nobody handler_;
};

TEST_F(ChannelRendezvousTest, AnyChannelOfTheSendersProcessServes) {
  for (const bool value_first : {false, true}) {
    const Result<Delivery> received = Received(*To("/job:ps"), value_first);
    ASSERT_TRUE(received.ok()) << received.status().ToString();
    EXPECT_EQ(received->tensor.scalar<float>(), 3);
  }
}

TEST_F(ChannelRendezvousTest, AValueOfAnotherTaskOrOfItsFormerProcessIsRefused) {
  for (const bool value_first : {false, true}) {
    EXPECT_EQ(Received(*To("/job:worker"), value_first).status().code(), Code::kInvalidArgument);
    EXPECT_EQ(Received(*To("/job:ps", kIncarnation + 1), value_first).status().code(),
              Code::kInvalidArgument);
  }
}

}  // namespace
}  // namespace thalweg
