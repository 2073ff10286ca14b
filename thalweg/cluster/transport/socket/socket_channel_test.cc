// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/socket/socket_channel.h"

#include <poll.h>

#include <random>

#include "thalweg/cluster/transport/conformance/test_sockets.h"
#include "thalweg/cluster/transport/conformance/test_transport.h"
#include "thalweg/cluster/transport/record.h"

namespace thalweg {
namespace {

Result<ChannelPair> SocketChannels(TcpSockets first, TcpSockets second) {
  ASSIGN_OR_RETURN(const std::shared_ptr<IoThread> io, IoThread::Start());
  ChannelPair pair;
  ASSIGN_OR_RETURN(pair.first,
                   MakeSocketChannel(io, std::move(first.control), std::move(first.bulk)));
  ASSIGN_OR_RETURN(pair.second,
                   MakeSocketChannel(io, std::move(second.control), std::move(second.bulk)));
  return pair;
}

Result<ChannelPair> UnixChannels() {
  FdPair control = UnixSockets(), bulk = UnixSockets();
  return SocketChannels({std::move(control.first), std::move(bulk.first)},
                        {std::move(control.second), std::move(bulk.second)});
}

Result<ChannelPair> TcpChannels() {
  auto [here, there] = TcpChannelSockets();
  return SocketChannels(std::move(here), std::move(there));
}

INSTANTIATE_TEST_SUITE_P(Socket, ChannelConformance,
                         testing::Values(TransportCase{.name = "unix",
                                                       .connect = UnixChannels,
                                                       .huge_bytes = (size_t{4} << 30) +
                                                                     (size_t{16} << 20)},
                                         TransportCase{.name = "tcp", .connect = TcpChannels}),
                         TransportName);

// One end is a channel, the other the test itself.
struct Raw {
  Raw() {
    FdPair control_pair = UnixSockets(), bulk_pair = UnixSockets();
    auto io = IoThread::Start();
    channel = *MakeSocketChannel(*io, std::move(control_pair.first), std::move(bulk_pair.first));
    control = std::move(control_pair.second);
    bulk = std::move(bulk_pair.second);
  }
  void Write(const UniqueFd& fd, std::string_view bytes) {
    EXPECT_EQ(send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  bool UntilClosed() {
    return PollUntil(*channel, sink, [&] { return sink.closed.has_value(); });
  }
  std::unique_ptr<Channel> channel;
  Collector sink;
  UniqueFd control, bulk;
};

std::string Control(const std::string& text) {
  std::string out(8, '\0');
  EncodeControlPrefix(text.size(), out.data());
  return out + text;
}

std::string BulkHead(int64_t floats) {
  std::string out(kMaxHeadBytes, '\0');
  const TensorHead head{.dtype = DType::kFloat, .shape = Shape{floats}};
  out.resize(
      EncodeHead(RecordKind::kBulk, head, 4 * static_cast<uint64_t>(floats), {}, out.data()));
  return out;
}

TEST(SocketChannel, RecordsMayComeByteByByte) {
  Raw raw;
  for (char c : Control("slow") + Control("")) {
    raw.Write(raw.control, {&c, 1});
    raw.channel->Poll(raw.sink, 8);
  }
  ASSERT_TRUE(PollUntil(*raw.channel, raw.sink, [&] { return raw.sink.arrivals.size() == 2; }));
  EXPECT_EQ(raw.sink.arrivals[0].control, "slow");
}

TEST(SocketChannel, GarbageClosesIt) {
  std::mt19937 random(7);
  for (int i = 0; i < 50; ++i) {
    Raw raw;
    raw.Write(raw.control, Control("good"));
    std::string garbage(100, '\0');
    for (char& c : garbage) c = static_cast<char>(random());
    garbage[3] = '\x7f';  // a length beyond the limit
    raw.Write(raw.control, garbage);
    ASSERT_TRUE(raw.UntilClosed());
    EXPECT_EQ(raw.sink.closed->code(), Code::kDataLoss);
    EXPECT_EQ(raw.sink.arrivals.size(), 1u);
  }
}

TEST(SocketChannel, RefusesSmallTensorsAnnouncedAsLargeOnes) {
  Raw raw;
  raw.Write(raw.control, BulkHead(1));
  ASSERT_TRUE(raw.UntilClosed());
  EXPECT_EQ(raw.sink.closed->code(), Code::kDataLoss);
}

// A peer that dies between a head and its bytes, or in the middle of a record (A6).
TEST(SocketChannel, DeathAtAnyPointClosesIt) {
  for (const std::string& before :
       {std::string(), Control("x"), Control("half").substr(0, 9), BulkHead(100'000)}) {
    for (bool some_bytes : {false, true}) {
      Raw raw;
      if (!before.empty()) raw.Write(raw.control, before);
      if (some_bytes) raw.Write(raw.bulk, std::string(1000, 'b'));
      raw.control = UniqueFd();
      raw.bulk = UniqueFd();
      ASSERT_TRUE(raw.UntilClosed());
      EXPECT_NE(raw.sink.closed->code(), Code::kOk);
      raw.channel->Push({.dtype = DType::kFloat, .shape = Shape{}}, Tensor::Scalar(1.f));
    }
  }
}

TEST(SocketChannel, LosingBulkAloneClosesIt) {
  Raw raw;
  raw.Write(raw.control, BulkHead(100'000));
  raw.bulk = UniqueFd();
  ASSERT_TRUE(raw.UntilClosed());
}

TEST(SocketChannel, AReaderThatStoppedDoesNotTakeMemoryWithoutEnd) {
  Raw raw;
  const std::string message(kMaxControlBytes, 'm');
  for (size_t sent = 0; sent < 2 * kMaxQueuedControl; sent += message.size()) {
    raw.channel->Send(message);
  }
  ASSERT_TRUE(raw.UntilClosed());
  EXPECT_EQ(raw.sink.closed->code(), Code::kResourceExhausted);
}

}  // namespace
}  // namespace thalweg
