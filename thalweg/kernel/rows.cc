// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/rows.h"

#include "thalweg/kernel/made_texts.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

int64_t Product(const Shape& shape, int begin, int end) {
  int64_t product = 1;
  for (int i = begin; i < end; ++i) product *= shape.dim(i);
  return product;
}

Status CheckBatch(const Shape& params, const Shape& indices, int batch, int axis) {
  if (axis < batch) {
    return InvalidArgument("batch_dims = ", batch, " must not be greater than axis = ", axis);
  }
  for (int i = 0; i < batch; ++i) {
    if (params.dim(i) == indices.dim(i)) continue;
    return InvalidArgument("params.shape[", i, "] should be equal to indices.shape[", i,
                           "]: ", params, " and ", indices);
  }
  return OkStatus();
}

Status CheckUpdates(const Shape& updates, const Shape& indices, const Shape& params) {
  Dims expected(indices.dims());
  for (int i = 1; i < params.rank(); ++i) expected.push_back(params.dim(i));
  if (updates == Shape(expected) || updates.IsScalar()) return OkStatus();
  return InvalidArgument(
      "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got "
      "updates.shape ",
      updates, ", indices.shape ", indices, ", params.shape ", params);
}

// Updates of places that indices of several dimensions name.
Status CheckNdUpdates(const Shape& updates, const Shape& indices, const Shape& slices) {
  if (updates == slices) return OkStatus();
  const int outer = indices.rank() - 1;
  bool same = updates.rank() >= outer;
  for (int i = 0; same && i < outer; ++i) same = updates.dim(i) == indices.dim(i);
  if (!same) {
    return InvalidArgument("Dimensions [0,", outer, ") of indices[shape=", indices,
                           "] must match dimensions [0,", outer, ") of updates[shape=", updates,
                           "]");
  }
  return InvalidArgument(
      "Must have updates.shape = indices.shape[:batch_dim] + "
      "params_shape[slice_dim:], got updates.shape: ",
      updates, ", indices.shape: ", indices, ", expected ", slices);
}

Status CheckTypes(const Tensor& target, const Tensor& updates) {
  if (target.dtype() == updates.dtype()) return OkStatus();
  return InvalidArgument("the variable has type ", target.dtype(), ", the updates have type ",
                         updates.dtype());
}

// Strings in the target are counted again: they are others now.
Status CombineWith(Context& ctx, compute::Combine combine, const compute::CombineShape& shape,
                   const Tensor& rows, const Tensor& updates, Tensor& target) {
  const int64_t times = shape.one_update ? shape.count * shape.inner : 1;
  RETURN_IF_ERROR(ClaimCopies(ctx, target, updates, times));
  RETURN_IF_ERROR(compute::CombineRows(ctx.work(), target.dtype(), combine, shape,
                                       rows.data<int64_t>(), updates.raw_data(),
                                       target.mutable_raw_data()));
  return RechargeTextHeap(ctx.allocator(), target);
}

}  // namespace

Status GatherOutput(Context& ctx, const Tensor& params, const Tensor& indices, int64_t axis,
                    int64_t batch_dims) {
  const Shape from = params.shape();
  const Shape by = indices.shape();
  if (from.rank() == 0) return InvalidArgument("params must be at least 1 dimensional");
  ASSIGN_OR_RETURN(const int at, NormalizeAxis(axis, from.rank(), "axis"));
  if (batch_dims < -by.rank() || batch_dims > by.rank()) {
    return InvalidArgument("batch_dims = ", batch_dims, " is not in [", -by.rank(), ", ", by.rank(),
                           "]");
  }
  const int batch = static_cast<int>(batch_dims < 0 ? batch_dims + by.rank() : batch_dims);
  RETURN_IF_ERROR(CheckBatch(from, by, batch, at));
  Dims dims;
  for (int i = 0; i < at; ++i) dims.push_back(from.dim(i));
  for (int i = batch; i < by.rank(); ++i) dims.push_back(by.dim(i));
  for (int i = at + 1; i < from.rank(); ++i) dims.push_back(from.dim(i));
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  ASSIGN_OR_RETURN(const Tensor rows,
                   CheckedIndices(ctx.allocator(), indices, from.dim(at), "indices"));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, params.dtype(), shape));
  const compute::GatherShape gather = {.batch = Product(from, 0, batch),
                                       .outer = Product(from, batch, at),
                                       .rows = from.dim(at),
                                       .inner = Product(from, at + 1, from.rank()),
                                       .count = Product(by, batch, by.rank())};
  return MoveElements(ctx, params, *out, [&](DType dtype, const void* source, void* target) {
    return compute::GatherRows(ctx.work(), dtype, gather, source, rows.data<int64_t>(), target);
  });
}

