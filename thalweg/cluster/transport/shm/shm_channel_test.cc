// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/shm/shm_channel.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <numeric>
#include <thread>

#include "thalweg/base/notification.h"
#include "thalweg/cluster/transport/conformance/test_sockets.h"
#include "thalweg/cluster/transport/conformance/test_transport.h"
#include "thalweg/cluster/transport/record.h"
#include "thalweg/cluster/transport/shm/test_sides.h"

namespace thalweg {
namespace {

// One pair of tasks for all tests of a case.
auto Connecting(int64_t arena_limit) {
  return [arena_limit, tasks = std::make_shared<std::unique_ptr<ShmTasks>>()] {
    if (*tasks == nullptr) *tasks = std::make_unique<ShmTasks>(arena_limit);
    return (*tasks)->Connect();
  };
}

INSTANTIATE_TEST_SUITE_P(Shm, ChannelConformance,
                         testing::Values(TransportCase{.name = "rings",
                                                       .connect = Connecting(0),
                                                       .separate_bulk = false,
                                                       .calls_on_head = false},
                                         TransportCase{.name = "little_memory",
                                                       .connect = Connecting(1 << 20),
                                                       .calls_on_head = false},
                                         TransportCase{.name = "no_memory",
                                                       .connect = Connecting(1)}),
                         TransportName);

TEST(ShmChannel, LargeFloatsAreReadInPlaceAndComeBack) {
  ShmTasks tasks;
  ChannelPair pair = *tasks.Connect();
  Collector sink, at_a;
  constexpr int64_t kFloats = 100'000;
  Tensor t = FloatsIn(*tasks.a, kFloats);
  const int64_t in_use = tasks.a->Stats().bytes_in_use;
  pair.first->Push(HeadOf(t), t);
  EXPECT_EQ(tasks.a->Stats().bytes_in_use, in_use);  // nothing was copied
  ASSERT_TRUE(PollUntil(*pair.second, sink, [&] { return sink.arrivals.size() == 1; }));
  EXPECT_EQ(sink.heads, 0);
  EXPECT_EQ(tasks.b->Stats().num_allocations, 0);
  Tensor& got = sink.arrivals[0].tensor;
  EXPECT_FALSE(got.IsSoleOwner());  // nobody writes there
  EXPECT_EQ(got.data<float>()[kFloats - 1], kFloats - 1);
  t.mutable_data<float>()[5] = -1;
  EXPECT_EQ(got.data<float>()[5], -1);
  t = Tensor();
  pair.first->Poll(at_a, 8);
  EXPECT_EQ(tasks.a->Stats().bytes_in_use, in_use);  // lent
  sink.arrivals.clear();
  ASSERT_TRUE(PollUntil(*pair.first, at_a, [&] { return tasks.a->Stats().bytes_in_use == 0; }));
}

TEST(ShmChannel, IntegersAndSmallFloatsAreCopied) {
  ShmTasks tasks;
  ChannelPair pair = *tasks.Connect();
  Collector sink;
  Tensor ints = *Tensor::Allocate(*tasks.a, DType::kInt32, Shape{50'000});
  std::memset(ints.mutable_raw_data(), 1, ints.bytes());
  pair.first->Push(HeadOf(ints), ints);
  ASSERT_TRUE(PollUntil(*pair.second, sink, [&] { return sink.arrivals.size() == 1; }));
  std::memset(ints.mutable_raw_data(), 2, ints.bytes());
  EXPECT_EQ(sink.arrivals[0].tensor.data<int32_t>()[49'999], 0x01010101);
  EXPECT_EQ(sink.heads, 1);
}

// What a living peer still reads is not reused, though the channel has closed and gone.
TEST(ShmChannel, ClosedChannelsKeepWhatIsRead) {
  ShmTasks tasks;
  ChannelPair pair = *tasks.Connect();
  Collector sink;
  {
    const Tensor t = FloatsIn(*tasks.a, 100'000);
    pair.first->Push(HeadOf(t), t);
  }
  ASSERT_TRUE(PollUntil(*pair.second, sink, [&] { return sink.arrivals.size() == 1; }));
  pair.first.reset();
  pair.second.reset();
  for (int i = 0; i < 10; ++i) {
    Tensor other = *Tensor::Allocate(*tasks.a, DType::kFloat, Shape{100'000});
    std::memset(other.mutable_raw_data(), 0xff, other.bytes());
    EXPECT_EQ(sink.arrivals[0].tensor.data<float>()[99'999], 99'999.f);
  }
  sink.arrivals.clear();
  EXPECT_TRUE(RunUntil([&] { Tensor::Allocate(*tasks.a, DType::kFloat, Shape{1000}).ok(); },
                       [&] { return tasks.a->Stats().bytes_in_use == 0; }));
}

size_t SharedMappings() {
  std::ifstream maps("/proc/self/maps");
  size_t n = 0;
  for (std::string line; std::getline(maps, line);) n += line.find("memfd:thalweg") < line.size();
  return n;
}

// What is not used any more goes back, the other side's view of it too; what is read stays.
TEST(ShmChannel, TrimmedPiecesGoOnBothSides) {
  ShmTasks tasks;
  ChannelPair pair = *tasks.Connect();
  Collector sink, at_a;
  const size_t rings = SharedMappings();
  for (int round = 0; round < 3; ++round) {
    for (const int64_t floats : {100'000, 20'000'000}) {  // a piece each
      const Tensor t = FloatsIn(*tasks.a, floats);
      pair.first->Push(HeadOf(t), t);
    }
    ASSERT_TRUE(PollUntil(*pair.second, sink, [&] { return sink.arrivals.size() == 2; }));
    tasks.a->Trim();
    EXPECT_EQ(SharedMappings(), rings + 4);
    sink.arrivals.pop_back();
    ASSERT_TRUE(PollUntil(*pair.first, at_a,
                          [&] { return tasks.a->Stats().bytes_in_use < 4 * 20'000'000; }));
    tasks.a->Trim();
    EXPECT_TRUE(RunUntil([] {}, [&] { return SharedMappings() == rings + 2; }));
    EXPECT_EQ(sink.arrivals[0].tensor.data<float>()[99'999], 99'999.f);
    sink.arrivals.clear();
    ASSERT_TRUE(PollUntil(*pair.first, at_a, [&] { return tasks.a->Stats().bytes_in_use == 0; }));
    tasks.a->Trim();
    EXPECT_EQ(tasks.a->Stats().bytes_kept, 0);
    EXPECT_TRUE(RunUntil([] {}, [&] { return SharedMappings() == rings; }));
  }
  EXPECT_FALSE(sink.closed.has_value());
}

// No thread stands between a message and who sleeps on the word of its channel.
TEST(ShmChannel, AMessageWakesWhoSleepsOnItsWord) {
  ASSERT_TRUE(HasSharedWords()) << "the system is older than Linux 5.16";
  ShmTasks tasks;
  ChannelPair pair = *tasks.Connect();
  Collector sink;
  std::atomic<int> rings{0};
  pair.second->OnArrival([&] { ++rings; });
  for (size_t i = 1; i <= 100; ++i) {
    FutexWord word;
    ASSERT_TRUE(pair.second->ArmWord(&word));
    std::thread sender([&] { pair.first->Send("x"); });
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    const std::atomic<uint32_t> own{0};
    while (word.word->load() == word.value && std::chrono::steady_clock::now() < end) {
      SleepOnWords(own, 0, {&word, 1}, end);
    }
    sender.join();
    pair.second->Disarm();
    ASSERT_TRUE(PollUntil(*pair.second, sink, [&] { return sink.arrivals.size() == i; }));
  }
  EXPECT_EQ(rings, 0);
}

// A piece of the usual size stays for the next session, however many there were.
TEST(ShmChannel, OneSparePieceStays) {
  ShmTasks tasks;
  const auto kept = static_cast<int64_t>(ShmArena::kPieceBytes);
  {
    const Tensor first = FloatsIn(*tasks.a, 10'000'000);
    const Tensor second = FloatsIn(*tasks.a, 10'000'000);
    const Tensor large = FloatsIn(*tasks.a, 20'000'000);
    EXPECT_GT(tasks.a->Stats().bytes_kept, 3 * kept);
  }
  for (int session = 0; session < 3; ++session) {
    tasks.a->TrimToSpare();
    EXPECT_EQ(tasks.a->Stats().bytes_kept, kept);
    const Tensor used = FloatsIn(*tasks.a, 100'000);
    EXPECT_EQ(tasks.a->Stats().bytes_kept, kept);
    tasks.a->TrimSpare();  // in use, and its time is not over
    EXPECT_EQ(tasks.a->Stats().bytes_kept, kept);
  }
  tasks.a->Trim();
  EXPECT_EQ(tasks.a->Stats().bytes_kept, 0);
}

// Who keeps what it receives does not stop the sender: beyond half of the arena it keeps copies.
TEST(ShmChannel, WhatIsKeptDoesNotFillTheArena) {
  ShmTasks tasks;
  tasks.a = ShmArena::Make(4 << 20);
  ChannelPair pair = *tasks.Connect();
  Collector sink, at_a;
  Tensor t = *Tensor::AllocateHost(DType::kFloat, Shape{100'000});
  for (size_t i = 0; i < 30; ++i) {
    t.mutable_data<float>()[0] = static_cast<float>(i);
    pair.first->Push(HeadOf(t), t);
    ASSERT_TRUE(RunUntil(
        [&] {
          pair.second->Poll(sink, 4);
          pair.first->Poll(at_a, 4);
        },
        [&] { return sink.arrivals.size() == i + 1; }));
  }
  for (size_t i = 0; i < 30; ++i) {
    EXPECT_EQ(sink.arrivals[i].tensor.data<float>()[0], static_cast<float>(i));
  }
  EXPECT_GT(sink.heads, 0);   // copied
  EXPECT_LT(sink.heads, 30);  // read in place
}

// Holds the I/O thread in a handler until it goes.
class BusyIoThread {
 public:
  explicit BusyIoThread(std::shared_ptr<IoThread> io) {
    watch_ = *IoWatch::Make(std::move(io), sockets_.first.get(), [this](uint32_t) {
      inside_.Notify();
      go_.Wait();
    });
    watch_->Want(EPOLLIN);
    EXPECT_EQ(write(sockets_.second.get(), "x", 1), 1);
    inside_.Wait();
  }
  ~BusyIoThread() {
    go_.Notify();
    watch_->Stop();
  }

 private:
  FdPair sockets_ = UnixSockets();
  Notification inside_, go_;
  std::unique_ptr<IoWatch> watch_;
};

constexpr size_t kMoreThanARing = 2 * Ring::kDataBytes / kMaxControlBytes;

// The wake-up of a writer that lies in the socket may be read by the thread that polls and misses a
// piece of memory, before the I/O thread comes to it.
TEST(ShmChannel, APollThatReadsAWakeUpOfTheWriterHandlesIt) {
  RawShmSide raw;
  Ring in(raw.rings.data() + Ring::kBytes);
  for (size_t i = 0; i < kMoreThanARing; ++i) {
    raw.channel->Send(std::string(kMaxControlBytes, 'x'));
  }
  const SharedMemory piece = *SharedMemory::Make(1 << 20, SharedUse::kOwnerWrites);
  std::string record;
  size_t read = 0;
  {
    const BusyIoThread busy(raw.tasks.io);
    while (*in.Read(&record)) ++read;
    ASSERT_LT(read, kMoreThanARing);
    ASSERT_TRUE(in.TakeWriterWaits());
    ASSERT_TRUE(raw.socket.Send({}).ok());
    ASSERT_TRUE(
        raw.socket.Send({.kind = ControlKind::kPiece, .id = 1, .bytes = piece.bytes()}, piece.fd())
            .ok());
    ASSERT_TRUE(*raw.out->Write(raw.Shared(1, 64, 100'000), {}));
    ASSERT_TRUE(PollUntil(*raw.channel, raw.sink, [&] { return raw.sink.arrivals.size() == 1; }));
  }
  EXPECT_TRUE(RunUntil(
      [&] {
        while (*in.Read(&record)) ++read;
        if (in.TakeWriterWaits()) raw.socket.Send({}).IgnoreError();
      },
      [&] { return read == kMoreThanARing; }));
}

// So is the wake-up of a thread that has armed the channel and waits for the ring.
TEST(ShmChannel, APollThatReadsAWakeUpOfTheReaderRings) {
  RawShmSide raw;
  std::atomic<int> rings{0};
  raw.channel->OnArrival([&] { ++rings; });
  const SharedMemory piece = *SharedMemory::Make(1 << 20, SharedUse::kOwnerWrites);
  const BusyIoThread busy(raw.tasks.io);
  ASSERT_TRUE(raw.channel->Arm());
  ASSERT_TRUE(*raw.out->Write(raw.Shared(1, 64, 100'000), {}));
  ASSERT_TRUE(raw.out->TakeParked());
  ASSERT_TRUE(raw.socket.Send({}).ok());
  ASSERT_TRUE(
      raw.socket.Send({.kind = ControlKind::kPiece, .id = 1, .bytes = piece.bytes()}, piece.fd())
          .ok());
  raw.channel->Poll(raw.sink, 8);
  EXPECT_EQ(raw.sink.arrivals.size(), 1u);
  EXPECT_EQ(rings.load(), 1);
}

// A side that parks often while the other one's I/O thread has no processor is woken once, so that
// its socket has room for what else goes through it.
TEST(ShmChannel, WakeUpsDoNotFillTheControlSocket) {
  ShmTasks tasks;
  ChannelPair pair = *tasks.Connect();
  Collector sink;
  {
    const BusyIoThread busy(tasks.io);
    for (int i = 0; i < 5000; ++i) {
      ASSERT_TRUE(pair.second->Arm());
      pair.first->Send("x");
      pair.second->Poll(sink, 8);
    }
    const Tensor t = FloatsIn(*tasks.a, 100'000);
    pair.first->Push(HeadOf(t), t);
    pair.second->Poll(sink, 8);
  }
  EXPECT_EQ(sink.arrivals.size(), 5001u);
  EXPECT_FALSE(sink.closed.has_value());
}

TEST(ShmChannel, PlacesOutsideThePieceCloseIt) {
  const SharedMemory piece = *SharedMemory::Make(1 << 20, SharedUse::kOwnerWrites);
  const std::vector<std::tuple<uint64_t, uint64_t, int64_t>> bad = {
      {2, 0, 100'000},
      {1, 0, 300'000},
      {1, (1 << 20) - 64, 100'000},
      {1, ~uint64_t{0} & ~uint64_t{63}, 100'000},
      {1, 4, 100'000}};
  for (const auto& [id, offset, floats] : bad) {
    RawShmSide raw;
    ASSERT_TRUE(
        raw.socket.Send({.kind = ControlKind::kPiece, .id = 1, .bytes = piece.bytes()}, piece.fd())
            .ok());
    ASSERT_TRUE(*raw.out->Write(raw.Shared(1, 64, 100'000), {}));
    ASSERT_TRUE(*raw.out->Write(raw.Shared(id, offset, floats), {}));
    ASSERT_TRUE(raw.UntilClosed());
    EXPECT_EQ(raw.sink.arrivals.size(), 1u);
    EXPECT_EQ(raw.sink.closed->code(), Code::kDataLoss);
  }
}

TEST(ShmChannel, MemoryThatCouldShrinkIsRefused) {
  RawShmSide raw;
  const UniqueFd loose(memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(loose.get(), 1 << 20), 0);
  ASSERT_TRUE(
      raw.socket.Send({.kind = ControlKind::kPiece, .id = 1, .bytes = 1 << 20}, loose.get()).ok());
  ASSERT_TRUE(raw.UntilClosed());
  EXPECT_EQ(raw.sink.closed->code(), Code::kDataLoss);
}

TEST(ShmChannel, GarbageInTheRingClosesIt) {
  for (const char fill : {'\x01', '\x40', '\xff'}) {
    RawShmSide raw;
    ASSERT_TRUE(*raw.out->Write(std::string(64, fill), {}));
    ASSERT_TRUE(raw.UntilClosed());
    EXPECT_EQ(raw.sink.closed->code(), Code::kDataLoss);
  }
  RawShmSide raw;  // a position out of range
  reinterpret_cast<RingHeader*>(raw.rings.data())->written.store(uint64_t{1} << 40);
  ASSERT_TRUE(raw.UntilClosed());
  EXPECT_EQ(raw.sink.closed->code(), Code::kDataLoss);
}

TEST(ShmChannel, LoansThatWereNotMadeCloseIt) {
  RawShmSide raw;
  const uint64_t loans[] = {7};
  ASSERT_TRUE(*raw.out->Write(EncodeReleases(loans), {}));
  ASSERT_TRUE(raw.UntilClosed());
  EXPECT_EQ(raw.sink.closed->code(), Code::kDataLoss);
}

TEST(ShmChannel, TheReceiverCannotWriteTheSendersMemory) {
  const SharedMemory piece = *SharedMemory::Make(1 << 20, SharedUse::kOwnerWrites);
  EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, piece.fd(), 0), MAP_FAILED);
  EXPECT_NE(ftruncate(piece.fd(), 0), 0);
}

// A peer that is killed: what it published arrives, what it lent stays readable, then the channel
// ends. (A6)
TEST(ShmChannel, DeathOfTheOtherProcess) {
  FdPair sockets = UnixSockets();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    sockets.second = UniqueFd();
    ShmTasks tasks;
    auto channel = OpenShmChannel(tasks.io, tasks.a, std::move(sockets.first));
    if (!channel.ok()) _exit(2);
    const Tensor t = FloatsIn(*tasks.a, 1'000'000);
    (*channel)->Push(HeadOf(t), t);
    (*channel)->Send("last words");
    raise(SIGKILL);
  }
  sockets.first = UniqueFd();
  ShmTasks tasks;
  auto channel = AcceptShmChannel(tasks.io, tasks.b, std::move(sockets.second));
  ASSERT_TRUE(channel.ok()) << channel.status().ToString();
  Collector sink;
  ASSERT_TRUE(PollUntil(**channel, sink, [&] { return sink.closed.has_value(); }));
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(sink.closed->code(), Code::kUnavailable);
  ASSERT_EQ(sink.arrivals.size(), 2u);
  EXPECT_EQ(sink.arrivals[0].tensor.data<float>()[999'999], 999'999.f);
  EXPECT_EQ(sink.arrivals[1].control, "last words");
}

TEST(ShmArena, JoinsWhatIsFreed) {
  auto arena = ShmArena::Make(int64_t{256} << 20);
  void* blocks[3];
  for (void*& block : blocks) block = arena->Allocate(16 << 20);
  const int64_t kept = arena->Stats().bytes_kept;
  for (int i : {0, 2, 1}) arena->Deallocate(blocks[i], 16 << 20);
  void* all = arena->Allocate(ShmArena::kPieceBytes);
  EXPECT_NE(all, nullptr);
  EXPECT_EQ(arena->Stats().bytes_kept, kept);
  arena->Deallocate(all, ShmArena::kPieceBytes);
  EXPECT_EQ(arena->Allocate(size_t{300} << 20), nullptr);
  EXPECT_EQ(arena->Allocate(~size_t{0}), nullptr);
  int local = 0;
  EXPECT_FALSE(arena->Find(&local, 4).has_value());
  EXPECT_EQ(arena->Stats().bytes_in_use, 0);
}

TEST(ShmArena, TensorsOutliveIt) {
  auto arena = ShmArena::Make();
  Tensor t = FloatsIn(*arena, 100'000);
  arena.reset();
  EXPECT_EQ(t.data<float>()[99'999], 99'999.f);
}

}  // namespace
}  // namespace thalweg
