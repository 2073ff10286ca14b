// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/opencl/opencl_kernel.h"

namespace thalweg {

const char* OpenClTypeName(DType dtype) {
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
