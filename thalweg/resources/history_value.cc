// SPDX-License-Identifier: Apache-2.0
#include "thalweg/resources/history_value.h"

namespace thalweg {

thread_local constinit HistoryValue::Remains* HistoryValue::remains_ = nullptr;

HistoryValue::~HistoryValue() {
  Remains own;
  Remains* const remains = remains_ == nullptr ? &own : remains_;
  for (Tensor& tensor : latest_) {
    // Only a variant can lead to another history.
    if (tensor.dtype() == DType::kVariant) remains->tensors.push_back(std::move(tensor));
  }
  if (earlier_ != nullptr) remains->histories.push_back(std::move(earlier_));
  if (remains != &own) return;
  remains_ = &own;
  while (!own.tensors.empty() || !own.histories.empty()) {
    if (!own.histories.empty()) {
      const std::shared_ptr<const HistoryValue> last = std::move(own.histories.back());
      own.histories.pop_back();
    } else {
      const Tensor last = std::move(own.tensors.back());
      own.tensors.pop_back();
    }
  }
  remains_ = nullptr;
}

}  // namespace thalweg
