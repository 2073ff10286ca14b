// SPDX-License-Identifier: Apache-2.0
// Members that hand buffers to each other: all plans of a group together, and their names as
// TensorFlow's tasks were seen to write them.
#include "thalweg/cluster/collectives/ring_participant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

#include "thalweg/base/notification.h"
#include "thalweg/cluster/master/remote_device.h"
#include "thalweg/kernel/kernel_execution.h"
#include "thalweg/kernel/local_rendezvous.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/text_format.h"
#include "thalweg/testing/fake_clock.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string DeviceOfRank(int rank) {
  return StrCat("/job:w/replica:0/task:", rank, "/device:CPU:0");
}

Result<std::vector<std::unique_ptr<Device>>> OneCpuDevice(const DeviceRequest&) {
  const Result<OwnedMessage> attributes =
      ParseText(pb::DeviceAttributes::Descriptor(),
                StrCat("name: '", DeviceOfRank(0), "' device_type: 'CPU' incarnation: 7"));
  std::vector<std::unique_ptr<Device>> devices(1);
  ASSIGN_OR_RETURN(devices[0], RemoteDevice::Make(**attributes));
  return devices;
}

// The value of element i in rows of `width`, as the tests fill them.
float RowAndColumn(int64_t i, int64_t width) {
  const int64_t row = i / width, column = i % width;
  return static_cast<float>(100 * row + column);
}

// All buffers of a step in one place, whatever their task.
class SharedPort final : public BufferTransport {
 public:
  void SendBuffer(const RendezvousKey& key, Tensor value, Taken taken) override {
    names.push_back(StrCat(key.edge, " ", value.bytes()));
    sent[PlaceOf(key)] = std::move(taken);
    EXPECT_TRUE(rendezvous.Send(key, {std::move(value), false}).ok());
  }
  void RecvBuffer(const RendezvousKey& key, DType, int64_t elements,
                  Rendezvous::RecvDone done) override {
    rendezvous.Recv(key, [this, key, elements, done = std::move(done)](Result<Delivery> got) {
      const Status status = got.status();
      if (status.ok()) {
        EXPECT_EQ(got->tensor.num_elements(), elements);
      }
      done(std::move(got));
      if (status.ok()) sent.extract(PlaceOf(key)).mapped()(status);
    });
  }
  // The step has ended.
  void Abort(Status reason) override {
    rendezvous.Abort(reason);
    for (auto& [place, taken] : std::exchange(sent, {})) taken(reason);
  }
  static std::string PlaceOf(const RendezvousKey& key) {
    return StrCat(key.edge, " ", key.destination);
  }
  CancellationManager& cancellation() override { return cancellation_; }
  CancellationManager cancellation_;
  LocalRendezvous rendezvous;
  std::map<std::string, Taken> sent;
  std::vector<std::string> names;
};

class RingParticipantTest : public ::testing::Test {
 protected:
  RingParticipantTest() {
    Registries registries;
    registries.devices = {OneCpuDevice};
    environment_ = *Environment::Create({.threads = 0, .clock = &clock_}, registries);
  }

  // A member as its kernel's call.
  class Started final : public DoneSink {
   public:
    explicit Started(Environment& environment)
        : work_(environment.isa(), nullptr, *environment.allocator(), nullptr) {
      step_.allocator = environment.allocator().get();
      step_.work = &work_;
      step_.cancellation = &cancellation_;
      context_.Bind(&step_, 0);
      context_.SetBase(0, &result);
      context_.SetOperands(&operand_, 0, 1);
    }
    void Start(const std::shared_ptr<BufferTransport>& port, CollectiveGroups::Found found,
               const RingParticipant::Timeout& timeout, CollectiveCall call) {
      RingParticipant::Start(port, std::move(found), timeout, context_, std::move(call),
                             Done(this, 0));
    }
    void OnDone(uint64_t, Status why) override {
      status = std::move(why);
      ended.Notify();
    }

    Tensor result;
    std::optional<Status> status;
    Notification ended;

   private:
    CancellationManager cancellation_;
    KernelExecution work_;
    StepContext step_;
    Context context_;
    const Operand operand_ = Operand::Make(0, 0);
  };

