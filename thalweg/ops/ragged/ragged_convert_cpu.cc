// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <string>

#include "thalweg/compute/move/gather.h"
#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/made_texts.h"
#include "thalweg/ops/ragged/ragged_splits.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

int64_t Widest(const Splits& splits) {
  int64_t widest = 0;
  for (size_t i = 1; i < splits.size(); ++i) widest = std::max(widest, splits[i] - splits[i - 1]);
  return widest;
}

// For each element of `values`, in their order, the coordinates: of its value by the splits, then
// within the value.
void FillCoordinates(const std::vector<Splits>& levels, const Shape& values, int64_t* to) {
  const size_t ranks = levels.size();
  std::vector<size_t> row(ranks, 0);  // of each level: the one that the value is in
  std::vector<int64_t> at(ranks + static_cast<size_t>(values.rank()), 0);
  const int64_t inner = values.num_elements() / values.dim(0);
  for (int64_t value = 0; value < values.dim(0); ++value) {
    int64_t child = value;
    for (size_t level = ranks; level-- > 0;) {
      const Splits& splits = levels[level];
      while (splits[row[level] + 1] <= child) ++row[level];
      at[level + 1] = child - splits[row[level]];
      child = static_cast<int64_t>(row[level]);
    }
    at[0] = child;
    for (int64_t i = 0; i < inner; ++i) {
      to = std::copy(at.begin(), at.end(), to);
      for (int d = values.rank() - 1; d > 0; --d) {
        int64_t& next = at[ranks + static_cast<size_t>(d)];
        if (++next < values.dim(d)) break;
        next = 0;
      }
    }
  }
}

Status ToSparse(Context& ctx) {
  const int ranks = ctx.num_inputs() - 1;
  const Tensor& values = ctx.input(ranks);
  if (ranks < 1) return InvalidArgument("RAGGED_RANK must be at least one");
  if (values.rank() == 0) return InvalidArgument("rt_dense_values must not be a scalar");
  std::vector<Splits> levels;
  std::vector<int64_t> sizes;
  for (int i = 0; i < ranks; ++i) {
    const int64_t below = i + 1 < ranks ? ctx.input(i + 1).num_elements() - 1 : values.dim(0);
    ASSIGN_OR_RETURN(Splits splits, SplitsOf(ctx.input(i), below, Cover::kWhole));
    if (i == 0) sizes.push_back(static_cast<int64_t>(splits.size()) - 1);
    sizes.push_back(Widest(splits));
    levels.push_back(std::move(splits));
  }
  for (int d = 1; d < values.rank(); ++d) sizes.push_back(values.dim(d));
  const auto rank = static_cast<int64_t>(sizes.size());
  const int64_t count = values.num_elements();
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(Dims{count, rank}));
  ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(0, DType::kInt64, shape));
  if (count > 0) FillCoordinates(levels, values.shape(), indices->mutable_data<int64_t>());
  ASSIGN_OR_RETURN(Tensor flat, values.Reshaped(Shape{count}));
  ctx.set_output(1, std::move(flat));
  ctx.set_output(2, Tensor::Of<int64_t>(sizes, Shape{rank}));
  return OkStatus();
}

enum class Partition { kFirstDim, kRowIds, kSplits };

class ToTensorCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const auto types, c.Attr<std::vector<std::string>>("row_partition_types"));
    auto kernel = std::make_unique<ToTensorCpu>();
    for (const std::string& type : types) {
      if (type == "FIRST_DIM_SIZE") {
        kernel->types_.push_back(Partition::kFirstDim);
      } else if (type == "VALUE_ROWIDS") {
        kernel->types_.push_back(Partition::kRowIds);
      } else if (type == "ROW_SPLITS") {
        kernel->types_.push_back(Partition::kSplits);
      } else {
        return InvalidArgument("Unknown string for partition info type: ", type);
      }
    }
    if (types.empty() || kernel->types_[0] == Partition::kRowIds) {
      return InvalidArgument("the first row partition must be FIRST_DIM_SIZE or ROW_SPLITS, got ",
                             types.empty() ? "none" : types[0]);
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const Tensor &values = ctx.input(1), &other = ctx.input(2);
    if (values.rank() == 0) return InvalidArgument("values must not be a scalar");
    if (ctx.num_inputs() != 3 + static_cast<int>(types_.size())) {
      return InvalidArgument("row_partition_types names ", types_.size(), " partitions, got ",
                             ctx.num_inputs() - 3);
    }
    ASSIGN_OR_RETURN(const Dims wanted, Wanted(ctx.input(0)));
    ASSIGN_OR_RETURN(std::vector<Splits> levels, Levels(ctx, values.dim(0)));
    ASSIGN_OR_RETURN(const Shape shape, OutputShape(wanted, levels, values));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, values.dtype(), shape));
    if (out->num_elements() == 0) return OkStatus();
    const int ragged = static_cast<int>(levels.size()) + 1;
    RETURN_IF_ERROR(FillDefault(ctx, ragged, other, out));
    const int64_t rows =
        levels.empty() ? values.dim(0) : static_cast<int64_t>(levels[0].size()) - 1;
    const std::vector<int64_t> places = Places(levels, rows, shape);
    int64_t inner = 1;
    for (int d = ragged; d < shape.rank(); ++d) inner *= shape.dim(d);
    return compute::CombineRows(ctx.work(), values.dtype(), compute::Combine::kAssign,
                                {.inner = inner, .count = static_cast<int64_t>(places.size())},
                                places.data(), values.raw_data(), out->mutable_raw_data());
  }

 private:
  // Dimensions with -1 for as many as there are; a scalar -1 leaves all open.
  static Result<Dims> Wanted(const Tensor& tensor) {
    if (tensor.rank() > 1) {
      return InvalidArgument("Shape must be at most rank 1 but is rank ", tensor.rank());
    }
    if (tensor.rank() == 0) {
      if (IntAt(tensor, 0) == -1) return Dims();
      return InvalidArgument("shape must be -1 or a vector, got ", IntAt(tensor, 0));
    }
    ASSIGN_OR_RETURN(Dims dims, IntVector(tensor, "shape"));
    if (dims.size() == 0) {
      return InvalidArgument("shape must be -1 or have a size for each dimension, got none");
    }
    for (const int64_t size : dims) {
      if (size < -1) return InvalidArgument("shape must not have sizes below -1, got ", size);
    }
    return dims;
  }

  // Every level as splits.
  Result<std::vector<Splits>> Levels(Context& ctx, int64_t values) const {
    std::vector<Splits> levels;
    size_t first = 0;
    int64_t rows = -1;
    if (types_[0] == Partition::kFirstDim) {
      ASSIGN_OR_RETURN(rows, IntScalar(ctx.input(3), "the first dimension"));
      if (rows < 0) return InvalidArgument("the first dimension must not be negative, got ", rows);
      first = 1;
    }
    for (size_t i = first; i < types_.size(); ++i) {
      const Tensor& tensor = ctx.input(3 + static_cast<int>(i));
      if (types_[i] == Partition::kFirstDim) {
        return InvalidArgument("FIRST_DIM_SIZE must be the first row partition, got it at ", i);
      }
      const bool by_ids = types_[i] == Partition::kRowIds;
      ASSIGN_OR_RETURN(Splits splits, by_ids ? OfRowIds(tensor, rows) : SplitsFromZero(tensor));
      if (rows >= 0 && static_cast<int64_t>(splits.size()) != rows + 1) {
        return InvalidArgument("row partition ", i, " must have ", rows, " rows, got ",
                               splits.size() - 1);
      }
      rows = splits.back();
      levels.push_back(std::move(splits));
    }
    if (rows == values) return levels;
    return InvalidArgument("the row partitions are for ", rows, " values, got ", values);
  }

  static Result<Splits> OfRowIds(const Tensor& ids, int64_t rows) {
    if (ids.rank() != 1) {
      return InvalidArgument("value row ids must be a vector, got shape ", ids.shape());
    }
    if (rows > kMostRows) return ResourceExhausted("a ragged tensor of ", rows, " rows");
    Splits splits(static_cast<size_t>(rows) + 1, 0);
    int64_t last = 0;
    for (int64_t i = 0; i < ids.num_elements(); ++i) {
      const int64_t id = IntAt(ids, i);
      if (id < last || id >= rows) {
        return InvalidArgument("value row id ", id, " must be at least ", last,
                               ", the one before, and less than ", rows);
      }
      last = id;
      ++splits[static_cast<size_t>(id) + 1];
    }
    std::partial_sum(splits.begin(), splits.end(), splits.begin());
    return splits;
  }

  static Result<Shape> OutputShape(const Dims& wanted, const std::vector<Splits>& levels,
                                   const Tensor& values) {
    Dims dims{levels.empty() ? values.dim(0) : static_cast<int64_t>(levels[0].size()) - 1};
    for (const Splits& splits : levels) dims.push_back(Widest(splits));
    const int ragged = dims.size();
    for (int d = 1; d < values.rank(); ++d) dims.push_back(values.dim(d));
    if (wanted.size() == 0) return Shape::Make(dims);
    if (wanted.size() != dims.size()) {
      return InvalidArgument("shape must have ", dims.size(), " dimensions, got ", wanted.size());
    }
    for (int d = 0; d < dims.size(); ++d) {
      if (wanted[d] < 0) continue;
      if (d >= ragged && wanted[d] != dims[d]) {
        return InvalidArgument("dimension ", d, " of shape must be that of the values, ", dims[d],
                               ", got ", wanted[d]);
      }
      dims[d] = wanted[d];
    }
    return Shape::Make(dims);
  }

  static Status FillDefault(Context& ctx, int ragged, const Tensor& other, Tensor* out) {
    const Shape shape = out->shape();
    Dims dims{1}, strides{0};
    for (int d = 0; d < ragged; ++d) dims[0] *= shape.dim(d);
    for (int d = ragged; d < shape.rank(); ++d) {
      dims.push_back(shape.dim(d));
      strides.push_back(0);
    }
    const int missing = shape.rank() - ragged - other.rank();
    if (missing < 0) {
      return InvalidArgument("default_value of shape ", other.shape(),
                             " has more dimensions than a value of ", shape);
    }
    const Dims own = compute::ContiguousStrides(other.shape().dims());
    for (int d = 0; d < other.rank(); ++d) {
      const int at = 1 + missing + d;
      if (other.dim(d) == dims[at]) {
        strides[at] = own[d];
      } else if (other.dim(d) != 1) {
        return InvalidArgument("default_value of shape ", other.shape(),
                               " does not broadcast to the values in ", shape);
      }
    }
    if (out->num_elements() == 0) return OkStatus();
    RETURN_IF_ERROR(ClaimCopies(ctx, *out, other, out->num_elements() / other.num_elements()));
    return compute::CopyStrided(ctx.work(), out->dtype(), dims, {other.raw_data(), strides, 0},
                                {out->mutable_raw_data(), compute::ContiguousStrides(dims)});
  }

  // For each value its place among the rows of the output, -1 where that has none.
  static std::vector<int64_t> Places(const std::vector<Splits>& levels, int64_t rows,
                                     const Shape& shape) {
    std::vector<int64_t> places;
    for (int64_t i = 0; i < rows; ++i) places.push_back(i < shape.dim(0) ? i : -1);
    for (size_t level = 0; level < levels.size(); ++level) {
      const Splits& splits = levels[level];
      const int64_t width = shape.dim(static_cast<int>(level) + 1);
      std::vector<int64_t> below;
      for (size_t row = 0; row + 1 < splits.size(); ++row) {
        for (int64_t i = 0; i < splits[row + 1] - splits[row]; ++i) {
          below.push_back(places[row] >= 0 && i < width ? places[row] * width + i : -1);
        }
      }
      places = std::move(below);
    }
    return places;
  }

  static constexpr int64_t kMostRows = int64_t{1} << 27;
  std::vector<Partition> types_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(ragged_convert, cpu) {
  registry.AddFunction<ToSparse>("RaggedTensorToSparse", kCpu);
  registry.Add<ToTensorCpu>("RaggedTensorToTensor", kCpu);
}
