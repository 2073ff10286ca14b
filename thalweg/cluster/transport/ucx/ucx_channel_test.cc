// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/ucx/ucx_channel.h"

#include <signal.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <random>
#include <thread>

#include "thalweg/cluster/transport/conformance/test_transport.h"
#include "thalweg/cluster/transport/record.h"
#include "thalweg/cluster/transport/ucx/ucx_listener.h"

namespace thalweg {
namespace {

constexpr const char* kHost = "127.0.0.1";

// One who asks and opens a listener, one who is asked and comes.
Result<ChannelPair> UcxChannels() {
  ASSIGN_OR_RETURN(const std::shared_ptr<IoThread> io, IoThread::Start());
  ASSIGN_OR_RETURN(UcxListener listener, UcxListener::Open(kHost));
  const UniqueFd answered(eventfd(0, EFD_CLOEXEC));
  Result<std::unique_ptr<Channel>> second = Internal("not connected");
  std::thread asked([&] {
    second = ConnectByUcx(listener.offer(), kHost, io, std::chrono::seconds(60));
    eventfd_write(answered.get(), 1);
  });
  listener.AttendUntil(answered);
  asked.join();
  RETURN_IF_ERROR(second.status());
  ChannelPair pair;
  pair.second = *std::move(second);
  ASSIGN_OR_RETURN(pair.first, listener.Take(io));
  return pair;
}

INSTANTIATE_TEST_SUITE_P(Ucx, ChannelConformance,
                         testing::Values(TransportCase{.name = "loopback", .connect = UcxChannels}),
                         TransportName);

// One end is a channel, the other the test itself.
class UcxRawTest : public testing::Test {
 protected:
  UcxRawTest() { Connect({}); }
  // `wrong`: by how much the raw end is mistaken in the channel's secret.
  void Connect(const UcxSecret& wrong) {
    auto end = *UcxEndpoint::Make(true);
    raw_ = *UcxEndpoint::Make(true);
    UcxSecret secret = end->secret();
    for (size_t i = 0; i < secret.size(); ++i) secret[i] ^= wrong[i];
    EXPECT_TRUE(raw_->Connect(*end->Address(), secret).ok());
    EXPECT_TRUE(end->Connect(*raw_->Address(), raw_->secret()).ok());
    channel_ = *MakeUcxChannel(*IoThread::Start(), std::move(end));
  }
  template <class Done>
  bool Until(Done done) {
    return RunUntil(
        [&] {
          if (raw_ != nullptr) raw_->Progress();
          channel_->Poll(sink_, 16);
        },
        done);
  }
  bool UntilClosed() {
    return Until([&] { return sink_.closed.has_value(); });
  }
  void SendControl(const std::string& text) {
    std::string prefix(8, '\0');
    EncodeControlPrefix(text.size(), prefix.data());
    raw_->SendRecord(prefix, text);
  }
  void SendBulkHead(DType dtype, int64_t elements, uint64_t bytes) {
    std::string out(kMaxHeadBytes, '\0');
    out.resize(EncodeHead(RecordKind::kBulk, {.dtype = dtype, .shape = Shape{elements}}, bytes, {},
                          out.data()));
    raw_->SendRecord(out, {});
  }
  void SendPiece(size_t bytes) {
    auto payload = std::make_shared<UcxPayload>();
    payload->objects.assign(bytes, 'p');
    raw_->SendPieces(payload);
  }

