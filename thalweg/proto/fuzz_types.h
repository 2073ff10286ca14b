// SPDX-License-Identifier: Apache-2.0
// FuzzedType: the message type that the first byte of a fuzzer's input stands for.
// Ownership: the table is static.
// Threads: any; no state.
// Errors: none; every byte stands for a type.
#pragma once

#include <cstdint>

#include "thalweg/proto/messages.h"

namespace thalweg {

inline const MessageDescriptor& FuzzedType(uint8_t selector) {
  switch (selector % 8) {
    case 0:
      return pb::GraphDef::Descriptor();
    case 1:
      return pb::TensorProto::Descriptor();
    case 2:
      return pb::MetaGraphDef::Descriptor();
    case 3:
      return pb::Event::Descriptor();
    case 4:
      return pb::Example::Descriptor();
    case 5:
      return pb::ConfigProto::Descriptor();
    case 6:
      return pb::StepStats::Descriptor();
    default:
      return pb::SavedModel::Descriptor();
  }
}

}  // namespace thalweg
