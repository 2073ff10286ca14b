// SPDX-License-Identifier: Apache-2.0
// PeerVersionOf: which program serves a task, by what it says of its devices. Ours write their name
// into the description of a CPU, which TensorFlow leaves empty; 2.x says which number XLA has for a
// device, 1.15 does not know the field.
//
//   const bool is_ours = PeerVersionOf(*response) == PeerVersion::kThalweg;    // of a GetStatus
//
// Ownership: a value.
// Threads: any.
// Errors: none; who says neither is taken for 1.15.
#pragma once

#include <string_view>

#include "thalweg/cluster/transport/grpc/frame_ids.h"
#include "thalweg/proto/message.h"

namespace thalweg {

// What our devices have as their description.
inline constexpr std::string_view kOwnDescription = "Thalweg CPU";

// `status`: a GetStatusResponse.
PeerVersion PeerVersionOf(const Message& status);

}  // namespace thalweg
