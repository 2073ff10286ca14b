// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/queue/barrier.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <unordered_set>

#include "thalweg/resources/batch_rows.h"
#include "thalweg/tensor/text_heap.h"

namespace thalweg {

int64_t Barrier::ready_size() const {
  MutexLock lock(mutex_);
  return static_cast<int64_t>(ready_.size());
}

int64_t Barrier::incomplete_size() const {
  MutexLock lock(mutex_);
  return static_cast<int64_t>(incomplete_.size());
}

std::string Barrier::DebugString() const {
  MutexLock lock(mutex_);
  return StrCat("barrier '", spec_.name, "' (", ready_.size(), " ready elements, ",
                incomplete_.size(), " incomplete", closed_ ? ", closed)" : ")");
}

Status Barrier::TooFew(int64_t requested, int64_t total) const {
  return OutOfRange("Barrier '", spec_.name,
                    "' is closed and has insufficient elements (requested ", requested,
                    ", total size ", total, ")");
}

Status Barrier::CheckInsert(int64_t component, const Tensor& keys, const Tensor& values) const {
  if (component < 0 || component >= static_cast<int64_t>(spec_.types.size())) {
    return InvalidArgument("The component ID is out of range ", component,
                           " > num_components (= ", spec_.types.size(), ")");
  }
  const auto c = static_cast<size_t>(component);
  if (values.dtype() != spec_.types[c]) {
    return InvalidArgument("Signature mismatch: component ", component, " of barrier '", spec_.name,
                           "' is ", spec_.types[c], ", got ", values.dtype());
  }
  if (keys.rank() != 1) {
    return InvalidArgument("keys must be a vector, got shape ", keys.shape());
  }
  if (values.rank() == 0 || values.dim(0) != keys.dim(0)) {
    return InvalidArgument("values must have one row for each of the ", keys.dim(0),
                           " keys, got shape ", values.shape());
  }
  if (keys.dim(0) == 0) return OkStatus();  // rows of no keys may have any shape
  if (values.num_elements() == 0) {
    return InvalidArgument("Tensors with no elements are not supported ", spec_.name,
                           ": received shape ", values.shape());
  }
  Dims dims = values.shape().dims();
  dims.erase(0);
  const Shape row(dims);
  if (row != spec_.shapes[c]) {
    return InvalidArgument("Shape mismatch in tuple component ", component, ". Expected ",
                           spec_.shapes[c], ", got ", row);
  }
  return OkStatus();
}

Result<bool> Barrier::Admit(size_t component, const Tensor& keys) const {
  const int64_t count = keys.dim(0);
  std::unordered_set<std::string_view> seen;
  bool any_new = false;
  for (int64_t i = 0; i < count; ++i) {
    const std::string& key = keys.data<std::string>()[i];
    const auto found = incomplete_.find(key);
    const bool is_new = found == incomplete_.end();
    any_new |= is_new;
    if (is_new && closed_) {
      return Cancelled(
          "Barrier ", spec_.name, " is closed, but attempted to insert a brand new key: ", key,
          ".  Pending enqueues cancelled: ", cancelled_ ? 1 : 0, ".  Insertion index: ", i,
          ".  Number of incomplete keys: ", incomplete_.size(), ".");
    }
    // A key that comes twice names two elements only where one component completes an element.
    const bool twice = spec_.types.size() > 1 && !seen.insert(key).second;
    if (twice || (!is_new && !found->second.components[component].empty())) {
      return InvalidArgument("Key ", key, " already has a value for component ", component,
                             " in barrier ", spec_.name);
    }
  }
  return any_new;
}

size_t Barrier::BytesOfElement(const std::string& key) const {
  constexpr size_t kNode = sizeof(Element) + sizeof(std::string) + 4 * sizeof(void*);
  return kNode + spec_.types.size() * sizeof(Tensor) + 2 * TextHeapBytes(key.size());
}

void Barrier::Add(size_t component, const std::string& key, Tensor value) {
  auto [at, is_new] = incomplete_.try_emplace(key);
  Element& element = at->second;
  if (is_new) {
    element.index = next_index_;
    element.turn = next_turn_++;
    element.key = key;
    element.components.resize(spec_.types.size());
    element.missing = spec_.types.size();
    held_ += BytesOfElement(key);
  }
  element.components[component] = std::move(value);
  if (--element.missing > 0) return;
  ready_.emplace(element.turn, std::move(element));
  incomplete_.erase(at);
}

Status Barrier::Insert(int64_t component, const Tensor& keys, const Tensor& values,
                       Allocator& allocator) {
  RETURN_IF_ERROR(CheckInsert(component, keys, values));
  const int64_t count = keys.dim(0);
  std::vector<Tensor> rows;
  for (int64_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(Tensor row, RowOf(allocator, values, i));
    rows.push_back(std::move(row));
  }
  Ended ended;
  {
    MutexLock lock(mutex_);
    const auto c = static_cast<size_t>(component);
    ASSIGN_OR_RETURN(const bool any_new, Admit(c, keys));
    size_t bytes = held_;
    for (const std::string& key : keys.flat<std::string>()) bytes += BytesOfElement(key);
    RETURN_IF_ERROR(
        charge_.Set(allocator, bytes).WithContext(StrCat("barrier '", spec_.name, "'")));
    for (int64_t i = 0; i < count; ++i) {
      Add(c, keys.data<std::string>()[i], std::move(rows[static_cast<size_t>(i)]));
    }
    RETURN_IF_ERROR(charge_.Set(allocator, held_));
    if (any_new) ++next_index_;
    AdvanceAll(&ended);
  }
  End(std::move(ended));
  return OkStatus();
}

Status Barrier::Close(bool cancel_incomplete) {
  Ended ended;
  {
    MutexLock lock(mutex_);
    if (cancelled_ || (closed_ && !cancel_incomplete)) {
      return Cancelled("Barrier '", spec_.name, "' is already closed.");
    }
    closed_ = true;
    cancelled_ = cancel_incomplete;
    if (cancel_incomplete) {
      for (const auto& [key, element] : incomplete_) held_ -= BytesOfElement(key);
      incomplete_.clear();
    }
    AdvanceAll(&ended);
  }
  End(std::move(ended));
  return OkStatus();
}

WaiterQueues::Progress Barrier::Advance(Waiter& waiter) {
  auto& take = static_cast<Take&>(waiter);
  const auto ready = static_cast<int64_t>(ready_.size());
  int64_t count = take.count;
  if (closed_) {
    const int64_t total = ready + static_cast<int64_t>(incomplete_.size());
    if (take.may_be_fewer) count = std::min(count, ready);
    const bool none = count == 0 && (take.may_be_fewer || total == 0);
    if (none || count > total) {
      take.status = TooFew(take.count, take.may_be_fewer ? ready : total);
      return Progress::kEnded;
    }
  }
  if (ready < count) return Progress::kNone;
  for (auto at = ready_.begin(); count > 0; --count) {
    held_ -= BytesOfElement(at->second.key);
    take.elements.push_back(std::move(at->second));
    at = ready_.erase(at);
  }
  return Progress::kEnded;
}

Status Barrier::Finish(Waiter& waiter) {
  auto& take = static_cast<Take&>(waiter);
  const auto count = static_cast<int64_t>(take.elements.size());
  const auto make = [&]() -> Status {
    ASSIGN_OR_RETURN(Tensor * indices, take.ctx.AllocateOutput(0, DType::kInt64, Shape{count}));
    ASSIGN_OR_RETURN(Tensor * keys, take.ctx.AllocateOutput(1, DType::kString, Shape{count}));
    for (int64_t i = 0; i < count; ++i) {
      const Element& element = take.elements[static_cast<size_t>(i)];
      indices->mutable_data<int64_t>()[i] = element.index;
      keys->mutable_data<std::string>()[i] = element.key;
    }
    for (size_t c = 0; c < spec_.types.size(); ++c) {
      std::vector<Tensor> rows;
      for (const Element& element : take.elements) rows.push_back(element.components[c]);
      ASSIGN_OR_RETURN(Tensor batch,
                       BatchOf(take.ctx.allocator(), spec_.types[c], spec_.shapes[c], rows, 1));
      take.ctx.set_output(static_cast<int>(c) + 2, std::move(batch));
    }
    return OkStatus();
  };
  Status status = make();
  if (status.ok()) return status;
  // No room for the batch: the elements are not lost.
  Ended ended;
  {
    MutexLock lock(mutex_);
    for (Element& element : take.elements) {
      held_ += BytesOfElement(element.key);
      ready_.emplace(element.turn, std::move(element));
    }
    AdvanceAll(&ended);
  }
  End(std::move(ended));
  return status;
}

}  // namespace thalweg