  std::unique_ptr<UcxEndpoint> raw_;
  std::unique_ptr<Channel> channel_;
  Collector sink_;
};

TEST_F(UcxRawTest, GarbageClosesIt) {
  std::mt19937 random(7);
  for (int i = 0; i < 20; ++i) {
    Connect({});
    sink_ = Collector();
    SendControl("good");
    std::string garbage(100, '\0');
    for (char& c : garbage) c = static_cast<char>(random());
    raw_->SendRecord(garbage, {});
    ASSERT_TRUE(UntilClosed());
    EXPECT_EQ(sink_.closed->code(), Code::kDataLoss);
    EXPECT_EQ(sink_.arrivals.size(), 1u);
  }
}

TEST_F(UcxRawTest, AStrangersMessagesAreDropped) {
  Connect({0, 1});
  SendControl("from a stranger");
  SendPiece(100'000);
  // The piece is refused, which its sender hears: both have come.
  ASSERT_TRUE(Until([&] { return !raw_->sending(); }));
  EXPECT_TRUE(sink_.arrivals.empty());
  EXPECT_FALSE(sink_.closed.has_value());
}

TEST_F(UcxRawTest, RefusesSmallTensorsAnnouncedAsLargeOnes) {
  SendBulkHead(DType::kFloat, 1, 4);
  ASSERT_TRUE(UntilClosed());
  EXPECT_EQ(sink_.closed->code(), Code::kDataLoss);
}

TEST_F(UcxRawTest, APieceOfAnotherSizeClosesIt) {
  SendBulkHead(DType::kFloat, 100'000, 400'000);
  SendPiece(400'001);
  ASSERT_TRUE(UntilClosed());
  EXPECT_EQ(sink_.closed->code(), Code::kDataLoss);
  EXPECT_EQ(sink_.heads, 0);  // no memory was asked for
}

// Strings are not believed how long they are.
TEST_F(UcxRawTest, ALengthThatLiesTakesNoMemory) {
  SendBulkHead(DType::kString, 1, uint64_t{1} << 40);
  SendPiece(kUcxPiece);
  ASSERT_TRUE(Until([&] { return !raw_->sending(); }));
  raw_.reset();
  ASSERT_TRUE(UntilClosed());
  EXPECT_TRUE(sink_.arrivals.empty());
}

// A peer that goes without a word, between a head and its bytes or in the middle of nothing (A6).
TEST_F(UcxRawTest, DeathAtAnyPointClosesIt) {
  for (int said = 0; said < 3; ++said) {
    SCOPED_TRACE(said);
    Connect({});
    sink_ = Collector();
    SendControl("alive");
    ASSERT_TRUE(Until([&] { return sink_.arrivals.size() == 1; }));
    if (said == 1) SendBulkHead(DType::kFloat, 100'000, 400'000);
    if (said == 2)
      channel_->Push({.dtype = DType::kInt8, .shape = Shape{1 << 20}},
                     *Tensor::AllocateHost(DType::kInt8, Shape{1 << 20}));
    raw_.reset();
    ASSERT_TRUE(UntilClosed());
    EXPECT_EQ(sink_.closed->code(), Code::kUnavailable) << sink_.closed->ToString();
    channel_->Push({.dtype = DType::kFloat, .shape = Shape{}}, Tensor::Scalar(1.f));
  }
}

TEST_F(UcxRawTest, AReaderThatStoppedDoesNotTakeMemoryWithoutEnd) {
  const std::string message(kMaxControlBytes, 'm');
  for (size_t sent = 0; sent < 3 * RecordOrder::kMostBytes; sent += message.size()) {
    channel_->Send(message);
  }
  ASSERT_TRUE(PollUntil(*channel_, sink_, [&] { return sink_.closed.has_value(); }));
  EXPECT_EQ(sink_.closed->code(), Code::kResourceExhausted);
}

TEST(UcxListenerTest, GarbageIsNoOffer) {
  const auto io = *IoThread::Start();
  const Result<UcxListener> listener = UcxListener::Open(kHost);
  ASSERT_TRUE(listener.ok());
  for (const std::string& address : {std::string(), std::string("short"), std::string(300, 'x')}) {
    EXPECT_FALSE(ConnectByUcx({.address = address}, kHost, io, std::chrono::seconds(1)).ok());
  }
  for (size_t i = 0; i < listener->offer().address.size(); ++i) {
    UcxOffer offer = listener->offer();
    offer.address[i] ^= 1;
    EXPECT_FALSE(ConnectByUcx(offer, kHost, io, std::chrono::seconds(60)).ok()) << i;
  }
}

TEST(UcxListenerTest, WhoDoesNotKnowTheSecretIsNotLetIn) {
  const auto io = *IoThread::Start();
  Result<UcxListener> listener = UcxListener::Open(kHost);
  const UniqueFd answered(eventfd(0, EFD_CLOEXEC));
  Status status;
  std::thread asked([&] {
    UcxOffer offer = listener->offer();
    offer.secret[1] ^= 1;
    status = ConnectByUcx(offer, kHost, io, std::chrono::milliseconds(100)).status();
    eventfd_write(answered.get(), 1);
  });
  listener->AttendUntil(answered);
  asked.join();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_EQ(listener->Take(io).status().code(), Code::kUnavailable);
}

// The library does not take over what belongs to the program.
TEST(UcxContextTest, SignalsAreTheProgramsOwn) {
  ASSERT_TRUE(UcxListener::Open(kHost).ok());
  for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGHUP, SIGABRT, SIGIO}) {
    struct sigaction action {};
    ASSERT_EQ(sigaction(number, nullptr, &action), 0);
    EXPECT_EQ(action.sa_handler, SIG_DFL) << number;
  }
}

TEST(RecordOrderTest, PutsRecordsInOrder) {
  std::vector<int> numbers(100);
  for (int i = 0; i < 100; ++i) numbers[static_cast<size_t>(i)] = i;
  std::shuffle(numbers.begin(), numbers.end(), std::mt19937(3));
  RecordOrder order;
  std::vector<std::string> taken;
  for (int number : numbers) {
    ASSERT_TRUE(order.Put(static_cast<uint64_t>(number), std::to_string(number)).ok());
    for (std::string bytes; order.Take(&bytes);) taken.push_back(bytes);
  }
  ASSERT_EQ(taken.size(), 100u);
  for (size_t i = 0; i < 100; ++i) EXPECT_EQ(taken[i], std::to_string(i));
}

TEST(RecordOrderTest, RefusesNumbersThatCannotBe) {
  RecordOrder order;
  EXPECT_TRUE(order.Put(0, "a").ok());
  EXPECT_TRUE(order.Put(2, "c").ok());
  EXPECT_EQ(order.Put(0, "again").code(), Code::kDataLoss);
  EXPECT_EQ(order.Put(2, "again").code(), Code::kDataLoss);
  EXPECT_EQ(order.Put(RecordOrder::kMostAhead + 2, "far").code(), Code::kDataLoss);
  const std::string large(RecordOrder::kMostBytes, 'x');
  EXPECT_EQ(order.Put(1, large).code(), Code::kResourceExhausted);
}

}  // namespace
}  // namespace thalweg
