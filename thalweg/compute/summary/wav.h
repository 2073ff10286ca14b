// SPDX-License-Identifier: Apache-2.0
// Sound as a WAV file of 16 bits.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "thalweg/base/status.h"

namespace thalweg::compute {

// `samples`: frames x channels; 1 is the loudest, beyond it is cut. InvalidArgument for no channels
// or more than 65535, a rate that is not positive, and more than 2 GiB.
Result<std::string> EncodeWav16(std::span<const float> samples, int64_t channels, float rate);

}  // namespace thalweg::compute
