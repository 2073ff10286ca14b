// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <numeric>

#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/sparse/sparse_input.h"

namespace thalweg {
namespace {

// What the values of a sparse or ragged tensor are filled up from.
struct Given {
  const Tensor &values, &other;
  int64_t count, rows;
  bool matrix;  // output 0: [places, width] with the row first, or [places]
  int64_t width;
  const int64_t* row;  // of value 0, in [0, rows); that of the next is `width` behind
  int64_t row_of(int64_t i) const { return row[i * width]; }
};

// Every empty row gets a place of its own; places go by rows, and by values within a row. Outputs
// are: where each place is (its row; the caller writes the rest), the values with `other` at the
// places that have none, which rows are empty, and the place of each value.
Status Fill(Context& ctx, const Given& given) {
  if (given.rows > std::numeric_limits<int64_t>::max() - given.count) {
    return ResourceExhausted("a tensor of ", given.rows, " rows and ", given.count, " values");
  }
  std::vector<int64_t> order(static_cast<size_t>(given.count));
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto row_of = [&given](int64_t i) { return given.row_of(i); };
  std::ranges::stable_sort(order, {}, row_of);
  int64_t places = given.rows;  // at least one for each row
  for (size_t i = 1; i < order.size(); ++i) places += row_of(order[i]) == row_of(order[i - 1]);
  const Dims dims = given.matrix ? Dims{places, given.width} : Dims{places};
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  ASSIGN_OR_RETURN(Tensor * where, ctx.AllocateOutput(0, DType::kInt64, shape));
  const DType dtype = given.other.dtype();
  ASSIGN_OR_RETURN(Tensor * filled, ctx.AllocateOutput(1, dtype, Shape{places}));
  ASSIGN_OR_RETURN(Tensor * indicator, ctx.AllocateOutput(2, DType::kBool, Shape{given.rows}));
  ASSIGN_OR_RETURN(Tensor * map, ctx.AllocateOutput(3, DType::kInt64, Shape{given.count}));

  auto* to = where->mutable_data<int64_t>();
  auto* const empty = indicator->mutable_data<bool>();
  auto* const place_of = map->mutable_data<int64_t>();
  if (given.width > 1) std::fill_n(to, where->num_elements(), int64_t{0});
  auto next = order.begin();
  int64_t place = 0;
  const auto put = [&](int64_t row) {
    *to = row;
    to += given.width;
    ++place;
  };
  for (int64_t row = 0; row < given.rows; ++row) {
    empty[row] = next == order.end() || row_of(*next) != row;
    if (empty[row]) put(row);
    for (; next != order.end() && row_of(*next) == row; ++next) {
      place_of[*next] = place;
      put(row);
    }
  }
  RETURN_IF_ERROR(ClaimCopies(ctx, *filled, given.other, places));
  RETURN_IF_ERROR(compute::FillElements(ctx.work(), dtype, given.other.raw_data(),
                                        filled->mutable_raw_data(), places));
  return compute::CombineRows(ctx.work(), dtype, compute::Combine::kAssign, {.count = given.count},
                              place_of, given.values.raw_data(), filled->mutable_raw_data());
}

Status FillEmptyRows(Context& ctx) {
  ASSIGN_OR_RETURN(const SparseInput input, SparseInput::Checked(ctx, 0, 1, 2));
  const Tensor& other = ctx.input(3);
  if (other.rank() != 0) {
    return InvalidArgument("default_value must be a scalar, saw: ", other.shape());
  }
  if (input.rank() == 0) return InvalidArgument("Dense shape cannot be empty.");
  const int64_t rows = input.shape().dim(0), rank = input.rank();
  RETURN_IF_ERROR(Fill(ctx, {.values = input.values(),
                             .other = other,
                             .count = input.count(),
                             .rows = rows,
                             .matrix = true,
                             .width = rank,
                             .row = input.row(0)}));
  auto* const where = ctx.output(0).mutable_data<int64_t>();
  const auto* const place_of = ctx.output(3).data<int64_t>();
  for (int64_t i = 0; i < input.count(); ++i) {
    std::copy_n(input.row(i), rank, where + place_of[i] * rank);
  }
  return OkStatus();
}

// The same of a ragged tensor: the row of each value in place of sparse indices.
Status RaggedFillEmptyRows(Context& ctx) {
  const Tensor &ids = ctx.input(0), &values = ctx.input(1), &other = ctx.input(3);
  ASSIGN_OR_RETURN(const int64_t rows, IntScalar(ctx.input(2), "nrows"));
  if (rows < 0) return InvalidArgument("nrows must not be negative, got ", rows);
  if (ids.rank() != 1) {
    return InvalidArgument("value_rowids must be a vector, saw: ", ids.shape());
  }
  if (values.rank() != 1 || values.dim(0) != ids.dim(0)) {
    return InvalidArgument("values must be a vector of ", ids.dim(0),
                           ", one for each of value_rowids, saw: ", values.shape());
  }
  if (other.rank() != 0) {
    return InvalidArgument("default_value must be a scalar, saw: ", other.shape());
  }
  const auto* const row = ids.data<int64_t>();
  for (int64_t i = 0; i < ids.dim(0); ++i) {
    if (row[i] >= 0 && row[i] < rows) continue;
    return InvalidArgument("value_rowids[", i, "] = ", row[i], " is not in [0, ", rows, ")");
  }
  return Fill(ctx, {.values = values,
                    .other = other,
                    .count = ids.dim(0),
                    .rows = rows,
                    .matrix = false,
                    .width = 1,
                    .row = row});
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
  registry.AddFunction<RaggedFillEmptyRows>("RaggedFillEmptyRows", kCpu);
  for (const DType dtype :
       {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBfloat16, DType::kInt8, DType::kInt16,
        DType::kInt32, DType::kInt64, DType::kUint8, DType::kUint16, DType::kUint32, DType::kUint64,
        DType::kComplex64, DType::kComplex128}) {
    registry.AddFunction<FillEmptyRowsGrad>("SparseFillEmptyRowsGrad", kCpu, {{"T", dtype}});
    registry.AddFunction<FillEmptyRowsGrad>("RaggedFillEmptyRowsGrad", kCpu, {{"T", dtype}});
  }
}
