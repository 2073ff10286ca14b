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
#include "thalweg/cluster/transport/ucx/ucx_door.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

constexpr size_t kTrialBytes = 4096;
constexpr std::chrono::seconds kPatience{1};  // for connections over a network and their proofs
constexpr std::chrono::minutes kPause{1};     // after a trial in vain

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
  if (name == "ucx") {
    RETURN_IF_ERROR(HasUcx());
    return ChannelUse::kUcx;
  }
  return InvalidArgument("channels: expected any, memory, sockets, tcp, ucx or calls, got '", name,
                         "'");
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

Status PeerLinks::MayTry(const std::string& task) {
  if (tcp_host_.empty()) return Unimplemented("this task has no address for channels");
  MutexLock lock(mutex_);
  const auto failed = failures_.find(task);
  if (failed == failures_.end() || std::chrono::steady_clock::now() >= failed->second.again) {
    return OkStatus();
  }
  return Unimplemented("a channel to ", task, " was tried in vain a while ago");
}

Result<TcpDoor> PeerLinks::OpenDoor(const std::string& task, uint64_t token) {
  if (use_ != ChannelUse::kAny && use_ != ChannelUse::kTcp) {
    return Unimplemented("TCP channels are switched off");
  }
  RETURN_IF_ERROR(MayTry(task));
  return TcpDoor::Open(tcp_host_, token);
}

void PeerLinks::NoteFailure(const std::string& task, std::string_view why) {
  bool told = false;
  {
    MutexLock lock(mutex_);
    Failure& failure = failures_[task];
    failure.again = std::chrono::steady_clock::now() + kPause;
    told = std::exchange(failure.told, failure.told || !why.empty());
  }
  if (told || why.empty() || logger_ == nullptr) return;
  logger_->Warning("values for ", task, " go by calls: ", why);
}

Result<std::string> PeerLinks::Ask(const std::string& task, const Hello& hello,
                                   const Attend& attend, const RpcCallOptions& making) {
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
  if (attend && answer->there.valid()) attend(answer->there);
  answer->notification.Wait();
  return std::move(answer->bytes);
}

Result<Hello> PeerLinks::Taken(const std::string& task, const Hello& hello,
                               Result<std::string> answer, std::string_view refusal) {
  RETURN_IF_ERROR(answer.status());
  ASSIGN_OR_RETURN(const OwnedMessage response,
                   ParseMessage(pb::GetStatusResponse::Descriptor(), *std::move(answer)));
  Result<Hello> taken = FindHello(response->unknown_fields());
  if (taken.ok() && taken->token == hello.token) return taken;
  // Who says nothing is a task of TensorFlow's, or has been told to make no channels.
  if (!refusal.empty()) NoteFailure(task, taken.ok() ? refusal : "");
  return Unimplemented(task, " makes no channel with this task");
}

Result<std::unique_ptr<Channel>> PeerLinks::Made(const std::string& task,
                                                 Result<std::unique_ptr<Channel>> channel) {
  if (channel.ok()) return channel;
  NoteFailure(task, channel.status().message());
  return Unimplemented(channel.status().message());
}

Result<std::shared_ptr<Link>> PeerLinks::KeepAsked(const std::string& task,
                                                   std::unique_ptr<Channel> channel,
                                                   const Hello& taken) {
  std::shared_ptr<Link> link = Keep(task, std::move(channel));
  if (link == nullptr) return Cancelled("the task is stopping");
  link->set_incarnation(taken.incarnation);
  return link;
}

