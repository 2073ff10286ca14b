// SPDX-License-Identifier: Apache-2.0
// Tasks that agree on a channel over TCP, and those that cannot.
#include "thalweg/cluster/peers/links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "thalweg/base/entropy.h"
#include "thalweg/cluster/call_threads.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::chrono::seconds kPatience{60};

class Lines : public LogSink {
 public:
  void Write(LogLevel, std::string_view message) override {
    MutexLock lock(mutex_);
    lines_.emplace_back(message);
  }
  std::vector<std::string> lines() {
    MutexLock lock(mutex_);
    return lines_;
  }

 private:
  Mutex mutex_;
  std::vector<std::string> lines_ GUARDED_BY(mutex_);
};

// One that answers GetStatus and nothing else.
class Task {
 public:
  // What goes on between a hello that came and one that is answered.
  using Answer = std::function<std::string(PeerLinks&, Hello, std::string_view from)>;

  explicit Task(std::string job) : job_(std::move(job)) {
    answer_ = [](PeerLinks& links, const Hello& hello, std::string_view from) {
      return links.Accept(EncodeHello(hello), from);
    };
    auto server = RpcServer::Start({}, [this](std::shared_ptr<IncomingCall> call) {
      EXPECT_TRUE(threads_.Run([this, call] { call->Answer(AnswerTo(*call)); }).ok());
    });
    EXPECT_TRUE(server.ok()) << server.status().ToString();
    server_ = *std::move(server);
  }
  ~Task() {
    steps_.Stop(Cancelled("the test is over"));
    server_->Stop(std::chrono::seconds(0));
  }

  void Join(const ClusterSpec& spec, ChannelUse use, const std::string& tcp_host = "127.0.0.1") {
    peers_ = std::make_unique<Peers>(spec, name());
    links_ = std::make_unique<PeerLinks>(*peers_, steps_, use, &logger_);
    links_->set_tcp_host(tcp_host);
  }
  void set_answer(Answer answer) { answer_ = std::move(answer); }
  std::string name() const { return TaskName(job_, 0); }
  const std::string& job() const { return job_; }
  std::string address() const { return StrCat("127.0.0.1:", server_->port()); }
  PeerLinks& links() { return *links_; }
  int asked() const { return asked_; }
  std::vector<std::string> log() { return lines_.lines(); }

 private:
  Result<std::string> AnswerTo(IncomingCall& call) {
    ++asked_;
    const OwnedMessage response(pb::GetStatusResponse::Descriptor());
    ASSIGN_OR_RETURN(std::string bytes, Serialize(*response));
    const Result<Hello> hello = FindHello(call.request());
    if (hello.ok()) bytes += answer_(*links_, *hello, call.peer_host());
    return bytes;
  }

  const std::string job_;
  Lines lines_;
  const Logger logger_{&lines_};
  SystemClock clock_;
  ChannelSteps steps_{MakeCpuAllocator(), clock_, 77};
  std::unique_ptr<Peers> peers_;
  std::unique_ptr<PeerLinks> links_;
  std::atomic<int> asked_{0};
  Answer answer_;
  CallThreads threads_{100};
  std::unique_ptr<RpcServer> server_;
};

class PeerLinksTest : public ::testing::Test {
 protected:
  void Join(ChannelUse asking, ChannelUse asked, const std::string& tcp_host = "127.0.0.1") {
    ClusterSpec spec;
    for (const Task* task : {&a_, &b_}) {
      EXPECT_TRUE(spec.Add(task->job(), 0, task->address()).ok());
    }
    a_.Join(spec, asking, tcp_host);
    b_.Join(spec, asked);
  }
  Result<std::shared_ptr<Link>> Get() { return a_.links().Get(b_.name(), {.timeout = kPatience}); }
  // There is none, and the next one that asks does not try again.
  void ExpectNone() {
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(Get().status().code(), Code::kUnimplemented);
      EXPECT_EQ(b_.asked(), 1);
    }
    EXPECT_EQ(b_.links().FindOpen(a_.name()), nullptr);
  }

  Task a_{"asking"}, b_{"asked"};
};

