// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/sparse/sparse_input.h"

namespace thalweg {
namespace {

Status Reorder(Context& ctx) {
  ASSIGN_OR_RETURN(const SparseInput input, SparseInput::Checked(ctx, 0, 1, 2));
  ASSIGN_OR_RETURN(const std::vector<int64_t> order, input.Order(ctx.work()));
  ASSIGN_OR_RETURN(Tensor indices, PickRows(ctx, input.indices(), order));
  ASSIGN_OR_RETURN(Tensor values, PickRows(ctx, input.values(), order));
  ctx.set_output(0, std::move(indices));
  ctx.set_output(1, std::move(values));
  return OkStatus();
}

// The new shape with its one -1 computed.
Result<Shape> NewShape(const Tensor& given, const Shape& before) {
  ASSIGN_OR_RETURN(Dims dims, IntVector(given, "new_shape"));
  int unknown = -1;
  std::vector<int64_t> known;
  for (int d = 0; d < dims.size(); ++d) {
    if (dims[d] == -1) {
      if (unknown >= 0) {
        return InvalidArgument("only one output dimension may be -1, not both ", unknown, " and ",
                               d);
      }
      unknown = d;
    } else {
      known.push_back(dims[d]);
    }
  }
  ASSIGN_OR_RETURN(const Shape others, Shape::Make(known));
  const int64_t elements = before.num_elements(), product = others.num_elements();
  if (unknown >= 0) {
    if (product == 0) {
      return InvalidArgument(
          "reshape cannot infer the missing input size for an empty tensor unless all specified "
          "input sizes are non-zero");
    }
    if (elements % product != 0) {
      return InvalidArgument("Input to reshape is a SparseTensor with ", elements,
                             " dense values, but the requested shape requires a multiple of ",
                             product);
    }
    dims[unknown] = elements / product;
  } else if (product != elements) {
    return InvalidArgument("Input to reshape is a tensor with ", elements,
                           " dense values, but the requested shape has ", product);
  }
  return Shape(dims);
}

Status Reshape(Context& ctx) {
  const Tensor& indices = ctx.input(0);
  ASSIGN_OR_RETURN(const Shape before, ShapeOf(ctx.input(1), "input_shape"));
  if (indices.rank() != 2 || indices.dim(1) != before.rank()) {
    return InvalidArgument("input_indices must be a matrix of ", before.rank(),
                           " columns, got shape ", indices.shape());
  }
  ASSIGN_OR_RETURN(const Shape after, NewShape(ctx.input(2), before));
  const int64_t count = indices.dim(0);
  ASSIGN_OR_RETURN(Tensor * out,
                   ctx.AllocateOutput(0, DType::kInt64, Shape{count, int64_t{after.rank()}}));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t* from = indices.data<int64_t>() + i * before.rank();
    int64_t* to = out->mutable_data<int64_t>() + i * after.rank();
    int64_t flat = 0;
    for (int d = 0; d < before.rank(); ++d) {
      if (from[d] < 0 || from[d] >= before.dim(d)) {
        return InvalidArgument("indices[", i, "] has ", from[d],
                               ", which is out of bounds of dimension ", d, " of ", before);
      }
      flat = flat * before.dim(d) + from[d];
    }
    for (int d = after.rank() - 1; d >= 0; --d) {
      to[d] = flat % after.dim(d);
      flat /= after.dim(d);
    }
  }
  const std::vector<int64_t> dims(after.dims().begin(), after.dims().end());
  ctx.set_output(1, Tensor::Of<int64_t>(dims, Shape{int64_t{after.rank()}}));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(sparse_order, cpu) {
  registry.AddFunction<Reorder>("SparseReorder", kCpu);
  registry.AddFunction<Reshape>("SparseReshape", kCpu);
}
