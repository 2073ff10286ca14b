// SPDX-License-Identifier: Apache-2.0
// TensorList: what a variant that holds a list carries: tensors of one type, some of them perhaps
// not set yet. A value like any other: who changes a list that others hold too changes a copy.
//
//   ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0));
//   ASSIGN_OR_RETURN(ListUpdate update, ListUpdate::Of(ctx, 0));   // input 0, copied if shared
//   RETURN_IF_ERROR(update->Add(ctx.allocator(), tensor));
//   return std::move(update).SetOutput(ctx, 0);
//
// So a list that goes through a loop and has no other reader is changed in place.
// Ownership: shares the buffers of its elements; an update owns the list, or a copy that nobody
// else sees.
// Threads: several may read one; ListUpdate changes only what nobody else can see.
// Errors: InvalidArgument; ResourceExhausted where there is no room for more elements.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/kernel/context.h"
#include "thalweg/resources/nested_variant.h"
#include "thalweg/tensor/heap_charge.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

class TensorList : public NestedVariant, public std::enable_shared_from_this<TensorList> {
 public:
  // A list of more elements is refused: its handles alone would take a gigabyte.
  static constexpr int64_t kMaxElements = int64_t{1} << 26;

  TensorList(DType element_dtype, PartialShape element_shape, int64_t max_elements = -1)
      : element_dtype_(element_dtype),
        element_shape_(std::move(element_shape)),
        max_elements_(max_elements) {}

  // A list of the same elements, which are shared.
  static Result<std::shared_ptr<TensorList>> CopyOf(Allocator& allocator, const TensorList& list);

  DType element_dtype() const { return element_dtype_; }
  const PartialShape& element_shape() const { return element_shape_; }
  int64_t size() const { return static_cast<int64_t>(elements_.size()); }
  // An empty tensor where none is set. 0 <= i < size().
  const Tensor& at(int64_t i) const { return elements_[static_cast<size_t>(i)]; }
  int depth() const override { return depth_; }

  // The element type must be `dtype`.
  Status CheckType(DType dtype) const;
  // What `wanted`, the list and its elements know together of the elements' shape.
  Result<PartialShape> MergedShape(const PartialShape& wanted) const;
  // The same of the elements of these numbers, which are there.
  Result<PartialShape> MergedShape(const PartialShape& wanted, std::span<const int32_t> of) const;
  // The error for shapes of elements that should be one.
  static Status MergeError(const PartialShape& a, const PartialShape& b);

  // New elements are not set; ResourceExhausted above kMaxElements.
  Status Resize(Allocator& allocator, int64_t size);
  Status Add(Allocator& allocator, Tensor tensor);
  // 0 <= i < size().
  Status Set(int64_t i, Tensor tensor);
  // The last element, which may be an empty tensor. Only when size() > 0.
  Tensor TakeLast();

  std::string TypeName() const override { return "tensorflow::TensorList"; }
  std::string DebugString() const override;

 private:
  friend class ListUpdate;

  Status Admit(const Tensor& tensor);

  DType element_dtype_;
  PartialShape element_shape_;
  int64_t max_elements_;
  std::vector<Tensor> elements_;
  PlacesCharge places_;
  int depth_ = 1;
};

// The list that input i holds.
Result<const TensorList*> ListInput(Context& ctx, int i);
// Output i = a scalar variant of the list.
Status SetListOutput(Context& ctx, int i, std::shared_ptr<TensorList> list);

// A list to be changed: that of an input, itself where nobody else holds it, else a copy.
class ListUpdate {
 public:
  static Result<ListUpdate> Of(Context& ctx, int i);
  TensorList* operator->() const { return list_.get(); }
  TensorList& operator*() const { return *list_; }
  Status SetOutput(Context& ctx, int i) &&;

 private:
  ListUpdate(Tensor tensor, std::shared_ptr<TensorList> list)
      : tensor_(std::move(tensor)), list_(std::move(list)) {}

  Tensor tensor_;  // the input's, in which the list already lies; empty for a copy
  std::shared_ptr<TensorList> list_;
};

// Variants as numbers: sums of the tensors in lists and optionals, zeros of those and of loop
// stacks. An element that is not set counts as zero.
Result<Tensor> AddVariants(Context& ctx, const Tensor& a, const Tensor& b);
Result<Tensor> ZerosLikeVariants(Context& ctx, const Tensor& x);

}  // namespace thalweg
