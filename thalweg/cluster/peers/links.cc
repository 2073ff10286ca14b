// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/peers/links.h"

#include <utility>

#include "thalweg/base/entropy.h"
#include "thalweg/cluster/peers/local_sockets.h"
#include "thalweg/cluster/transport/inproc/inproc_channel.h"
#include "thalweg/cluster/transport/shm/shm_channel.h"
#include "thalweg/cluster/transport/socket/socket_channel.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

constexpr size_t kTrialBytes = 4096;

// Channels that one task of this process offers to another.
class Offers {
 public:
  static Offers& Get() {
    static Offers* const offers = new Offers;
    return *offers;
  }
  void Put(uint64_t token, std::unique_ptr<Channel> channel) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    channels_[token] = std::move(channel);
  }
  // Null when it was taken, or never was.
  std::unique_ptr<Channel> Take(uint64_t token) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    const auto found = channels_.find(token);
    if (found == channels_.end()) return nullptr;
    std::unique_ptr<Channel> channel = std::move(found->second);
    channels_.erase(found);
    return channel;
  }

 private:
  Mutex mutex_;
  std::map<uint64_t, std::unique_ptr<Channel>> channels_ GUARDED_BY(mutex_);
};

}  // namespace

std::shared_ptr<Link> PeerLinks::FindOpen(const std::string& task) {
  MutexLock lock(mutex_);
  const auto found = links_.find(task);
  if (found == links_.end()) return nullptr;
  std::shared_ptr<Link> link = found->second.lock();
  return link == nullptr || link->closed() ? nullptr : link;
}

std::shared_ptr<Link> PeerLinks::Keep(const std::string& task, std::unique_ptr<Channel> channel) {
  std::shared_ptr<Link> link = steps_.hub().Add(task, std::move(channel));
  if (link == nullptr) return nullptr;
  MutexLock lock(mutex_);
  std::erase_if(links_, [](const auto& kept) { return kept.second.expired(); });
  links_[task] = link;
  return link;
}

Result<PeerLinks::Transports> PeerLinks::StartedTransports() {
  MutexLock lock(mutex_);
  if (transports_.io != nullptr) return transports_;
  ASSIGN_OR_RETURN(transports_.io, IoThread::Start());
  transports_.memory = SharedMemory::Make(kTrialBytes, SharedUse::kOwnerWrites).status();
  if (!transports_.memory.ok() && logger_ != nullptr) {
    logger_->Warning("tasks of this host are spoken to through sockets: ",
                     transports_.memory.message());
  }
  const AllocatorPtr& host = steps_.allocator();
  transports_.arena = ShmArena::Make(host->Stats().limit / 2);
  transports_.allocator = SharedAllocator::Make(host, transports_.arena);
  steps_.SetIdleWork([arena = transports_.arena] { arena->TrimSpare(); });
  return transports_;
}

void PeerLinks::TrimMemory() {
  std::shared_ptr<ShmArena> arena;
  {
    MutexLock lock(mutex_);
    arena = transports_.arena;
  }
  if (arena != nullptr) arena->TrimToSpare();
}

// Steps take it from the first such channel on.
std::unique_ptr<Channel> PeerLinks::Shared(std::unique_ptr<Channel> channel,
                                           const Transports& transports) {
  step_allocator_.store(transports.allocator.get(), std::memory_order_release);
  return channel;
}

Result<std::unique_ptr<Channel>> PeerLinks::Accepted(const UniqueFd& listener) {
  ASSIGN_OR_RETURN(Transports transports, StartedTransports());
  ASSIGN_OR_RETURN(UniqueFd first, AcceptLocally(listener));
  Result<UniqueFd> second = AcceptLocally(listener);
  if (!second.ok()) {
    ASSIGN_OR_RETURN(auto channel,
                     AcceptShmChannel(transports.io, transports.arena, std::move(first)));
    return Shared(std::move(channel), transports);
  }
  if (Result<UniqueFd> third = AcceptLocally(listener); third.ok()) {
    first = *std::exchange(second, std::move(third));
  }
  return MakeSocketChannel(std::move(transports.io), std::move(first), *std::move(second));
}

