// SPDX-License-Identifier: Apache-2.0
// ChannelHub: the channels of a task to others, and the threads that look after them.
//
//   ChannelHub hub(handler);
//   auto connection = hub.Add("/job:ps/replica:0/task:0", std::move(channel));
//   hub.Post([] { RunStep(); });                           // on one of the hub's threads
//   hub.WorkUntil([&] { return answered.load(); });        // a thread that waits helps to look
//
// Whoever waits looks for messages: reaching a thread that looks costs under a microsecond, waking
// one that sleeps 5 to 40. A thread that has found nothing for a while (YieldingSpinner) sleeps,
// and is woken by the message itself where the channel can (ArmWord): no thread stands between the
// two. Of several that wait, one leads: it sleeps on the channels; the others are woken when what
// they wait for has come, and one of them leads next. While nobody waits, one of the hub's own
// threads leads. A step runs on the thread that received its START, and another one takes over the
// looking when that one has not come back to it for a few milliseconds. An idle hub sleeps.
// Ownership: the handler outlives it; whoever holds a connection may use it after the hub.
// Threads: every member from any. The handler is called by whoever polls, never two calls for one
// connection at once; it must not wait. Stop() closes all channels and waits for what was posted.
// Errors: come to OnClosed, once a connection, as the channel gives them; Add gives null after
// Stop().
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/clock.h"
#include "thalweg/base/idle_poller.h"
#include "thalweg/base/mutex.h"
#include "thalweg/base/thread.h"
#include "thalweg/cluster/counters/traffic_counter.h"
#include "thalweg/cluster/transport/channel.h"
#include "thalweg/cluster/transport/futex.h"

namespace thalweg {

class Connection;

class ConnectionHandler {
 public:
  virtual ~ConnectionHandler() = default;
  virtual void OnControl(Connection& connection, std::string_view message) = 0;
  virtual Result<Tensor> OnHead(Connection& connection, const TensorHead& head) = 0;
  virtual void OnTensor(Connection& connection, const TensorHead& head, Tensor tensor) = 0;
  virtual void OnClosed(Connection& connection, const Status& why) = 0;
};

// A channel and who is at its other end.
class Connection : public ChannelSink, public std::enable_shared_from_this<Connection> {
 public:
  // `traffic`: counts what goes through it; null: nobody asks.
  Connection(std::string peer, std::unique_ptr<Channel> channel, ConnectionHandler& handler,
             std::shared_ptr<TrafficCounter> traffic = nullptr)
      : peer_(std::move(peer)),
        channel_(std::move(channel)),
        handler_(handler),
        traffic_(std::move(traffic)) {}
  const std::string& peer() const { return peer_; }
  Channel& channel() { return *channel_; }
  // The incarnation of the task at the other end, where it has said it.
  uint64_t incarnation() const { return incarnation_.load(std::memory_order_relaxed); }
  void set_incarnation(uint64_t incarnation) {
    incarnation_.store(incarnation, std::memory_order_relaxed);
  }
  // Whether the same process of the same task is at the other end: two tasks that ask each other at
  // the same moment have two channels, and either may use either.
  bool HasPeerOf(const Connection& other) const {
    return this == &other || (peer_ == other.peer_ && incarnation() == other.incarnation());
  }
  // What the task at the other end knows beyond the first version of the step protocol.
  uint64_t features() const { return features_.load(std::memory_order_relaxed); }
  void set_features(uint64_t features) { features_.store(features, std::memory_order_relaxed); }
  bool closed() const { return closed_.load(std::memory_order_acquire); }
  void Push(const TensorHead& head, Tensor tensor) {
    if (traffic_ != nullptr && !head.dead) traffic_->AddSent(tensor.bytes());
    channel_->Push(head, std::move(tensor));
  }

  void OnControl(std::string_view message) override { handler_.OnControl(*this, message); }
  Result<Tensor> OnHead(const TensorHead& head) override { return handler_.OnHead(*this, head); }
  void OnTensor(const TensorHead& head, Tensor tensor) override {
    if (traffic_ != nullptr && !head.dead) traffic_->AddReceived(tensor.bytes());
    handler_.OnTensor(*this, head, std::move(tensor));
  }
  void OnClosed(const Status& why) override {
    closed_.store(true, std::memory_order_release);
    handler_.OnClosed(*this, why);
  }

 private:
  const std::string peer_;
  const std::unique_ptr<Channel> channel_;
  ConnectionHandler& handler_;
  const std::shared_ptr<TrafficCounter> traffic_;
  std::atomic<uint64_t> incarnation_{0};
  std::atomic<uint64_t> features_{0};
  std::atomic<bool> closed_{false};
};

class ChannelHub : public IdlePoller {
 public:
  explicit ChannelHub(ConnectionHandler& handler) : handler_(handler) {}
  ~ChannelHub() override { Stop(); }

