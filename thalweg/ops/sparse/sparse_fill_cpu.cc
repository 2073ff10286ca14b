// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/sparse/sparse_input.h"

namespace thalweg {
namespace {

Status FillEmptyRows(Context& ctx) {
  ASSIGN_OR_RETURN(const SparseInput input, SparseInput::Checked(ctx, 0, 1, 2));
  const Tensor& other = ctx.input(3);
  if (other.rank() != 0) {
    return InvalidArgument("default_value must be a scalar, saw: ", other.shape());
  }
  if (input.rank() == 0) return InvalidArgument("Dense shape cannot be empty.");
  const int64_t rows = input.shape().dim(0), rank = input.rank();
  ASSIGN_OR_RETURN(Tensor * indicator, ctx.AllocateOutput(2, DType::kBool, Shape{rows}));
  bool* const empty = indicator->mutable_data<bool>();
  std::fill_n(empty, rows, true);
  for (int64_t i = 0; i < input.count(); ++i) empty[input.row(i)[0]] = false;
  const int64_t count = input.count() + std::count(empty, empty + rows, true);
  ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(0, DType::kInt64, Shape{count, rank}));
  ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(1, other.dtype(), Shape{count}));
  ASSIGN_OR_RETURN(Tensor * places, ctx.AllocateOutput(3, DType::kInt64, Shape{input.count()}));
  std::vector<int64_t> order(static_cast<size_t>(input.count()));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::ranges::stable_sort(order, {}, [&](int64_t i) { return input.row(i)[0]; });
  int64_t* to = indices->mutable_data<int64_t>();
  int64_t at = 0;
  auto next = order.begin();
  for (int64_t row = 0; row < rows; ++row) {
    if (empty[row]) {
      std::fill_n(to + at * rank, rank, int64_t{0});
      to[at++ * rank] = row;
    }
    for (; next != order.end() && input.row(*next)[0] == row; ++next) {
      std::copy_n(input.row(*next), rank, to + at * rank);
      places->mutable_data<int64_t>()[*next] = at++;
    }
  }
  RETURN_IF_ERROR(compute::FillElements(ctx.work(), other.dtype(), other.raw_data(),
                                        values->mutable_raw_data(), count));
  return compute::CombineRows(ctx.work(), other.dtype(), compute::Combine::kAssign,
                              {.count = input.count()}, places->data<int64_t>(),
                              input.values().raw_data(), values->mutable_raw_data());
}

// The values get their places' gradients, the default the sum of the others.
Status FillEmptyRowsGrad(Context& ctx) {
  const Tensor &map = ctx.input(0), &grad = ctx.input(1);
  if (map.rank() != 1 || grad.rank() != 1) {
    return InvalidArgument("reverse_index_map and grad_values must be vectors, got ", map.shape(),
                           " and ", grad.shape());
  }
  std::vector<int64_t> rows, rest;
  std::vector<bool> used(static_cast<size_t>(grad.dim(0)), false);
  for (const int64_t row : map.flat<int64_t>()) {
    if (row < 0 || row >= grad.dim(0)) {
      return InvalidArgument("Elements in reverse index must be in [0, ", grad.dim(0), ") but got ",
                             row);
    }
    rows.push_back(row);
    used[static_cast<size_t>(row)] = true;
  }
  for (size_t i = 0; i < used.size(); ++i) rest.push_back(used[i] ? -1 : 0);
  ASSIGN_OR_RETURN(Tensor values, PickRows(ctx, grad, rows));
  ctx.set_output(0, std::move(values));
  const int64_t zero = -1;
  ASSIGN_OR_RETURN(Tensor * sum, ctx.AllocateOutput(1, grad.dtype(), Shape()));
  RETURN_IF_ERROR(compute::GatherRows(ctx.work(), grad.dtype(), {.rows = 0, .inner = 1, .count = 1},
                                      grad.raw_data(), &zero, sum->mutable_raw_data()));
  return compute::CombineRows(ctx.work(), grad.dtype(), compute::Combine::kAdd,
                              {.count = grad.dim(0)}, rest.data(), grad.raw_data(),
                              sum->mutable_raw_data());
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(sparse_fill, cpu) {
  registry.AddFunction<FillEmptyRows>("SparseFillEmptyRows", kCpu);
  for (const DType dtype :
       {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBfloat16, DType::kInt8, DType::kInt16,
        DType::kInt32, DType::kInt64, DType::kUint8, DType::kUint16, DType::kUint32, DType::kUint64,
        DType::kComplex64, DType::kComplex128}) {
    registry.AddFunction<FillEmptyRowsGrad>("SparseFillEmptyRowsGrad", kCpu, {{"T", dtype}});
  }
}
