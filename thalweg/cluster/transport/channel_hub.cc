// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/channel_hub.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "thalweg/cluster/transport/yielding_spinner.h"

namespace thalweg {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kBudget = 64;  // records of one connection before the next has its turn
constexpr std::chrono::milliseconds kTakeOver{1};
constexpr std::chrono::milliseconds kLookAgain{4};
constexpr std::chrono::milliseconds kTick{100};
constexpr size_t kMostThreads = 1000;

// Whose job this thread runs.
thread_local const ChannelHub* t_in_job = nullptr;

}  // namespace

void ChannelHub::Sleeper::Wake() {
  word.fetch_add(1);
  WakeWord(word);
}

void ChannelHub::AddThread() {
  threads_.emplace_back("channels", [this] { Loop(); });
}

void ChannelHub::SetConnections(std::shared_ptr<const Connections> connections) {
  connections_ = std::move(connections);
  version_.fetch_add(1, std::memory_order_release);
}

std::shared_ptr<Connection> ChannelHub::Add(std::string peer, std::unique_ptr<Channel> channel) {
  auto connection =
      std::make_shared<Connection>(std::move(peer), std::move(channel), handler_, traffic_);
  connection->channel().OnArrival([this] { OnDoorbell(); });
  {
    MutexLock lock(mutex_);
    if (stopping_) return nullptr;
    auto more = std::make_shared<Connections>(*connections_);
    more->push_back(connection);
    SetConnections(std::move(more));
    if (threads_.empty()) AddThread();
    wanted_ = true;  // whoever leads then knows the connection
    CallThread();
    if (leader_ != nullptr) leader_->Wake();
  }
  return connection;
}

// Some thread of the hub that has nothing to do looks what there is.
void ChannelHub::CallThread() {
  if (followers_ > 0) {
    followers_wake_.NotifyOne();
  } else {
    standby_wakes_.NotifyOne();
  }
}

// One of those who wait must lead.
void ChannelHub::CallSleeper() {
  if (leader_ == nullptr && !sleepers_.empty()) sleepers_.front()->Wake();
}

void ChannelHub::Post(std::function<void()> job) {
  MutexLock lock(mutex_);
  if (stopping_) return;
  jobs_.push_back(std::move(job));
  num_jobs_.store(jobs_.size(), std::memory_order_release);
  if (!leading_) return CallThread();
  if (leader_ != nullptr) leader_->Wake();
}

bool ChannelHub::Poll() {
  View view;
  return Poll(view);
}

void ChannelHub::Refresh(View& view) {
  if (version_.load(std::memory_order_acquire) == view.version) return;
  const std::shared_ptr<const Connections> old =
      std::move(view.connections);  // goes after the lock
  MutexLock lock(mutex_);
  view.connections = connections_;
  view.version = version_.load(std::memory_order_relaxed);
}

bool ChannelHub::Poll(View& view) {
  polls_.fetch_add(1, std::memory_order_relaxed);
  Refresh(view);
  bool any = false;
  bool closed = false;
  for (const std::shared_ptr<Connection>& connection : *view.connections) {
    any |= connection->channel().Poll(*connection, kBudget);
    closed |= connection->closed();
  }
  if (closed) DropClosed();
  return any;
}

void ChannelHub::DropClosed() {
  MutexLock lock(mutex_);
  auto open = std::make_shared<Connections>();
  for (const std::shared_ptr<Connection>& connection : *connections_) {
    if (!connection->closed()) open->push_back(connection);
  }
  SetConnections(std::move(open));
}

bool ChannelHub::ArmAll(View& view, Armed how, std::vector<FutexWord>* words) {
  Refresh(view);
  bool armed = true;
  size_t room = how == kWakeLeader && HasSharedWords() ? kMostSharedWords : 0;
  for (const std::shared_ptr<Connection>& connection : *view.connections) {
    if (room == 0) {
      armed &= connection->channel().Arm();
      continue;
    }
    FutexWord word;
    armed &= connection->channel().ArmWord(&word);
    if (word.word == nullptr) continue;
    --room;
    if (words != nullptr) words->push_back(word);
  }
  return armed;
}

void ChannelHub::DisarmAll(View& view) {
  Refresh(view);
  for (const std::shared_ptr<Connection>& connection : *view.connections)
    connection->channel().Disarm();
}

// A thread that has looked looks no more: others may sleep and rely on being woken.
void ChannelHub::Rearm(View& view) {
  if (const Armed armed = armed_.load(); armed != kNot && !ArmAll(view, armed)) OnDoorbell();
}

