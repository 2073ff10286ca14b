// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/queue/staging_map.h"

#include <algorithm>

namespace thalweg {
namespace {

Status OutOfBounds(int64_t index, int64_t key, size_t width) {
  return InvalidArgument("Index '", index, "' for key '", key, "' was out of bounds '", width,
                         "'.");
}

}  // namespace

int64_t StagingMap::size() const {
  MutexLock lock(mutex_);
  return static_cast<int64_t>(complete_.size());
}

int64_t StagingMap::incomplete_size() const {
  MutexLock lock(mutex_);
  return static_cast<int64_t>(incomplete_.size());
}

std::string StagingMap::DebugString() const {
  MutexLock lock(mutex_);
  return StrCat("staging map '", spec_.name, "' (", complete_.size(), " elements, ",
                incomplete_.size(), " incomplete, ", bytes_, " bytes)");
}

void StagingMap::Clear() {
  Ended ended;
  {
    MutexLock lock(mutex_);
    incomplete_.clear();
    complete_.clear();
    turns_.clear();
    bytes_ = 0;
    AdvanceAll(&ended);
  }
  End(std::move(ended));
}

size_t StagingMap::Put::bytes() const {
  size_t bytes = 0;
  for (const Tensor& tensor : tensors) bytes += tensor.bytes();
  return bytes;
}

WaiterQueues::Progress StagingMap::Advance(Waiter& waiter) {
  return waiter.line == kPuts ? AdvancePut(static_cast<Put&>(waiter))
                              : AdvanceGet(static_cast<Get&>(waiter));
}

Status StagingMap::CheckPut(const Put& put, const Element* there) const {
  std::vector<bool> is_set(put.width);
  if (there != nullptr) is_set = there->is_set;
  if (is_set.size() != put.width) {
    return InvalidArgument("the element of key '", put.key, "' has ", is_set.size(),
                           " parts, this node says ", put.width);
  }
  for (const int64_t index : put.indices) {
    if (index < 0 || index >= static_cast<int64_t>(put.width)) {
      return OutOfBounds(index, put.key, put.width);
    }
    if (is_set[static_cast<size_t>(index)]) {
      return InvalidArgument("The tensor for index '", index, "' for key '", put.key,
                             "' was already initialized '", put.width, "'.");
    }
    is_set[static_cast<size_t>(index)] = true;
  }
  return OkStatus();
}

WaiterQueues::Progress StagingMap::AdvancePut(Put& put) {
  const auto found = incomplete_.find(put.key);
  put.status = CheckPut(put, found == incomplete_.end() ? nullptr : &found->second);
  if (!put.status.ok()) return Progress::kEnded;
  const size_t missing = found == incomplete_.end() ? put.width : found->second.missing;
  const bool completes = put.indices.size() == missing;
  const bool is_double = completes && complete_.contains(put.key);
  const size_t bytes = put.bytes();
  if (!is_double) {
    if (spec_.memory_limit > 0 && bytes_ + bytes > static_cast<size_t>(spec_.memory_limit)) {
      return Progress::kNone;
    }
    if (completes && spec_.capacity > 0 &&
        static_cast<int64_t>(complete_.size()) >= spec_.capacity) {
      return Progress::kNone;
    }
  }
  bytes_ += bytes;
  Element& element = incomplete_[put.key];
  if (found == incomplete_.end()) {
    element.tensors.resize(put.width);
    element.is_set.resize(put.width);
  }
  element.missing = missing - put.indices.size();
  for (size_t i = 0; i < put.indices.size(); ++i) {
    const auto at = static_cast<size_t>(put.indices[i]);
    element.tensors[at] = std::move(put.tensors[i]);
    element.is_set[at] = true;
  }
  if (!completes) return Progress::kEnded;
  if (is_double) {
    for (const Tensor& tensor : element.tensors) bytes_ -= tensor.bytes();
  } else {
    element.turn = next_turn_++;
    turns_.emplace(element.turn, put.key);
    complete_.emplace(put.key, std::move(element));
  }
  incomplete_.erase(put.key);
  return Progress::kEnded;
}

StagingMap::Elements::iterator StagingMap::Find(const Get& get) {
  if (get.key.has_value()) return complete_.find(*get.key);
  if (complete_.empty() || spec_.ordered) return complete_.begin();
  return complete_.find(turns_.begin()->second);
}

Status StagingMap::CheckGet(const Get& get, int64_t key, const Element& element) const {
  std::vector<bool> is_set = element.is_set;
  for (size_t i = 0; i < get.indices.size(); ++i) {
    const int64_t index = get.indices[i];
    if (index < 0 || index >= static_cast<int64_t>(is_set.size())) {
      return OutOfBounds(index, key, is_set.size());
    }
    const auto at = static_cast<size_t>(index);
    if (!is_set[at]) {
      return InvalidArgument("Tensor at index '", index, "' for key '", key,
                             "' has already been removed.");
    }
    if (element.tensors[at].dtype() != get.types[i]) {
      return InvalidArgument("Tensor at index '", index, "' for key '", key, "' is of type ",
                             element.tensors[at].dtype(), ", this node says ", get.types[i]);
    }
    if (get.line == kTakes) is_set[at] = false;
  }
  return OkStatus();
}

void StagingMap::TakeParts(const Get& get, Elements::iterator at) {
  Element& element = at->second;
  for (const int64_t index : get.indices) {
    const auto i = static_cast<size_t>(index);
    bytes_ -= element.tensors[i].bytes();
    element.tensors[i] = Tensor();
    element.is_set[i] = false;
  }
  element.missing += get.indices.size();
  if (element.missing < element.tensors.size()) return;
  turns_.erase(element.turn);
  complete_.erase(at);
}

WaiterQueues::Progress StagingMap::AdvanceGet(Get& get) {
  const auto at = Find(get);
  if (at == complete_.end()) return Progress::kNone;
  get.found_key = at->first;
  get.status = CheckGet(get, at->first, at->second);
  if (!get.status.ok()) return Progress::kEnded;
  for (const int64_t index : get.indices) {
    get.parts.push_back(at->second.tensors[static_cast<size_t>(index)]);
  }
  if (get.line == kTakes) TakeParts(get, at);
  return Progress::kEnded;
}

Status StagingMap::Finish(Waiter& waiter) {
  if (waiter.line == kPuts) return OkStatus();
  auto& get = static_cast<Get&>(waiter);
  int output = 0;
  if (!get.key.has_value()) get.ctx.set_output(output++, Tensor::Scalar(get.found_key));
  for (Tensor& part : get.parts) get.ctx.set_output(output++, std::move(part));
  return OkStatus();
}

}  // namespace thalweg
