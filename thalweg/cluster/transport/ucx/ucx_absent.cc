// SPDX-License-Identifier: Apache-2.0
// What ucx_door.h promises, in a build without UCX.
#include "thalweg/cluster/transport/ucx/ucx_door.h"

namespace thalweg {

class UcxEnd {};

Status HasUcx() {
  return Unimplemented("this build has no UCX; build with -DTHALWEG_UCX=ON (libucx-dev)");
}

Result<UcxDoor> UcxDoor::Open(const std::string&) { return HasUcx(); }
UcxDoor::UcxDoor(UcxDoor&&) noexcept = default;
UcxDoor& UcxDoor::operator=(UcxDoor&&) noexcept = default;
UcxDoor::~UcxDoor() = default;
void UcxDoor::AttendUntil(const UniqueFd&) {}
Result<std::unique_ptr<Channel>> UcxDoor::Take(std::shared_ptr<IoThread>) { return HasUcx(); }

Result<std::unique_ptr<Channel>> ConnectByUcx(const UcxOffer&, const std::string&,
                                              std::shared_ptr<IoThread>,
                                              std::chrono::milliseconds) {
  return HasUcx();
}

}  // namespace thalweg