void ChannelHub::WorkUntil(const std::function<bool()>& ready, Clock::TimePoint until) {
  if (ready()) return;
  View view;
  Sleeper self{.ready = ready};
  for (;;) {
    if (LookUntil(view, ready)) break;
    Sleep(view, self, until);
    if (ready() || SteadyClock::now() >= until) break;
  }
  Leave(view);
}

// False after a while in which nothing came: then the channels are still disarmed.
bool ChannelHub::LookUntil(View& view, const std::function<bool()>& ready) {
  lookers_.fetch_add(1);
  if (armed_.load() != kNot) DisarmAll(view);
  YieldingSpinner spinner;
  bool in_time = true;
  while (in_time && !ready()) {
    if (Poll(view)) {
      spinner.Reset();
    } else {
      in_time = spinner.Spin();
    }
  }
  lookers_.fetch_sub(1);
  if (in_time) Rearm(view);
  return in_time;
}

// Until something has come for this thread, or it is to lead.
void ChannelHub::Sleep(View& view, Sleeper& self, Clock::TimePoint until) {
  const uint32_t key = self.word.load();
  bool leads = false;
  {
    MutexLock lock(mutex_);
    sleepers_.push_back(&self);
    num_sleepers_.exchange(static_cast<int>(sleepers_.size()));  // see Wake()
    if (leader_ != nullptr && leader_->of_hub) {                 // it need not stand between
      leading_ = false;
      std::exchange(leader_, nullptr)->Wake();
    }
    leads = !leading_ && leader_ == nullptr;
    if (leads) leader_ = &self;
  }
  if (leads) {
    SleepAsLeader(view, self, key, until);
    armed_.store(kNot);
    DisarmAll(view);
  } else {
    Rearm(view);
    view = View();  // what has closed meanwhile is not kept
    // Not for longer, so that a Wake() that somebody forgot costs a moment, and hangs nobody.
    if (!self.ready()) SleepOnWord(self.word, key, std::min(until, SteadyClock::now() + kTick));
  }
  {
    MutexLock lock(mutex_);
    std::erase(sleepers_, &self);
    num_sleepers_.store(static_cast<int>(sleepers_.size()));
    if (leader_ == &self) leader_ = nullptr;
  }
  if (leads) Tick();
}

void ChannelHub::SleepAsLeader(View& view, Sleeper& self, uint32_t key, Clock::TimePoint until) {
  std::vector<FutexWord> words;
  armed_.store(kWakeLeader);  // before they are: whoever disarms them then arms them again
  if (ArmAll(view, kWakeLeader, &words) && !self.ready()) {
    SleepOnWords(self.word, key, words, std::min(until, SteadyClock::now() + kTick));
  }
}

// This thread looks no more. Who else waits leads; a thread of the hub comes by when this one runs
// a job; otherwise what arrives rings.
void ChannelHub::Leave(View& view) {
  if (num_sleepers_.load() == 0 && (t_in_job == this || armed_.load() != kNot)) return;
  {
    MutexLock lock(mutex_);
    if (leading_ || leader_ != nullptr || stopping_) return;
    CallSleeper();
    if (!sleepers_.empty() || t_in_job == this) return;
    armed_.store(kNotify);
  }
  if (!ArmAll(view, kNotify)) OnDoorbell();
}

// Whoever sleeps has said so before it looks at `ready`; whoever calls this has made it ready. Both
// change the number: who is second sees what the first one wrote before.
void ChannelHub::Wake() {
  if (num_sleepers_.fetch_add(0) == 0) return;
  MutexLock lock(mutex_);
  for (Sleeper* sleeper : sleepers_) {
    if (sleeper->ready()) sleeper->Wake();
  }
}

// A channel has something, and whoever looks has not taken it.
void ChannelHub::OnDoorbell() {
  MutexLock lock(mutex_);
  if (leader_ != nullptr) return leader_->Wake();
  if (leading_ || lookers_.load() > 0) return;  // it looks again before it sleeps
  wanted_ = true;
  CallThread();
}

// One thread leads; of the others one is on standby.
void ChannelHub::Loop() {
  mutex_.Lock();
  while (!stopping_) {
    if (!MustLead()) {
      Standby();
      continue;
    }
    leading_ = true;
    wanted_ = false;
    if (leader_ == nullptr) armed_.store(kNot);
    mutex_.Unlock();
    Lead();
    mutex_.Lock();
  }
  mutex_.Unlock();
}

bool ChannelHub::MustLead() {
  if (leading_) return false;
  if (wanted_ || !jobs_.empty()) return true;
  if (leader_ != nullptr || lookers_.load() > 0 || armed_.load() == kNotify ||
      connections_->empty()) {
    return false;
  }
  // Who runs a job looks between its nodes.
  const uint64_t polls = polls_.load(std::memory_order_relaxed);
  return busy_ == 0 || std::exchange(polls_seen_, polls) == polls;
}

