// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/cancel_looks.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/list/list_shape.h"
#include "thalweg/resources/tensor_list.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

constexpr int64_t kThingsPerElement = 16;  // what a tensor's handle costs, in numbers

// A list without elements (the second input is the most it may have), or with elements not set.
class MakeListCpu : public Kernel {
 public:
  MakeListCpu(DType dtype, bool reserves) : dtype_(dtype), reserves_(reserves) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const DType dtype, c.Attr<DType>("element_dtype"));
    return std::unique_ptr<Kernel>(
        std::make_unique<MakeListCpu>(dtype, c.node().op_name() == "TensorListReserve"));
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(PartialShape shape, ElementShapeOf(ctx.input(0)));
    ASSIGN_OR_RETURN(const int64_t count, IntScalar(ctx.input(1), "the number of elements"));
    if (reserves_ && count < 0) {
      return InvalidArgument("The num_elements to reserve must be a non negative number, but got ",
                             count);
    }
    auto list = std::make_shared<TensorList>(dtype_, std::move(shape), reserves_ ? -1 : count);
    if (reserves_) RETURN_IF_ERROR(list->Resize(ctx.allocator(), count));
    return SetListOutput(ctx, 0, std::move(list));
  }

 private:
  const DType dtype_;
  const bool reserves_;
};

Status Length(Context& ctx) {
  ASSIGN_OR_RETURN(const TensorList* const list, ListInput(ctx, 0));
  ctx.set_output(0, Tensor::Scalar(static_cast<int32_t>(list->size())));
  return OkStatus();
}

template <class Out>
Status ElementShape(Context& ctx) {
  ASSIGN_OR_RETURN(const TensorList* const list, ListInput(ctx, 0));
  const PartialShape shape = list->element_shape();
  if (!shape.known_rank()) {
    ctx.set_output(0, Tensor::Scalar(static_cast<Out>(-1)));
    return OkStatus();
  }
  ASSIGN_OR_RETURN(Tensor * out,
                   ctx.AllocateOutput(0, kDTypeOf<Out>, Shape{int64_t{shape.rank()}}));
  for (int i = 0; i < shape.rank(); ++i) {
    out->mutable_data<Out>()[i] = static_cast<Out>(shape.dim(i));
  }
  return OkStatus();
}

Status Resize(Context& ctx) {
  ASSIGN_OR_RETURN(const int64_t size, IntScalar(ctx.input(1), "size"));
  if (size < 0) {
    return InvalidArgument("TensorListSlice expects size to be non-negative. Got: ", size);
  }
  ASSIGN_OR_RETURN(ListUpdate list, ListUpdate::Of(ctx, 0));
  RETURN_IF_ERROR(list->Resize(ctx.allocator(), size));
  return std::move(list).SetOutput(ctx, 0);
}

class ConcatListsCpu : public Kernel {
 public:
  explicit ConcatListsCpu(DType dtype) : dtype_(dtype) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const DType dtype, c.Attr<DType>("element_dtype"));
    return std::unique_ptr<Kernel>(std::make_unique<ConcatListsCpu>(dtype));
  }

  Status Compute(Context& ctx) override {
    const Tensor a = ctx.input(0), b = ctx.input(1);
    if (a.shape() != b.shape()) {
      return InvalidArgument("Incompatible input TensorList tensor shapes: ", a.shape(), " vs. ",
                             b.shape());
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kVariant, a.shape()));
    for (int64_t i = 0; i < a.num_elements(); ++i) {
      ASSIGN_OR_RETURN(out->mutable_data<Variant>()[i],
                       Join(ctx, a.data<Variant>()[i], b.data<Variant>()[i], i));
    }
    return OkStatus();
  }

 private:
  Result<Variant> Join(Context& ctx, const Variant& x, const Variant& y, int64_t i) const {
    const auto *a = x.As<TensorList>(), *b = y.As<TensorList>();
    if (a == nullptr || b == nullptr) {
      return InvalidArgument("an input is not a list at index ", i);
    }
    for (const TensorList* list : {a, b}) {
      if (list->element_dtype() != dtype_) {
        return InvalidArgument("list ", list == a ? "input_a" : "input_b", "[", i,
                               "].dtype != element_dtype.  Saw: ", list->element_dtype(), " vs. ",
                               dtype_);
      }
    }
    if (!(a->element_shape() == b->element_shape())) {
      return InvalidArgument("input_a and input_b TensorList element shapes are not identical at ",
                             "index ", i, ".  Saw ", a->element_shape(), " vs. ",
                             b->element_shape());
    }
    auto joined = std::make_shared<TensorList>(dtype_, a->element_shape());
    RETURN_IF_ERROR(joined->Resize(ctx.allocator(), a->size() + b->size()));
    compute::CancelLooks looks(ctx.work());
    for (int64_t k = 0; k < joined->size(); ++k) {
      RETURN_IF_ERROR(looks.Did(kThingsPerElement));
      RETURN_IF_ERROR(joined->Set(k, k < a->size() ? a->at(k) : b->at(k - a->size())));
    }
    return Variant(std::move(joined));
  }

  const DType dtype_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(tensor_list, cpu) {
  registry.Add<MakeListCpu>("EmptyTensorList", kCpu).Cost(KernelCost::kCheap);
  registry.Add<MakeListCpu>("TensorListReserve", kCpu).Cost(KernelCost::kCheap);
  registry.AddFunction<Length>("TensorListLength", kCpu).Cost(KernelCost::kCheap);
  registry
      .AddFunction<ElementShape<int32_t>>("TensorListElementShape", kCpu,
                                          {{"shape_type", DType::kInt32}})
      .Cost(KernelCost::kCheap);
  registry
      .AddFunction<ElementShape<int64_t>>("TensorListElementShape", kCpu,
                                          {{"shape_type", DType::kInt64}})
      .Cost(KernelCost::kCheap);
  registry.AddFunction<Resize>("TensorListResize", kCpu).Cost(KernelCost::kCheap);
  registry.Add<ConcatListsCpu>("TensorListConcatLists", kCpu);
}
