// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/skeleton/skeleton_device.h"

namespace thalweg {

void SkeletonDevice::CopyToHost(const Tensor&, CopyDone done) {
  done(Unimplemented(full_name(), " cannot copy to the host"));
}

void SkeletonDevice::CopyFromHost(const Tensor&, CopyDone done) {
  done(Unimplemented(full_name(), " cannot copy from the host"));
}

Result<std::vector<std::unique_ptr<Device>>> MakeSkeletonDevices(const DeviceRequest& request) {
  std::vector<std::unique_ptr<Device>> devices;
  devices.push_back(std::make_unique<SkeletonDevice>(request.NameOf(kSkeleton, 0),
                                                     request.incarnation, request.host_allocator));
  return devices;
}

}  // namespace thalweg
