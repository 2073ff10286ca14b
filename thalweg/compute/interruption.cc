// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/interruption.h"

namespace thalweg::compute {

void Interruption::LookAtFlag() {
  if (watched_.work == nullptr) {
    watched_.left = std::numeric_limits<int64_t>::max();
    return;
  }
  watched_.left = kInterval;
  if (watched_.work->cancelled()) throw Stop();
}

}  // namespace thalweg::compute
