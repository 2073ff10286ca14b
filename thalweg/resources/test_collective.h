// SPDX-License-Identifier: Apache-2.0
// Members of collective operations for tests.
//
//   CollectiveCall call = MemberCall(1, 2, Tensor::Vector<float>({3}));  // CPU:1 of two members
#pragma once

#include <cstdint>
#include <utility>

#include "thalweg/base/str_cat.h"
#include "thalweg/resources/collective_call.h"

namespace thalweg {

// A sum in group 1, instance 7.
inline CollectiveCall MemberCall(int device, int64_t group_size, Tensor value) {
  CollectiveCall call;
  call.keys = {group_size, 1, 7};
  call.dtype = value.empty() ? DType::kFloat : value.dtype();
  call.shape = value.empty() ? PartialShape() : PartialShape(value.shape().dims());
  call.value = std::move(value);
  call.device = *DeviceName::Parse(StrCat("/job:a/replica:0/task:0/device:CPU:", device));
  return call;
}

}  // namespace thalweg
