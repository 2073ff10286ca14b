// SPDX-License-Identifier: Apache-2.0
// Large tensors for which there is little shared memory or none: they go in pieces, which are lent
// as long as there is room for a copy of one, and go through the ring otherwise.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "thalweg/cluster/transport/shm/test_sides.h"

namespace thalweg {
namespace {

std::string Bulk(int64_t floats) {
  std::string bytes(kMaxHeadBytes, '\0');
  const TensorHead head{.dtype = DType::kFloat, .shape = Shape{floats}};
  bytes.resize(
      EncodeHead(RecordKind::kBulk, head, 4 * static_cast<uint64_t>(floats), {}, bytes.data()));
  return bytes;
}

std::string Piece(size_t bytes) {
  std::string out(8, '\0');
  EncodePiecePrefix(bytes, out.data());
  return out + std::string(bytes, 'p');
}

// What is lent meanwhile comes before or after, in its place; all is as it was sent.
TEST(ShmPieces, TensorsKeepTheirOrderWhereTheArenaIsFull) {
  ShmTasks tasks(2 << 20);
  ChannelPair pair = *tasks.Connect();
  Collector sink, at_a;
  const Tensor fits = FloatsIn(*tasks.a, 100'000);
  const Tensor host = *Tensor::AllocateHost(DType::kFloat, Shape{100'000});
  const Tensor too_large = *Tensor::AllocateHost(DType::kFloat, Shape{1'000'000});
  std::memset(const_cast<void*>(host.raw_data()), 1, host.bytes());
  std::memset(const_cast<void*>(too_large.raw_data()), 2, too_large.bytes());
  const Tensor* const order[] = {&host, &host, &host, &too_large, &fits};
  for (uint32_t i = 0; i < 20; ++i) {
    TensorHead head = HeadOf(*order[i % 5]);
    head.edge = i;
    pair.first->Push(head, *order[i % 5]);
  }
  ASSERT_TRUE(RunUntil(
      [&] {
        pair.second->Poll(sink, 4);
        pair.first->Poll(at_a, 4);
      },
      [&] { return sink.arrivals.size() == 20; }));
  for (uint32_t i = 0; i < 20; ++i) {
    const Tensor& got = sink.arrivals[i].tensor;
    ASSERT_EQ(sink.arrivals[i].head.edge, i);
    ASSERT_EQ(std::memcmp(got.raw_data(), order[i % 5]->raw_data(), got.bytes()), 0) << i;
  }
  EXPECT_LT(sink.heads, 20);  // some were read in place
}

// What the other side keeps, and never gives back, stops nobody.
TEST(ShmPieces, WhoKeepsAllThereIsStillReceives) {
  ShmTasks tasks(1 << 20);
  ChannelPair pair = *tasks.Connect();
  Collector sink;
  const Tensor kept = FloatsIn(*tasks.a, 120'000);
  pair.first->Push(HeadOf(kept), kept);
  const Tensor more = *Tensor::AllocateHost(DType::kFloat, Shape{250'000});
  pair.first->Push(HeadOf(more), more);
  EXPECT_TRUE(PollUntil(*pair.second, sink, [&] { return sink.arrivals.size() == 2; }));
  EXPECT_EQ(sink.heads, 1);
}

// A reader that has stopped: copies for it have an end, and what waits is kept, not copied.
TEST(ShmPieces, AReaderThatStoppedGetsNoMoreCopies) {
  ShmTasks tasks(int64_t{1} << 30);
  ChannelPair pair = *tasks.Connect();
  const Tensor t = *Tensor::AllocateHost(DType::kFloat, Shape{1 << 20});
  for (size_t sent = 0; sent < 3 * kMaxUntaken; sent += t.bytes()) pair.first->Push(HeadOf(t), t);
  EXPECT_GT(tasks.a->Stats().bytes_in_use, 0);
  EXPECT_LE(tasks.a->Stats().bytes_in_use, static_cast<int64_t>(kMaxUntaken));
}

// A few pieces are lent at a time; each that comes back is followed by the next.
TEST(ShmPieces, EachThatComesBackIsFollowedByTheNext) {
  RawShmSide raw;
  Ring in(raw.rings.data() + Ring::kBytes);
  constexpr size_t kBytes = kMaxUntaken + (size_t{1} << 20);
  const Tensor t =
      *Tensor::AllocateHost(DType::kFloat, Shape{static_cast<int64_t>(kBytes / sizeof(float))});
  raw.channel->Push(HeadOf(t), t);
  std::string bytes;
  Record record;
  ASSERT_TRUE(*in.Read(&bytes) && ParseRecord(bytes, &record).ok());
  EXPECT_EQ(record.kind, RecordKind::kBulk);
  std::vector<uint64_t> lent;
  size_t come = 0;
  while (come < kBytes) {
    while (*in.Read(&bytes)) {
      ASSERT_TRUE(ParseRecord(bytes, &record).ok());
      ASSERT_EQ(record.kind, RecordKind::kLentPiece);
      come += record.payload_bytes;
      lent.push_back(record.place.loan);
    }
    ASSERT_FALSE(lent.empty());
    EXPECT_LE(raw.tasks.b->Stats().bytes_in_use, int64_t{8} << 20);
    ASSERT_TRUE(*raw.out->Write(EncodeReleases(lent), {}));
    lent.clear();
    raw.channel->Poll(raw.sink, 16);
  }
  EXPECT_EQ(come, kBytes);
  EXPECT_EQ(raw.tasks.b->Stats().bytes_in_use, 0);
}

// Control that is sent while large tensors wait takes the next place in the ring.
TEST(ShmPieces, PiecesLeaveRoomForControl) {
  RawShmSide raw(/*limit=*/1);
  Ring in(raw.rings.data() + Ring::kBytes);
  const Tensor t = *Tensor::AllocateHost(DType::kFloat, Shape{10'000'000});
  raw.channel->Push(HeadOf(t), t);
  raw.channel->Send("control");
  std::string bytes;
  Record record;
  size_t before = 0;
  for (bool found = false; !found;) {
    ASSERT_TRUE(*in.Read(&bytes));
    ASSERT_TRUE(ParseRecord(bytes, &record).ok());
    found = record.kind == RecordKind::kControl;
    if (record.kind == RecordKind::kPiece) before += record.payload.size();
  }
  EXPECT_LE(before, Ring::kDataBytes - (size_t{64} << 10));
}

TEST(ShmPieces, MalformedOnesCloseTheChannel) {
  const std::vector<std::vector<std::string>> bad = {
      {Piece(100)},                                             // of nothing
      {Bulk(16'000)},                                           // small
      {Bulk(100'000), Bulk(100'000)},                           // within another one
      {Bulk(16'385), Piece(32'768), Piece(32'769 + 4)},         // too many bytes
      {EncodeLentPiece({.piece = 1}, 100)},                     // of nothing
      {Bulk(100'000), EncodeLentPiece({.piece = 1}, 100)},      // of unknown memory
      {Bulk(100'000), EncodeLentPiece({.piece = 7}, 400'001)},  // too many bytes
      {Bulk(100'000), EncodeLentPiece({7, 1 << 20, 1}, 100)},   // beyond its memory
      {Bulk(100'000), EncodeLentPiece({7, ~uint64_t{0} - 63, 1}, 128)},
      {Bulk(100'000), EncodeLentPiece({7, 4, 1}, 100)},  // not aligned
  };
  for (const std::vector<std::string>& records : bad) {
    RawShmSide raw;
    const SharedMemory memory = *SharedMemory::Make(1 << 20, SharedUse::kOwnerWrites);
    ASSERT_TRUE(
        raw.socket
            .Send({.kind = ControlKind::kPiece, .id = 7, .bytes = memory.bytes()}, memory.fd())
            .ok());
    for (const std::string& record : records) ASSERT_TRUE(*raw.out->Write(record, {}));
    ASSERT_TRUE(raw.UntilClosed());
    EXPECT_EQ(raw.sink.closed->code(), Code::kDataLoss);
    EXPECT_EQ(raw.sink.arrivals.size(), 0u);
  }
}

// A peer that is killed within a tensor: what came whole has arrived, the rest goes. (A6)
TEST(ShmPieces, DeathWithinATensor) {
  FdPair sockets = UnixSockets();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    sockets.second = UniqueFd();
    ShmTasks tasks(1);
    auto channel = OpenShmChannel(tasks.io, tasks.a, std::move(sockets.first));
    if (!channel.ok()) _exit(2);
    const Tensor t = *Tensor::AllocateHost(DType::kFloat, Shape{1'000'000});
    (*channel)->Push(HeadOf(t), t);
    (*channel)->Send("last words");
    raise(SIGKILL);
  }
  sockets.first = UniqueFd();
  ShmTasks tasks(1);
  auto channel = AcceptShmChannel(tasks.io, tasks.b, std::move(sockets.second));
  ASSERT_TRUE(channel.ok()) << channel.status().ToString();
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  Collector sink;
  ASSERT_TRUE(PollUntil(**channel, sink, [&] { return sink.closed.has_value(); }));
  EXPECT_EQ(sink.closed->code(), Code::kUnavailable);
  EXPECT_EQ(sink.heads, 1);
  ASSERT_EQ(sink.arrivals.size(), 1u);
  EXPECT_EQ(sink.arrivals[0].control, "last words");
}

}  // namespace
}  // namespace thalweg
