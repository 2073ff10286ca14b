// SPDX-License-Identifier: Apache-2.0
// Sparse tensors that leave their three inputs: taken apart along the first dimension, and put on
// top of each other along new ones.
//   ASSIGN_OR_RETURN(std::vector<SparseParts> rows, SplitFirstDim(ctx));     // inputs 0, 1, 2
//   RETURN_IF_ERROR(SetStacked(ctx, DType::kFloat, {2}, parts));             // outputs 0, 1, 2
// Ownership: parts are copies; outputs are the context's.
// Threads: no state.
// Errors: InvalidArgument for parts that do not belong together.
#pragma once

#include <span>
#include <vector>

#include "thalweg/compute/cancel_looks.h"
#include "thalweg/ops/sparse/sparse_input.h"

namespace thalweg {

struct SparseParts {
  Tensor indices, values, shape;
};

// What the making of a tensor costs, beside its elements.
inline constexpr int64_t kElementsPerPart = 64;
// More sparse tensors than this are not made of one.
inline constexpr int64_t kMostSparseRows = int64_t{1} << 26;

// One for each index of the first dimension, which is left out. The indices must be in order.
inline Result<std::vector<SparseParts>> SplitFirstDim(Context& ctx) {
  ASSIGN_OR_RETURN(const SparseInput input, SparseInput::Checked(ctx, 0, 1, 2));
  const int rank = input.rank();
  if (rank <= 1) {
    return InvalidArgument("Rank of input SparseTensor should be > 1, but saw rank: ", rank);
  }
  compute::CancelLooks looks(ctx.work());
  for (int64_t i = 1; i < input.count(); ++i) {
    RETURN_IF_ERROR(looks.Did());
    const int64_t *before = input.row(i - 1), *row = input.row(i);
    if (std::lexicographical_compare(before, before + rank, row, row + rank)) continue;
    return InvalidArgument("indices[", i, "] = ", input.RowText(i), " is out of order or repeated");
  }
  const int64_t n = input.shape().dim(0);
  if (n > kMostSparseRows) {
    return ResourceExhausted("a sparse tensor of ", n, " rows cannot be taken apart, at most ",
                             kMostSparseRows);
  }
  const std::vector<int64_t> dims(input.shape().dims().begin() + 1, input.shape().dims().end());
  const Tensor shape = Tensor::Of<int64_t>(dims, Shape{int64_t{rank} - 1});
  SparseParts none{IndexMatrix({}, rank - 1, 0), {}, shape};
  ASSIGN_OR_RETURN(none.values, PickRows(ctx, input.values(), {}));
  std::vector<SparseParts> parts;
  parts.reserve(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    RETURN_IF_ERROR(looks.Did(kElementsPerPart));
    parts.push_back(none);
  }
  for (int64_t i = 0; i < input.count();) {
    RETURN_IF_ERROR(looks.Did(kElementsPerPart));
    const int64_t first = input.row(i)[0];
    std::vector<int64_t> rows, places;
    for (; i < input.count() && input.row(i)[0] == first; ++i) {
      RETURN_IF_ERROR(looks.Did());
      rows.push_back(i);
      places.insert(places.end(), input.row(i) + 1, input.row(i) + rank);
    }
    SparseParts& part = parts[static_cast<size_t>(first)];
    part.indices = IndexMatrix(places, rank - 1, static_cast<int64_t>(rows.size()));
    ASSIGN_OR_RETURN(part.values, PickRows(ctx, input.values(), rows));
  }
  return parts;
}

// What part i must be to stand beside the first one.
inline Status CheckPart(DType dtype, const SparseParts& part, const SparseParts& first, size_t i) {
  if (part.indices.dtype() != DType::kInt64 || part.shape.dtype() != DType::kInt64) {
    return InvalidArgument("indices and shape of SparseTensor[", i, "] must be int64, got ",
                           part.indices.dtype(), " and ", part.shape.dtype());
  }
  if (part.values.dtype() != dtype) {
    return InvalidArgument("Requested SparseTensor of type ", dtype, " but SparseTensor[", i,
                           "].values.dtype() == ", part.values.dtype());
  }
  if (part.indices.rank() != 2 || part.values.rank() != 1 || part.shape.rank() != 1) {
    return InvalidArgument("Expected SparseTensor[", i, "] to be a matrix and two vectors but ",
                           "received shapes ", part.indices.shape(), ", ", part.values.shape(),
                           " and ", part.shape.shape());
  }
  if (part.indices.dim(0) != part.values.dim(0)) {
    return InvalidArgument("Expected row counts of SparseTensor[", i, "].indices and SparseTensor[",
                           i, "].values to match but they do not: ", part.indices.dim(0), " vs. ",
                           part.values.dim(0));
  }
  if (part.indices.dim(1) != part.shape.dim(0)) {
    return InvalidArgument(
        "Expected column counts of SparseTensor[", i, "].indices to match size of SparseTensor[", i,
        "].shape but they do not: ", part.indices.dim(1), " vs. ", part.shape.dim(0));
  }
  if (part.shape.dim(0) != first.shape.dim(0)) {
    return InvalidArgument("Inconsistent shape across SparseTensors: rank prior to SparseTensor[",
                           i, "] was: ", first.shape.dim(0), " but rank of SparseTensor[", i,
                           "] is: ", part.shape.dim(0));
  }
  return OkStatus();
}

// The parts, at least one, as one sparse tensor with the dimensions `outer` before theirs, as large
// as the largest of them; without outer dimensions it is the one part.
inline Status SetStacked(Context& ctx, DType dtype, const Dims& outer,
                         std::span<const SparseParts> parts) {
  int64_t count = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    RETURN_IF_ERROR(CheckPart(dtype, parts[i], parts[0], i));
    count += parts[i].values.dim(0);
  }
  const int outer_rank = outer.size();
  const auto rank = static_cast<int>(parts[0].shape.dim(0));
  std::vector<int64_t> dims(outer.begin(), outer.end()), places, to;
  dims.resize(static_cast<size_t>(outer_rank) + static_cast<size_t>(rank));
  ASSIGN_OR_RETURN(Tensor values, Tensor::Allocate(ctx.allocator(), dtype, Shape{count}));
  std::vector<int64_t> at(static_cast<size_t>(outer_rank), 0);
  int64_t first = 0;
  compute::CancelLooks looks(ctx.work());
  for (const SparseParts& part : parts) {
    const int64_t n = part.values.dim(0);
    RETURN_IF_ERROR(looks.Did(n + kElementsPerPart));
    const int64_t* rows = part.indices.data<int64_t>();
    for (int64_t i = 0; i < n; ++i) {
      places.insert(places.end(), at.begin(), at.end());
      places.insert(places.end(), rows + i * rank, rows + (i + 1) * rank);
    }
    for (int d = 0; d < rank; ++d) {
      int64_t& dim = dims[static_cast<size_t>(outer_rank) + static_cast<size_t>(d)];
      dim = std::max(dim, part.shape.data<int64_t>()[d]);
    }
    to.resize(static_cast<size_t>(n));
    std::iota(to.begin(), to.end(), first);
    first += n;
    RETURN_IF_ERROR(compute::CombineRows(ctx.work(), dtype, compute::Combine::kAssign, {.count = n},
                                         to.data(), part.values.raw_data(),
                                         values.mutable_raw_data()));
    for (int d = outer_rank - 1; d >= 0 && ++at[static_cast<size_t>(d)] == outer[d]; --d) {
      at[static_cast<size_t>(d)] = 0;
    }
  }
  ctx.set_output(0, IndexMatrix(places, outer_rank + rank, count));
  ctx.set_output(1, std::move(values));
  ctx.set_output(2, Tensor::Of<int64_t>(dims, Shape{int64_t{outer_rank} + rank}));
  return OkStatus();
}

}  // namespace thalweg
