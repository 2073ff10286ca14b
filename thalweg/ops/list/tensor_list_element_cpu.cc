// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/list/list_shape.h"
#include "thalweg/ops/list/row_pieces.h"
#include "thalweg/resources/tensor_list.h"
#include "thalweg/tensor/legacy_scalar.h"

namespace thalweg {
namespace {

// The element as it is read: zeros where it is not set and the shape is known.
Result<Tensor> ElementOrZeros(Context& ctx, const TensorList& list, const Tensor& element,
                              const Tensor& given_shape, DType dtype) {
  if (!element.empty()) return element;
  ASSIGN_OR_RETURN(const PartialShape given, ElementShapeOf(given_shape));
  ASSIGN_OR_RETURN(const PartialShape shape, list.MergedShape(given));
  if (!shape.IsFullyDefined()) {
    return InvalidArgument(
        "Trying to read an uninitialized tensor but element_shape is not fully defined.", shape,
        " and no list element is set.");
  }
  ASSIGN_OR_RETURN(const Shape whole, Shape::Make(shape.dims()));
  ASSIGN_OR_RETURN(Tensor zeros, Tensor::Allocate(ctx.allocator(), dtype, whole));
  RETURN_IF_ERROR(
      compute::FillZeros(ctx.work(), dtype, zeros.mutable_raw_data(), zeros.num_elements()));
  return zeros;
}

Status PushBack(Context& ctx) {
  const Tensor value = ctx.input(1);
  ASSIGN_OR_RETURN(ListUpdate list, ListUpdate::Of(ctx, 0));
  RETURN_IF_ERROR(list->CheckType(value.dtype()));
  if (!list->element_shape().Admits(value.shape())) {
    return InvalidArgument(
        "Tried to append a tensor with incompatible shape to a list. Op element shape: ",
        value.shape(), " list shape: ", list->element_shape());
  }
  RETURN_IF_ERROR(list->Add(ctx.allocator(), value));
  return std::move(list).SetOutput(ctx, 0);
}

class PopBackCpu : public Kernel {
 public:
  explicit PopBackCpu(const KernelConstruction& c) : dtype_(c.output_type(1)) {}

  Status Compute(Context& ctx) override {
    const Tensor given = ctx.input(1);
    ASSIGN_OR_RETURN(ListUpdate list, ListUpdate::Of(ctx, 0));
    RETURN_IF_ERROR(list->CheckType(dtype_));
    if (list->size() == 0) return InvalidArgument("Trying to pop from an empty list.");
    const Tensor last = list->TakeLast();
    ASSIGN_OR_RETURN(Tensor value, ElementOrZeros(ctx, *list, last, given, dtype_));
    ctx.set_output(1, std::move(value));
    return std::move(list).SetOutput(ctx, 0);
  }

 private:
  const DType dtype_;
};

class GetItemCpu : public Kernel {
 public:
  explicit GetItemCpu(const KernelConstruction& c) : dtype_(c.output_type(0)) {}

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const TensorList* const list, ListInput(ctx, 0));
    RETURN_IF_ERROR(list->CheckType(dtype_));
    ASSIGN_OR_RETURN(const int64_t index, LegacyIntScalar(ctx.input(1), "index"));
    if (index < 0 || index >= list->size()) {
      return InvalidArgument("Trying to access element ", index, " in a list with ", list->size(),
                             " elements.");
    }
    ASSIGN_OR_RETURN(Tensor value,
                     ElementOrZeros(ctx, *list, list->at(index), ctx.input(2), dtype_));
    ctx.set_output(0, std::move(value));
    return OkStatus();
  }

 private:
  const DType dtype_;
};

class SetItemCpu : public Kernel {
 public:
  explicit SetItemCpu(bool grows) : grows_(grows) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const bool grows, c.Attr<bool>("resize_if_index_out_of_bounds"));
    return std::unique_ptr<Kernel>(std::make_unique<SetItemCpu>(grows));
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const int64_t index, LegacyIntScalar(ctx.input(1), "index"));
    const Tensor value = ctx.input(2);
    ASSIGN_OR_RETURN(ListUpdate list, ListUpdate::Of(ctx, 0));
    RETURN_IF_ERROR(list->CheckType(value.dtype()));
    if (!list->element_shape().Admits(value.shape())) {
      return InvalidArgument(
          "Tried to set a tensor with incompatible shape at a list index. Item element shape: ",
          value.shape(), " list shape: ", list->element_shape());
    }
    if (index < 0 || (index >= list->size() && !grows_)) {
      return InvalidArgument("Trying to modify element ", index, " in a list with ", list->size(),
                             " elements.");
    }
    if (index >= list->size()) RETURN_IF_ERROR(list->Resize(ctx.allocator(), index + 1));
    RETURN_IF_ERROR(list->Set(index, value));
    return std::move(list).SetOutput(ctx, 0);
  }

 private:
  const bool grows_;
};

// Each list of the tensor of lists gets a row.
Status PushBackBatch(Context& ctx) {
  const Tensor lists = ctx.input(0), rows = ctx.input(1);
  if (rows.rank() < 1) {
    return InvalidArgument("Expected tensor to be at least a vector, but saw shape: ",
                           rows.shape());
  }
  if (rows.dim(0) != lists.num_elements()) {
    return InvalidArgument("Expected tensor.shape[0] == input_handles.size, but saw ", rows.dim(0),
                           " vs. ", lists.num_elements());
  }
  const Shape row = RowShape(rows.shape());
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kVariant, lists.shape()));
  for (int64_t i = 0; i < lists.num_elements(); ++i) {
    const auto* const list = lists.data<Variant>()[i].As<TensorList>();
    if (list == nullptr) return InvalidArgument("input_handles[", i, "] is not a list");
    RETURN_IF_ERROR(list->CheckType(rows.dtype()));
    if (!list->element_shape().Admits(row)) {
      return InvalidArgument("Tried to append a tensor with incompatible shape to a list at index ",
                             i, ". Op element shape: ", row,
                             " list shape: ", list->element_shape());
    }
    ASSIGN_OR_RETURN(Tensor piece, TakeRows(ctx, rows, i, i + 1, row));
    ASSIGN_OR_RETURN(auto longer, TensorList::CopyOf(ctx.allocator(), *list));
    RETURN_IF_ERROR(longer->Add(ctx.allocator(), std::move(piece)));
    out->mutable_data<Variant>()[i] = Variant(std::move(longer));
  }
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(tensor_list_element, cpu) {
  registry.AddFunction<PushBack>("TensorListPushBack", kCpu).Cost(KernelCost::kCheap);
  registry.Add<PopBackCpu>("TensorListPopBack", kCpu).Cost(KernelCost::kCheap);
  registry.Add<GetItemCpu>("TensorListGetItem", kCpu).Cost(KernelCost::kCheap);
  registry.Add<SetItemCpu>("TensorListSetItem", kCpu).Cost(KernelCost::kCheap);
  registry.AddFunction<PushBackBatch>("TensorListPushBackBatch", kCpu);
}
