// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/inproc/inproc_transport.h"

#include <utility>

#include "thalweg/cluster/transport/inproc/inproc_channel.h"

namespace thalweg {
namespace {

class InprocOffer : public ChannelOffer {
 public:
  InprocOffer(std::shared_ptr<InprocListeners> listeners, uint64_t token)
      : listeners_(std::move(listeners)), token_(token) {
    ChannelPair pair = MakeInprocChannels();
    own_ = std::move(pair.first);
    listeners_->Put(token_, std::move(pair.second));
  }
  ~InprocOffer() override { listeners_->Take(token_); }
  // It waits no more: somebody has it.
  bool IsTaken(const Hello&) override { return listeners_->Take(token_) == nullptr; }
  Result<std::unique_ptr<Channel>> Take() override { return std::move(own_); }

 private:
  const std::shared_ptr<InprocListeners> listeners_;
  const uint64_t token_;
  std::unique_ptr<Channel> own_;
};

class InprocTransport : public Transport {
 public:
  explicit InprocTransport(TransportContext& context) : context_(context) {}
  Result<std::unique_ptr<ChannelOffer>> Offer(Hello* hello) override {
    if (context_.inproc() == nullptr) return Unimplemented("this process keeps no channels");
    return std::unique_ptr<ChannelOffer>(
        std::make_unique<InprocOffer>(context_.inproc(), hello->token));
  }
  Result<std::unique_ptr<Channel>> Accept(const Hello& hello, std::string_view, Hello*) override {
    if (context_.inproc() == nullptr || hello.process != ThisProcess()) {
      return NotFound("another process");
    }
    std::unique_ptr<Channel> channel = context_.inproc()->Take(hello.token);
    if (channel == nullptr) return NotFound("nothing waits in this process");
    return channel;
  }

 private:
  TransportContext& context_;
};

}  // namespace

std::unique_ptr<Transport> MakeInprocTransport(TransportContext& context) {
  return std::make_unique<InprocTransport>(context);
}

}  // namespace thalweg
