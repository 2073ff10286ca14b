// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/peers/peer_version.h"

#include "thalweg/proto/messages.h"

namespace thalweg {

PeerVersion PeerVersionOf(const Message& status) {
  for (const Message* device : status.Messages(pb::GetStatusResponse::kDeviceAttributes)) {
    namespace Attributes = pb::DeviceAttributes;
    if (device->GetString(Attributes::kPhysicalDeviceDesc) == kOwnDescription) {
      return PeerVersion::kThalweg;
    }
    if (device->GetInt(Attributes::kXlaGlobalId) != 0) return PeerVersion::k2_21;
  }
  return PeerVersion::k1_15;
}

}  // namespace thalweg
