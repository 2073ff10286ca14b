// SPDX-License-Identifier: Apache-2.0
#include "thalweg/cluster/transport/incoming_tensor.h"

#include <cstring>

#include "thalweg/cluster/transport/payload.h"
#include "thalweg/cluster/transport/record.h"
#include "thalweg/tensor/clean_elements.h"

namespace thalweg {

Status CheckAnnounced(uint64_t bytes, size_t others) {
  constexpr size_t kMost = 1 << 16;
  if (bytes <= kMaxRecordPayload) return DataLoss("a large tensor of ", bytes, " bytes");
  if (others < kMost) return OkStatus();
  return ResourceExhausted(kMost, " large tensors are announced and have not come");
}

Status IncomingTensor::Begin(ChannelSink& sink) {
  if (std::exchange(begun_, true) || !IsPlain(head_.dtype)) return OkStatus();
  Result<Tensor> target = sink.OnHead(head_);
  refused_ = !target.ok();
  if (refused_) return OkStatus();
  target_ = *std::move(target);
  return CheckLanding(head_, target_);
}

char* IncomingTensor::place() {
  return target_.empty() ? nullptr : static_cast<char*>(target_.mutable_raw_data()) + received_;
}

void IncomingTensor::Take(std::string_view piece) {
  if (char* const to = place(); to != nullptr) {
    std::memcpy(to, piece.data(), piece.size());
  } else if (!refused_) {
    objects_ += piece;
  }
  Advance(piece.size());
}

Status IncomingTensor::Finish(ChannelSink& sink) {
  if (refused_) return OkStatus();
  if (!IsPlain(head_.dtype)) return DeliverTensor(sink, head_, objects_);
  CleanElements(&target_);
  sink.OnTensor(head_, std::move(target_));
  return OkStatus();
}

}  // namespace thalweg
