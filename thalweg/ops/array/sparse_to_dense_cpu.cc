// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/compute/move/gather.h"
#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/made_texts.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// "[1,2]": the coordinates of row `i` of a matrix.
std::string RowText(const Tensor& indices, int64_t i, int64_t rank) {
  std::string text;
  for (int64_t d = 0; d < rank; ++d) {
    text += StrCat(d == 0 ? "[" : ",", IntAt(indices, i * rank + d));
  }
  return text + "]";
}

class SparseToDenseCpu : public Kernel {
 public:
  explicit SparseToDenseCpu(bool validate) : validate_(validate) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const bool validate, c.Attr<bool>("validate_indices"));
    return std::unique_ptr<Kernel>(std::make_unique<SparseToDenseCpu>(validate));
  }

  Status Compute(Context& ctx) override {
    const Tensor& indices = ctx.input(0);
    const Tensor& values = ctx.input(2);
    if (ctx.input(1).rank() != 1) {
      return InvalidArgument("output_shape must be rank 1, got shape ", ctx.input(1).shape());
    }
    ASSIGN_OR_RETURN(const Shape shape, ShapeOf(ctx.input(1), "output_shape"));
    const int64_t count = indices.rank() == 0 ? 1 : indices.dim(0);
    RETURN_IF_ERROR(CheckShapes(ctx, shape, count));
    ASSIGN_OR_RETURN(const Tensor places, PlacesOf(ctx, indices, shape, count));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, values.dtype(), shape));
    RETURN_IF_ERROR(ClaimCopies(ctx, *out, ctx.input(3), out->num_elements()));
    RETURN_IF_ERROR(ClaimCopies(ctx, *out, values, values.rank() == 0 ? count : 1));
    RETURN_IF_ERROR(compute::FillElements(ctx.work(), values.dtype(), ctx.input(3).raw_data(),
                                          out->mutable_raw_data(), out->num_elements()));
    return compute::CombineRows(ctx.work(), values.dtype(), compute::Combine::kAssign,
                                {.count = count, .one_update = values.rank() == 0},
                                places.data<int64_t>(), values.raw_data(), out->mutable_raw_data());
  }

 private:
  static Status CheckShapes(Context& ctx, const Shape& shape, int64_t count) {
    const Tensor& indices = ctx.input(0);
    const Tensor& values = ctx.input(2);
    if (indices.rank() > 2) {
      return InvalidArgument("sparse_indices should be a scalar, vector, or matrix, got shape ",
                             indices.shape());
    }
    const int64_t rank = indices.rank() == 2 ? indices.dim(1) : 1;
    if (shape.rank() != rank) {
      return InvalidArgument("output_shape has incorrect number of elements: ", shape.rank(),
                             " should be: ", rank);
    }
    if (values.rank() > 1 || (values.rank() == 1 && values.dim(0) != count)) {
      return InvalidArgument("sparse_values has incorrect shape ", values.shape(),
                             ", should be [] or [", count, "]");
    }
    if (ctx.input(3).rank() == 0) return OkStatus();
    return InvalidArgument("default_value should be a scalar, got shape ", ctx.input(3).shape());
  }

  // The number of each place in the output. Without validation only the bounds are checked.
  Result<Tensor> PlacesOf(Context& ctx, const Tensor& indices, const Shape& shape,
                          int64_t count) const {
    const int64_t rank = shape.rank();
    ASSIGN_OR_RETURN(Tensor places, ctx.AllocateTemporary(DType::kInt64, Shape{count}));
    int64_t* const place = places.mutable_data<int64_t>();
    for (int64_t i = 0; i < count; ++i) {
      place[i] = 0;
      for (int d = 0; d < shape.rank(); ++d) {
        const int64_t index = IntAt(indices, i * rank + d);
        if (index < 0 || index >= shape.dim(d)) {
          return InvalidArgument("indices[", i, "] = ", RowText(indices, i, rank),
                                 " is out of bounds: need 0 <= index < ", shape);
        }
        place[i] = place[i] * shape.dim(d) + index;
      }
      if (!validate_ || i == 0 || place[i] > place[i - 1]) continue;
      return InvalidArgument("indices[", i, "] = ", RowText(indices, i, rank),
                             place[i] == place[i - 1]
                                 ? " is repeated"
                                 : " is out of order. Many sparse ops require sorted indices. Use "
                                   "`tf.sparse.reorder` to create a correctly ordered copy.");
    }
    return places;
  }

  const bool validate_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(sparse_to_dense, cpu) { registry.Add<SparseToDenseCpu>("SparseToDense", kCpu); }
