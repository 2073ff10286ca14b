// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/compute/reduce/sparse_segment.h"
#include "thalweg/compute/sort.h"
#include "thalweg/kernel/element_wise.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

enum class Fold { kSum, kMean, kSqrtN };

using Indices = std::vector<int64_t>;

// The elements of a vector, each in [0, limit).
Result<Indices> Bounded(const Tensor& tensor, int64_t limit, std::string_view what) {
  Indices values(static_cast<size_t>(tensor.num_elements()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = IntAt(tensor, static_cast<int64_t>(i));
    if (values[i] < 0 || values[i] >= limit) {
      return InvalidArgument("Bad: ", what, "[", i, "] == ", values[i], " out of range [0, ", limit,
                             ")");
    }
  }
  return values;
}

Status CheckShapes(const Tensor& data, const Tensor& indices, const Tensor& ids) {
  if (data.rank() < 1) return InvalidArgument("Shape must be at least rank 1: data is a scalar");
  if (indices.rank() != 1) {
    return InvalidArgument("indices should be a vector, got shape ", indices.shape());
  }
  if (ids.rank() != 1) {
    return InvalidArgument("segment_ids should be a vector, got shape ", ids.shape());
  }
  if (indices.dim(0) != ids.dim(0)) {
    return InvalidArgument("segment_ids and indices should have same size, got ", ids.shape(),
                           " and ", indices.shape());
  }
  return OkStatus();
}

// For every index the factor of its row; empty for sums.
std::vector<double> Factors(Fold fold, const Indices& ids, int64_t segments) {
  if (fold == Fold::kSum) return {};
  Indices counts(static_cast<size_t>(segments), 0);
  for (int64_t id : ids) ++counts[id];
  std::vector<double> factors;
  factors.reserve(ids.size());
  for (int64_t id : ids) {
    const auto count = static_cast<double>(counts[id]);
    factors.push_back(1 / (fold == Fold::kMean ? count : std::sqrt(count)));
  }
  return factors;
}

// Sorted ids numbered without gaps: an id itself may be larger than there is memory for.
Indices WithoutGaps(const Indices& ids) {
  Indices numbers(ids.size(), 0);
  for (size_t i = 1; i < ids.size(); ++i) {
    numbers[i] = numbers[i - 1] + (ids[i] == ids[i - 1] ? 0 : 1);
  }
  return numbers;
}

// Output 0: `rows` rows like those of `data`, zero and then the sums by segment.
Status SumInto(Context& ctx, const Tensor& data, int64_t rows, const Indices& from,
               const Indices& to, const std::vector<double>& factors) {
  Dims dims = data.shape().dims();
  dims[0] = 1;
  const int64_t inner = Shape(dims).num_elements();
  dims[0] = rows;
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, data.dtype(), shape));
  RETURN_IF_ERROR(
      compute::FillZeros(ctx.work(), data.dtype(), out->mutable_raw_data(), out->num_elements()));
  return compute::SparseSegment(
      ctx.work(), data.dtype(),
      {.inner = inner, .count = static_cast<int64_t>(from.size()), .segments = rows},
      data.raw_data(), from.data(), to.data(), factors.empty() ? nullptr : factors.data(),
      out->mutable_raw_data());
}

Status FoldSegments(Context& ctx, Fold fold) {
  const Tensor &data = ctx.input(0), &given = ctx.input(2);
  RETURN_IF_ERROR(CheckShapes(data, ctx.input(1), given));
  ASSIGN_OR_RETURN(const Indices indices, Bounded(ctx.input(1), data.dim(0), "indices"));
  // TensorFlow counts segments in 32 bits.
  ASSIGN_OR_RETURN(Indices ids, Bounded(given, std::numeric_limits<int32_t>::max(), "segment_ids"));
  if (!std::is_sorted(ids.begin(), ids.end())) {
    return InvalidArgument("segment ids are not increasing");
  }
  int64_t segments = ids.empty() ? 0 : ids.back() + 1;
  if (ctx.num_inputs() == 4) {
    ASSIGN_OR_RETURN(const int64_t wanted, IntScalar(ctx.input(3), "num_segments"));
    if (wanted < 0) return InvalidArgument("num_segments must not be negative, got ", wanted);
    if (wanted < segments) {
      return InvalidArgument("segment ids must be < num_segments, ", wanted, ", got ", ids.back());
    }
    segments = wanted;
  }
  // Refuse a size beyond all memory before anything as long as it is made.
  Dims dims = data.shape().dims();
  dims[0] = segments;
  RETURN_IF_ERROR(Shape::Make(dims).status());
  return SumInto(ctx, data, segments, indices, ids,
                 Factors(fold, WithoutGaps(ids), static_cast<int64_t>(ids.size())));
}

