// SPDX-License-Identifier: Apache-2.0
// StateWriter, StateReader: where the stages of an iterator stand, as a list of tensors that is
// read in the order in which it was written.
//
//   writer.Add(at_);                                  RETURN_IF_ERROR(reader.Read(&at_));
//   writer.Add(element);                              RETURN_IF_ERROR(reader.Read(&element));
//
// Ownership: the writer owns its tensors until Take(), the reader those it was given.
// Threads: one.
// Errors: InvalidArgument where the state is that of another dataset.
#pragma once

#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/data/stage.h"

namespace thalweg {

class StateWriter {
 public:
  void Add(int64_t value) { tensors_.push_back(Tensor::Scalar(value)); }
  void Add(const std::string& text) { tensors_.push_back(Tensor::Scalar(text)); }
  void Add(std::span<const Tensor> element) {
    Add(static_cast<int64_t>(element.size()));
    tensors_.insert(tensors_.end(), element.begin(), element.end());
  }
  std::vector<Tensor> Take() { return std::exchange(tensors_, {}); }

 private:
  std::vector<Tensor> tensors_;
};

class StateReader {
 public:
  explicit StateReader(std::vector<Tensor> tensors) : tensors_(std::move(tensors)) {}

  Status Read(int64_t* value) {
    ASSIGN_OR_RETURN(const Tensor tensor, Take(DType::kInt64));
    *value = tensor.scalar<int64_t>();
    return OkStatus();
  }
  // A count of what follows: no more than there is.
  Status ReadCount(int64_t* count) {
    RETURN_IF_ERROR(Read(count));
    return *count >= 0 && *count <= static_cast<int64_t>(tensors_.size() - at_) ? OkStatus()
                                                                                : Other();
  }
  Status Read(std::string* text) {
    ASSIGN_OR_RETURN(const Tensor tensor, Take(DType::kString));
    *text = tensor.scalar<std::string>();
    return OkStatus();
  }
  Status Read(Element* element) {
    int64_t n = 0;
    RETURN_IF_ERROR(ReadCount(&n));
    const auto first = std::make_move_iterator(tensors_.begin() + static_cast<std::ptrdiff_t>(at_));
    element->assign(first, first + n);
    at_ += static_cast<size_t>(n);
    return OkStatus();
  }
  // An element of components of these types.
  Status Read(Element* element, const std::vector<DType>& types) {
    RETURN_IF_ERROR(Read(element));
    bool same = element->size() == types.size();
    for (size_t i = 0; same && i < types.size(); ++i) same = (*element)[i].dtype() == types[i];
    return same ? OkStatus() : Other();
  }
  Status End() const { return at_ == tensors_.size() ? OkStatus() : Other(); }

 private:
  static Status Other() {
    return InvalidArgument("the state of the iterator is none of this dataset");
  }
  Result<Tensor> Take(DType dtype) {
    if (at_ == tensors_.size() || tensors_[at_].dtype() != dtype || tensors_[at_].rank() != 0) {
      return Other();
    }
    return std::move(tensors_[at_++]);
  }

  std::vector<Tensor> tensors_;
  size_t at_ = 0;
};

}  // namespace thalweg
