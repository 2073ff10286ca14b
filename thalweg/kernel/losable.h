// SPDX-License-Identifier: Apache-2.0
// Losable: a device that can be lost: a card that falls off its bus, a driver that resets it. A
// lost device stays so, and what its memory held is gone; whoever wants the hardware again, once it
// is back, makes another Device (Environment::WithDevicesAnew).
//
//   if (const Status lost = WhyLost(device); !lost.ok()) return lost;
//
// Ownership: of the device that derives from it.
// Threads: every member from any.
// Errors: Unavailable, with the device's name, once it is lost; of work that had failed before
// anything was known to be lost, that work's error.
#pragma once

#include "thalweg/base/status.h"
#include "thalweg/kernel/device.h"

namespace thalweg {

class Losable {
 public:
  virtual Status lost() const = 0;

 protected:
  ~Losable() = default;
};

// OK for a device that is there, and for one that cannot be lost.
inline Status WhyLost(const Device& device) {
  const auto* const losable = dynamic_cast<const Losable*>(&device);
  return losable == nullptr ? OkStatus() : losable->lost();
}

// The words of all devices; `why`: what is known of it.
inline Status LostDevice(std::string_view name, std::string_view why) {
  return Unavailable(
      "device ", name, " is lost: ", why,
      "; what its memory held is gone; a new session may use it again once it is back");
}

}  // namespace thalweg
