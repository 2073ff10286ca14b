// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/ucx/ucx_transport.h"

#include <cstring>
#include <utility>

#include "thalweg/cluster/transport/ucx/ucx_listener.h"

namespace thalweg {
namespace {

constexpr std::chrono::seconds kWaitForWord{1};  // for the other side's first word

std::string Encode(const UcxOffer& offer) {
  std::string bytes(reinterpret_cast<const char*>(&offer.secret), sizeof offer.secret);
  return bytes += offer.address;
}

// NotFound for one without an address.
Result<UcxOffer> DecodeOffer(const Hello& hello) {
  const auto found = hello.offers.find(kUcxHelloField);
  if (found == hello.offers.end()) return NotFound("nothing of UCX is offered");
  const std::string_view bytes = found->second;
  UcxOffer offer;
  if (bytes.size() < sizeof offer.secret) {
    return InvalidArgument("an offer of UCX in a hello has ", bytes.size(), " bytes");
  }
  std::memcpy(offer.secret.data(), bytes.data(), sizeof offer.secret);
  offer.address = bytes.substr(sizeof offer.secret);
  if (offer.address.empty()) return NotFound("UCX is offered nowhere");
  return offer;
}

class UcxChannelOffer : public ChannelOffer {
 public:
  UcxChannelOffer(std::shared_ptr<IoThread> io, UcxListener listener)
      : io_(std::move(io)), listener_(std::move(listener)) {}
  bool attends() const override { return true; }
  void AttendUntil(const UniqueFd& answered) override { listener_.AttendUntil(answered); }
  // Who has taken the channel this way repeats the secret.
  bool IsTaken(const Hello& answer) override { return answer.offers.contains(kUcxHelloField); }
  Result<std::unique_ptr<Channel>> Take() override { return listener_.Take(std::move(io_)); }

 private:
  std::shared_ptr<IoThread> io_;
  UcxListener listener_;
};

class UcxTransport : public Transport {
 public:
  explicit UcxTransport(TransportContext& context) : context_(context) {}
  bool is_far() const override { return true; }
  std::string_view refusal() const override {
    return "it makes no channel over UCX, which both must be told to use";
  }

  Result<std::unique_ptr<ChannelOffer>> Offer(Hello* hello) override {
    ASSIGN_OR_RETURN(TransportContext::Started parts, context_.Start());
    ASSIGN_OR_RETURN(UcxListener listener, UcxListener::Open(context_.host()));
    hello->offers[kUcxHelloField] = Encode(listener.offer());
    return std::unique_ptr<ChannelOffer>(
        std::make_unique<UcxChannelOffer>(std::move(parts.io), std::move(listener)));
  }

  Result<std::unique_ptr<Channel>> Accept(const Hello& hello, std::string_view from,
                                          Hello* answer) override {
    ASSIGN_OR_RETURN(const UcxOffer offer, DecodeOffer(hello));
    // What an address of UCX leads to cannot be read from it: who says it must be of the cluster.
    if (!context_.IsOfCluster(hello.task)) {
      return PermissionDenied(hello.task, " is no task of the cluster");
    }
    RETURN_IF_ERROR(context_.MayConnect(hello.task, from, ""));
    ASSIGN_OR_RETURN(TransportContext::Started parts, context_.Start());
    ASSIGN_OR_RETURN(std::unique_ptr<Channel> channel,
                     ConnectByUcx(offer, context_.host(), std::move(parts.io), kWaitForWord));
    answer->offers[kUcxHelloField] = Encode({.address = "", .secret = offer.secret});
    return channel;
  }

 private:
  TransportContext& context_;
};

}  // namespace

std::unique_ptr<Transport> MakeUcxTransport(TransportContext& context) {
  return std::make_unique<UcxTransport>(context);
}

}  // namespace thalweg