  // Null after Stop().
  std::shared_ptr<Connection> Add(std::string peer, std::unique_ptr<Channel> channel)
      EXCLUDES(mutex_);
  void Post(std::function<void()> job) EXCLUDES(mutex_);
  // Handles what has arrived; whether there was anything.
  bool Poll() EXCLUDES(mutex_);
  void WorkUntil(const std::function<bool()>& ready) override {
    WorkUntil(ready, Clock::TimePoint::max());
  }
  // Or until then.
  void WorkUntil(const std::function<bool()>& ready, Clock::TimePoint until) EXCLUDES(mutex_);
  void Wake() override;
  // Called by the hub some ten times a second while there are connections.
  void OnTick(std::function<void()> tick) { tick_ = std::move(tick); }
  void Stop() EXCLUDES(mutex_);

  // The bytes of all tensors that went through its channels.
  const TrafficCounter& traffic() const { return *traffic_; }
  size_t num_open() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return connections_->size();
  }

 private:
  using Connections = std::vector<std::shared_ptr<Connection>>;
  // The connections as a thread that looks has seen them last.
  struct View {
    std::shared_ptr<const Connections> connections;
    uint64_t version = 0;
  };
  // A thread that sleeps, or is about to.
  struct Sleeper {
    const std::function<bool()>& ready;
    bool of_hub = false;            // a thread of the hub
    std::atomic<uint32_t> word{0};  // changes when it is to wake
    void Wake();
  };
  // What senders do when something arrives.
  enum Armed { kNot, kNotify, kWakeLeader };

  void Loop() EXCLUDES(mutex_);
  void Lead() EXCLUDES(mutex_);
  bool MustLead() REQUIRES(mutex_);
  bool BeginSleep(Sleeper& self) EXCLUDES(mutex_);
  bool EndSleep(Sleeper& self) EXCLUDES(mutex_);
  void Standby() REQUIRES(mutex_);
  void CallThread() REQUIRES(mutex_);
  void CallSleeper() REQUIRES(mutex_);
  void SetConnections(std::shared_ptr<const Connections> connections) REQUIRES(mutex_);
  bool Poll(View& view) EXCLUDES(mutex_);
  void Refresh(View& view) EXCLUDES(mutex_);
  bool LookUntil(View& view, const std::function<bool()>& ready) EXCLUDES(mutex_);
  bool ArmAll(View& view, Armed how, std::vector<FutexWord>* words = nullptr) EXCLUDES(mutex_);
  void DisarmAll(View& view) EXCLUDES(mutex_);
  void Rearm(View& view) EXCLUDES(mutex_);
  void Sleep(View& view, Sleeper& self, Clock::TimePoint until) EXCLUDES(mutex_);
  void SleepAsLeader(View& view, Sleeper& self, uint32_t key, Clock::TimePoint until)
      EXCLUDES(mutex_);
  void Leave(View& view) EXCLUDES(mutex_);
  bool RunJob(View& view) EXCLUDES(mutex_);
  void Tick() EXCLUDES(mutex_);
  void OnDoorbell() EXCLUDES(mutex_);
  void DropClosed() EXCLUDES(mutex_);
  void AddThread() REQUIRES(mutex_);

  ConnectionHandler& handler_;
  const std::shared_ptr<TrafficCounter> traffic_ = std::make_shared<TrafficCounter>();
  std::function<void()> tick_;
  // A thread that looks disarms the channels meanwhile, so that nobody is woken for what it takes
  // itself, and arms them again at the end.
  std::atomic<Armed> armed_{kNot};
  std::atomic<uint64_t> polls_{0};
  std::atomic<int> lookers_{0};
  std::atomic<int> num_sleepers_{0};
  std::atomic<size_t> num_jobs_{0};
  std::atomic<uint64_t> version_{1};  // of connections_
  Mutex mutex_;
  CondVar followers_wake_;  // threads of the hub that have nothing to do
  CondVar standby_wakes_;   // the one of them that looks whether somebody leads
  std::shared_ptr<const Connections> connections_ GUARDED_BY(mutex_) =
      std::make_shared<const Connections>();
  std::deque<std::function<void()>> jobs_ GUARDED_BY(mutex_);
  bool leading_ GUARDED_BY(mutex_) = false;            // a thread of the hub leads
  Sleeper* leader_ GUARDED_BY(mutex_) = nullptr;       // sleeps on the channels
  std::vector<Sleeper*> sleepers_ GUARDED_BY(mutex_);  // in WorkUntil
  bool wanted_ GUARDED_BY(mutex_) = false;             // somebody has to lead
  bool standby_ GUARDED_BY(mutex_) = false;            // a thread is on standby
  bool long_standby_ GUARDED_BY(mutex_) = false;       // and takes its time
  int followers_ GUARDED_BY(mutex_) = 0;               // beside it
  int busy_ GUARDED_BY(mutex_) = 0;                    // threads that run a job
  uint64_t jobs_begun_ GUARDED_BY(mutex_) = 0;
  uint64_t jobs_seen_ GUARDED_BY(mutex_) = 0;   // by the standby
  uint64_t polls_seen_ GUARDED_BY(mutex_) = 0;  // by the standby
  bool stopping_ GUARDED_BY(mutex_) = false;
  Clock::TimePoint next_tick_ GUARDED_BY(mutex_);
  std::vector<Thread> threads_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
