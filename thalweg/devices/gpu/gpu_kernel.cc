// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/gpu_kernel.h"

#include <memory>

namespace thalweg {

Result<Tensor> Uploaded(GpuDevice& device, const Tensor& tensor) {
  ASSIGN_OR_RETURN(Tensor there, device.Allocate(tensor.dtype(), tensor.shape()));
  if (tensor.bytes() == 0) return there;
  const auto kept = std::make_shared<const Tensor>(tensor);  // the bytes of a scalar are in it
  RETURN_IF_ERROR(
      device.queue().Write(kept->raw_data(), there, GpuReaders::kQueued, [kept](const Status&) {}));
  return there;
}

const char* GpuTypeName(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return "float";
    case DType::kInt32:
      return "int";
    case DType::kInt64:
      return "long";
    case DType::kBool:
    case DType::kUint8:
      return "uchar";
    default:
      return nullptr;
  }
}

}  // namespace thalweg
