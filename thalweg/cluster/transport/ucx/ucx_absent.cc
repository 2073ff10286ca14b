// SPDX-License-Identifier: Apache-2.0
// What ucx_listener.h promises, in a build without UCX.
#include "thalweg/cluster/transport/ucx/ucx_listener.h"

namespace thalweg {

class UcxEndpoint {};

Status HasUcx() {
  return Unimplemented("this build has no UCX; build with -DTHALWEG_UCX=ON (libucx-dev)");
}

Result<UcxListener> UcxListener::Open(const std::string&) { return HasUcx(); }
UcxListener::UcxListener(UcxListener&&) noexcept = default;
UcxListener& UcxListener::operator=(UcxListener&&) noexcept = default;
UcxListener::~UcxListener() = default;
void UcxListener::AttendUntil(const UniqueFd&) {}
Result<std::unique_ptr<Channel>> UcxListener::Take(std::shared_ptr<IoThread>) { return HasUcx(); }

Result<std::unique_ptr<Channel>> ConnectByUcx(const UcxOffer&, const std::string&,
                                              std::shared_ptr<IoThread>,
                                              std::chrono::milliseconds) {
  return HasUcx();
}

}  // namespace thalweg
