// SPDX-License-Identifier: Apache-2.0
// The part that kernels of several families share which pick or change rows by index: checks of
// shapes and indices, then one call into compute/move.
//
//   RETURN_IF_ERROR(GatherOutput(ctx, params, indices, axis, batch_dims));   // output 0 is set
//
// Ownership: the context is the caller's; `target` is written in place, so nobody else holds its
// buffer.
// Threads: one for each context; shards of the loops run on the step's.
// Errors: InvalidArgument naming the shapes, or the first bad index.
#pragma once

#include <cstdint>

#include "thalweg/base/status.h"
#include "thalweg/compute/move/gather.h"
#include "thalweg/kernel/context.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

// Output 0 = the slices of params along `axis` that indices name: shape params[:axis] +
// indices[batch_dims:] + params[axis+1:]. The first batch_dims dimensions of both go together. Both
// numbers may count from the end.
Status GatherOutput(Context& ctx, const Tensor& params, const Tensor& indices, int64_t axis,
                    int64_t batch_dims);

// What the last dimension of `indices`, k long, names in a tensor of shape `params`: rows of
// prod(params[k:]) elements, numbered along the first k dimensions.
struct NdRows {
  Tensor rows;        // int64; -1 for a bad index when those are ignored
  Shape slices;       // indices[:-1] + params[k:]
  int64_t inner = 1;  // elements of a row
};
// `of`: what the shape is that of, for errors: "param ".
Result<NdRows> RowsOfNdIndices(Allocator& allocator, const Tensor& indices, const Shape& params,
                               bool ignore_bad_indices, std::string_view of = "");

// Output 0 = the rows that indices name.
Status GatherNdOutput(Context& ctx, const Tensor& params, const Tensor& indices,
                      bool ignore_bad_indices);

// target[indices[i]] (op)= updates[i]; updates has shape indices + target[1:], or is one element.
Status CombineIntoRows(Context& ctx, compute::Combine combine, Tensor& target,
                       const Tensor& indices, const Tensor& updates);
// The same with indices of several dimensions.
Status CombineIntoNdRows(Context& ctx, compute::Combine combine, Tensor& target,
                         const Tensor& indices, const Tensor& updates, bool ignore_bad_indices);

// The attribute bad_indices_policy: true for "IGNORE", false for "", "DEFAULT" and "ERROR".
Result<bool> IgnoresBadIndices(std::string_view policy);

}  // namespace thalweg
