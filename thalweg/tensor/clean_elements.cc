// SPDX-License-Identifier: Apache-2.0
#include "thalweg/tensor/clean_elements.h"

namespace thalweg {

void CleanElements(Tensor* tensor) {
  if (tensor->dtype() != DType::kBool) return;
  auto* bytes = static_cast<uint8_t*>(tensor->mutable_raw_data());
  const auto n = tensor->num_elements();
  for (int64_t i = 0; i < n; ++i) bytes[i] = bytes[i] != 0 ? 1 : 0;
}

}  // namespace thalweg