TEST_F(PeerLinksTest, TwoTasksAgreeOnTcp) {
  Join(ChannelUse::kTcp, ChannelUse::kTcp);
  const Result<std::shared_ptr<Link>> link = Get();
  ASSERT_TRUE(link.ok()) << link.status().ToString();
  EXPECT_EQ((*link)->incarnation(), 77U);
  EXPECT_EQ(*Get(), *link);  // kept
  EXPECT_EQ(b_.asked(), 1);
  const std::shared_ptr<Link> other = b_.links().FindOpen(a_.name());
  ASSERT_NE(other, nullptr);
  other->channel().Close(Aborted("enough"));
  const auto end = std::chrono::steady_clock::now() + kPatience;
  b_.links().steps().hub().WorkUntil([&] { return other->closed(); }, end);
  a_.links().steps().hub().WorkUntil([&] { return (*link)->closed(); }, end);
  EXPECT_TRUE(other->closed() && (*link)->closed());
  EXPECT_THAT(a_.log(), IsEmpty());
  EXPECT_THAT(b_.log(), IsEmpty());
}

// One that uses TCP alone and one that takes what it can get.
TEST_F(PeerLinksTest, EitherSideMayInsistOnTcp) {
  for (const bool asks : {false, true}) {
    Join(asks ? ChannelUse::kTcp : ChannelUse::kAny, asks ? ChannelUse::kAny : ChannelUse::kTcp);
    EXPECT_TRUE(Get().ok());
  }
}

// A task that listens on all its addresses is reached where its call came from.
TEST_F(PeerLinksTest, AHostThatIsAllHostsIsTheCallers) {
  Join(ChannelUse::kTcp, ChannelUse::kTcp, "0.0.0.0");
  const Result<std::shared_ptr<Link>> link = Get();
  EXPECT_TRUE(link.ok()) << link.status().ToString();
}

TEST_F(PeerLinksTest, APortThatCannotBeReachedIsNotTriedAgain) {
  Join(ChannelUse::kTcp, ChannelUse::kTcp);
  b_.set_answer([](PeerLinks& links, Hello hello, std::string_view from) {
    const uint64_t token = RandomSeed();
    hello.tcp.port = TcpDoor::Open("127.0.0.1", token)->offer().port;  // closed by now
    return links.Accept(EncodeHello(hello), from);
  });
  ExpectNone();
  EXPECT_THAT(a_.log(), ElementsAre(AllOf(HasSubstr(b_.name()), HasSubstr("by calls"))));
  EXPECT_THAT(b_.log(), ElementsAre(AllOf(HasSubstr(a_.name()), HasSubstr("refused"))));
}

TEST_F(PeerLinksTest, AWrongSecretMakesNoChannel) {
  Join(ChannelUse::kTcp, ChannelUse::kTcp);
  b_.set_answer([](PeerLinks& links, Hello hello, std::string_view from) {
    hello.tcp.secret[0] ^= 1;
    return links.Accept(EncodeHello(hello), from);
  });
  ExpectNone();
  EXPECT_THAT(b_.log(), ElementsAre(HasSubstr("closed the connection")));
}

TEST_F(PeerLinksTest, AnAnswerWithoutConnectionsMakesNoChannel) {
  Join(ChannelUse::kTcp, ChannelUse::kTcp);
  b_.set_answer([](PeerLinks&, const Hello& hello, std::string_view) {
    return EncodeHello({.task = "x", .token = hello.token, .tcp = {.port = hello.tcp.port}});
  });
  ExpectNone();
  EXPECT_THAT(a_.log(), ElementsAre(HasSubstr("nobody has connected")));
}

TEST_F(PeerLinksTest, WhoHasNoChannelsIsLeftInPeace) {
  Join(ChannelUse::kTcp, ChannelUse::kNone);
  ExpectNone();
  EXPECT_THAT(a_.log(), IsEmpty());
}

