// SPDX-License-Identifier: Apache-2.0
// Hardware: a device that says what it is made of, in the words that programs look into.
//
//   const std::string text = HardwareOf(device);  // "device: 0, name: NVIDIA H200, ..."
//
// Ownership: of the device that derives from it.
// Threads: every member from any.
// Errors: none; "" for a device that says nothing.
#pragma once

#include <string>

#include "thalweg/kernel/device.h"

namespace thalweg {

class Hardware {
 public:
  virtual std::string hardware() const = 0;

 protected:
  ~Hardware() = default;
};

inline std::string HardwareOf(const Device& device) {
  const auto* const known = dynamic_cast<const Hardware*>(&device);
  return known == nullptr ? std::string() : known->hardware();
}

}  // namespace thalweg
