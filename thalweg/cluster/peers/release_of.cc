// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/peers/release_of.h"

#include "thalweg/proto/messages.h"

namespace thalweg {

Release ReleaseOf(const Message& status) {
  for (const Message* device : status.Messages(pb::GetStatusResponse::kDeviceAttributes)) {
    namespace Attributes = pb::DeviceAttributes;
    if (device->GetString(Attributes::kPhysicalDeviceDesc) == kOwnDescription) {
      return Release::kThalweg;
    }
    if (device->GetInt(Attributes::kXlaGlobalId) != 0) return Release::k2_21;
  }
  return Release::k1_15;
}

}  // namespace thalweg
