// SPDX-License-Identifier: Apache-2.0
// PeerCopies: a device that takes tensors of some others of its process without the host's memory.
//
//   if (CopiesFrom(device, other)) ...  // steps then hand over what lies in the other's memory
//
// Ownership: of the device that derives from it; the devices that it reaches live as long as it.
// Threads: every member from any.
// Errors: CopyFromPeer: Internal for a tensor of no device that it reaches, ResourceExhausted,
// Unavailable where either device is lost.
#pragma once

#include "thalweg/base/status.h"
#include "thalweg/kernel/device.h"

namespace thalweg {

class PeerCopies {
 public:
  virtual bool Reaches(const Device& other) const = 0;
  // The same bytes in this device's memory, for what is queued here later. The copy stands behind
  // what is queued on the tensor's own device, and what is queued there later behind the copy: so
  // the tensor may go at once.
  virtual Result<Tensor> CopyFromPeer(const Tensor& tensor) = 0;

 protected:
  ~PeerCopies() = default;
};

inline bool CopiesFrom(const Device& device, const Device& other) {
  const auto* const peers = dynamic_cast<const PeerCopies*>(&device);
  return peers != nullptr && peers->Reaches(other);
}

}  // namespace thalweg