  CollectiveCall CallOf(CollectiveKind kind, int rank, int size, std::vector<float> value) {
    CollectiveCall call;
    call.kind = kind;
    call.keys = {size, 1, 5};
    call.dtype = DType::kFloat;
    call.device = *DeviceName::Parse(DeviceOfRank(rank));
    if (kind == CollectiveKind::kBroadcast && rank != source_) {
      call.shape = PartialShape(Shape{static_cast<int64_t>(value.size())});
      return call;
    }
    call.value =
        Tensor::Of<float>(value, kind == CollectiveKind::kAllToAll
                                     ? Shape{size, static_cast<int64_t>(value.size()) / size}
                                     : Shape{static_cast<int64_t>(value.size())});
    call.shape = call.value.shape();
    return call;
  }
  std::shared_ptr<CollectiveGroup> GroupOf(int size, PeerVersion version = PeerVersion::k2_21) {
    auto group = std::make_shared<CollectiveGroup>();
    for (int rank = 0; rank < size; ++rank) {
      group->members.push_back(
          {DeviceOfRank(rank), 7, rank == 0 ? version : PeerVersion::kThalweg});
    }
    return group;
  }
  void StartAll(CollectiveKind kind, int size, int64_t elements, int rings = 0) {
    members_.clear();
    port_ = std::make_shared<SharedPort>();
    for (int rank = size - 1; rank >= 0; --rank) {
      std::vector<float> value(static_cast<size_t>(elements));
      std::iota(value.begin(), value.end(), static_cast<float>(100 * rank));
      CollectiveCall call = CallOf(kind, rank, size, std::move(value));
      call.num_rings = rings;
      call.is_mean = is_mean_;
      auto member = std::make_unique<Started>(*environment_);
      member->Start(port_, {GroupOf(size), source_}, {}, std::move(call));
      members_.insert(members_.begin(), std::move(member));
    }
  }
  // By rank and place.
  void ExpectAll(const std::function<float(int rank, int64_t i)>& expected, int64_t elements) {
    for (size_t rank = 0; rank < members_.size(); ++rank) {
      const Started& member = *members_[rank];
      ASSERT_TRUE(member.status.has_value()) << "rank " << rank;
      ASSERT_TRUE(member.status->ok()) << member.status->ToString();
      ASSERT_EQ(member.result.num_elements(), elements);
      const auto got = member.result.flat<float>();
      for (int64_t i = 0; i < elements; ++i) {
        ASSERT_EQ(got[static_cast<size_t>(i)], expected(static_cast<int>(rank), i))
            << "rank " << rank << " of " << members_.size() << ", element " << i;
      }
    }
  }

  FakeClock clock_;
  std::shared_ptr<Environment> environment_;
  std::shared_ptr<SharedPort> port_;
  std::vector<std::unique_ptr<Started>> members_;
  int source_ = -1;
  bool is_mean_ = false;
};

TEST_F(RingParticipantTest, AReductionGoesRoundTheRing) {
  for (int size = 2; size <= 5; ++size) {
    for (const int rings : {0, 1, 2, 3}) {
      for (const int64_t elements : {1, 16, 17, 100, 1000}) {
        is_mean_ = rings == 2;
        StartAll(CollectiveKind::kReduce, size, elements, rings);
        const float ranks = static_cast<float>(size * (size - 1)) / 2;
        ExpectAll(
            [&](int, int64_t i) {
              const float sum = 100 * ranks + static_cast<float>(size * i);
              return is_mean_ ? sum / static_cast<float>(size) : sum;
            },
            elements);
      }
    }
  }
}

TEST_F(RingParticipantTest, TheOtherKinds) {
  for (int size = 2; size <= 9; ++size) {
    StartAll(CollectiveKind::kGather, size, 3);
    ExpectAll([](int, int64_t i) { return RowAndColumn(i, 3); }, 3 * size);
    StartAll(CollectiveKind::kAllToAll, size, 2 * size);
    ExpectAll([](int rank, int64_t i) { return RowAndColumn(i, 2) + static_cast<float>(2 * rank); },
              2 * size);
    for (source_ = 0; source_ < size; ++source_) {
      StartAll(CollectiveKind::kBroadcast, size, 4);
      ExpectAll([&](int, int64_t i) { return static_cast<float>(100 * source_ + i); }, 4);
      EXPECT_EQ(port_->names.size(), static_cast<size_t>(size - 1));
    }
    source_ = -1;
  }
}

