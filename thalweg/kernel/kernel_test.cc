// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/kernel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "thalweg/kernel/device_name.h"
#include "thalweg/kernel/local_rendezvous.h"
#include "thalweg/kernel/resource_manager.h"

namespace thalweg {
namespace {

TEST(DeviceNameTest, ParsesFullPartialAndOldForms) {
  const DeviceName full = *DeviceName::Parse("/job:worker/replica:0/task:17/device:gpu:3");
  EXPECT_TRUE(full.IsFull());
  EXPECT_EQ(full.ToString(), "/job:worker/replica:0/task:17/device:GPU:3");
  EXPECT_EQ(DeviceName::Parse("/cpu:0")->ToString(), "/device:CPU:0");
  EXPECT_TRUE(DeviceName::Parse("/task:17")->Admits(full));
  EXPECT_FALSE(DeviceName::Parse("/task:1")->Admits(full));
  EXPECT_TRUE(DeviceName::Parse("")->Admits(full));
  EXPECT_TRUE(DeviceName::Parse("/device:GPU:*")->Admits(full));
  for (const char* bad : {"cpu:0", "/job:", "/task:x", "/device:CPU:-1", "/foo:1"}) {
    EXPECT_EQ(DeviceName::Parse(bad).status().code(), Code::kInvalidArgument) << bad;
  }
  EXPECT_FALSE(DeviceName::Parse("/task:1")->MergeWith(full).ok());
}

RendezvousKey Key(std::string edge, uint64_t tag = 0) {
  return {"/a", 1, "/b", std::move(edge), tag};
}

TEST(LocalRendezvousTest, SendMeetsRecvInEitherOrder) {
  LocalRendezvous rendezvous;
  std::vector<int> got;
  auto keep = [&](Result<Delivery> d) { got.push_back(d.ok() ? d->tensor.scalar<int>() : -1); };
  EXPECT_TRUE(rendezvous.Send(Key("x"), {Tensor::Scalar(1)}).ok());
  rendezvous.Recv(Key("x"), keep);
  rendezvous.Recv(Key("y"), keep);
  EXPECT_TRUE(rendezvous.Send(Key("y"), {Tensor::Scalar(2)}).ok());
  EXPECT_EQ(got, (std::vector<int>{1, 2}));
  EXPECT_EQ(rendezvous.Send(Key("x"), {Tensor::Scalar(1)}).code(), Code::kInvalidArgument);
  rendezvous.Recv(Key("y"), keep);
  EXPECT_EQ(got.back(), -1);
  EXPECT_TRUE(rendezvous.Send(Key("x", 1), {Tensor::Scalar(1)}).ok());
}

TEST(LocalRendezvousTest, AbortReachesWaitersAndLaterCalls) {
  LocalRendezvous rendezvous;
  Status seen;
  rendezvous.Recv(Key("x"), [&](Result<Delivery> d) { seen = d.status(); });
  rendezvous.Abort(Cancelled("enough"));
  rendezvous.Abort(Internal("too late"));
  EXPECT_EQ(seen.message(), "enough");
  EXPECT_EQ(rendezvous.Send(Key("z"), {}).message(), "enough");
}

struct Thing : Resource {
  std::string DebugString() const override { return "a thing"; }
};

TEST(ResourceManagerTest, ContainersKeepAndReset) {
  ResourceManager manager;
  auto make = [] {
    return Result<RefPtr<Thing>>(RefPtr<Thing>::Adopt(std::make_unique<Thing>().release()));
  };
  RefPtr<Thing> a = *manager.LookupOrCreate<Thing>("", "v", make);
  EXPECT_EQ(manager.Lookup<Thing>("localhost", "v")->get(), a.get());
  RefPtr<Thing> b = *manager.LookupOrCreate<Thing>("other", "v", make);
  EXPECT_NE(a.get(), b.get());
  EXPECT_NE(manager.DebugString().find("other/v: a thing"), std::string::npos);
  manager.ResetContainer("other");
  EXPECT_EQ(manager.Lookup<Thing>("other", "v").status().code(), Code::kNotFound);
  EXPECT_TRUE(manager.Delete<Thing>("", "v").ok());
  EXPECT_FALSE(manager.Delete<Thing>("", "v").ok());
}

TEST(DoneTest, DroppedDoneIsAnError) {
  struct Sink : DoneSink {
    void OnDone(uint64_t token, Status status) override {
      last_token = token;
      last = std::move(status);
    }
    uint64_t last_token = 0;
    Status last;
  } sink;
  { Done done(&sink, 7); }
  EXPECT_EQ(sink.last.code(), Code::kInternal);
  EXPECT_EQ(sink.last_token, 7u);
  Done(&sink, 8)(OkStatus());
  EXPECT_TRUE(sink.last.ok());
}

TEST(ContextTest, TakesOnlyLastUnsharedSoleUses) {
  Tensor values[3] = {Tensor::Vector<float>({1, 2}), Tensor(), Tensor()};
  const Operand operands[] = {Operand::Make(0, 0, true), Operand::Make(0, 1)};
  const Operand not_last[] = {Operand::Make(0, 0), Operand::Make(0, 1)};
  const Operand shared[] = {Operand::Make(0, 0, true, true), Operand::Make(0, 1)};
  Context ctx;
  ctx.SetBase(0, values);
  ctx.SetOperands(not_last, 1, 1);
  EXPECT_TRUE(ctx.TakeInput(0).empty());
  ctx.SetOperands(shared, 1, 1);
  EXPECT_TRUE(ctx.TakeInput(0).empty());
  ctx.SetOperands(operands, 1, 1);
  {
    const Tensor other = values[0];
    EXPECT_TRUE(ctx.TakeInput(0).empty());
  }
  const void* data = values[0].raw_data();
  EXPECT_EQ((*ctx.TakeOrAllocateOutput({0}, 0, DType::kFloat, Shape{2}))->raw_data(), data);
}

}  // namespace
}  // namespace thalweg