// What both gradients begin with.
struct Given {
  Indices indices, ids;
  std::vector<double> factors;
  int64_t rows = 0;
};

Result<Given> ReadGradient(Context& ctx, Fold fold) {
  const Tensor& grad = ctx.input(0);
  RETURN_IF_ERROR(CheckShapes(grad, ctx.input(1), ctx.input(2)));
  Given given;
  ASSIGN_OR_RETURN(given.rows, IntScalar(ctx.input(3), "output_dim0"));
  if (given.rows < 0) return InvalidArgument("output_dim0 must not be negative, got ", given.rows);
  ASSIGN_OR_RETURN(given.indices, Bounded(ctx.input(1), given.rows, "indices"));
  ASSIGN_OR_RETURN(given.ids, Bounded(ctx.input(2), grad.dim(0), "segment_ids"));
  given.factors = Factors(fold, given.ids, grad.dim(0));
  return given;
}

Status GradientOf(Context& ctx, Fold fold) {
  ASSIGN_OR_RETURN(const Given given, ReadGradient(ctx, fold));
  return SumInto(ctx, ctx.input(0), given.rows, given.ids, given.indices, given.factors);
}

Status SparseGradientOf(Context& ctx, Fold fold) {
  ASSIGN_OR_RETURN(Given given, ReadGradient(ctx, fold));
  const DType index_type = ctx.input(1).dtype();
  Indices unique = given.indices;
  RETURN_IF_ERROR(compute::Sort(ctx.work(), unique.begin(), unique.end()));
  unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
  for (int64_t& index : given.indices) {
    index = std::lower_bound(unique.begin(), unique.end(), index) - unique.begin();
  }
  const auto rows = static_cast<int64_t>(unique.size());
  ASSIGN_OR_RETURN(Tensor * places, ctx.AllocateOutput(1, index_type, Shape{rows}));
  if (index_type == DType::kInt64) {
    std::copy(unique.begin(), unique.end(), places->mutable_data<int64_t>());
  } else {
    std::transform(unique.begin(), unique.end(), places->mutable_data<int32_t>(),
                   [](int64_t index) { return static_cast<int32_t>(index); });
  }
  return SumInto(ctx, ctx.input(0), rows, given.ids, given.indices, given.factors);
}

template <Fold F>
Status Segments(Context& ctx) {
  return FoldSegments(ctx, F);
}
template <Fold F>
Status Gradient(Context& ctx) {
  return GradientOf(ctx, F);
}
template <Fold F>
Status SparseGradient(Context& ctx) {
  return SparseGradientOf(ctx, F);
}

template <Fold F>
void AddAll(KernelRegistry& registry, const std::string& op, DTypeList types) {
  for (DType dtype : types) {
    registry.AddFunction<Segments<F>>(op, kCpu, {{"T", dtype}});
    registry.AddFunction<Segments<F>>(op + "WithNumSegments", kCpu, {{"T", dtype}});
  }
  for (DType dtype : kFloats) {
    registry.AddFunction<Gradient<F>>(op + "Grad", kCpu, {{"T", dtype}});
    registry.AddFunction<SparseGradient<F>>(op + "GradV2", kCpu, {{"T", dtype}});
  }
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(sparse_segment, cpu) {
  AddAll<Fold::kMean>(registry, "SparseSegmentMean", kFloats);
  AddAll<Fold::kSqrtN>(registry, "SparseSegmentSqrtN", kFloats);
  AddAll<Fold::kSum>(registry, "SparseSegmentSum", kReals);
}
