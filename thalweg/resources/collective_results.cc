// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/kernel/shared_rows.h"
#include "thalweg/resources/collective_call.h"

namespace thalweg {
namespace {

using Calls = std::span<const CollectiveCall>;

const char* BytesAt(const Tensor& tensor, int64_t element) {
  return static_cast<const char*>(tensor.raw_data()) +
         static_cast<size_t>(element) * DTypeSize(tensor.dtype());
}
char* MutableBytesAt(Tensor& tensor, int64_t element) {
  return static_cast<char*>(tensor.mutable_raw_data()) +
         static_cast<size_t>(element) * DTypeSize(tensor.dtype());
}

Result<Tensor> Merged(Context& ctx, Calls calls) {
  const CollectiveCall& first = calls.front();
  if (calls.size() == 1) return first.value;
  ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(ctx.allocator(), first.dtype, first.value.shape()));
  const auto dense = compute::Broadcast::Dense(out.num_elements(), 2);
  const void* before = first.value.raw_data();
  for (const CollectiveCall& next : calls.subspan(1)) {
    RETURN_IF_ERROR(compute::RunBinary(ctx.work(), first.merge, first.dtype, dense, before,
                                       next.value.raw_data(), out.mutable_raw_data()));
    before = out.raw_data();
  }
  if (first.is_mean) {
    RETURN_IF_ERROR(DivideByMembers(ctx, static_cast<int64_t>(calls.size()), &out));
  }
  return out;
}

Result<Tensor> Joined(Context& ctx, Calls calls) {
  const CollectiveCall& first = calls.front();
  if (calls.size() == 1) return first.value;
  Dims dims = first.value.shape().dims();
  if (__builtin_mul_overflow(dims[0], static_cast<int64_t>(calls.size()), &dims[0])) {
    return InvalidArgument("the members' values joined have more than 2^63 rows: ", calls.size(),
                           " of shape ", first.value.shape());
  }
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(ctx.allocator(), first.dtype, shape));
  const int64_t n = first.value.num_elements();
  for (size_t r = 0; r < calls.size(); ++r) {
    RETURN_IF_ERROR(compute::CopyElements(ctx.work(), first.dtype, calls[r].value.raw_data(),
                                          MutableBytesAt(out, static_cast<int64_t>(r) * n), n));
  }
  return out;
}

// Each rank's part of the merged values.
Result<std::vector<Tensor>> Scattered(Context& ctx, Calls calls) {
  ASSIGN_OR_RETURN(Tensor whole, Merged(ctx, calls));
  if (calls.size() == 1) return std::vector<Tensor>{whole};
  Dims dims = whole.shape().dims();
  dims[0] /= static_cast<int64_t>(calls.size());
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  const int64_t n = shape.num_elements();
  std::vector<Tensor> parts;
  for (int64_t r = 0; r < static_cast<int64_t>(calls.size()); ++r) {
    ASSIGN_OR_RETURN(Tensor part, ShareRows(whole, r * dims[0], (r + 1) * dims[0], shape));
    if (part.empty()) {
      ASSIGN_OR_RETURN(part, Tensor::Allocate(ctx.allocator(), whole.dtype(), shape));
      RETURN_IF_ERROR(compute::CopyElements(ctx.work(), whole.dtype(), BytesAt(whole, r * n),
                                            part.mutable_raw_data(), n));
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

Result<std::vector<Tensor>> Exchanged(Context& ctx, Calls calls) {
  const CollectiveCall& first = calls.front();
  const Shape shape = first.value.shape();
  const int64_t row = shape.num_elements() / shape.dim(0);
  std::vector<Tensor> results;
  for (int64_t r = 0; r < shape.dim(0); ++r) {
    ASSIGN_OR_RETURN(Tensor out, Tensor::Allocate(ctx.allocator(), first.dtype, shape));
    for (int64_t s = 0; s < shape.dim(0); ++s) {
      const Tensor& from = calls[static_cast<size_t>(s)].value;
      RETURN_IF_ERROR(compute::CopyElements(ctx.work(), first.dtype, BytesAt(from, r * row),
                                            MutableBytesAt(out, s * row), row));
    }
    results.push_back(std::move(out));
  }
  return results;
}

Result<std::vector<Tensor>> ForAll(Result<Tensor> result, size_t n) {
  RETURN_IF_ERROR(result.status());
  return std::vector<Tensor>(n, *result);
}

}  // namespace

Status DivideByMembers(Context& ctx, int64_t n, Tensor* sum) {
  const DType dtype = sum->dtype();
  ASSIGN_OR_RETURN(Tensor divisor, Tensor::Allocate(ctx.allocator(), dtype, Shape()));
  RETURN_IF_ERROR(
      compute::RunCast(ctx.work(), DType::kInt64, dtype, 1, &n, divisor.mutable_raw_data()));
  const Shape shape = sum->shape();
  ASSIGN_OR_RETURN(const compute::Broadcast broadcast,
                   compute::Broadcast::Make({shape.dims(), Dims()}));
  return compute::RunBinary(ctx.work(), compute::BinaryOp::kDiv, dtype, broadcast, sum->raw_data(),
                            divisor.raw_data(), sum->mutable_raw_data());
}

const char* CollectiveKindName(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kReduce:
      return "reduction";
    case CollectiveKind::kReduceScatter:
      return "reduction with scatter";
    case CollectiveKind::kGather:
      return "gather";
    case CollectiveKind::kBroadcast:
      return "broadcast";
    case CollectiveKind::kAllToAll:
      return "exchange of all with all";
  }
  return "unknown";
}

Status CheckCollectiveValue(const CollectiveCall& call) {
  const Shape shape = call.value.shape();
  const int64_t size = call.keys.group_size;
  switch (call.kind) {
    case CollectiveKind::kReduce:
    case CollectiveKind::kBroadcast:
      return OkStatus();
    case CollectiveKind::kGather:
      if (shape.rank() >= 1) return OkStatus();
      return InvalidArgument("Shape must be at least rank 1 to be gathered, got a scalar");
    case CollectiveKind::kReduceScatter:
      if (shape.rank() >= 1 && shape.dim(0) % size == 0) return OkStatus();
      return InvalidArgument("dimension 0 must be a multiple of the group's size ", size,
                             ", got shape ", shape);
    case CollectiveKind::kAllToAll:
      if (shape.rank() >= 1 && shape.dim(0) == size) return OkStatus();
      return InvalidArgument("dimension 0 must be equal to the group's size ", size, ", got shape ",
                             shape);
  }
  return OkStatus();
}

Result<std::vector<Tensor>> CollectiveResults(Context& ctx, std::span<const CollectiveCall> calls) {
  switch (calls.front().kind) {
    case CollectiveKind::kReduce:
      return ForAll(Merged(ctx, calls), calls.size());
    case CollectiveKind::kReduceScatter:
      return Scattered(ctx, calls);
    case CollectiveKind::kGather:
      return ForAll(Joined(ctx, calls), calls.size());
    case CollectiveKind::kBroadcast:
      return std::vector<Tensor>(
          calls.size(), std::find_if(calls.begin(), calls.end(), [](const CollectiveCall& call) {
                          return !call.is_receiver();
                        })->value);
    case CollectiveKind::kAllToAll:
      return Exchanged(ctx, calls);
  }
  return Internal("no such kind of collective operation");
}

}  // namespace thalweg
