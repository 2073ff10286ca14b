// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/peers/links.h"

#include <sys/eventfd.h>

#include <utility>

#include "thalweg/base/entropy.h"
#include "thalweg/base/notification.h"
#include "thalweg/cluster/peers/local_sockets.h"
#include "thalweg/cluster/transport/inproc/inproc_channel.h"
#include "thalweg/cluster/transport/shm/shm_channel.h"
#include "thalweg/cluster/transport/socket/socket_channel.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

constexpr size_t kTrialBytes = 4096;
constexpr std::chrono::seconds kTcpPatience{1};  // for two connections and their proofs
constexpr std::chrono::minutes kTcpPause{1};     // after a trial in vain

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

Result<ChannelUse> ParseChannelUse(std::string_view name) {
  if (name == "any") return ChannelUse::kAny;
  if (name == "memory") return ChannelUse::kMemory;
  if (name == "sockets") return ChannelUse::kSockets;
  if (name == "tcp") return ChannelUse::kTcp;
  if (name == "calls") return ChannelUse::kNone;
  return InvalidArgument("channels: expected any, memory, sockets, tcp or calls, got '", name, "'");
}

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

Result<std::unique_ptr<Channel>> PeerLinks::ConnectedHere(uint64_t token) {
  ASSIGN_OR_RETURN(Transports transports, StartedTransports());
  if (use_ != ChannelUse::kSockets) {
    Result<std::unique_ptr<Channel>> channel = ConnectedByMemory(token, transports);
    if (channel.ok() || use_ == ChannelUse::kMemory) return channel;
  }
  ASSIGN_OR_RETURN(UniqueFd first, ConnectLocally(token));
  ASSIGN_OR_RETURN(UniqueFd second, ConnectLocally(token));
  return MakeSocketChannel(std::move(transports.io), std::move(first), std::move(second));
}

Result<std::unique_ptr<Channel>> PeerLinks::OverTcp(Result<TcpSockets> sockets) {
  RETURN_IF_ERROR(sockets.status());
  ASSIGN_OR_RETURN(Transports transports, StartedTransports());
  return MakeSocketChannel(std::move(transports.io), std::move(sockets->control),
                           std::move(sockets->bulk));
}

Result<TcpDoor> PeerLinks::OpenDoor(const std::string& task, uint64_t token) {
  if (use_ != ChannelUse::kAny && use_ != ChannelUse::kTcp) {
    return Unimplemented("TCP channels are switched off");
  }
  if (tcp_host_.empty()) return Unimplemented("this task has no address for TCP channels");
  {
    MutexLock lock(mutex_);
    const auto failed = tcp_failures_.find(task);
    if (failed != tcp_failures_.end() && std::chrono::steady_clock::now() < failed->second.again) {
      return Unimplemented("a TCP channel to ", task, " was tried in vain a while ago");
    }
  }
  return TcpDoor::Open(tcp_host_, token);
}

void PeerLinks::NoteTcpFailure(const std::string& task, std::string_view why) {
  bool told = false;
  {
    MutexLock lock(mutex_);
    TcpFailure& failure = tcp_failures_[task];
    failure.again = std::chrono::steady_clock::now() + kTcpPause;
    told = std::exchange(failure.told, failure.told || !why.empty());
  }
  if (told || why.empty() || logger_ == nullptr) return;
  logger_->Warning("values for ", task, " go by calls: ", why);
}