// Three tasks of 2.21 and 100 floats: which task asked which for what, and how many bytes.
TEST_F(RingParticipantTest, NamesAndSizesAreThoseOfTheRelease) {
  StartAll(CollectiveKind::kReduce, 3, 100);
  std::sort(port_->names.begin(), port_->names.end());
  EXPECT_THAT(port_->names, ElementsAre("buffer 1:5:0:0:0:0:0 192", "buffer 1:5:0:0:0:0:1 192",
                                        "buffer 1:5:0:0:0:1:1 192", "buffer 1:5:0:0:0:1:2 192",
                                        "buffer 1:5:0:0:0:2:0 16", "buffer 1:5:0:0:0:2:2 16",
                                        "buffer 1:5:0:0:1:0:0 192", "buffer 1:5:0:0:1:0:2 192",
                                        "buffer 1:5:0:0:1:1:0 192", "buffer 1:5:0:0:1:1:1 192",
                                        "buffer 1:5:0:0:1:2:1 16", "buffer 1:5:0:0:1:2:2 16"));
  source_ = 1;
  StartAll(CollectiveKind::kBroadcast, 3, 100);
  std::sort(port_->names.begin(), port_->names.end());
  EXPECT_THAT(port_->names, ElementsAre("buffer 1:5:0:0:0:0:2 400", "buffer 1:5:0:0:0:1:0 400"));
  StartAll(CollectiveKind::kAllToAll, 2, 66);
  std::sort(port_->names.begin(), port_->names.end());
  EXPECT_THAT(port_->names, ElementsAre("buffer 1:5:0:001 132", "buffer 1:5:0:010 132"));
}

TEST_F(RingParticipantTest, Release115NamesNoGroup) {
  port_ = std::make_shared<SharedPort>();
  Started member(*environment_);
  member.Start(port_, {GroupOf(2, PeerVersion::k1_15), -1}, {},
               CallOf(CollectiveKind::kReduce, 1, 2, {1, 2, 3}));
  EXPECT_FALSE(member.status.has_value());
  port_->Abort(Aborted("the step has ended"));
  ASSERT_TRUE(member.status.has_value());
  EXPECT_EQ(member.status->code(), Code::kAborted);
  // Three floats are one section, which begins at the other: there was nothing to send.
  EXPECT_TRUE(port_->names.empty());
  Started first(*environment_);
  port_ = std::make_shared<SharedPort>();
  first.Start(port_, {GroupOf(2, PeerVersion::k1_15), -1}, {},
              CallOf(CollectiveKind::kReduce, 0, 2, {1, 2, 3}));
  EXPECT_THAT(port_->names, ElementsAre("buffer 5:0:0:0:0:0 12"));
  port_->Abort(Aborted("the step has ended"));
}

TEST_F(RingParticipantTest, WhatTheOthersDoNotHaveIsRefused) {
  const auto status = [&](CollectiveCall call) {
    Started member(*environment_);
    member.Start(std::make_shared<SharedPort>(), {GroupOf(2), -1}, {}, std::move(call));
    return member.status.value_or(OkStatus());
  };
  CollectiveCall reversed = CallOf(CollectiveKind::kReduce, 1, 2, {1, 2});
  reversed.num_rings = -1;
  EXPECT_THAT(status(reversed).message(), HasSubstr("subdiv_offsets"));
  EXPECT_EQ(status(CallOf(CollectiveKind::kReduceScatter, 1, 2, {1, 2})).code(),
            Code::kUnimplemented);
  EXPECT_THAT(status(CallOf(CollectiveKind::kGather, 1, 2, {})).message(),
              HasSubstr("no elements"));
  EXPECT_THAT(status(CallOf(CollectiveKind::kBroadcast, 1, 2, {1})).message(),
              HasSubstr("needs one sender"));
}

TEST_F(RingParticipantTest, AMemberThatWaitsTooLongEnds) {
  Timer timer(clock_);
  Started member(*environment_);
  port_ = std::make_shared<SharedPort>();
  member.Start(port_, {GroupOf(2), -1}, {.seconds = 2, .timer = &timer, .clock = &clock_},
               CallOf(CollectiveKind::kReduce, 1, 2, {1, 2}));
  EXPECT_FALSE(member.ended.HasBeenNotified());
  clock_.Advance(std::chrono::seconds(3));
  member.ended.Wait();
  EXPECT_EQ(member.status->code(), Code::kDeadlineExceeded);
  port_->Abort(Aborted("the step has ended"));  // it still held the member
}

}  // namespace
}  // namespace thalweg