// Row i of k integers: "[0, 5]".
std::string RowText(const Tensor& indices, int64_t i, int k) {
  std::string text = "[";
  for (int d = 0; d < k; ++d) text += StrCat(d == 0 ? "" : ", ", IntAt(indices, i * k + d));
  return text + "]";
}

Result<NdRows> RowsOfNdIndices(Allocator& allocator, const Tensor& indices, const Shape& params,
                               bool ignore_bad_indices, std::string_view of) {
  const Shape by = indices.shape();
  if (by.rank() == 0)
    return InvalidArgument("Shape must be at least rank 1 but is rank 0; of indices");
  const int64_t depth = by.dim(by.rank() - 1);
  if (depth > params.rank()) {
    return InvalidArgument("index innermost dimension length must be <= params rank; saw: ", depth,
                           " vs. ", params.rank());
  }
  const int k = static_cast<int>(depth);
  NdRows result;
  Dims outer(by.dims());
  outer.resize(by.rank() - 1);
  Dims dims(outer);
  for (int i = k; i < params.rank(); ++i) dims.push_back(params.dim(i));
  ASSIGN_OR_RETURN(result.slices, Shape::Make(dims));
  result.inner = Product(params, k, params.rank());
  ASSIGN_OR_RETURN(result.rows, Tensor::Allocate(allocator, DType::kInt64, Shape(outer)));
  int64_t* rows = result.rows.mutable_data<int64_t>();
  for (int64_t i = 0; i < result.rows.num_elements(); ++i) {
    int64_t row = 0;
    for (int d = 0; d < k; ++d) {
      const int64_t index = IntAt(indices, i * k + d);
      if (index < 0 || index >= params.dim(d)) {
        if (!ignore_bad_indices) {
          return InvalidArgument("indices", IndexText(Shape(outer), i), " = ",
                                 RowText(indices, i, k), " does not index into ", of, "shape ",
                                 params, ": its element ", d, " is ", index);
        }
        row = -1;
        break;
      }
      row = row * params.dim(d) + index;
    }
    rows[i] = row;
  }
  return result;
}

Status GatherNdOutput(Context& ctx, const Tensor& params, const Tensor& indices,
                      bool ignore_bad_indices) {
  ASSIGN_OR_RETURN(const NdRows rows, RowsOfNdIndices(ctx.allocator(), indices, params.shape(),
                                                      ignore_bad_indices, "param "));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, params.dtype(), rows.slices));
  return MoveElements(ctx, params, *out, [&](DType dtype, const void* source, void* target) {
    return compute::GatherRows(ctx.work(), dtype,
                               {.inner = rows.inner, .count = rows.rows.num_elements()}, source,
                               rows.rows.data<int64_t>(), target);
  });
}

Status CombineIntoRows(Context& ctx, compute::Combine combine, Tensor& target,
                       const Tensor& indices, const Tensor& updates) {
  RETURN_IF_ERROR(CheckTypes(target, updates));
  const Shape shape = target.shape();
  if (shape.rank() == 0) return InvalidArgument("params must be at least 1-D, got a scalar");
  RETURN_IF_ERROR(CheckUpdates(updates.shape(), indices.shape(), shape));
  ASSIGN_OR_RETURN(const Tensor rows,
                   CheckedIndices(ctx.allocator(), indices, shape.dim(0), "indices"));
  return CombineWith(ctx, combine,
                     {.inner = Product(shape, 1, shape.rank()),
                      .count = indices.num_elements(),
                      .one_update = updates.rank() == 0},
                     rows, updates, target);
}

Status CombineIntoNdRows(Context& ctx, compute::Combine combine, Tensor& target,
                         const Tensor& indices, const Tensor& updates, bool ignore_bad_indices) {
  RETURN_IF_ERROR(CheckTypes(target, updates));
  if (updates.rank() == 0) {
    return InvalidArgument("Shape must be at least rank 1 but is rank 0; of updates");
  }
  ASSIGN_OR_RETURN(const NdRows rows,
                   RowsOfNdIndices(ctx.allocator(), indices, target.shape(), ignore_bad_indices));
  RETURN_IF_ERROR(CheckNdUpdates(updates.shape(), indices.shape(), rows.slices));
  return CombineWith(
      ctx, combine,
      {.inner = rows.inner, .count = rows.rows.num_elements(), .one_update = updates.rank() == 0},
      rows.rows, updates, target);
}

Result<bool> IgnoresBadIndices(std::string_view policy) {
  if (policy == "IGNORE") return true;
  if (policy.empty() || policy == "DEFAULT" || policy == "ERROR") return false;
  return InvalidArgument("bad_indices_policy must be \"\", DEFAULT, ERROR or IGNORE, got \"",
                         policy, "\"");
}

}  // namespace thalweg