// The asked task connects while the asking one waits for its answer.
Result<std::shared_ptr<Link>> PeerLinks::Get(const std::string& task,
                                             const RpcCallOptions& making) {
  if (use_ == ChannelUse::kNone) return Unimplemented("channels are switched off");
  if (std::shared_ptr<Link> link = FindOpen(task); link != nullptr) return link;
  Hello hello{.task = peers_.self(), .process = ThisProcess(), .token = RandomSeed()};
  if (use_ == ChannelUse::kUcx) return GetByUcx(task, std::move(hello), making);
  Result<TcpDoor> door = OpenDoor(task, hello.token);
  if (door.ok()) hello.tcp = door->offer();
  if (use_ == ChannelUse::kTcp) RETURN_IF_ERROR(door.status());
  ChannelPair pair = MakeInprocChannels();
  Result<UniqueFd> listener = Unimplemented("local sockets are switched off");
  if (use_ != ChannelUse::kTcp) listener = ListenLocally(hello.token);
  if (use_ == ChannelUse::kAny) Offers::Get().Put(hello.token, std::move(pair.second));
  Attend attend;
  if (door.ok()) attend = [&](const UniqueFd& end) { door->AttendUntil(end); };
  Result<std::string> answer = Ask(task, hello, attend, making);
  const bool within = use_ == ChannelUse::kAny && Offers::Get().Take(hello.token) == nullptr;
  ASSIGN_OR_RETURN(const Hello taken,
                   Taken(task, hello, std::move(answer),
                         door.ok() ? "it makes no channel; its log says why" : ""));
  if (door.ok() && taken.tcp.port == hello.tcp.port) {
    ASSIGN_OR_RETURN(pair.first, Made(task, OverTcp(door->Take())));
  } else if (!within) {
    RETURN_IF_ERROR(listener.status());
    ASSIGN_OR_RETURN(pair.first, Accepted(*listener));
  }
  return KeepAsked(task, std::move(pair.first), taken);
}

Result<std::shared_ptr<Link>> PeerLinks::GetByUcx(const std::string& task, Hello hello,
                                                  const RpcCallOptions& making) {
  RETURN_IF_ERROR(MayTry(task));
  ASSIGN_OR_RETURN(const Transports transports, StartedTransports());
  Result<UcxDoor> door = UcxDoor::Open(tcp_host_);
  if (!door.ok()) return Made(task, door.status()).status();
  hello.ucx = door->offer();
  Result<std::string> answer = Ask(
      task, hello, [&](const UniqueFd& end) { door->AttendUntil(end); }, making);
  ASSIGN_OR_RETURN(const Hello taken,
                   Taken(task, hello, std::move(answer),
                         "it makes no channel over UCX, which both must be told to use"));
  ASSIGN_OR_RETURN(std::unique_ptr<Channel> channel, Made(task, door->Take(transports.io)));
  return KeepAsked(task, std::move(channel), taken);
}

Result<std::unique_ptr<Channel>> PeerLinks::ConnectedByTcp(const Hello& hello,
                                                           std::string_view from) {
  TcpOffer offer = hello.tcp;
  if (IsEveryHost(offer.host)) offer.host = from;
  return OverTcp(ConnectByTcp(offer, hello.token, kPatience));
}

Result<std::unique_ptr<Channel>> PeerLinks::ConnectedByUcx(const Hello& hello) {
  ASSIGN_OR_RETURN(const Transports transports, StartedTransports());
  return ConnectByUcx(hello.ucx, tcp_host_, transports.io, kPatience);
}

std::unique_ptr<Channel> PeerLinks::Take(const Hello& hello, std::string_view from, Hello* answer) {
  if (use_ == ChannelUse::kAny && hello.process == ThisProcess()) {
    std::unique_ptr<Channel> within = Offers::Get().Take(hello.token);
    if (within != nullptr) return within;
  }
  Result<std::unique_ptr<Channel>> far = Unimplemented("nothing is tried");
  if (use_ == ChannelUse::kUcx) {
    if (hello.ucx.address.empty()) return nullptr;
    answer->ucx.secret = hello.ucx.secret;
    far = ConnectedByUcx(hello);
  } else {
    if (use_ != ChannelUse::kTcp) {
      Result<std::unique_ptr<Channel>> here = ConnectedHere(hello.token);
      if (here.ok()) return *std::move(here);
      if (use_ != ChannelUse::kAny) return nullptr;
    }
    if (hello.tcp.port == 0) return nullptr;
    answer->tcp.port = hello.tcp.port;
    far = ConnectedByTcp(hello, from);
  }
  if (far.ok()) return *std::move(far);
  NoteFailure(hello.task, far.status().message());
  return nullptr;
}

std::string PeerLinks::Accept(std::string_view unknown_fields, std::string_view from) {
  if (use_ == ChannelUse::kNone || unknown_fields.empty()) return "";
  const Result<Hello> hello = FindHello(unknown_fields);
  if (!hello.ok()) return "";
  Hello answer{
      .task = peers_.self(), .process = ThisProcess(), .incarnation = steps_.incarnation()};
  std::unique_ptr<Channel> channel = Take(*hello, from, &answer);
  if (channel != nullptr && Keep(hello->task, std::move(channel)) != nullptr) {
    answer.token = hello->token;
  }
  return EncodeHello(answer);
}

}  // namespace thalweg