Result<std::string> PeerLinks::Ask(const std::string& task, const Hello& hello, TcpDoor* door,
                                   const RpcCallOptions& making) {
  struct Answer {
    UniqueFd there{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    Notification notification;
    Result<std::string> bytes = Internal("no answer");
  };
  const auto answer = std::make_shared<Answer>();
  peers_.CallBytes(task, "GetStatus", EncodeHello(hello), making,
                   [answer](Result<std::string> bytes) {
                     answer->bytes = std::move(bytes);
                     eventfd_write(answer->there.get(), 1);
                     answer->notification.Notify();
                   });
  if (door != nullptr && answer->there.valid()) door->AttendUntil(answer->there);
  answer->notification.Wait();
  return std::move(answer->bytes);
}

// The asked task connects while the asking one waits for its answer.
Result<std::shared_ptr<Link>> PeerLinks::Get(const std::string& task,
                                             const RpcCallOptions& making) {
  if (use_ == ChannelUse::kNone) return Unimplemented("channels are switched off");
  if (std::shared_ptr<Link> link = FindOpen(task); link != nullptr) return link;
  Hello hello{.task = peers_.self(), .process = ThisProcess(), .token = RandomSeed()};
  Result<TcpDoor> door = OpenDoor(task, hello.token);
  if (door.ok()) hello.tcp = door->offer();
  if (use_ == ChannelUse::kTcp) RETURN_IF_ERROR(door.status());
  ChannelPair pair = MakeInprocChannels();
  Result<UniqueFd> listener = Unimplemented("local sockets are switched off");
  if (use_ != ChannelUse::kTcp) listener = ListenLocally(hello.token);
  if (use_ == ChannelUse::kAny) Offers::Get().Put(hello.token, std::move(pair.second));
  Result<std::string> answer = Ask(task, hello, door.ok() ? &*door : nullptr, making);
  const bool within = use_ == ChannelUse::kAny && Offers::Get().Take(hello.token) == nullptr;
  RETURN_IF_ERROR(answer.status());
  ASSIGN_OR_RETURN(const OwnedMessage response,
                   ParseMessage(pb::GetStatusResponse::Descriptor(), *std::move(answer)));
  const Result<Hello> taken = FindHello(response->unknown_fields());
  if (!taken.ok() || taken->token != hello.token) {
    // Who says nothing is a task of TensorFlow's, or has been told to make no channels.
    if (door.ok()) NoteTcpFailure(task, taken.ok() ? "it makes no channel; its log says why" : "");
    return Unimplemented(task, " makes no channel with this task");
  }
  if (door.ok() && taken->tcp.port == hello.tcp.port) {
    Result<std::unique_ptr<Channel>> made = OverTcp(door->Take());
    if (!made.ok()) {
      NoteTcpFailure(task, made.status().message());
      return Unimplemented(made.status().message());
    }
    pair.first = *std::move(made);
  } else if (!within) {
    RETURN_IF_ERROR(listener.status());
    ASSIGN_OR_RETURN(pair.first, Accepted(*listener));
  }
  std::shared_ptr<Link> link = Keep(task, std::move(pair.first));
  if (link == nullptr) return Cancelled("the task is stopping");
  link->set_incarnation(taken->incarnation);
  return link;
}

Result<std::unique_ptr<Channel>> PeerLinks::ConnectedByTcp(const Hello& hello,
                                                           std::string_view from) {
  TcpOffer offer = hello.tcp;
  if (IsEveryHost(offer.host)) offer.host = from;
  return OverTcp(ConnectByTcp(offer, hello.token, kTcpPatience));
}

std::unique_ptr<Channel> PeerLinks::Take(const Hello& hello, std::string_view from, bool* by_tcp) {
  if (use_ == ChannelUse::kAny && hello.process == ThisProcess()) {
    std::unique_ptr<Channel> within = Offers::Get().Take(hello.token);
    if (within != nullptr) return within;
  }
  if (use_ != ChannelUse::kTcp) {
    Result<std::unique_ptr<Channel>> here = ConnectedHere(hello.token);
    if (here.ok()) return *std::move(here);
    if (use_ != ChannelUse::kAny) return nullptr;
  }
  if (hello.tcp.port == 0) return nullptr;
  *by_tcp = true;
  Result<std::unique_ptr<Channel>> far = ConnectedByTcp(hello, from);
  if (far.ok()) return *std::move(far);
  NoteTcpFailure(hello.task, far.status().message());
  return nullptr;
}

std::string PeerLinks::Accept(std::string_view unknown_fields, std::string_view from) {
  if (use_ == ChannelUse::kNone || unknown_fields.empty()) return "";
  const Result<Hello> hello = FindHello(unknown_fields);
  if (!hello.ok()) return "";
  Hello answer{
      .task = peers_.self(), .process = ThisProcess(), .incarnation = steps_.incarnation()};
  bool by_tcp = false;
  std::unique_ptr<Channel> channel = Take(*hello, from, &by_tcp);
  if (channel != nullptr && Keep(hello->task, std::move(channel)) != nullptr) {
    answer.token = hello->token;
    if (by_tcp) answer.tcp.port = hello->tcp.port;
  }
  return EncodeHello(answer);
}

}  // namespace thalweg
