// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/socket/tcp_transport.h"

#include <utility>

#include "thalweg/cluster/transport/socket/socket_channel.h"
#include "thalweg/cluster/transport/tcp_sockets.h"

namespace thalweg {
namespace {

constexpr std::chrono::seconds kWaitForProof{1};  // for connections and their proofs

Result<std::unique_ptr<Channel>> ChannelOver(TcpSockets sockets, TransportContext& context) {
  ASSIGN_OR_RETURN(TransportContext::Started parts, context.Start());
  return MakeSocketChannel(std::move(parts.io), std::move(sockets.control),
                           std::move(sockets.bulk));
}

class TcpChannelOffer : public ChannelOffer {
 public:
  TcpChannelOffer(TransportContext& context, TcpListener listener)
      : context_(context), listener_(std::move(listener)) {}
  bool attends() const override { return true; }
  void AttendUntil(const UniqueFd& answered) override { listener_.AttendUntil(answered); }
  // Who has taken the channel this way repeats the port.
  bool IsTaken(const Hello& answer) override { return answer.tcp.port == listener_.offer().port; }
  Result<std::unique_ptr<Channel>> Take() override {
    ASSIGN_OR_RETURN(TcpSockets sockets, listener_.Take());
    return ChannelOver(std::move(sockets), context_);
  }

 private:
  TransportContext& context_;
  TcpListener listener_;
};

class TcpTransport : public Transport {
 public:
  explicit TcpTransport(TransportContext& context) : context_(context) {}
  bool is_far() const override { return true; }
  std::string_view refusal() const override { return "it makes no channel; its log says why"; }

  Result<std::unique_ptr<ChannelOffer>> Offer(Hello* hello) override {
    ASSIGN_OR_RETURN(TcpListener listener, TcpListener::Open(context_.host(), hello->token));
    hello->tcp = listener.offer();
    return std::unique_ptr<ChannelOffer>(
        std::make_unique<TcpChannelOffer>(context_, std::move(listener)));
  }

  Result<std::unique_ptr<Channel>> Accept(const Hello& hello, std::string_view from,
                                          Hello* answer) override {
    if (hello.tcp.port == 0) return NotFound("no port is offered");
    TcpOffer offer = hello.tcp;
    if (IsEveryHost(offer.host)) offer.host = from;
    RETURN_IF_ERROR(context_.MayConnect(hello.task, offer.host, from));
    ASSIGN_OR_RETURN(TcpSockets sockets, ConnectByTcp(offer, hello.token, kWaitForProof));
    answer->tcp.port = hello.tcp.port;
    return ChannelOver(std::move(sockets), context_);
  }

 private:
  TransportContext& context_;
};

}  // namespace

std::unique_ptr<Transport> MakeTcpTransport(TransportContext& context) {
  return std::make_unique<TcpTransport>(context);
}

}  // namespace thalweg
