// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/channels/channel_manager.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <utility>

#include "thalweg/base/entropy.h"
#include "thalweg/base/notification.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/wire.h"

namespace thalweg {
namespace {

constexpr std::chrono::minutes kPause{1};  // after a network has failed

}  // namespace

ChannelManager::ChannelManager(WorkerClients& peers, StepService& steps, ChannelUse use,
                               std::shared_ptr<InprocListeners> inproc, const Logger* logger)
    : peers_(peers),
      steps_(steps),
      logger_(logger),
      context_({.allocator = steps.allocator(),
                .logger = logger,
                .inproc = std::move(inproc),
                .when_idle =
                    [&steps](std::function<void()> work) { steps.SetIdleWork(std::move(work)); },
                .address_of = [&peers](const std::string& task) { return peers.AddressOf(task); }}),
      transports_(MakeTransports(use, context_)) {}

std::shared_ptr<Connection> ChannelManager::FindOpen(const std::string& task) {
  MutexLock lock(mutex_);
  const auto found = connections_.find(task);
  if (found == connections_.end()) return nullptr;
  std::shared_ptr<Connection> connection = found->second.lock();
  return connection == nullptr || connection->closed() ? nullptr : connection;
}

std::shared_ptr<Connection> ChannelManager::Keep(const std::string& task,
                                                 std::unique_ptr<Channel> channel,
                                                 const Hello& other) {
  std::shared_ptr<Connection> connection = steps_.hub().Add(task, std::move(channel));
  if (connection == nullptr) return nullptr;
  connection->set_incarnation(other.incarnation);
  connection->set_features(other.features);
  MutexLock lock(mutex_);
  std::erase_if(connections_, [](const auto& kept) { return kept.second.expired(); });
  connections_[task] = connection;
  return connection;
}

Status ChannelManager::MayTry(const Transport& transport, const std::string& task) {
  if (!transport.is_far()) return OkStatus();
  if (context_.host().empty()) return Unimplemented("this task has no address for channels");
  MutexLock lock(mutex_);
  const auto failed = failures_.find(task);
  if (failed == failures_.end() || std::chrono::steady_clock::now() >= failed->second.again) {
    return OkStatus();
  }
  return Unimplemented("a channel to ", task, " failed less than a minute ago");
}

void ChannelManager::NoteFailure(const std::string& task, std::string_view why) {
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

Status ChannelManager::Failed(const Transport& transport, const std::string& task,
                              const Status& why) {
  if (!transport.is_far()) return why;
  NoteFailure(task, why.message());
  return Unimplemented(why.message());
}

Result<std::vector<ChannelManager::Offered>> ChannelManager::MakeOffers(const std::string& task,
                                                                        Hello* hello) {
  std::vector<Offered> offers;
  Status none = Unimplemented("channels are switched off");
  for (const auto& transport : transports_) {
    if (Status may = MayTry(*transport, task); !may.ok()) {
      none = std::move(may);
      continue;
    }
    Result<std::unique_ptr<ChannelOffer>> offer = transport->Offer(hello);
    if (offer.ok()) {
      offers.push_back({transport.get(), *std::move(offer)});
    } else {
      none = Failed(*transport, task, offer.status());
    }
  }
  if (offers.empty()) return none;
  return offers;
}

Result<std::string> ChannelManager::Ask(const std::string& task, const Hello& hello,
                                        const std::vector<Offered>& offers,
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
  const auto attending =
      std::ranges::find_if(offers, [](const Offered& one) { return one.offer->attends(); });
  if (attending != offers.end() && answer->there.valid()) {
    attending->offer->AttendUntil(answer->there);
  }
  answer->notification.Wait();
  return std::move(answer->bytes);
}

Result<Hello> ChannelManager::FindTaken(const std::string& task, const Hello& hello,
                                        const std::vector<Offered>& offers,
                                        Result<std::string> answer) {
  RETURN_IF_ERROR(answer.status());
  ASSIGN_OR_RETURN(const OwnedMessage response,
                   ParseMessage(pb::GetStatusResponse::Descriptor(), *std::move(answer)));
  Result<Hello> taken = FindHello(response->unknown_fields());
  if (taken.ok() && taken->token == hello.token) return taken;
  // Who says nothing is a task of TensorFlow's, or has been told to make no channels.
  const auto refused = std::ranges::find_if(
      offers, [](const Offered& one) { return !one.transport->refusal().empty(); });
  if (refused != offers.end()) {
    NoteFailure(task, taken.ok() ? refused->transport->refusal() : "");
  }
  return Unimplemented(task, " makes no channel with this task");
}

Result<std::unique_ptr<Channel>> ChannelManager::TakeChannel(const std::string& task,
                                                             const Hello& taken,
                                                             const std::vector<Offered>& offers) {
  for (const Offered& one : offers) {
    // What alone was offered need not be named.
    if (offers.size() > 1 && !one.offer->IsTaken(taken)) continue;
    Result<std::unique_ptr<Channel>> channel = one.offer->Take();
    if (!channel.ok()) return Failed(*one.transport, task, channel.status());
    return channel;
  }
  return Unimplemented(task, " has taken a channel that was not offered");
}

// The asked task comes to an offer while the asking one waits for its answer.
Result<std::shared_ptr<Connection>> ChannelManager::Get(const std::string& task,
                                                        const RpcCallOptions& making) {
  if (std::shared_ptr<Connection> open = FindOpen(task); open != nullptr) return open;
  Hello hello{.task = peers_.self(),
              .process = ThisProcess(),
              .incarnation = steps_.incarnation(),
              .token = RandomSeed(),
              .features = kAllFeatures};
  ASSIGN_OR_RETURN(const std::vector<Offered> offers, MakeOffers(task, &hello));
  Result<std::string> answer = Ask(task, hello, offers, making);
  ASSIGN_OR_RETURN(const Hello taken, FindTaken(task, hello, offers, std::move(answer)));
  ASSIGN_OR_RETURN(std::unique_ptr<Channel> channel, TakeChannel(task, taken, offers));
  std::shared_ptr<Connection> connection = Keep(task, std::move(channel), taken);
  if (connection == nullptr) return Cancelled("the task is stopping");
  return connection;
}

std::unique_ptr<Channel> ChannelManager::AcceptChannel(const Hello& hello, std::string_view from,
                                                       Hello* answer) {
  for (const auto& transport : transports_) {
    Result<std::unique_ptr<Channel>> channel = transport->Accept(hello, from, answer);
    if (channel.ok()) return *std::move(channel);
    if (!transport->is_far() || channel.status().code() == Code::kNotFound) continue;
    // Names that nobody knows are not remembered: there is no end to them.
    if (context_.IsOfCluster(hello.task)) NoteFailure(hello.task, channel.status().message());
  }
  return nullptr;
}

std::string ChannelManager::Accept(std::string_view unknown_fields, std::string_view from) {
  if (transports_.empty() || unknown_fields.empty()) return "";
  const Result<Hello> hello = FindHello(unknown_fields);
  if (!hello.ok()) return "";
  Hello answer{.task = peers_.self(),
               .process = ThisProcess(),
               .incarnation = steps_.incarnation(),
               .features = kAllFeatures};
  std::unique_ptr<Channel> channel = AcceptChannel(*hello, from, &answer);
  if (channel != nullptr && Keep(hello->task, std::move(channel), *hello) != nullptr) {
    answer.token = hello->token;
  }
  return EncodeHello(answer);
}

}  // namespace thalweg
