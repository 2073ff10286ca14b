// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/kernel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "thalweg/kernel/device_name.h"
#include "thalweg/kernel/local_rendezvous.h"
#include "thalweg/kernel/resource_manager.h"
#include "thalweg/kernel/variable.h"

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

TEST(ResourceManagerTest, ContainersKeepAndReset) {
  ResourceManager manager;
  auto make = [] {
    return Result<RefPtr<Variable>>(RefPtr<Variable>::Adopt(
        std::make_unique<Variable>("v", DType::kFloat, PartialShape()).release()));
  };
  RefPtr<Variable> a = *manager.LookupOrCreate<Variable>("", "v", make);
  EXPECT_EQ(manager.Lookup<Variable>("localhost", "v")->get(), a.get());
  RefPtr<Variable> b = *manager.LookupOrCreate<Variable>("other", "v", make);
  EXPECT_NE(a.get(), b.get());
  EXPECT_NE(manager.DebugString().find("other/v: Variable float32<unknown>, uninitialised"),
            std::string::npos);
  manager.ResetContainer("other");
  EXPECT_EQ(manager.Lookup<Variable>("other", "v").status().code(), Code::kNotFound);
  EXPECT_TRUE(manager.Delete<Variable>("", "v").ok());
  EXPECT_FALSE(manager.Delete<Variable>("", "v").ok());
}

TEST(VariableTest, ReadsPinAndUpdatesCopyOnlyWhenShared) {
  AllocatorPtr allocator = MakeCpuAllocator();
  Variable v("w", DType::kFloat, PartialShape{2});
  EXPECT_EQ(v.Read().status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(v.Assign(Tensor::Vector<float>({1, 2, 3})).code(), Code::kInvalidArgument);
  EXPECT_EQ(v.Assign(Tensor::Vector<double>({1, 2})).code(), Code::kInvalidArgument);
  ASSERT_TRUE(v.Assign(Tensor::Vector<float>({1, 2})).ok());
  const void* first = v.Read()->raw_data();
  {
    Variable::Update update(v, false);
    Tensor* t = *update.Writable(*allocator);
    EXPECT_EQ(t->raw_data(), first);
    t->mutable_data<float>()[0] = 5;
    update.Commit();
  }
  const Tensor pinned = *v.Read();
  {
    Variable::Update update(v, true);
    Tensor* t = *update.Writable(*allocator);
    EXPECT_NE(t->raw_data(), first);
    t->mutable_data<float>()[0] = 9;
    update.Commit();
  }
  EXPECT_EQ(pinned.data<float>()[0], 5);
  EXPECT_EQ(v.Read()->data<float>()[0], 9);
  EXPECT_EQ(v.version(), 3u);
}

TEST(VariableTest, LockedUpdatesLoseNothing) {
  AllocatorPtr allocator = MakeCpuAllocator();
  Variable v("n", DType::kInt32, PartialShape{1});
  ASSERT_TRUE(v.Assign(Tensor::Vector<int32_t>({0})).ok());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 250; ++k) {
        const Tensor pin = *v.Read();
        Variable::Update update(v, true);
        ++(*update.Writable(*allocator))->mutable_data<int32_t>()[0];
        std::this_thread::yield();  // whoever does not wait gets in between
        update.Commit();
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(v.Read()->data<int32_t>()[0], 1000);
}

TEST(VariableTest, AReadDuringAnUpdateInPlaceIsOfWholeVersions) {
  AllocatorPtr allocator = MakeCpuAllocator();
  Variable v("w", DType::kFloat, PartialShape{2});
  ASSERT_TRUE(v.Assign(Tensor::Vector<float>({0, 0})).ok());
  for (int round = 1; round <= 20; ++round) {
    std::atomic<bool> half{false}, done{false};
    std::thread reader([&] {
      while (!half.load()) std::this_thread::yield();
      const Tensor read = *v.Read();
      EXPECT_EQ(read.data<float>()[0], read.data<float>()[1]);
      done.store(true);
    });
    {
      Variable::Update update(v, round % 2 == 0);
      auto* data = (*update.Writable(*allocator))->mutable_data<float>();
      data[0] = static_cast<float>(round);
      half.store(true);
      // A reader that does not wait has time to see this half.
      for (int i = 0; i < 10000 && !done.load(); ++i) std::this_thread::yield();
      data[1] = static_cast<float>(round);
      update.Commit();
    }
    reader.join();
  }
  EXPECT_EQ(v.Read()->data<float>()[1], 20);
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
