// SPDX-License-Identifier: Apache-2.0
// ChannelManagerTest: two tasks that agree on a channel, or do not.
//
//   TEST_F(ChannelManagerTest, TakesSharedMemory) {
//     Join(ChannelUse::kAny, ChannelUse::kMemory);
//     EXPECT_TRUE(Get().ok());
//   }
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thalweg/cluster/channels/channel_manager.h"
#include "thalweg/cluster/transport/grpc/blocking_call_pool.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"

namespace thalweg {

inline constexpr std::chrono::seconds kPatience{60};

class LogLines : public LogSink {
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
class ChannelTask {
 public:
  // What goes on between a hello that came and one that is answered.
  using Answer = std::function<std::string(ChannelManager&, Hello, std::string_view from)>;

  explicit ChannelTask(std::string job) : job_(std::move(job)) {
    answer_ = [](ChannelManager& channels, const Hello& hello, std::string_view from) {
      return channels.Accept(EncodeHello(hello), from);
    };
    auto server = RpcServer::Start({}, [this](std::shared_ptr<IncomingCall> call) {
      EXPECT_TRUE(threads_.Run([this, call] { call->Answer(AnswerTo(*call)); }).ok());
    });
    EXPECT_TRUE(server.ok()) << server.status().ToString();
    server_ = *std::move(server);
  }
  ~ChannelTask() {
    steps_.Stop(Cancelled("the test is over"));
    server_->Stop(std::chrono::seconds(0));
  }

  void Join(const ClusterSpec& spec, ChannelUse use, const std::string& tcp_host = "127.0.0.1") {
    peers_ = std::make_unique<WorkerClients>(spec, name());
    channels_ = std::make_unique<ChannelManager>(*peers_, steps_, use, nullptr, &logger_);
    channels_->set_tcp_host(tcp_host);
  }
  void set_answer(Answer answer) { answer_ = std::move(answer); }
  std::string name() const { return TaskName(job_, 0); }
  const std::string& job() const { return job_; }
  std::string address() const { return StrCat("127.0.0.1:", server_->port()); }
  ChannelManager& channels() { return *channels_; }
  int asked() const { return asked_; }
  std::vector<std::string> log() { return lines_.lines(); }

 private:
  Result<std::string> AnswerTo(IncomingCall& call) {
    ++asked_;
    const OwnedMessage response(pb::GetStatusResponse::Descriptor());
    ASSIGN_OR_RETURN(std::string bytes, Serialize(*response));
    const Result<Hello> hello = FindHello(call.request());
    if (hello.ok()) bytes += answer_(*channels_, *hello, call.peer_host());
    return bytes;
  }

  const std::string job_;
  LogLines lines_;
  const Logger logger_{&lines_};
  SystemClock clock_;
  StepService steps_{MakeCpuAllocator(), clock_, 77};
  std::unique_ptr<WorkerClients> peers_;
  std::unique_ptr<ChannelManager> channels_;
  std::atomic<int> asked_{0};
  Answer answer_;
  BlockingCallPool threads_{100};
  std::unique_ptr<RpcServer> server_;
};

class ChannelManagerTest : public ::testing::Test {
 protected:
  void Join(ChannelUse asking, ChannelUse asked, const std::string& tcp_host = "127.0.0.1") {
    ClusterSpec spec;
    for (const ChannelTask* task : {&a_, &b_}) {
      EXPECT_TRUE(spec.Add(task->job(), 0, task->address()).ok());
    }
    a_.Join(spec, asking, tcp_host);
    b_.Join(spec, asked);
  }
  Result<std::shared_ptr<Connection>> Get() {
    return a_.channels().Get(b_.name(), {.timeout = kPatience});
  }
  // There is none, and the next one that asks does not try again.
  void ExpectNone() {
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(Get().status().code(), Code::kUnimplemented);
      EXPECT_EQ(b_.asked(), 1);
    }
    EXPECT_EQ(b_.channels().FindOpen(a_.name()), nullptr);
  }

  ChannelTask a_{"asking"}, b_{"asked"};
};

}  // namespace thalweg