TEST_F(PeerLinksTest, ATaskWithoutAnAddressOffersNone) {
  Join(ChannelUse::kTcp, ChannelUse::kTcp, "");
  EXPECT_EQ(Get().status().code(), Code::kUnimplemented);
  EXPECT_EQ(b_.asked(), 0);
}

// Both are told to use UCX, or one is and finds that the other is not.
TEST_F(PeerLinksTest, TwoTasksAgreeOnUcx) {
  if (!HasUcx().ok()) GTEST_SKIP() << HasUcx().message();
  Join(ChannelUse::kUcx, ChannelUse::kUcx);
  const Result<std::shared_ptr<Link>> link = Get();
  ASSERT_TRUE(link.ok()) << link.status().ToString();
  EXPECT_EQ((*link)->incarnation(), 77U);
  EXPECT_EQ(*Get(), *link);  // kept
  const std::shared_ptr<Link> other = b_.links().FindOpen(a_.name());
  ASSERT_NE(other, nullptr);
  other->channel().Close(Aborted("enough"));
  const auto end = std::chrono::steady_clock::now() + kPatience;
  a_.links().steps().hub().WorkUntil([&] { return (*link)->closed(); }, end);
  EXPECT_TRUE((*link)->closed());
  EXPECT_THAT(a_.log(), IsEmpty());
  EXPECT_THAT(b_.log(), IsEmpty());
}

TEST_F(PeerLinksTest, UcxIsForThoseWhoUseIt) {
  if (!HasUcx().ok()) GTEST_SKIP() << HasUcx().message();
  Join(ChannelUse::kUcx, ChannelUse::kAny);
  ExpectNone();
  EXPECT_THAT(a_.log(),
              ElementsAre(AllOf(HasSubstr(b_.name()), HasSubstr("by calls"), HasSubstr("UCX"))));
  EXPECT_THAT(b_.log(), IsEmpty());
}

TEST_F(PeerLinksTest, AWrongSecretMakesNoChannelOverUcx) {
  if (!HasUcx().ok()) GTEST_SKIP() << HasUcx().message();
  Join(ChannelUse::kUcx, ChannelUse::kUcx);
  b_.set_answer([](PeerLinks& links, Hello hello, std::string_view from) {
    hello.ucx.secret[0] ^= 1;
    return links.Accept(EncodeHello(hello), from);
  });
  ExpectNone();
  EXPECT_THAT(b_.log(), ElementsAre(HasSubstr("not answered")));
}

TEST_F(PeerLinksTest, AnAnswerWithoutAnEndpointMakesNoChannelOverUcx) {
  if (!HasUcx().ok()) GTEST_SKIP() << HasUcx().message();
  Join(ChannelUse::kUcx, ChannelUse::kUcx);
  b_.set_answer([](PeerLinks&, const Hello& hello, std::string_view) {
    return EncodeHello({.task = "x", .token = hello.token});
  });
  ExpectNone();
  EXPECT_THAT(a_.log(), ElementsAre(HasSubstr("nobody has come")));
}

TEST(ChannelUseTest, UcxIsRefusedWhereItIsNotBuilt) {
  if (HasUcx().ok()) {
    EXPECT_EQ(*ParseChannelUse("ucx"), ChannelUse::kUcx);
  } else {
    EXPECT_EQ(ParseChannelUse("ucx").status().code(), Code::kUnimplemented);
    EXPECT_THAT(ParseChannelUse("ucx").status().message(), HasSubstr("-DTHALWEG_UCX=ON"));
  }
}

TEST(ChannelUseTest, HasNames) {
  EXPECT_EQ(*ParseChannelUse("tcp"), ChannelUse::kTcp);
  EXPECT_EQ(*ParseChannelUse("calls"), ChannelUse::kNone);
  EXPECT_THAT(ParseChannelUse("udp").status().message(), HasSubstr("'udp'"));
}

}  // namespace
}  // namespace thalweg
