// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "thalweg/base/mutex.h"
#include "thalweg/cluster/transport/conformance/test_transport.h"
#include "thalweg/tensor/resource.h"
#include "thalweg/tensor/variant.h"
#include "thalweg/testing/sanitized.h"

namespace thalweg {
namespace {

// Both ends of a channel, each with its sink.
struct Ends {
  explicit Ends(const TransportCase& transport) {
    Result<ChannelPair> pair = transport.connect();
    EXPECT_TRUE(pair.ok()) << pair.status().ToString();
    a = std::move(pair->first);
    b = std::move(pair->second);
  }
  // Polls both.
  template <class Done>
  bool Until(Done done) {
    return RunUntil(
        [&] {
          a->Poll(at_a, 16);
          b->Poll(at_b, 16);
        },
        done);
  }
  bool UntilArrived(size_t n) {
    return Until([&] { return at_b.arrivals.size() >= n; });
  }

  Collector at_a, at_b;
  std::unique_ptr<Channel> a, b;
};

Tensor Floats(int64_t n, float first = 0) {
  Tensor t = *Tensor::AllocateHost(DType::kFloat, Shape{n});
  std::iota(t.mutable_data<float>(), t.mutable_data<float>() + n, first);
  return t;
}

TensorHead EdgeHead(const Tensor& tensor, uint32_t edge = 0) {
  return {.step = 7, .edge = edge, .dtype = tensor.dtype(), .shape = tensor.shape()};
}

// A tensor of the test's own, whose release it hears.
Tensor Watched(const Tensor& tensor, std::atomic<int>* releases) {
  return Tensor::FromBuffer(tensor.dtype(), tensor.shape(), const_cast<void*>(tensor.raw_data()),
                            [tensor, releases] { ++*releases; });
}

void ExpectSame(const Tensor& got, const Tensor& want) {
  ASSERT_EQ(got.dtype(), want.dtype());
  ASSERT_EQ(got.shape(), want.shape());
  if (IsPlain(want.dtype())) {
    EXPECT_TRUE(want.bytes() == 0 ||
                std::memcmp(got.raw_data(), want.raw_data(), want.bytes()) == 0);
  } else if (want.dtype() == DType::kString) {
    for (int64_t i = 0; i < want.num_elements(); ++i) {
      EXPECT_EQ(got.data<std::string>()[i], want.data<std::string>()[i]) << i;
    }
  }
}

TEST_P(ChannelConformance, ControlAndSmallTensorsKeepTheirOrder) {
  Ends ends(GetParam());
  constexpr int kRecords = 3000;
  for (int i = 0; i < kRecords; ++i) {
    if (i % 3 == 0) {
      ends.a->Send(std::to_string(i));
    } else {
      const Tensor t = i % 3 == 1 ? Tensor::Scalar(static_cast<float>(i)) : Floats(100, i);
      ends.a->Push(EdgeHead(t, i), t);
    }
    if (i % 500 == 0) ends.b->Send("back");
  }
  ASSERT_TRUE(ends.UntilArrived(kRecords));
  for (int i = 0; i < kRecords; ++i) {
    const Collector::Arrival& arrival = ends.at_b.arrivals[i];
    ASSERT_EQ(arrival.is_tensor, i % 3 != 0) << i;
    if (arrival.is_tensor) {
      ASSERT_EQ(arrival.head.edge, i);
      ASSERT_EQ(arrival.tensor.data<float>()[0], i);
    } else {
      ASSERT_EQ(arrival.control, std::to_string(i));
    }
  }
  EXPECT_TRUE(ends.Until([&] { return ends.at_a.arrivals.size() == 6; }));
}

TEST_P(ChannelConformance, TensorsOfEverySizeArriveWhole) {
  Ends ends(GetParam());
  std::vector<Tensor> sent;
  for (int64_t bytes : {0, 1, 3, 4, 4096, 65535, 65536, 65537, (1 << 20) + 1, 10'000'000}) {
    Tensor t = *Tensor::AllocateHost(DType::kUint8, Shape{bytes, 1});
    for (int64_t i = 0; i < bytes; ++i) t.mutable_data<uint8_t>()[i] = i * 131 >> 3;
    sent.push_back(t);
  }
  for (int64_t n : {0, 1, 16383, 16384, 16385, 3'000'000}) sent.push_back(Floats(n));
  for (size_t i = 0; i < sent.size(); ++i) ends.a->Push(EdgeHead(sent[i], i), sent[i]);
  ASSERT_TRUE(ends.UntilArrived(sent.size()));
  for (const Collector::Arrival& arrival : ends.at_b.arrivals) {
    SCOPED_TRACE(arrival.head.edge);
    ExpectSame(arrival.tensor, sent[arrival.head.edge]);
  }
}

TEST_P(ChannelConformance, HeadsArriveAsTheyWere) {
  Ends ends(GetParam());
  Tensor deep = *Tensor::AllocateHost(
      DType::kInt16, *Shape::Make(std::vector<int64_t>(static_cast<size_t>(kMaxRank), 1)));
  const TensorHead full{.step = ~uint64_t{0},
                        .edge = ~uint32_t{0},
                        .frame = 3,
                        .iteration = uint64_t{1} << 60,
                        .dtype = DType::kInt16,
                        .shape = deep.shape()};
  const TensorHead dead{
      .step = 9, .edge = 1, .dead = true, .dtype = DType::kFloat, .shape = Shape{2, 3}};
  ends.a->Push(full, deep);
  ends.a->Push(dead, Tensor());
  ASSERT_TRUE(ends.UntilArrived(2));
  const auto& arrivals = ends.at_b.arrivals;
  EXPECT_EQ(arrivals[0].head.step, full.step);
  EXPECT_EQ(arrivals[0].head.edge, full.edge);
  EXPECT_EQ(arrivals[0].head.frame, full.frame);
  EXPECT_EQ(arrivals[0].head.iteration, full.iteration);
  EXPECT_FALSE(arrivals[0].head.dead);
  EXPECT_EQ(arrivals[0].tensor.shape(), deep.shape());
  EXPECT_TRUE(arrivals[1].head.dead);
  EXPECT_TRUE(arrivals[1].tensor.empty());
  EXPECT_EQ(arrivals[1].head.shape, dead.shape);
}

TEST_P(ChannelConformance, EveryElementTypeArrives) {
  Ends ends(GetParam());
  std::vector<Tensor> sent;
  for (int number = 1; number < kNumDTypes; ++number) {
    const DType dtype = static_cast<DType>(number);
    if (!IsPlain(dtype)) continue;
    for (const Shape& shape : {Shape{}, Shape{3, 2}, Shape{50'000, 3}}) {
      Tensor t = *Tensor::AllocateHost(dtype, shape);
      auto* bytes = static_cast<uint8_t*>(t.mutable_raw_data());
      for (size_t i = 0; i < t.bytes(); ++i) bytes[i] = dtype == DType::kBool ? i & 1 : i * 37;
      sent.push_back(t);
    }
  }
  sent.push_back(
      Tensor::Vector<std::string>({"", "a", std::string("\0b\0", 3), std::string(300'000, 'x')}));
  sent.push_back(Tensor::Scalar("scalar"));
  sent.push_back(*Tensor::AllocateHost(DType::kString, Shape{0, 5}));
  for (size_t i = 0; i < sent.size(); ++i) ends.a->Push(EdgeHead(sent[i], i), sent[i]);
  ASSERT_TRUE(ends.UntilArrived(sent.size()));
  for (const Collector::Arrival& arrival : ends.at_b.arrivals) {
    SCOPED_TRACE(DTypeName(arrival.head.dtype));
    ExpectSame(arrival.tensor, sent[arrival.head.edge]);
  }
}

TEST_P(ChannelConformance, ResourceHandlesArrive) {
  Ends ends(GetParam());
  Tensor t = *Tensor::AllocateHost(DType::kResource, Shape{2});
  t.mutable_data<ResourceHandle>()[1] = ResourceHandle({.name = "v"}, {});
  ends.a->Push(EdgeHead(t), t);
  ASSERT_TRUE(ends.UntilArrived(1));
  const auto* place = ends.at_b.arrivals[0].tensor.data<ResourceHandle>()[1].place();
  ASSERT_NE(place, nullptr);
  EXPECT_EQ(place->name, "v");
}

// A5: more than a 32-bit length. The tensor is one small file mapped again and again, so that it
// takes no memory, only time: one transport of a kind takes the full size.
class RepeatedPages {
 public:
  explicit RepeatedPages(size_t bytes) : bytes_(bytes) {
    const int fd = memfd_create("repeated", MFD_CLOEXEC);
    EXPECT_EQ(ftruncate(fd, kPiece), 0);
    base_ = static_cast<char*>(mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (size_t at = 0; at < bytes; at += kPiece) {
      EXPECT_NE(mmap(base_ + at, kPiece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0),
                MAP_FAILED);
    }
    close(fd);
  }
  ~RepeatedPages() { munmap(base_, bytes_); }
  RepeatedPages(const RepeatedPages&) = delete;
  RepeatedPages& operator=(const RepeatedPages&) = delete;
  Tensor AsTensor() {
    return Tensor::FromBuffer(DType::kInt8, Shape{static_cast<int64_t>(bytes_)}, base_, [] {});
  }
  static constexpr size_t kPiece = size_t{16} << 20;

 private:
  const size_t bytes_;
  char* base_ = nullptr;
};

TEST_P(ChannelConformance, HugeTensorsArrive) {
  const size_t bytes = kSanitized ? size_t{320} << 20 : GetParam().huge_bytes;
  RepeatedPages source(bytes), target(bytes);
  Ends ends(GetParam());
  ends.at_b.on_head = [&](const TensorHead& head) -> Result<Tensor> {
    if (head.dtype == DType::kInt8) return target.AsTensor();
    return Tensor::AllocateHost(head.dtype, head.shape);
  };
  Tensor t = source.AsTensor();
  t.mutable_data<char>()[RepeatedPages::kPiece - 1] = 42;
  ends.a->Push(EdgeHead(t), t);
  ends.a->Push(EdgeHead(Tensor::Scalar(1.f)), Tensor::Scalar(1.f));
  ASSERT_TRUE(ends.UntilArrived(2));
  for (Collector::Arrival& arrival : ends.at_b.arrivals) {
    if (arrival.head.dtype != DType::kInt8) continue;
    ASSERT_EQ(arrival.tensor.bytes(), bytes);
    EXPECT_EQ(arrival.tensor.data<char>()[bytes - 1], 42);
  }
  ends.at_b.arrivals.clear();
}

TEST_P(ChannelConformance, NobodyWaitsForAReaderThatStopped) {
  Ends ends(GetParam());
  const Tensor t = Floats(1 << 18);
  constexpr size_t kTensors = 64;
  for (size_t i = 0; i < kTensors; ++i) {  // both ways, and nobody polls
    ends.a->Push(EdgeHead(t, i), t);
    ends.b->Push(EdgeHead(t, i), t);
  }
  ends.a->Send("after");
  ASSERT_TRUE(ends.UntilArrived(kTensors + 1));
  ASSERT_TRUE(ends.Until([&] { return ends.at_a.arrivals.size() == kTensors; }));
  size_t control_at = 0;
  uint32_t next = 0;
  for (size_t i = 0; i < ends.at_b.arrivals.size(); ++i) {
    const Collector::Arrival& arrival = ends.at_b.arrivals[i];
    if (!arrival.is_tensor) {
      control_at = i;
    } else {
      EXPECT_EQ(arrival.head.edge, next++);  // large tensors keep their order too
      ExpectSame(arrival.tensor, t);
    }
  }
  if (GetParam().separate_bulk) {
    EXPECT_LT(control_at, kTensors);
  }
}

// Several times as much as there is room for in between, both ways at once.
TEST_P(ChannelConformance, LargeTensorsBothWaysBesideControl) {
  Ends ends(GetParam());
  constexpr size_t kTensors = 8;
  std::vector<Tensor> sent;
  for (size_t i = 0; i < kTensors; ++i) sent.push_back(Floats(1'500'000, static_cast<float>(i)));
  for (size_t i = 0; i < kTensors; ++i) {
    for (Channel* channel : {ends.a.get(), ends.b.get()}) {
      channel->Push(EdgeHead(sent[i], static_cast<uint32_t>(i)), sent[i]);
      channel->Send(std::to_string(i));
    }
  }
  ASSERT_TRUE(ends.Until([&] {
    return ends.at_a.arrivals.size() == 2 * kTensors && ends.at_b.arrivals.size() == 2 * kTensors;
  }));
  for (const Collector* sink : {&ends.at_a, &ends.at_b}) {
    size_t tensors = 0, controls = 0;
    for (const Collector::Arrival& arrival : sink->arrivals) {
      if (arrival.is_tensor) {
        ASSERT_EQ(arrival.head.edge, tensors);
        ExpectSame(arrival.tensor, sent[tensors++]);
      } else {
        ASSERT_EQ(arrival.control, std::to_string(controls++));
      }
    }
    if (GetParam().separate_bulk) {
      EXPECT_TRUE(sink->arrivals.back().is_tensor);
    }
  }
}

// Bytes of this process's memory, shared memory included.
size_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  size_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident * 4096;
}

TEST_P(ChannelConformance, WhatWaitsForAReaderThatStoppedIsNotCopied) {
  if (kSanitized) GTEST_SKIP() << "the sanitizers' own memory counts";
  Ends ends(GetParam());
  const Tensor t = Floats(1 << 20);
  const size_t before = ResidentBytes();
  for (size_t sent = 0; sent < 4 * kMaxUntaken; sent += t.bytes()) ends.a->Push(EdgeHead(t), t);
  EXPECT_LT(ResidentBytes(), before + kMaxUntaken + kMaxUntaken / 2);
}

TEST_P(ChannelConformance, ControlNeverComesAfterALaterLargeTensor) {
  Ends ends(GetParam());
  const Tensor t = Floats(100'000);
  for (int i = 0; i < 50; ++i) {
    ends.a->Send("start " + std::to_string(i));
    ends.a->Push(EdgeHead(t, i), t);
  }
  ASSERT_TRUE(ends.UntilArrived(100));
  uint32_t started = 0;
  for (const Collector::Arrival& arrival : ends.at_b.arrivals) {
    if (!arrival.is_tensor) {
      EXPECT_EQ(arrival.control, "start " + std::to_string(started++));
    } else {
      EXPECT_LT(arrival.head.edge, started);
    }
  }
}

TEST_P(ChannelConformance, ARefusedTensorIsDroppedAndTheNextArrives) {
  Ends ends(GetParam());
  ends.at_b.on_head = [](const TensorHead& head) -> Result<Tensor> {
    if (head.edge < 2) return ResourceExhausted("no room");
    return Tensor::AllocateHost(head.dtype, head.shape);
  };
  const Tensor large = Floats(1'000'000), small = Floats(3);
  ends.a->Push(EdgeHead(large, 0), large);
  ends.a->Push(EdgeHead(small, 1), small);
  ends.a->Push(EdgeHead(large, 2), large);
  ends.a->Push(EdgeHead(small, 3), small);
  ASSERT_TRUE(ends.UntilArrived(2));
  ASSERT_TRUE(ends.Until([&] {
    for (const auto& arrival : ends.at_b.arrivals) {
      if (arrival.head.edge == 2) return true;
    }
    return false;
  }));
  if (GetParam().calls_on_head) {
    EXPECT_EQ(ends.at_b.arrivals.size(), 2u);
  }
  EXPECT_FALSE(ends.at_b.closed.has_value());
}

TEST_P(ChannelConformance, TensorsAreLetGoWhenReadAndWhenClosed) {
  std::atomic<int> releases{0};
  Ends ends(GetParam());
  const Tensor large = Floats(1'000'000), small = Floats(3);
  for (const Tensor& t : {large, small}) ends.a->Push(EdgeHead(t), Watched(t, &releases));
  ASSERT_TRUE(ends.UntilArrived(2));
  ends.at_b.arrivals.clear();
  EXPECT_TRUE(ends.Until([&] { return releases == 2; }));
  for (int i = 0; i < 20; ++i) ends.a->Push(EdgeHead(large), Watched(large, &releases));
  ends.a->Close(Cancelled("enough"));
  ASSERT_TRUE(ends.Until([&] { return ends.at_b.closed.has_value(); }));
  ends.at_b.arrivals.clear();
  EXPECT_TRUE(ends.Until([&] { return releases == 22; })) << releases;
}

// Record by record: what was sent before the close arrives, then its reason, once.
TEST_P(ChannelConformance, CloseComesLastWithItsReason) {
  const Tensor small = Floats(7), large = Floats(50'000);
  for (int sent = 0; sent <= 6; ++sent) {
    for (bool receiver_closes : {false, true}) {
      SCOPED_TRACE(testing::Message() << sent << receiver_closes);
      Ends ends(GetParam());
      size_t small_ones = 0;
      for (int i = 0; i < sent; ++i) {
        if (i % 3 == 0) ends.a->Send("c");
        if (i % 3 == 1) ends.a->Push(EdgeHead(small), small);
        if (i % 3 == 2) ends.a->Push(EdgeHead(large), large);
        small_ones += i % 3 != 2;
      }
      (receiver_closes ? ends.b : ends.a)->Close(Aborted("reason ", sent));
      ends.a->Close(Internal("not the first"));
      ends.a->Send("late");
      ends.a->Push(EdgeHead(small), small);
      ASSERT_TRUE(
          ends.Until([&] { return ends.at_a.closed.has_value() && ends.at_b.closed.has_value(); }));
      if (receiver_closes) {
        EXPECT_EQ(ends.at_b.arrivals.size(), 0u);
      } else {
        EXPECT_GE(ends.at_b.arrivals.size(), small_ones);
        EXPECT_LE(ends.at_b.arrivals.size(), static_cast<size_t>(sent));
      }
      EXPECT_EQ(ends.at_b.closed->code(), Code::kAborted);
      EXPECT_NE(ends.at_b.closed->message().find("reason"), std::string::npos);
      if (!receiver_closes) {
        EXPECT_EQ(ends.at_a.closed->code(), Code::kAborted);
      }
      EXPECT_FALSE(ends.a->Poll(ends.at_a, 4));
      EXPECT_FALSE(ends.b->Poll(ends.at_b, 4));
    }
  }
}

TEST_P(ChannelConformance, TheOtherSideHearsOfDestruction) {
  Ends ends(GetParam());
  ends.a->Send("last words");
  ends.a.reset();
  ASSERT_TRUE(PollUntil(*ends.b, ends.at_b, [&] { return ends.at_b.closed.has_value(); }));
  ASSERT_EQ(ends.at_b.arrivals.size(), 1u);
  EXPECT_EQ(ends.at_b.closed->code(), Code::kUnavailable);
  ends.b->Send("nobody hears");
}

TEST_P(ChannelConformance, BadSendsCloseTheChannel) {
  const Tensor t = Floats(3);
  const std::vector<std::function<void(Channel&)>> bad = {
      [](Channel& c) { c.Send(std::string(kMaxControlBytes + 1, 'x')); },
      [&](Channel& c) { c.Push({.dtype = DType::kFloat, .shape = Shape{4}}, t); },
      [&](Channel& c) { c.Push({.dtype = DType::kInt32, .shape = Shape{3}}, t); },
      [&](Channel& c) { c.Push({.dtype = DType::kFloat, .shape = Shape{3}}, Tensor()); },
      [&](Channel& c) { c.Push({.dead = true, .dtype = DType::kFloat, .shape = Shape{3}}, t); }};
  for (const auto& send : bad) {
    Ends ends(GetParam());
    ends.a->Send(std::string(kMaxControlBytes, 'x'));
    send(*ends.a);
    ASSERT_TRUE(
        ends.Until([&] { return ends.at_a.closed.has_value() && ends.at_b.closed.has_value(); }));
    EXPECT_EQ(ends.at_a.closed->code(), Code::kInvalidArgument);
    EXPECT_EQ(ends.at_b.arrivals.size(), 1u);
  }
}

// Counts rings, and waits for them.
class Rings {
 public:
  void Notify() {
    MutexLock lock(mutex_);
    ++count_;
    changed_.NotifyAll();
  }
  bool WaitFor(int count) {
    MutexLock lock(mutex_);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (count_ < count) {
      if (!changed_.WaitUntil(mutex_, end)) return false;
    }
    return true;
  }
  int count() {
    MutexLock lock(mutex_);
    return count_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  int count_ GUARDED_BY(mutex_) = 0;
};

TEST_P(ChannelConformance, RingsOnceForEachArm) {
  Rings rings;
  Ends ends(GetParam());
  ends.b->OnArrival([&] { rings.Notify(); });
  ASSERT_TRUE(PollUntil(*ends.b, ends.at_b, [&] { return ends.b->Arm(); }));
  for (int i = 1; i <= 20; ++i) {
    ends.a->Send("one");
    ends.a->Send("two");
    ASSERT_TRUE(rings.WaitFor(i));
    ASSERT_TRUE(PollUntil(*ends.b, ends.at_b,
                          [&] { return ends.at_b.arrivals.size() == 2 * static_cast<size_t>(i); }));
    EXPECT_EQ(rings.count(), i);
    ASSERT_TRUE(PollUntil(*ends.b, ends.at_b, [&] { return ends.b->Arm(); }));
  }
  const Tensor large = Floats(1'000'000);  // rings for tensors too, as often as needed
  ends.a->Push(EdgeHead(large), large);
  int heard = 20;
  while (ends.at_b.arrivals.size() == 40) {
    ASSERT_TRUE(rings.WaitFor(++heard));
    while (ends.b->Poll(ends.at_b, 1) || !ends.b->Arm()) {
    }
  }
  EXPECT_EQ(ends.at_b.arrivals.back().tensor.num_elements(), 1'000'000);
  heard = rings.count();
  ASSERT_TRUE(PollUntil(*ends.b, ends.at_b, [&] { return ends.b->Arm(); }));
  ends.a->Close(Cancelled("over"));
  ASSERT_TRUE(rings.WaitFor(heard + 1));
  ASSERT_TRUE(PollUntil(*ends.b, ends.at_b, [&] { return ends.at_b.closed.has_value(); }));
  EXPECT_TRUE(ends.b->Arm());
}

// Senders and pollers of both sides at once: everything comes once, in order for each sender.
TEST_P(ChannelConformance, ManyThreads) {
  constexpr int kSenders = 3, kRecords = kSanitized ? 300 : 2000;
  Ends ends(GetParam());
  const Tensor large = Floats(30'000);
  auto send = [&](Channel& channel, int sender) {
    for (int i = 0; i < kRecords; ++i) {
      channel.Send(std::to_string(sender) + " " + std::to_string(i));
      const Tensor t = i % 100 == 0 ? large : Tensor::Scalar(static_cast<float>(i));
      channel.Push(EdgeHead(t, sender), t);
    }
  };
  auto receive = [&](Channel& channel, Collector& sink, std::atomic<bool>& all) {
    RunUntil(
        [&] {
          if (channel.Poll(sink, 8)) return;
          channel.Arm();
        },
        [&] { return all.load(); });
  };
  std::atomic<bool> all{false};
  // The sink belongs to the polling thread: it says itself when all is there.
  struct Counter : Collector {
    void OnTensor(const TensorHead& head, Tensor tensor) override {
      Collector::OnTensor(head, std::move(tensor));
      if (++tensors == kSenders * kRecords && --*left == 0) *all = true;
    }
    int tensors = 0;
    std::atomic<int>* left = nullptr;
    std::atomic<bool>* all = nullptr;
  } at_a, at_b;
  std::atomic<int> left{2};
  at_a.left = at_b.left = &left;
  at_a.all = at_b.all = &all;
  std::vector<std::thread> threads;
  for (int s = 0; s < kSenders; ++s) {
    threads.emplace_back(send, std::ref(*ends.a), s);
    threads.emplace_back(send, std::ref(*ends.b), s);
  }
  for (int p = 0; p < 2; ++p) {
    threads.emplace_back(receive, std::ref(*ends.a), std::ref(at_a), std::ref(all));
    threads.emplace_back(receive, std::ref(*ends.b), std::ref(at_b), std::ref(all));
  }
  for (std::thread& thread : threads) thread.join();
  for (const Counter* sink : {&at_a, &at_b}) {
    std::vector<int> next(kSenders);
    EXPECT_EQ(sink->tensors, kSenders * kRecords);
    for (const Collector::Arrival& arrival : sink->arrivals) {
      if (arrival.is_tensor) continue;
      const int sender = arrival.control[0] - '0';
      ASSERT_EQ(arrival.control, std::to_string(sender) + " " + std::to_string(next[sender]++));
    }
    for (int n : next) EXPECT_EQ(n, kRecords);
  }
}

size_t OpenDescriptors() {
  size_t n = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    ++n;
  return n;
}

TEST_P(ChannelConformance, AThousandOpenAndClose) {
  const Tensor large = Floats(50'000);
  auto once = [&] {
    Ends ends(GetParam());
    ends.a->Push(EdgeHead(large), large);
    ASSERT_TRUE(ends.UntilArrived(1));
  };
  once();
  const size_t before = OpenDescriptors();
  for (int i = 0; i < (kSanitized ? 100 : 1000); ++i) {
    Ends ends(GetParam());
    ends.a->Send("hello");
    if (i % 10 == 0) ends.a->Push(EdgeHead(large), large);
    if (i % 2 == 0) {
      ASSERT_TRUE(ends.UntilArrived(1));
    }
    if (i % 3 == 0) ends.b.reset();
  }
  EXPECT_TRUE(RunUntil(once, [&] { return OpenDescriptors() <= before; })) << OpenDescriptors();
}

}  // namespace
}  // namespace thalweg
