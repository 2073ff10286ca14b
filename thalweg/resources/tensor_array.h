// SPDX-License-Identifier: Apache-2.0
// TensorArray: elements of one type, written once and read by index within a step; and its gradient
// arrays, in which writes add up and what nobody wrote reads as zeros.
//
//   RETURN_IF_ERROR(array->Write(ctx, 3, value));             // shares value's buffer
//   ASSIGN_OR_RETURN(Tensor value, array->Read(ctx, 3));      // gives it away: clear_after_read
//
// Elements take memory when they are written, not before: an array may be 2^31 - 1 long. A gradient
// array belongs to the array that it was made of and dies with it.
// Ownership: shares the buffers of its elements; owns its gradient arrays.
// Threads: any; each call holds the array's lock, also while it adds.
// Errors: InvalidArgument that names the array; ResourceExhausted where there is no room.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "thalweg/base/mutex.h"
#include "thalweg/base/status.h"
#include "thalweg/kernel/context.h"
#include "thalweg/resources/destroyable.h"
#include "thalweg/tensor/heap_charge.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

class TensorArray : public Resource, public Destroyable {
 public:
  struct Options {
    std::string name;
    DType dtype = DType::kInvalid;
    PartialShape element_shape;
    bool dynamic_size = false;
    bool clear_after_read = true;
    bool identical_element_shapes = false;
    bool is_gradient = false;  // writes to one element add up
  };
  TensorArray(Options options, int64_t size) : options_(std::move(options)), size_(size) {}

  const std::string& name() const { return options_.name; }
  DType dtype() const { return options_.dtype; }
  int64_t size() const;
  // Grows an array of dynamic size; InvalidArgument when another one is too small.
  Status Write(Context& ctx, int64_t index, Tensor value);
  // Zeros for an element that was not written but whose shape is known.
  Result<Tensor> Read(Context& ctx, int64_t index);
  // The shape of the tensor that Read would give, which stays.
  Result<Shape> ShapeAt(int64_t index) const;
  // What is known of all elements.
  PartialShape element_shape() const;
  bool dynamic_size() const;
  // Releases the elements; reads and writes fail from now on. False: it was closed before.
  bool Close();
  Destroyed Destroy() override { return Close() ? Destroyed::kNow : Destroyed::kNotThere; }
  // The gradient array of that name: made at the first call, as long as this array is now, which
  // may not grow afterwards. Its elements have the shapes of this array's with `prepended`
  // dimensions before them.
  Result<RefPtr<TensorArray>> Gradient(Allocator& allocator, std::string_view source,
                                       const Dims& prepended);
  std::string DebugString() const override;

 private:
  struct Element {
    Tensor value;
    Shape shape;  // with has_shape; of a gradient array's before it is written too
    bool has_shape = false;
    bool written = false;
    bool read = false;
    bool cleared = false;
  };
  static constexpr int64_t kChunk = 16;
  using Chunk = std::array<Element, kChunk>;

  const Element* Find(int64_t index) const REQUIRES(mutex_);
  Status CheckWrite(int64_t index, const Tensor& value) REQUIRES(mutex_);
  Status CheckRead(int64_t index) const REQUIRES(mutex_);
  // The element, which takes memory from now on.
  Result<Element*> Made(Allocator& allocator, int64_t index) REQUIRES(mutex_);
  Status AddTo(Context& ctx, int64_t index, Element& element, const Tensor& value) REQUIRES(mutex_);
  Result<Shape> LockedShape(int64_t index) const REQUIRES(mutex_);

  const Options options_;
  mutable Mutex mutex_;
  int64_t size_ GUARDED_BY(mutex_);
  bool closed_ GUARDED_BY(mutex_) = false;
  bool frozen_ GUARDED_BY(mutex_) = false;  // has a gradient array
  PartialShape known_ GUARDED_BY(mutex_) = options_.element_shape;
  std::unordered_map<int64_t, Chunk> chunks_ GUARDED_BY(mutex_);
  PlacesCharge charged_ GUARDED_BY(mutex_);  // chunks
  std::map<std::string, RefPtr<TensorArray>, std::less<>> gradients_ GUARDED_BY(mutex_);
};

}  // namespace thalweg