void ChannelHub::Standby() {
  if (standby_) {
    ++followers_;
    followers_wake_.Wait(mutex_);
    --followers_;
    return;
  }
  const bool active = busy_ > 0 || std::exchange(jobs_seen_, jobs_begun_) != jobs_begun_;
  standby_ = true;
  long_standby_ = !active;
  const auto wait = !active ? kTick : leader_ != nullptr ? kLookAgain : kTakeOver;
  if (connections_->empty()) {
    standby_wakes_.Wait(mutex_);
  } else {
    (void)standby_wakes_.WaitUntil(mutex_, SteadyClock::now() + wait);
  }
  standby_ = false;
  long_standby_ = false;
  if (armed_.load() != kNotify) return;  // otherwise nobody ticks
  mutex_.Unlock();
  Tick();
  mutex_.Lock();
}

// False: this thread leads no more.
bool ChannelHub::BeginSleep(Sleeper& self) {
  MutexLock lock(mutex_);
  if (leader_ == nullptr && sleepers_.empty() && !stopping_) {
    leader_ = &self;
    return true;
  }
  leading_ = false;
  CallSleeper();
  return false;
}

// False: another leads, and has armed the channels for itself; or the hub stops.
bool ChannelHub::EndSleep(Sleeper& self) {
  MutexLock lock(mutex_);
  if (leader_ != &self) return false;
  leader_ = nullptr;
  if (stopping_) leading_ = false;
  return !stopping_;
}

// Looks until there is a job, which it runs, and leads no more.
void ChannelHub::Lead() {
  const std::function<bool()> has_job = [this] {
    return num_jobs_.load(std::memory_order_acquire) > 0;
  };
  View view;
  YieldingSpinner spinner;
  if (RunJob(view)) return Tick();
  DisarmAll(view);
  for (;;) {
    if (RunJob(view)) return Tick();
    if (Poll(view)) {
      spinner.Reset();
      continue;
    }
    if (spinner.Spin()) continue;
    spinner.Reset();
    Sleeper self{.ready = has_job, .of_hub = true};
    const uint32_t key = self.word.load();
    if (!BeginSleep(self)) return Rearm(view);
    SleepAsLeader(view, self, key, Clock::TimePoint::max());
    Tick();
    if (!EndSleep(self)) return Rearm(view);
    armed_.store(kNot);
    DisarmAll(view);
  }
}

void ChannelHub::Tick() {
  const SteadyClock::time_point now = SteadyClock::now();
  {
    MutexLock lock(mutex_);
    if (now < next_tick_) return;
    next_tick_ = now + kTick;
  }
  if (tick_) tick_();
}

bool ChannelHub::RunJob(View& view) {
  if (num_jobs_.load(std::memory_order_acquire) == 0) return false;
  std::function<void()> job;
  {
    MutexLock lock(mutex_);
    if (jobs_.empty()) return false;
    job = std::move(jobs_.front());
    jobs_.pop_front();
    num_jobs_.store(jobs_.size(), std::memory_order_relaxed);
    leading_ = false;
    CallSleeper();
    ++busy_;
    ++jobs_begun_;
    // Somebody must be there who can take over.
    if (static_cast<size_t>(busy_) == threads_.size() && threads_.size() < kMostThreads &&
        !stopping_) {
      AddThread();
    }
    if (long_standby_) {
      standby_wakes_.NotifyOne();
    } else if (!standby_ || !jobs_.empty()) {
      CallThread();
    }
  }
  Rearm(view);
  view = View();  // what closes meanwhile is not kept
  t_in_job = this;
  job();
  job = nullptr;
  t_in_job = nullptr;
  MutexLock lock(mutex_);
  --busy_;
  return true;
}

void ChannelHub::Stop() {
  std::vector<Thread> threads;
  std::shared_ptr<const Connections> all;
  {
    MutexLock lock(mutex_);
    if (!stopping_) {
      stopping_ = true;
      jobs_.clear();
      num_jobs_.store(0);
      if (leader_ != nullptr) leader_->Wake();
      standby_wakes_.NotifyAll();
      followers_wake_.NotifyAll();
    }
    threads.swap(threads_);
    all = connections_;
  }
  for (const std::shared_ptr<Connection>& connection : *all) {
    connection->channel().Close(Cancelled("the task is stopping"));
  }
  threads.clear();  // they end
  Poll();           // what has closed says so
  MutexLock lock(mutex_);
  SetConnections(std::make_shared<const Connections>());
}

}  // namespace thalweg
