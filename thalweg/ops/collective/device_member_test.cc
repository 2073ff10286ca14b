// SPDX-License-Identifier: Apache-2.0
// Members on devices whose memory the host does not address.
#include "thalweg/ops/collective/device_member.h"

#include <deque>
#include <functional>
#include <set>

#include "thalweg/kernel/test_device.h"
#include "thalweg/kernel/test_step.h"
#include "thalweg/ops/collective/test_collective_calls.h"
#include "thalweg/resources/group_collectives.h"

namespace thalweg {
namespace {

// What it was given is its own, and nobody else's.
class CardDevice : public NamedDevice, public GroupCollectives {
 public:
  explicit CardDevice(int number)
      : NamedDevice(StrCat("/job:localhost/replica:0/task:0/device:CARD:", number), 1, false) {}

  void CopyToHost(const Tensor& tensor, CopyDone done) override {
    ++to_host;
    EXPECT_TRUE(Has(tensor));
    copies.push_back([tensor, done = std::move(done), error = copy_error] {
      done(error.ok() ? Result<Tensor>(*tensor.Clone(*MakeCpuAllocator(0))) : error);
    });
    if (!holds) Go();
  }
  void CopyFromHost(const Tensor& tensor, CopyDone done) override {
    ++from_host;
    EXPECT_FALSE(Has(tensor));
    copies.push_back([this, tensor, done = std::move(done)] { done(Store(tensor)); });
    if (!holds) Go();
  }
  void Go() {
    while (!copies.empty()) {
      const auto copy = std::move(copies.front());
      copies.pop_front();
      copy();
    }
  }
  Tensor Store(const Tensor& tensor) {
    Tensor there = *Allocate(tensor.dtype(), tensor.shape());
    std::memcpy(there.mutable_raw_data(), tensor.raw_data(), tensor.bytes());
    own.insert(there.raw_data());
    return there;
  }

  bool Takes(const CollectiveCall&) const override { return takes; }
  bool JoinsWith(const Device& other) const override {
    return joins && dynamic_cast<const CardDevice*>(&other) != nullptr;
  }
  Result<std::vector<Tensor>> ComputeTogether(Context& ctx,
                                              std::span<const CollectiveCall> calls) override {
    ++computed;
    EXPECT_TRUE(ctx.step().host_addressable);
    ASSIGN_OR_RETURN(std::vector<Tensor> results, CollectiveResults(ctx, calls));
    for (size_t i = 0; i < calls.size(); ++i) {
      results[i] = static_cast<CardDevice*>(calls[i].memory)->Store(results[i]);
    }
    return results;
  }
  bool Has(const Tensor& tensor) const override { return own.contains(tensor.raw_data()); }

  bool takes = true, joins = true, holds = false;
  Status copy_error;
  std::deque<std::function<void()>> copies;
  std::set<const void*> own;
  int to_host = 0, from_host = 0, computed = 0;
};

class DeviceMemberTest : public ::testing::Test {
 protected:
  StartedMember Start(Device& device, std::string_view op, std::vector<Tensor> inputs,
                      AttrMap attrs) {
    auto call = std::make_unique<MemberCall>(op, std::move(inputs), std::move(attrs));
    call->step().device = &device;
    call->step().allocator = &device.allocator();
    call->step().host_addressable = device.host_addressable();
    call->step().step_resources = &resources_;
    (void)call->Run();
    return call;
  }
  StartedMember Reduce(CardDevice& card, float value, int64_t size = 2) {
    return Start(card, "CollectiveReduce", {card.Store(Tensor::Vector<float>({value}))},
                 ReduceAttrs(size));
  }

