// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include "thalweg/compute/interruptible.h"
#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/compute/reduce/bins.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/kernel/element_wise.h"
#include "thalweg/tensor/integers.h"
#include "thalweg/tensor/row_splits.h"
#include "thalweg/tensor/sparse_ranks.h"

namespace thalweg {
namespace {

Result<int64_t> SizeOf(const Tensor& tensor) {
  RETURN_IF_ERROR(Explained(CheckRank(tensor.rank(), 0), "of size"));
  const int64_t size = IntAt(tensor, 0);
  if (size < 0) return InvalidArgument("size must not be negative, got ", size);
  return size;
}

// The weights of `count` values; null: 1 each.
Result<const void*> WeightsOf(const Tensor& weights, const Tensor& values, bool one_shape) {
  if (weights.num_elements() == values.num_elements() &&
      (!one_shape || weights.shape() == values.shape())) {
    return values.num_elements() == 0 ? nullptr : weights.raw_data();
  }
  if (weights.rank() > 0 && weights.num_elements() == 0) return nullptr;
  return InvalidArgument("weights must have one element per value, or none at all: ",
                         weights.shape(), " against ", values.shape());
}

// The values as int64; InvalidArgument for a negative one.
Result<std::vector<int64_t>> ValuesOf(const Tensor& tensor, bool negative_allowed) {
  std::vector<int64_t> values(static_cast<size_t>(tensor.num_elements()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = IntAt(tensor, static_cast<int64_t>(i));
    if (values[i] < 0 && !negative_allowed) {
      return InvalidArgument("Input arr must be non-negative! Element ",
                             IndexText(tensor.shape(), static_cast<int64_t>(i)), " is ", values[i]);
    }
  }
  return values;
}

Result<Tensor*> ZeroedOutput(Context& ctx, DType dtype, const Dims& dims) {
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, dtype, shape));
  RETURN_IF_ERROR(
      compute::FillZeros(ctx.work(), dtype, out->mutable_raw_data(), out->num_elements()));
  return out;
}

// compute::CountBins of what may be long, into `out`.
Status CountInto(Context& ctx, Tensor& out, const compute::BinShape& shape,
                 const std::vector<int64_t>& values, const int64_t* rows, const void* weights) {
  return compute::Interruptibly(ctx.work(), [&] {
    return compute::CountBins(out.dtype(), shape, values.data(), rows, weights,
                              out.mutable_raw_data());
  });
}

Status Bincount(Context& ctx) {
  const Tensor &arr = ctx.input(0), &weights = ctx.input(2);
  ASSIGN_OR_RETURN(const int64_t size, SizeOf(ctx.input(1)));
  ASSIGN_OR_RETURN(const void* each, WeightsOf(weights, arr, false));
  ASSIGN_OR_RETURN(const std::vector<int64_t> values, ValuesOf(arr, false));
  ASSIGN_OR_RETURN(Tensor * out, ZeroedOutput(ctx, weights.dtype(), {size}));
  return CountInto(ctx, *out, {.count = arr.num_elements(), .bins = size}, values, nullptr, each);
}

class DenseBincount : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<DenseBincount>();
    ASSIGN_OR_RETURN(kernel->binary_, c.Attr<bool>("binary_output"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const Tensor &input = ctx.input(0), &weights = ctx.input(2);
    if (input.rank() > 2) {
      return InvalidArgument("input must be a vector or a matrix, got shape ", input.shape());
    }
    ASSIGN_OR_RETURN(const int64_t size, SizeOf(ctx.input(1)));
    ASSIGN_OR_RETURN(const void* each, WeightsOf(weights, input, true));
    ASSIGN_OR_RETURN(const std::vector<int64_t> values, ValuesOf(input, false));
    Dims dims = {size};
    std::vector<int64_t> rows;
    if (input.rank() == 2) {
      dims = {input.dim(0), size};
      rows.reserve(values.size());
      for (size_t i = 0; i < values.size(); ++i) {
        rows.push_back(static_cast<int64_t>(i) / input.dim(1));
      }
    }
    ASSIGN_OR_RETURN(Tensor * out, ZeroedOutput(ctx, weights.dtype(), dims));
    return CountInto(ctx, *out, {.count = input.num_elements(), .bins = size, .binary = binary_},
                     values, input.rank() == 2 ? rows.data() : nullptr, each);
  }

 private:
  bool binary_ = false;
};

class SparseBincount : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<SparseBincount>();
    ASSIGN_OR_RETURN(kernel->binary_, c.Attr<bool>("binary_output"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const Tensor &values = ctx.input(1), &weights = ctx.input(4);
    RETURN_IF_ERROR(CheckSparseRanks(ctx.input(0).rank(), values.rank(), ctx.input(2).rank()));
    ASSIGN_OR_RETURN(const Shape dense, ShapeOf(ctx.input(2), "dense_shape"));
    if (dense.rank() != 1 && dense.rank() != 2) {
      return InvalidArgument("dense_shape must have one or two elements, got ", dense.rank());
    }
    ASSIGN_OR_RETURN(const int64_t size, SizeOf(ctx.input(3)));
    ASSIGN_OR_RETURN(const void* each, WeightsOf(weights, values, true));
    ASSIGN_OR_RETURN(const std::vector<int64_t> rows, Rows(ctx.input(0), values, dense));
    ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, ValuesOf(values, true));
    const Dims dims = dense.rank() == 1 ? Dims{size} : Dims{dense.dim(0), size};
    ASSIGN_OR_RETURN(Tensor * out, ZeroedOutput(ctx, weights.dtype(), dims));
    return CountInto(ctx, *out, {.count = values.num_elements(), .bins = size, .binary = binary_},
                     numbers, dense.rank() == 2 ? rows.data() : nullptr, each);
  }

