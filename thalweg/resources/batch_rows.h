// SPDX-License-Identifier: Apache-2.0
// Elements of a queue or a dataset cut from a batch, and batches put together from elements.
// Ownership: a row shares its batch's buffer where it is large; all other results have memory of
// their own.
// Threads: any.
// Errors: ResourceExhausted where there is no room; InvalidArgument where a size does not fit into
// int64.
#pragma once

#include <span>
#include <vector>

#include "thalweg/tensor/tensor.h"

namespace thalweg {

// Row i of dimension 0 as a tensor of its own: shared with the batch when it is large.
Result<Tensor> RowOf(Allocator& allocator, const Tensor& batch, int64_t i);

// The tensors every[0], every[stride] ... as rows of one: of shape [count] + shape. Elements that
// are smaller than `shape` fill its lower corner; zeros (empty strings) are around them.
// ResourceExhausted when there is no room, InvalidArgument when the size does not fit into int64.
Result<Tensor> BatchOf(Allocator& allocator, DType dtype, const Shape& shape,
                       std::span<const Tensor> every, size_t stride);

// The same of rows of one type and shape, of which there is at least one. What nobody else sees of
// them may be moved.
Result<Tensor> BatchOfRows(Allocator& allocator, std::span<Tensor* const> rows);

// The same of all of `every`, with the scalar `value` around smaller elements.
Result<Tensor> PaddedBatchOf(Allocator& allocator, const Shape& shape,
                             std::span<const Tensor> every, const Tensor& value);

// Rows [begin, end) of dimension 0, in memory of their own.
Result<Tensor> CutRows(Allocator& allocator, const Tensor& batch, int64_t begin, int64_t end);

// The rows of `parts`, of one type and one shape of rows, one after the other in a tensor of `rows`
// rows; those that are left repeat the first. There is at least one row, and not more than `rows`.
Result<Tensor> JoinRows(Allocator& allocator, std::span<const Tensor> parts, int64_t rows);

}  // namespace thalweg