  ResourceManager resources_;
  NamedDevice cpu{"/job:localhost/replica:0/task:0/device:CPU:0"};
  CardDevice first{0}, second{1};
};

TEST_F(DeviceMemberTest, DevicesThatComputeTogetherKeepTheirValues) {
  const StartedMember one = Reduce(first, 1);
  EXPECT_FALSE(one->ended());
  const StartedMember two = Reduce(second, 20);
  ExpectResult<float>(one, Tensor::Vector<float>({21}));
  ExpectResult<float>(two, Tensor::Vector<float>({21}));
  EXPECT_TRUE(first.Has(one->output(0)) && second.Has(two->output(0)));
  EXPECT_EQ(first.computed, 1) << "that of rank 0, for all";
  EXPECT_EQ(first.to_host + second.to_host + first.from_host + second.from_host, 0);
}

TEST_F(DeviceMemberTest, WhatADeviceDoesNotTakeGoesByTheHost) {
  first.takes = second.takes = false;
  const StartedMember one = Reduce(first, 1), two = Reduce(second, 20);
  ExpectResult<float>(one, Tensor::Vector<float>({21}));
  ExpectResult<float>(two, Tensor::Vector<float>({21}));
  EXPECT_TRUE(first.Has(one->output(0)) && second.Has(two->output(0)));
  EXPECT_EQ(first.to_host + second.to_host, 2);
  EXPECT_EQ(first.from_host + second.from_host, 2);
  EXPECT_EQ(first.computed + second.computed, 0);
}

TEST_F(DeviceMemberTest, ACpuAmongThemBringsAllToTheHost) {
  const StartedMember one = Reduce(first, 1, 3);
  const StartedMember two = Reduce(second, 20, 3);
  const StartedMember three =
      Start(cpu, "CollectiveReduce", {Tensor::Vector<float>({300})}, ReduceAttrs(3));
  for (const StartedMember* member : {&one, &two, &three}) {
    ExpectResult<float>(*member, Tensor::Vector<float>({321}));
  }
  EXPECT_TRUE(first.Has(one->output(0)) && second.Has(two->output(0)));
  EXPECT_EQ(first.computed, 0);
}

TEST_F(DeviceMemberTest, DevicesThatDoNotComputeWithEachOtherGoByTheHost) {
  first.joins = false;
  const StartedMember one = Reduce(first, 1), two = Reduce(second, 20);
  ExpectResult<float>(one, Tensor::Vector<float>({21}));
  ExpectResult<float>(two, Tensor::Vector<float>({21}));
  EXPECT_TRUE(first.Has(one->output(0)) && second.Has(two->output(0)));
  EXPECT_EQ(first.computed + second.computed, 0);
}

TEST_F(DeviceMemberTest, WhoMeetsOtherTasksBringsWhatIsOnTheHost) {
  TestStep step;
  step.context.device = &first;
  TestCall call(step, {first.Store(Tensor::Vector<float>({4}))});
  CollectiveCall brought;
  JoinFromDevice(
      call.context(), {.value = call.context().input(0)}, false,
      [&](Context& on_host, CollectiveCall what, Done joined) {
        brought = std::move(what);
        EXPECT_EQ(&on_host.allocator(), &first.host_allocator());
        on_host.set_output(0, Tensor::Vector<float>({5}));
        std::move(joined)(OkStatus());
      },
      call.done());
  ASSERT_TRUE(call.ended() && call.Await().ok());
  EXPECT_TRUE(brought.memory == nullptr && !first.Has(brought.value));
  EXPECT_TRUE(first.Has(call.output()));
  EXPECT_EQ(call.output().data<float>()[0], 5);
}

TEST_F(DeviceMemberTest, ASenderKeepsWhatItSends) {
  for (const bool takes : {true, false}) {
    first.takes = second.takes = takes;
    ResourceManager step;
    const Tensor sent = first.Store(Tensor::Vector<float>({4, 5}));
    const AttrMap shape = {{"T", DType::kFloat}, {"shape", PartialShape{2}}};
    const StartedMember to = Start(second, "CollectiveBcastRecv", {}, Keys(2, shape));
    const StartedMember from = Start(first, "CollectiveBcastSend", {sent}, Keys(2, shape));
    ExpectResult<float>(to, Tensor::Vector<float>({4, 5}));
    ExpectResult<float>(from, Tensor::Vector<float>({4, 5}));
    EXPECT_TRUE(second.Has(to->output(0)));
    EXPECT_EQ(from->output(0).raw_data(), sent.raw_data());
    EXPECT_EQ(first.from_host, 0);
    resources_.ResetAll();
  }
}

TEST_F(DeviceMemberTest, NobodyWaitsForCopies) {
  first.takes = second.takes = false;
  first.holds = second.holds = true;
  const StartedMember one = Reduce(first, 1), two = Reduce(second, 20);
  EXPECT_FALSE(one->ended() || two->ended());
  second.Go();
  EXPECT_FALSE(one->ended() || two->ended()) << "the first has not joined";
  first.Go();  // joins, computes, and brings its result there
  ExpectResult<float>(one, Tensor::Vector<float>({21}));
  EXPECT_FALSE(two->ended());
  second.Go();
  ExpectResult<float>(two, Tensor::Vector<float>({21}));
}

TEST_F(DeviceMemberTest, AMemberThatIsCancelledFreesAll) {
  const StartedMember one = Reduce(first, 1, 3), two = Reduce(second, 2, 3);
  one->cancellation().Cancel(Aborted("enough"));
  for (const StartedMember* member : {&one, &two}) ExpectError(*member, Code::kAborted, "enough");
}

TEST_F(DeviceMemberTest, ACopyThatFailsIsTheMembersError) {
  first.takes = false;
  first.copy_error = ResourceExhausted("no room");
  const StartedMember one = Reduce(first, 1);
  ExpectError(one, Code::kResourceExhausted, "no room");
}

TEST_F(DeviceMemberTest, KeysAndShapesThatAreInputsAreTheHosts) {
  const StartedMember one = Start(first, "CollectiveGatherV2",
                                  WithKeys({first.Store(Tensor::Vector<float>({1}))}, 2), {});
  const StartedMember two = Start(second, "CollectiveGatherV2",
                                  WithKeys({second.Store(Tensor::Vector<float>({2}))}, 2), {});
  ExpectResult<float>(one, Tensor::Vector<float>({1, 2}));
  EXPECT_TRUE(second.Has(two->output(0)));
}

TEST_F(DeviceMemberTest, AMemberAloneHasWhatItBrings) {
  const StartedMember one = Reduce(first, 1, 1);
  ExpectResult<float>(one, Tensor::Vector<float>({1}));
  EXPECT_EQ(first.to_host + first.computed, 0);
}

}  // namespace
}  // namespace thalweg
