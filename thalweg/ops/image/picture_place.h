// SPDX-License-Identifier: Apache-2.0
// PicturePlace: where the decoders of compute/codec put the pixels of output 0, and the step from
// their 8 or 16 bits to the output's type, within the same memory.
//   PicturePlace place(ctx, DType::kFloat, 16, false);   // 16: what the decoder gives
//   RETURN_IF_ERROR(compute::ReadPng(file, 3, 16, place.host()));
//   place.Convert();
// Ownership: lies on the stack of a call; context and output outlive it.
// Threads: one for each object.
// Errors: room: InvalidArgument for a picture that the output cannot hold, ResourceExhausted.
#pragma once

#include "thalweg/compute/codec/pictures.h"
#include "thalweg/kernel/context.h"

namespace thalweg {

class PicturePlace {
 public:
  // `frames`: the output has a dimension for them.
  PicturePlace(Context& ctx, DType dtype, int bits, bool frames);
  PicturePlace(const PicturePlace&) = delete;
  PicturePlace& operator=(const PicturePlace&) = delete;

  const compute::PictureHost& host() const { return host_; }
  // Full brightness of the one is full brightness of the other; 8 bits become 16 as their upper
  // half, as in TensorFlow.
  void Convert();

 private:
  Result<void*> Room(const compute::PictureSize& size);

  Context& ctx_;
  const DType dtype_;
  const int bits_;
  const bool frames_;
  Tensor* pixels_ = nullptr;
  compute::PictureHost host_;
};

}  // namespace thalweg
