// SPDX-License-Identifier: Apache-2.0
#include "thalweg/resources/tensor_array.h"

#include "thalweg/compute/ew/ew.h"
#include "thalweg/compute/move/strided_copy.h"

namespace thalweg {

int64_t TensorArray::size() const {
  MutexLock lock(mutex_);
  return size_;
}

PartialShape TensorArray::element_shape() const {
  MutexLock lock(mutex_);
  return known_;
}

bool TensorArray::dynamic_size() const {
  MutexLock lock(mutex_);
  return options_.dynamic_size && !frozen_;
}

bool TensorArray::Close() {
  MutexLock lock(mutex_);
  chunks_.clear();
  charged_.Clear();
  gradients_.clear();
  return !std::exchange(closed_, true);
}

std::string TensorArray::DebugString() const {
  return StrCat("TensorArray ", options_.name, " of ", size(), " elements of ", options_.dtype);
}

const TensorArray::Element* TensorArray::Find(int64_t index) const {
  const auto found = chunks_.find(index / kChunk);
  return found == chunks_.end() ? nullptr : &found->second[static_cast<size_t>(index % kChunk)];
}

Status TensorArray::CheckWrite(int64_t index, const Tensor& value) {
  if (closed_) return InvalidArgument("TensorArray ", name(), " has already been closed.");
  const bool grows = options_.dynamic_size && !frozen_;
  if (index < 0 || (index >= size_ && !grows)) {
    return InvalidArgument("TensorArray ", name(), ": Tried to write to index ", index,
                           " but array is not resizeable and size is: ", size_);
  }
  if (value.dtype() != dtype()) {
    return InvalidArgument("TensorArray ", name(), ": Could not write to TensorArray index ", index,
                           " because the value dtype is ", value.dtype(),
                           " but TensorArray dtype is ", dtype(), ".");
  }
  const Element* const element = Find(index);
  // What an element of a gradient array may be is known from the array itself.
  if (!options_.is_gradient && !known_.Admits(value.shape())) {
    return InvalidArgument("TensorArray ", name(), ": Could not write to TensorArray index ", index,
                           " because the value shape is ", value.shape(),
                           " which is incompatible with the TensorArray's inferred element shape: ",
                           known_, " (consider setting infer_shape=False).");
  }
  if (element == nullptr) return OkStatus();
  if (element->read) {
    return InvalidArgument("TensorArray ", name(), ": Could not write to TensorArray index ", index,
                           " because it has already been read.");
  }
  if (element->written && !options_.is_gradient) {
    return InvalidArgument("TensorArray ", name(), ": Could not write to TensorArray index ", index,
                           " because it has already been written to.");
  }
  if (options_.is_gradient && element->has_shape && element->shape != value.shape()) {
    return InvalidArgument("TensorArray ", name(), ": Could not aggregate to TensorArray index ",
                           index, " because the existing shape is ", element->shape,
                           " but the new input shape is ", value.shape(), ".");
  }
  return OkStatus();
}

Result<TensorArray::Element*> TensorArray::Made(Allocator& allocator, int64_t index) {
  auto chunk = chunks_.find(index / kChunk);
  if (chunk == chunks_.end()) {
    RETURN_IF_ERROR(charged_.MakeRoom(allocator, chunks_.size() + 1, sizeof(Chunk)));
    chunk = chunks_.try_emplace(index / kChunk).first;
  }
  return &chunk->second[static_cast<size_t>(index % kChunk)];
}

Status TensorArray::AddTo(Context& ctx, int64_t index, Element& element, const Tensor& value) {
  if (!compute::HasBinary(compute::BinaryOp::kAdd, dtype())) {
    return InvalidArgument("TensorArray ", name(), ": Could not aggregate to TensorArray index ",
                           index, ": values of type ", dtype(), " cannot be added");
  }
  Tensor sum;
  if (element.value.IsSoleOwner()) {
    sum = std::move(element.value);
    element.value = Tensor();
  } else {
    ASSIGN_OR_RETURN(sum, Tensor::Allocate(ctx.allocator(), dtype(), value.shape()));
  }
  const void* const before =
      element.value.empty() ? sum.raw_data() : element.value.raw_data();  // in place or apart
  Status status = compute::RunBinary(ctx.work(), compute::BinaryOp::kAdd, dtype(),
                                     compute::Broadcast::Dense(value.num_elements(), 2), before,
                                     value.raw_data(), sum.mutable_raw_data());
  element.value = std::move(sum);
  return status;
}

Status TensorArray::Write(Context& ctx, int64_t index, Tensor value) {
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(CheckWrite(index, value));
  ASSIGN_OR_RETURN(Element* const made, Made(ctx.allocator(), index));
  Element& element = *made;
  if (element.written) return AddTo(ctx, index, element, value);
  if (!element.has_shape) {
    element.shape = value.shape();
    element.has_shape = true;
  }
  if (options_.identical_element_shapes && !known_.IsFullyDefined()) known_ = value.shape();
  element.value = std::move(value);
  element.written = true;
  size_ = std::max(size_, index + 1);
  return OkStatus();
}

Status TensorArray::CheckRead(int64_t index) const {
  if (closed_) return InvalidArgument("TensorArray ", name(), " has already been closed.");
  if (index < 0 || index >= size_) {
    return InvalidArgument("Tried to read from index ", index, " but array size is: ", size_);
  }
  const Element* const element = Find(index);
  if (element != nullptr && element->cleared) {
    return InvalidArgument("TensorArray ", name(), ": Could not read index ", index,
                           " twice because it was cleared after a previous read (perhaps try "
                           "setting clear_after_read = false?).");
  }
  return OkStatus();
}

Result<Shape> TensorArray::LockedShape(int64_t index) const {
  RETURN_IF_ERROR(CheckRead(index));
  const Element* const element = Find(index);
  if (element != nullptr && element->has_shape) return element->shape;
  if (known_.IsFullyDefined()) return known_.ToShape();
  return InvalidArgument(
      "TensorArray ", name(), ": Could not read from TensorArray index ", index,
      ". Furthermore, the element shape is not fully defined: ", known_,
      ". It is possible you are working with a resizeable TensorArray and stop_gradients is not "
      "allowing the gradients to be written. If you set the full element_shape property on the "
      "forward TensorArray, the proper all-zeros tensor will be returned instead of incurring "
      "this error.");
}

Result<Shape> TensorArray::ShapeAt(int64_t index) const {
  MutexLock lock(mutex_);
  return LockedShape(index);
}

Result<Tensor> TensorArray::Read(Context& ctx, int64_t index) {
  MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(const Shape shape, LockedShape(index));
  ASSIGN_OR_RETURN(Element* const made, Made(ctx.allocator(), index));
  Element& element = *made;
  if (!element.written) {
    // Kept as if it had been written: whoever reads again gets the same.
    ASSIGN_OR_RETURN(Tensor zeros, Tensor::Allocate(ctx.allocator(), dtype(), shape));
    RETURN_IF_ERROR(
        compute::FillZeros(ctx.work(), dtype(), zeros.mutable_raw_data(), zeros.num_elements()));
    element.value = std::move(zeros);
    element.shape = shape;
    element.has_shape = element.written = true;
  }
  element.read = true;
  if (!options_.clear_after_read) return element.value;
  element.cleared = true;
  return std::exchange(element.value, Tensor());
}

Result<RefPtr<TensorArray>> TensorArray::Gradient(Allocator& allocator, std::string_view source,
                                                  const Dims& prepended) {
  MutexLock lock(mutex_);
  if (closed_) return InvalidArgument("TensorArray ", name(), " has already been closed.");
  if (const auto found = gradients_.find(source); found != gradients_.end()) return found->second;
  Options options = options_;
  options.name = StrCat(name(), "@", source);
  options.dynamic_size = false;
  // Writes to one element of a gradient array add up: its own gradient is read as often.
  options.clear_after_read = !options_.is_gradient;
  options.is_gradient = true;
  options.element_shape = PartialShape(prepended).Concatenate(known_);
  auto made = RefPtr<TensorArray>::Adopt(
      std::make_unique<TensorArray>(std::move(options), size_).release());
  {
    MutexLock made_lock(made->mutex_);
    for (const auto& [number, chunk] : chunks_) {
      for (int64_t i = 0; i < kChunk; ++i) {
        const Element& element = chunk[static_cast<size_t>(i)];
        if (!element.has_shape) continue;
        Dims dims = prepended;
        for (const int64_t dim : element.shape.dims()) dims.push_back(dim);
        ASSIGN_OR_RETURN(Element* const mine, made->Made(allocator, number * kChunk + i));
        ASSIGN_OR_RETURN(mine->shape, Shape::Make(dims));
        mine->has_shape = true;
      }
    }
  }
  frozen_ = true;
  gradients_.emplace(std::string(source), made);
  return made;
}

}  // namespace thalweg