 private:
  // The row of each value.
  static Result<std::vector<int64_t>> Rows(const Tensor& indices, const Tensor& values,
                                           const Shape& dense) {
    const int64_t count = values.num_elements();
    if (indices.dim(0) != count || indices.dim(1) != dense.rank()) {
      return InvalidArgument("indices must have shape ", Shape{count, dense.rank()}.ToString(),
                             " for these values and this dense_shape, got ", indices.shape());
    }
    std::vector<int64_t> rows(static_cast<size_t>(count));
    for (int64_t i = 0; i < indices.num_elements(); ++i) {
      const int64_t index = IntAt(indices, i),
                    limit = dense.dim(static_cast<int>(i % dense.rank()));
      if (index < 0 || index >= limit) {
        return InvalidArgument("sparse index ", index, " at ", IndexText(indices.shape(), i),
                               " is out of bounds: the shape is ", dense.ToString());
      }
      if (i % dense.rank() == 0) rows[i / dense.rank()] = index;
    }
    return rows;
  }

  bool binary_ = false;
};

class RaggedBincount : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<RaggedBincount>();
    ASSIGN_OR_RETURN(kernel->binary_, c.Attr<bool>("binary_output"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const Tensor &splits = ctx.input(0), &values = ctx.input(1), &weights = ctx.input(3);
    ASSIGN_OR_RETURN(const int64_t size, SizeOf(ctx.input(2)));
    ASSIGN_OR_RETURN(const void* each, WeightsOf(weights, values, true));
    ASSIGN_OR_RETURN(const std::vector<int64_t> rows, Rows(splits, values.num_elements()));
    ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, ValuesOf(values, false));
    ASSIGN_OR_RETURN(Tensor * out, ZeroedOutput(ctx, weights.dtype(), {splits.dim(0) - 1, size}));
    return CountInto(ctx, *out, {.count = values.num_elements(), .bins = size, .binary = binary_},
                     numbers, rows.data(), each);
  }

 private:
  // The row of each value.
  static Result<std::vector<int64_t>> Rows(const Tensor& splits, int64_t count) {
    ASSIGN_OR_RETURN(const Splits ends, SplitsOf(splits, count, Cover::kWhole));
    std::vector<int64_t> rows;
    rows.reserve(static_cast<size_t>(count));
    for (size_t row = 0; row + 1 < ends.size(); ++row) {
      rows.insert(rows.end(), static_cast<size_t>(ends[row + 1] - ends[row]),
                  static_cast<int64_t>(row));
    }
    return rows;
  }

  bool binary_ = false;
};

template <class T, class Count>
Status Histogram(Context& ctx) {
  const Tensor &values = ctx.input(0), &range = ctx.input(1);
  if (range.rank() != 1 || range.dim(0) != 2) {
    return InvalidArgument("value_range must have two elements, got shape ", range.shape());
  }
  ASSIGN_OR_RETURN(const int64_t bins, IntScalar(ctx.input(2), "nbins"));
  if (bins < 1) return InvalidArgument("nbins must be at least 1, got ", bins);
  const T low = range.data<T>()[0], high = range.data<T>()[1];
  if (!(low < high) || !std::isfinite(static_cast<double>(low)) ||
      !std::isfinite(static_cast<double>(high))) {
    return InvalidArgument(
        "value_range should satisfy value_range[0] < value_range[1] and be "
        "finite, got ",
        range.ToString());
  }
  ASSIGN_OR_RETURN(Tensor * out, ZeroedOutput(ctx, kDTypeOf<Count>, {bins}));
  return compute::Interruptibly(ctx.work(), [&] {
    return compute::HistogramFixedWidth<T, Count>(
        {values.data<T>(), static_cast<size_t>(values.num_elements())}, low, high,
        {out->mutable_data<Count>(), static_cast<size_t>(bins)});
  });
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(bincount, cpu) {
  // The schema allows no other types.
  ForEachType<Types<float, double, int32_t, int64_t>>([&]<class T> {
    constexpr DType dtype = kDTypeOf<T>;
    registry.AddFunction<Bincount>("Bincount", kCpu, {{"T", dtype}});
    registry.Add<DenseBincount>("DenseBincount", kCpu, {{"T", dtype}});
    registry.Add<RaggedBincount>("RaggedBincount", kCpu, {{"T", dtype}});
    registry.Add<SparseBincount>("SparseBincount", kCpu, {{"T", dtype}});
    registry.AddFunction<Histogram<T, int32_t>>("HistogramFixedWidth", kCpu,
                                                {{"T", dtype}, {"dtype", DType::kInt32}});
    registry.AddFunction<Histogram<T, int64_t>>("HistogramFixedWidth", kCpu,
                                                {{"T", dtype}, {"dtype", DType::kInt64}});
  });
}
