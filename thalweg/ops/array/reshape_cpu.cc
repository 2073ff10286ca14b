// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/tensor/axis.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// The same elements, no copy.
Status Output(Context& ctx, const Shape& shape) {
  ASSIGN_OR_RETURN(Tensor reshaped, ctx.input(0).Reshaped(shape));
  ctx.set_output(0, std::move(reshaped));
  return OkStatus();
}

// Replaces the one -1 of `dims` by what the elements of `from` need. Beside a size of zero, zeros
// of both count for nothing, as TensorFlow has it: [0,3] as [-1,0] is [3,0].
Status FillUnknown(Dims& dims, const Shape& from) {
  int unknown = -1;
  bool has_zero = false;
  int64_t product = 1;
  for (int i = 0; i < dims.size(); ++i) {
    if (dims[i] == -1) {
      if (unknown >= 0) {
        return InvalidArgument("Only one input size may be -1, not both ", unknown, " and ", i);
      }
      unknown = i;
    } else if (dims[i] < 0) {
      return InvalidArgument("Size ", i, " must be non-negative, not ", dims[i]);
    } else if (dims[i] == 0) {
      has_zero = true;
    } else if (__builtin_mul_overflow(product, dims[i], &product)) {
      return InvalidArgument("the sizes multiply to more elements than a 64-bit number holds");
    }
  }
  if (unknown < 0) return OkStatus();
  int64_t size = 1;
  for (const int64_t dim : from.dims()) {
    if (dim > 0 || !has_zero) size *= dim;
  }
  dims[unknown] = size / product;
  if (has_zero || dims[unknown] * product == size) return OkStatus();
  return InvalidArgument("Input to reshape is a tensor with ", size,
                         " values, but the requested shape requires a multiple of ", product);
}

Status Reshape(Context& ctx) {
  const Tensor& x = ctx.input(0);
  ASSIGN_OR_RETURN(Dims dims, IntVector(ctx.input(1), "shape"));
  RETURN_IF_ERROR(FillUnknown(dims, x.shape()));
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  if (shape.num_elements() != x.num_elements()) {
    return InvalidArgument("Input to reshape is a tensor with ", x.num_elements(),
                           " values, but the requested shape has ", shape.num_elements(), "; ",
                           shape);
  }
  return Output(ctx, shape);
}

// The ends of the range pass.
Status QuantizedReshape(Context& ctx) {
  for (int i = 2; i < 4; ++i) {
    if (ctx.input(i).num_elements() != 1) {
      return InvalidArgument(i == 2 ? "input_min" : "input_max",
                             " must be a scalar or a vector of 1 element, got shape ",
                             ctx.input(i).shape());
    }
    ASSIGN_OR_RETURN(Tensor end, ctx.input(i).Reshaped(Shape{}));
    ctx.set_output(i - 1, std::move(end));
  }
  return Reshape(ctx);
}

Status ExpandDims(Context& ctx) {
  const Tensor& dim = ctx.input(1);
  if (dim.num_elements() != 1) {
    return InvalidArgument("dim must be a scalar, got shape ", dim.shape());
  }
  Dims dims = ctx.input(0).shape().dims();
  const int64_t given = IntAt(dim, 0);
  const std::optional<int> axis = AxisFromFront(given, dims.size() + 1);
  if (!axis.has_value()) {
    return InvalidArgument("Tried to expand dim index ", given, " for tensor with ", dims.size(),
                           " dimensions.");
  }
  dims.insert(*axis, 1);
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  return Output(ctx, shape);
}

class SqueezeCpu : public Kernel {
 public:
  explicit SqueezeCpu(std::vector<int64_t> squeeze) : squeeze_(std::move(squeeze)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(std::vector<int64_t> squeeze, c.Attr<std::vector<int64_t>>("squeeze_dims"));
    return std::unique_ptr<Kernel>(std::make_unique<SqueezeCpu>(std::move(squeeze)));
  }

  Status Compute(Context& ctx) override {
    const Shape shape = ctx.input(0).shape();
    Dims kept = shape.dims();
    for (int64_t dim : squeeze_) {
      const std::optional<int> axis = AxisFromFront(dim, shape.rank());
      if (!axis.has_value()) {
        return InvalidArgument("Tried to squeeze dim index ", dim, " for tensor with ",
                               shape.rank(), " dimensions.");
      }
      if (shape.dim(*axis) != 1) {
        return InvalidArgument("Can not squeeze dim[", *axis, "], expected a dimension of 1, got ",
                               shape.dim(*axis));
      }
      kept[*axis] = -1;
    }
    Dims dims;
    for (int64_t size : kept) {
      if (squeeze_.empty() ? size != 1 : size >= 0) dims.push_back(size);
    }
    return Output(ctx, Shape(std::move(dims)));
  }

 private:
  const std::vector<int64_t> squeeze_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(reshape, cpu) {
  for (DType dtype : {DType::kQint32, DType::kQuint8}) {
    registry.AddFunction<QuantizedReshape>("QuantizedReshape", kCpu, {{"T", dtype}});
  }
  registry.AddFunction<Reshape>("Reshape", kCpu).Cost(KernelCost::kCheap);
  registry.AddFunction<ExpandDims>("ExpandDims", kCpu).Cost(KernelCost::kCheap);
  registry.Add<SqueezeCpu>("Squeeze", kCpu).Cost(KernelCost::kCheap);
}
