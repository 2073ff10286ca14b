// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/ucx/ucx_listener.h"

#include <poll.h>

#include <cstring>
#include <utility>

#include "thalweg/cluster/transport/ucx/ucx_channel.h"
#include "thalweg/cluster/transport/ucx/ucx_endpoint.h"

namespace thalweg {
namespace {

using Time = std::chrono::steady_clock;

bool IsLoopbackHost(const std::string& host) { return host.starts_with("127.") || host == "::1"; }

}  // namespace

Status HasUcx() { return OkStatus(); }

UcxListener::UcxListener(std::unique_ptr<UcxEndpoint> end, UcxOffer offer)
    : end_(std::move(end)), offer_(std::move(offer)) {}
UcxListener::UcxListener(UcxListener&&) noexcept = default;
UcxListener& UcxListener::operator=(UcxListener&&) noexcept = default;
UcxListener::~UcxListener() = default;

Result<UcxListener> UcxListener::Open(const std::string& host) {
  ASSIGN_OR_RETURN(std::unique_ptr<UcxEndpoint> end, UcxEndpoint::Make(IsLoopbackHost(host)));
  UcxOffer offer{.secret = end->secret()};
  ASSIGN_OR_RETURN(offer.address, end->Address());
  return UcxListener(std::move(end), std::move(offer));
}

void UcxListener::AttendUntil(const UniqueFd& end) {
  while (true) {
    while (end_->Progress()) {
    }
    LetIn();
    if (!end_->Arm()) continue;
    pollfd polled[] = {{end.get(), POLLIN, 0}, {end_->event_fd(), POLLIN, 0}};
    if (poll(polled, 2, -1) < 0) continue;  // a signal
    if (polled[0].revents != 0) return;
  }
}

// The first record says who comes: secret and address. Ours, the first one too, says nothing more
// than that it was heard.
void UcxListener::LetIn() {
  std::string greeting;
  if (end_->connected() || !end_->TakeRecord(&greeting)) return;
  UcxSecret theirs{};
  if (greeting.size() <= sizeof theirs) return;
  std::memcpy(&theirs, greeting.data(), sizeof theirs);
  if (!end_->Connect(std::string_view(greeting).substr(sizeof theirs), theirs).ok()) return;
  end_->SendRecord("welcome", {});
}

Result<std::unique_ptr<Channel>> UcxListener::Take(std::shared_ptr<IoThread> io) {
  if (!end_->connected()) return Unavailable("a UCX channel: nobody has come to the listener");
  RETURN_IF_ERROR(end_->error());
  return MakeUcxChannel(std::move(io), std::move(end_));
}

Result<std::unique_ptr<Channel>> ConnectByUcx(const UcxOffer& offer, const std::string& host,
                                              std::shared_ptr<IoThread> io,
                                              std::chrono::milliseconds timeout) {
  const Time::time_point until = Time::now() + timeout;
  ASSIGN_OR_RETURN(std::unique_ptr<UcxEndpoint> end, UcxEndpoint::Make(IsLoopbackHost(host)));
  ASSIGN_OR_RETURN(const std::string address, end->Address());
  RETURN_IF_ERROR(end->Connect(offer.address, offer.secret));
  end->SendRecord({reinterpret_cast<const char*>(end->secret().data()), sizeof(UcxSecret)},
                  address);
  for (std::string welcome; !end->TakeRecord(&welcome);) {
    RETURN_IF_ERROR(end->error());
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Time::now()).count();
    if (left <= 0) return Unavailable("a UCX channel: the other task has not answered in time");
    if (end->Progress() || !end->Arm()) continue;
    pollfd polled{end->event_fd(), POLLIN, 0};
    poll(&polled, 1, static_cast<int>(left));
  }
  return MakeUcxChannel(std::move(io), std::move(end));
}

}  // namespace thalweg
