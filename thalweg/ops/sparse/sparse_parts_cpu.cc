// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/sparse/sparse_input.h"

namespace thalweg {
namespace {

// The rows of one dtype after each other.
Result<Tensor> JoinValues(Context& ctx, const std::vector<SparseInput>& inputs, int64_t count) {
  const DType dtype = inputs[0].values().dtype();
  ASSIGN_OR_RETURN(Tensor joined, Tensor::Allocate(ctx.allocator(), dtype, Shape{count}));
  std::vector<int64_t> to;
  int64_t first = 0;
  for (const SparseInput& input : inputs) {
    to.resize(static_cast<size_t>(input.count()));
    std::iota(to.begin(), to.end(), first);
    first += input.count();
    RETURN_IF_ERROR(compute::CombineRows(ctx.work(), dtype, compute::Combine::kAssign,
                                         {.count = input.count()}, to.data(),
                                         input.values().raw_data(), joined.mutable_raw_data()));
  }
  return joined;
}

class ConcatCpu : public Kernel {
 public:
  explicit ConcatCpu(int64_t dim) : dim_(dim) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const int64_t dim, c.Attr<int64_t>("concat_dim"));
    return std::unique_ptr<Kernel>(std::make_unique<ConcatCpu>(dim));
  }

  Status Compute(Context& ctx) override {
    const int n = ctx.num_inputs() / 3;
    std::vector<SparseInput> inputs;
    int64_t count = 0;
    for (int i = 0; i < n; ++i) {
      RETURN_IF_ERROR(CheckSize(ctx.input(2 * n + i)));
      ASSIGN_OR_RETURN(SparseInput input, SparseInput::Checked(ctx, i, n + i, 2 * n + i));
      count += input.count();
      inputs.push_back(std::move(input));
    }
    const int rank = inputs[0].rank();
    ASSIGN_OR_RETURN(const int dim, NormalizeAxis(dim_, rank, "concat_dim"));
    std::vector<int64_t> dims(inputs[0].shape().dims().begin(), inputs[0].shape().dims().end());
    std::vector<int64_t> places;
    dims[static_cast<size_t>(dim)] = 0;
    for (const SparseInput& input : inputs) {
      RETURN_IF_ERROR(CheckOthers(inputs[0].shape(), input.shape(), dim));
      const int64_t offset = dims[static_cast<size_t>(dim)];
      for (int64_t i = 0; i < input.count(); ++i) {
        for (int d = 0; d < rank; ++d) places.push_back(input.row(i)[d] + (d == dim ? offset : 0));
      }
      if (__builtin_add_overflow(offset, input.shape().dim(dim), &dims[static_cast<size_t>(dim)])) {
        return InvalidArgument("the sum of the sizes along dimension ", dim, " is too large");
      }
    }
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(const Tensor values, JoinValues(ctx, inputs, count));
    ASSIGN_OR_RETURN(const SparseInput joined,
                     SparseInput::Of(IndexMatrix(places, rank, count), values,
                                     Tensor::Of<int64_t>(dims, Shape{int64_t{rank}})));
    ASSIGN_OR_RETURN(const std::vector<int64_t> order, joined.Order(ctx.work()));
    ASSIGN_OR_RETURN(Tensor sorted_indices, PickRows(ctx, joined.indices(), order));
    ASSIGN_OR_RETURN(Tensor sorted_values, PickRows(ctx, joined.values(), order));
    SetSparse(ctx, 0, std::move(sorted_indices), std::move(sorted_values), shape);
    return OkStatus();
  }

 private:
  // With TensorFlow's code for sizes that no tensor has.
  static Status CheckSize(const Tensor& shape) {
    if (shape.rank() != 1) return OkStatus();  // refused with the indices
    const Status made = ShapeOf(shape, "shape").status();
    return made.ok() ? made : Internal(made.message());
  }
  static Status CheckOthers(const Shape& first, const Shape& shape, int dim) {
    bool agrees = shape.rank() == first.rank();
    for (int d = 0; agrees && d < shape.rank(); ++d) {
      agrees = d == dim || shape.dim(d) == first.dim(d);
    }
    if (agrees) return OkStatus();
    return InvalidArgument("Input shapes must match in all dimensions but the concatenated one, ",
                           dim, ": ", first, " and ", shape);
  }

  const int64_t dim_;
};

// Rows that lie in the block [start, start + size), their indices counted from its corner.
struct Block {
  std::vector<int64_t> rows, places;

  void AddFrom(const SparseInput& input, const Dims& start, const Shape& size) {
    for (int64_t i = 0; i < input.count(); ++i) {
      bool inside = true;
      for (int d = 0; inside && d < input.rank(); ++d) {
        const int64_t at = input.row(i)[d];
        inside = at >= start[d] && at - start[d] < size.dim(d);
      }
      if (!inside) continue;
      rows.push_back(i);
      for (int d = 0; d < input.rank(); ++d) places.push_back(input.row(i)[d] - start[d]);
    }
  }
  int64_t count() const { return static_cast<int64_t>(rows.size()); }
};

