// SPDX-License-Identifier: Apache-2.0
#include "thalweg/resources/tensor_list.h"

#include <algorithm>

namespace thalweg {

Result<std::shared_ptr<TensorList>> TensorList::CopyOf(Allocator& allocator,
                                                       const TensorList& list) {
  auto copy =
      std::make_shared<TensorList>(list.element_dtype_, list.element_shape_, list.max_elements_);
  RETURN_IF_ERROR(copy->places_.MakeRoom(allocator, list.elements_.size(), sizeof(Tensor)));
  copy->elements_ = list.elements_;
  copy->depth_ = list.depth_;
  return copy;
}

Status TensorList::CheckType(DType dtype) const {
  if (dtype == element_dtype_) return OkStatus();
  return InvalidArgument("Invalid data types; op elements ", dtype, " but list elements ",
                         element_dtype_);
}

namespace {

Status Merge(const PartialShape& other, PartialShape* shape) {
  if (!shape->IsCompatibleWith(other)) return TensorList::MergeError(*shape, other);
  *shape = *shape->MergeWith(other);
  return OkStatus();
}

Status MergeElement(const Tensor& element, PartialShape* shape) {
  return element.empty() ? OkStatus() : Merge(element.shape(), shape);
}

}  // namespace

Result<PartialShape> TensorList::MergedShape(const PartialShape& wanted) const {
  PartialShape shape = wanted;
  RETURN_IF_ERROR(Merge(element_shape_, &shape));
  for (const Tensor& element : elements_) {
    if (shape.IsFullyDefined()) break;
    RETURN_IF_ERROR(MergeElement(element, &shape));
  }
  return shape;
}

Result<PartialShape> TensorList::MergedShape(const PartialShape& wanted,
                                             std::span<const int32_t> of) const {
  PartialShape shape = wanted;
  RETURN_IF_ERROR(Merge(element_shape_, &shape));
  for (const int32_t i : of) {
    if (shape.IsFullyDefined()) break;
    RETURN_IF_ERROR(MergeElement(at(i), &shape));
  }
  return shape;
}

Status TensorList::MergeError(const PartialShape& a, const PartialShape& b) {
  if (a.known_rank() && b.known_rank() && a.rank() != b.rank()) {
    return InvalidArgument("PartialTensorShape: Incompatible ranks during merge: ", a.rank(),
                           " vs. ", b.rank(), "; shapes ", a, " and ", b);
  }
  return InvalidArgument("PartialTensorShape: Incompatible shapes during merge: ", a, " vs. ", b);
}

Status TensorList::Resize(Allocator& allocator, int64_t size) {
  if (size > kMaxElements) {
    return ResourceExhausted("a list has at most ", kMaxElements, " elements, this one would have ",
                             size);
  }
  RETURN_IF_ERROR(places_.MakeRoom(allocator, static_cast<size_t>(size), sizeof(Tensor)));
  elements_.resize(static_cast<size_t>(size));
  return OkStatus();
}

Status TensorList::Admit(const Tensor& tensor) {
  depth_ = std::max(depth_, DepthAround(tensor));
  return CheckDepth(*this);
}

Status TensorList::Add(Allocator& allocator, Tensor tensor) {
  if (max_elements_ >= 0 && size() >= max_elements_) {
    return InvalidArgument("Tried to push item into a full list list size: ", size(),
                           " max_num_elements: ", max_elements_);
  }
  if (size() >= kMaxElements) return Resize(allocator, size() + 1);
  RETURN_IF_ERROR(Admit(tensor));
  RETURN_IF_ERROR(places_.MakeRoom(allocator, elements_.size() + 1, sizeof(Tensor)));
  elements_.push_back(std::move(tensor));
  return OkStatus();
}

Status TensorList::Set(int64_t i, Tensor tensor) {
  RETURN_IF_ERROR(Admit(tensor));
  elements_[static_cast<size_t>(i)] = std::move(tensor);
  return OkStatus();
}

Tensor TensorList::TakeLast() {
  Tensor last = std::move(elements_.back());
  elements_.pop_back();
  return last;
}

std::string TensorList::DebugString() const {
  return StrCat("a list of ", size(), " elements of ", element_dtype_, element_shape_);
}

namespace {

Result<const TensorList*> ListOf(const Tensor& x) {
  if (x.dtype() != DType::kVariant || x.rank() != 0) {
    return InvalidArgument("Input list must be a scalar variant, saw: ", x.dtype(), x.shape());
  }
  const Variant& variant = x.scalar<Variant>();
  if (const auto* const list = variant.As<TensorList>(); list != nullptr) return list;
  return InvalidArgument("Input handle is not a list. Saw: ", variant.get() == nullptr
                                                                  ? std::string("an empty variant")
                                                                  : variant.get()->DebugString());
}

}  // namespace

Result<const TensorList*> ListInput(Context& ctx, int i) { return ListOf(ctx.input(i)); }

Status SetListOutput(Context& ctx, int i, std::shared_ptr<TensorList> list) {
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(i, DType::kVariant, Shape()));
  *out->mutable_data<Variant>() = Variant(std::move(list));
  return OkStatus();
}

Result<ListUpdate> ListUpdate::Of(Context& ctx, int i) {
  RETURN_IF_ERROR(ListInput(ctx, i).status());
  Tensor taken = ctx.TakeInput(i);
  if (!taken.empty()) {
    const auto* const list = taken.scalar<Variant>().As<TensorList>();
    if (list->weak_from_this().use_count() == 1) {
      // Counts up by an acquire: what other holders did with the list came before they let go of
      // it.
      auto mine = std::const_pointer_cast<TensorList>(list->shared_from_this());
      return ListUpdate(std::move(taken), std::move(mine));
    }
    ASSIGN_OR_RETURN(auto copy, TensorList::CopyOf(ctx.allocator(), *list));
    return ListUpdate(Tensor(), std::move(copy));
  }
  ASSIGN_OR_RETURN(const TensorList* const list, ListInput(ctx, i));
  ASSIGN_OR_RETURN(auto copy, TensorList::CopyOf(ctx.allocator(), *list));
  return ListUpdate(Tensor(), std::move(copy));
}

Status ListUpdate::SetOutput(Context& ctx, int i) && {
  if (tensor_.empty()) return SetListOutput(ctx, i, std::move(list_));
  list_.reset();
  ctx.set_output(i, std::move(tensor_));
  return OkStatus();
}

}  // namespace thalweg
