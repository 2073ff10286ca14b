// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/testing/kernel_call.h"

namespace thalweg {
namespace {

AttrMap EdgeAttrs() {
  return {{"tensor_name", "edge_1_x"},
          {"send_device", "/job:a/replica:0/task:0/device:CPU:0"},
          {"send_device_incarnation", 7},
          {"recv_device", "/job:a/replica:0/task:0/device:CPU:1"}};
}

RendezvousKey Key(uint64_t tag = 0) {
  return {"/job:a/replica:0/task:0/device:CPU:0", 7, "/job:a/replica:0/task:0/device:CPU:1",
          "edge_1_x", tag};
}

KernelCall MakeRecv(const char* op = "_Recv") {
  AttrMap attrs = EdgeAttrs();
  attrs.Set("tensor_type", DType::kFloat);
  return KernelCall(op, {}, attrs);
}

// What was sent under a key; an error when nothing was.
Result<Delivery> Sent(KernelCall& call, const RendezvousKey& key) {
  Result<Delivery> got = NotFound("nothing was sent");
  call.rendezvous().Recv(key, [&](Result<Delivery> delivery) { got = std::move(delivery); });
  if (!got.ok()) call.rendezvous().Abort(Cancelled("the test has ended"));
  return got;
}

TEST(SendTest, HandsTheTensorOverUnderTheTagOfTheCall) {
  for (const char* op : {"_Send", "_HostSend"}) {
    const Tensor x = Tensor::Vector<float>({1, 2});
    KernelCall call(op, {x}, EdgeAttrs());
    ASSERT_TRUE(call.Run(5).ok());
    const Result<Delivery> got = Sent(call, Key(5));
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    EXPECT_FALSE(got->dead);
    EXPECT_TRUE(got->tensor.SharesBufferWith(x));
  }
}

TEST(SendTest, ADeadInputIsADeadDelivery) {  // B3.4e
  KernelCall call("_Send", {Tensor()}, EdgeAttrs(), {DType::kFloat});
  ASSERT_TRUE(call.Run().ok());
  EXPECT_TRUE(Sent(call, Key())->dead);
}

TEST(RecvTest, WaitsWithoutAThreadUntilTheTensorComes) {
  for (const char* op : {"_Recv", "_HostRecv"}) {
    KernelCall call = MakeRecv(op);
    EXPECT_EQ(call.Run().code(), Code::kDeadlineExceeded);
    EXPECT_FALSE(call.ended());
    ASSERT_TRUE(call.rendezvous().Send(Key(), {Tensor::Scalar(2.5f), false}).ok());
    ASSERT_TRUE(call.ended());
    EXPECT_TRUE(call.status().ok());
    EXPECT_EQ(call.output(0).scalar<float>(), 2.5f);
  }
}

TEST(RecvTest, ADeadDeliveryIsADeadOutput) {
  KernelCall call = MakeRecv();
  ASSERT_TRUE(call.rendezvous().Send(Key(3), {Tensor(), true}).ok());
  EXPECT_TRUE(call.Run(3).ok());
  EXPECT_TRUE(call.output(0).empty());
}

TEST(RecvTest, RefusesATensorOfAnotherType) {
  KernelCall call = MakeRecv();
  ASSERT_TRUE(call.rendezvous().Send(Key(3), {Tensor::Scalar(int64_t{1}), false}).ok());
  const Status status = call.Run(3);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), testing::HasSubstr("'edge_1_x' brings int64, expected float32"));
}

TEST(RecvTest, EndsWhenTheStepIsCancelled) {
  KernelCall call = MakeRecv();
  EXPECT_FALSE(call.Run().ok());
  call.cancellation().Cancel(Cancelled("enough"));
  ASSERT_TRUE(call.ended());
  EXPECT_EQ(call.status().code(), Code::kCancelled);
  KernelCall late = MakeRecv();
  late.cancellation().Cancel(Cancelled("enough"));
  EXPECT_EQ(late.Run().code(), Code::kCancelled);
}

TEST(RecvTest, FeedsOfAPartialRunComeFromTheClientsRendezvous) {
  AttrMap attrs = EdgeAttrs();
  attrs.Set("tensor_type", DType::kFloat);
  attrs.Set("client_terminated", true);
  KernelCall lost("_Recv", {}, attrs);
  EXPECT_EQ(lost.Run().code(), Code::kInternal);
  LocalRendezvous client;
  KernelCall call("_Recv", {}, attrs);
  call.step().feeds_and_fetches = &client;
  ASSERT_TRUE(client.Send(Key(), {Tensor::Scalar(1.5f), false}).ok());
  EXPECT_TRUE(call.Run(9).ok());
  EXPECT_EQ(call.output(0).scalar<float>(), 1.5f);
}

}  // namespace
}  // namespace thalweg