Status Split(Context& ctx) {
  const int n = ctx.num_outputs() / 3;
  if (ctx.input(0).rank() != 0) {
    return InvalidArgument("split_dim must be a scalar, got shape ", ctx.input(0).shape());
  }
  ASSIGN_OR_RETURN(const SparseInput input, SparseInput::Checked(ctx, 1, 2, 3));
  ASSIGN_OR_RETURN(const int dim, NormalizeAxis(IntAt(ctx.input(0), 0), input.rank(), "split_dim"));
  const int64_t size = input.shape().dim(dim);
  if (n < 1 || n > size) {
    return InvalidArgument("Input num_split should be between 1 and the splitting dimension size (",
                           size, "), got ", n);
  }
  Dims start, dims = input.shape().dims();
  for (int d = 0; d < input.rank(); ++d) start.push_back(0);
  for (int k = 0; k < n; ++k) {
    dims[dim] = size / n + (k < size % n ? 1 : 0);
    Block block;
    block.AddFrom(input, start, Shape(dims));
    start[dim] += dims[dim];
    ASSIGN_OR_RETURN(Tensor values, PickRows(ctx, input.values(), block.rows));
    ctx.set_output(k, IndexMatrix(block.places, input.rank(), block.count()));
    ctx.set_output(n + k, std::move(values));
    const std::vector<int64_t> shape(dims.begin(), dims.end());
    ctx.set_output(2 * n + k, Tensor::Of<int64_t>(shape, Shape{int64_t{input.rank()}}));
  }
  return OkStatus();
}

Status Slice(Context& ctx) {
  ASSIGN_OR_RETURN(const SparseInput input, SparseInput::Ranked(ctx, 0, 1, 2));
  ASSIGN_OR_RETURN(const Dims start, IntVector(ctx.input(3), "start"));
  ASSIGN_OR_RETURN(const Dims size, IntVector(ctx.input(4), "size"));
  if (start.size() != input.rank() || size.size() != input.rank()) {
    return InvalidArgument("start and size must have ", input.rank(), " elements, got ",
                           start.size(), " and ", size.size());
  }
  Dims dims;
  for (int d = 0; d < input.rank(); ++d) {
    if (start[d] < 0 || size[d] < 0) {
      return InvalidArgument("start and size must not be negative, got ", start[d], " and ",
                             size[d], " for dimension ", d);
    }
    const int64_t left = std::max<int64_t>(0, input.shape().dim(d) - start[d]);
    dims.push_back(std::min(size[d], left));
  }
  Block block;
  block.AddFrom(input, start, Shape(dims));
  ASSIGN_OR_RETURN(Tensor values, PickRows(ctx, input.values(), block.rows));
  SetSparse(ctx, 0, IndexMatrix(block.places, input.rank(), block.count()), std::move(values),
            Shape(dims));
  return OkStatus();
}

// Both lists of indices are in the same order: each output row is the next input row at its place.
Status SliceGrad(Context& ctx) {
  const Tensor &grad = ctx.input(0), &indices = ctx.input(1), &picked = ctx.input(3);
  ASSIGN_OR_RETURN(const Dims start, IntVector(ctx.input(2), "input_start"));
  if (indices.rank() != 2 || picked.rank() != 2 || grad.rank() != 1 ||
      indices.dim(1) != start.size() || picked.dim(1) != start.size() ||
      picked.dim(0) != grad.dim(0)) {
    return InvalidArgument("indices must be matrices of ", start.size(),
                           " columns, the gradient a vector of as many as output_indices; got ",
                           indices.shape(), ", ", picked.shape(), " and ", grad.shape());
  }
  if (picked.dim(0) > indices.dim(0)) {
    return InvalidArgument("output_indices have ", picked.dim(0), " rows, input_indices only ",
                           indices.dim(0));
  }
  std::vector<int64_t> rows;
  int64_t next = 0;
  for (int64_t i = 0; i < indices.dim(0); ++i) {
    bool same = next < picked.dim(0);
    for (int d = 0; same && d < start.size(); ++d) {
      same =
          IntAt(indices, i * start.size() + d) - start[d] == IntAt(picked, next * start.size() + d);
    }
    rows.push_back(same ? next++ : -1);
  }
  if (next != picked.dim(0)) {
    return Internal("output_indices are not a slice of input_indices: row ", next,
                    " was not found");
  }
  ASSIGN_OR_RETURN(Tensor values, PickRows(ctx, grad, rows));
  ctx.set_output(0, std::move(values));
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(sparse_parts, cpu) {
  registry.Add<ConcatCpu>("SparseConcat", kCpu);
  registry.AddFunction<Split>("SparseSplit", kCpu);
  registry.AddFunction<Slice>("SparseSlice", kCpu);
  registry.AddFunction<SliceGrad>("SparseSliceGrad", kCpu);
}