Result<std::unique_ptr<Channel>> PeerLinks::ConnectedByMemory(uint64_t token,
                                                              const Transports& transports) {
  RETURN_IF_ERROR(transports.memory);
  ASSIGN_OR_RETURN(UniqueFd socket, ConnectLocally(token));
  ASSIGN_OR_RETURN(auto channel,
                   OpenShmChannel(transports.io, transports.arena, std::move(socket)));
  return Shared(std::move(channel), transports);
}

Result<std::unique_ptr<Channel>> PeerLinks::Connected(uint64_t token) {
  ASSIGN_OR_RETURN(Transports transports, StartedTransports());
  if (use_ != ChannelUse::kSockets) {
    Result<std::unique_ptr<Channel>> channel = ConnectedByMemory(token, transports);
    if (channel.ok() || use_ == ChannelUse::kMemory) return channel;
  }
  ASSIGN_OR_RETURN(UniqueFd first, ConnectLocally(token));
  ASSIGN_OR_RETURN(UniqueFd second, ConnectLocally(token));
  return MakeSocketChannel(std::move(transports.io), std::move(first), std::move(second));
}

// The asked task connects while the asking one waits for its answer.
Result<std::shared_ptr<Link>> PeerLinks::Get(const std::string& task,
                                             const RpcCallOptions& making) {
  if (use_ == ChannelUse::kNone) return Unimplemented("channels are switched off");
  if (std::shared_ptr<Link> link = FindOpen(task); link != nullptr) return link;
  const Hello hello{.task = peers_.self(), .process = ThisProcess(), .token = RandomSeed()};
  ChannelPair pair = MakeInprocChannels();
  Offers::Get().Put(hello.token, std::move(pair.second));
  const Result<UniqueFd> listener = ListenLocally(hello.token);
  Result<std::string> answer = peers_.CallBytes(task, "GetStatus", EncodeHello(hello), making);
  const bool within = Offers::Get().Take(hello.token) == nullptr;
  RETURN_IF_ERROR(answer.status());
  RETURN_IF_ERROR(listener.status());
  ASSIGN_OR_RETURN(const OwnedMessage response,
                   ParseMessage(pb::GetStatusResponse::Descriptor(), *std::move(answer)));
  const Result<Hello> taken = FindHello(response->unknown_fields());
  if (!taken.ok() || taken->token != hello.token) {
    return Unimplemented(task, " makes no channel with this task");
  }
  if (!within) {
    ASSIGN_OR_RETURN(pair.first, Accepted(*listener));
  }
  std::shared_ptr<Link> link = Keep(task, std::move(pair.first));
  if (link == nullptr) return Cancelled("the task is stopping");
  link->set_incarnation(taken->incarnation);
  return link;
}

std::unique_ptr<Channel> PeerLinks::Take(const Hello& hello) {
  if (use_ == ChannelUse::kAny && hello.process == ThisProcess()) {
    return Offers::Get().Take(hello.token);
  }
  Result<std::unique_ptr<Channel>> made = Connected(hello.token);
  return made.ok() ? *std::move(made) : nullptr;
}

std::string PeerLinks::Accept(std::string_view unknown_fields) {
  if (use_ == ChannelUse::kNone || unknown_fields.empty()) return "";
  const Result<Hello> hello = FindHello(unknown_fields);
  if (!hello.ok()) return "";
  std::unique_ptr<Channel> channel = Take(*hello);
  if (channel == nullptr || Keep(hello->task, std::move(channel)) == nullptr) return "";
  return EncodeHello({.task = peers_.self(),
                      .process = ThisProcess(),
                      .incarnation = steps_.incarnation(),
                      .token = hello->token});
}

}  // namespace thalweg
