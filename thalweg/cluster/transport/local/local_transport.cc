// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/local/local_transport.h"

#include <utility>

#include "thalweg/cluster/transport/local/local_sockets.h"
#include "thalweg/cluster/transport/shm/shm_channel.h"
#include "thalweg/cluster/transport/socket/socket_channel.h"

namespace thalweg {
namespace {

class LocalOffer : public ChannelOffer {
 public:
  LocalOffer(TransportContext& context, UniqueFd listener)
      : context_(context), listener_(std::move(listener)) {}
  // A way over a network is named by the answer.
  bool IsTaken(const Hello& answer) override {
    return answer.tcp.port == 0 && answer.offers.empty();
  }
  // The other side has connected once for shared memory, twice for sockets, also after a first
  // attempt that came to nothing.
  Result<std::unique_ptr<Channel>> Take() override {
    ASSIGN_OR_RETURN(TransportContext::Started parts, context_.Start());
    ASSIGN_OR_RETURN(UniqueFd first, AcceptLocally(listener_));
    Result<UniqueFd> second = AcceptLocally(listener_);
    if (!second.ok()) {
      ASSIGN_OR_RETURN(auto channel, AcceptShmChannel(parts.io, parts.arena, std::move(first)));
      context_.UseSharedMemory(parts);
      return std::unique_ptr<Channel>(std::move(channel));
    }
    if (Result<UniqueFd> third = AcceptLocally(listener_); third.ok()) {
      first = *std::exchange(second, std::move(third));
    }
    return MakeSocketChannel(std::move(parts.io), std::move(first), *std::move(second));
  }

 private:
  TransportContext& context_;
  const UniqueFd listener_;
};

class LocalTransport : public Transport {
 public:
  LocalTransport(TransportContext& context, bool memory, bool sockets)
      : context_(context), memory_(memory), sockets_(sockets) {}

  Result<std::unique_ptr<ChannelOffer>> Offer(Hello* hello) override {
    ASSIGN_OR_RETURN(UniqueFd listener, ListenLocally(hello->token));
    return std::unique_ptr<ChannelOffer>(
        std::make_unique<LocalOffer>(context_, std::move(listener)));
  }

  // The hello does not say whether its task is of this host: where it is, it listens.
  Result<std::unique_ptr<Channel>> Accept(const Hello& hello, std::string_view, Hello*) override {
    ASSIGN_OR_RETURN(TransportContext::Started parts, context_.Start());
    if (memory_) {
      Result<std::unique_ptr<Channel>> channel = ConnectByMemory(hello.token, parts);
      if (channel.ok() || !sockets_) return channel;
    }
    ASSIGN_OR_RETURN(UniqueFd first, ConnectLocally(hello.token));
    ASSIGN_OR_RETURN(UniqueFd second, ConnectLocally(hello.token));
    return MakeSocketChannel(std::move(parts.io), std::move(first), std::move(second));
  }

 private:
  Result<std::unique_ptr<Channel>> ConnectByMemory(uint64_t token,
                                                   const TransportContext::Started& parts) {
    RETURN_IF_ERROR(parts.memory);
    ASSIGN_OR_RETURN(UniqueFd socket, ConnectLocally(token));
    ASSIGN_OR_RETURN(auto channel, OpenShmChannel(parts.io, parts.arena, std::move(socket)));
    context_.UseSharedMemory(parts);
    return std::unique_ptr<Channel>(std::move(channel));
  }

  TransportContext& context_;
  const bool memory_;
  const bool sockets_;
};

}  // namespace

std::unique_ptr<Transport> MakeLocalTransport(TransportContext& context) {
  return std::make_unique<LocalTransport>(context, true, true);
}
std::unique_ptr<Transport> MakeMemoryTransport(TransportContext& context) {
  return std::make_unique<LocalTransport>(context, true, false);
}
std::unique_ptr<Transport> MakeSocketTransport(TransportContext& context) {
  return std::make_unique<LocalTransport>(context, false, true);
}

}  // namespace thalweg
