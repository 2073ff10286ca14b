// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "thalweg/compute/ew/ew.h"
#include "thalweg/compute/gemm/gemm.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

// Dimensions but the last two, and the number of matrices.
Dims LeadingDims(const Tensor& tensor) {
  Dims dims = tensor.shape().dims();
  dims.resize(tensor.rank() - 2);
  return dims;
}

// For every matrix of the output, where in `leading` its operand begins, in elements.
std::vector<int64_t> Offsets(const Dims& out, const Dims& leading, int64_t matrix) {
  const int64_t count = Shape(out).num_elements();
  const int skip = out.size() - leading.size();
  std::vector<int64_t> offsets;
  offsets.reserve(static_cast<size_t>(count));
  Dims at;
  at.resize(out.size(), 0);
  for (int64_t n = 0; n < count; ++n) {
    int64_t index = 0;
    for (int d = 0; d < leading.size(); ++d) {
      index = index * leading[d] + (leading[d] == 1 ? 0 : at[d + skip]);
    }
    offsets.push_back(index * matrix);
    for (int d = out.size() - 1; d >= 0 && ++at[d] == out[d]; --d) at[d] = 0;
  }
  return offsets;
}

class BatchMatMulCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<BatchMatMulCpu>();
    ASSIGN_OR_RETURN(kernel->adj_x_, c.Attr<bool>("adj_x"));
    ASSIGN_OR_RETURN(kernel->adj_y_, c.Attr<bool>("adj_y"));
    kernel->out_type_ = c.output_type(0);
    kernel->broadcasts_ = c.node().op_name() != "BatchMatMul";
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const DType type = ComputeType();
    ASSIGN_OR_RETURN(const Tensor x, As(ctx, type, ctx.input(0)));
    ASSIGN_OR_RETURN(const Tensor y, As(ctx, type, ctx.input(1)));
    for (const Tensor* in : {&x, &y}) {
      if (in->rank() >= 2) continue;
      return InvalidArgument("In[", in == &x ? 0 : 1, "] ndims must be >= 2: ", in->rank(),
                             "; x is ", x.shape(), ", y is ", y.shape());
    }
    const int rx = x.rank(), ry = y.rank();
    const int64_t m = x.dim(adj_x_ ? rx - 1 : rx - 2), k = x.dim(adj_x_ ? rx - 2 : rx - 1);
    const int64_t n = y.dim(adj_y_ ? ry - 2 : ry - 1);
    if (y.dim(adj_y_ ? ry - 1 : ry - 2) != k) {
      return InvalidArgument("Matrix size-incompatible: In[0]: ", x.shape(), ", In[1]: ", y.shape(),
                             "; inner dimensions differ: x is ", x.shape(),
                             adj_x_ ? " transposed" : "", ", y is ", y.shape(),
                             adj_y_ ? " transposed" : "");
    }
    Result<Dims> matched = OutputLeading(LeadingDims(x), LeadingDims(y));
    if (!matched.ok()) {
      return InvalidArgument("In[0] and In[1] must have compatible batch dimensions: ", x.shape(),
                             " vs. ", y.shape());
    }
    const Dims leading = *std::move(matched);
    Dims dims = leading;
    dims.push_back(m);
    dims.push_back(n);
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, out_type_, shape));
    if (shape.num_elements() == 0) return OkStatus();
    if (type == out_type_) return Multiply(ctx, x, y, leading, {m, k, n}, out->mutable_raw_data());
    ASSIGN_OR_RETURN(Tensor wide, ctx.AllocateTemporary(type, shape));
    RETURN_IF_ERROR(Multiply(ctx, x, y, leading, {m, k, n}, wide.mutable_raw_data()));
    return compute::RunCast(ctx.work(), type, out_type_, shape.num_elements(), wide.raw_data(),
                            out->mutable_raw_data());
  }

 private:
  struct Sizes {
    int64_t m, k, n;
  };

  // Products of 16 bit integers are made, and wrap, in int32.
  DType ComputeType() const { return out_type_ == DType::kInt16 ? DType::kInt32 : out_type_; }

  static Result<Tensor> As(Context& ctx, DType type, const Tensor& x) {
    if (x.dtype() == type) return x;
    ASSIGN_OR_RETURN(Tensor cast, ctx.AllocateTemporary(type, x.shape()));
    RETURN_IF_ERROR(compute::RunCast(ctx.work(), x.dtype(), type, x.num_elements(), x.raw_data(),
                                     cast.mutable_raw_data()));
    return cast;
  }

  Status Multiply(Context& ctx, const Tensor& x, const Tensor& y, const Dims& leading, Sizes s,
                  void* out) const {
    const auto [m, k, n] = s;
    const std::vector<int64_t> x_offsets = Offsets(leading, LeadingDims(x), m * k);
    const std::vector<int64_t> y_offsets = Offsets(leading, LeadingDims(y), k * n);
    const auto adjoint =
        IsComplex(x.dtype()) ? compute::Transpose::kConjugate : compute::Transpose::kYes;
    const auto gemm = compute::GemmShape::Dense(m, n, k, adj_x_ ? adjoint : compute::Transpose::kNo,
                                                adj_y_ ? adjoint : compute::Transpose::kNo);
    return compute::BatchedGemm(ctx.work(), x.dtype(), gemm, static_cast<int64_t>(x_offsets.size()),
                                x.raw_data(), x_offsets.data(), y.raw_data(), y_offsets.data(),
                                out);
  }

  Result<Dims> OutputLeading(const Dims& x, const Dims& y) const {
    if (x == y) return x;
    if (!broadcasts_) return InvalidArgument("the leading dimensions disagree");
    ASSIGN_OR_RETURN(const PartialShape both, BroadcastShapes(PartialShape(x), PartialShape(y)));
    return both.dims();
  }

  DType out_type_ = DType::kInvalid;
  bool adj_x_ = false;
  bool adj_y_ = false;
  bool broadcasts_ = false;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(batch_matmul, cpu) {
  for (DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBfloat16, DType::kInt32,
                      DType::kInt64, DType::kComplex64, DType::kComplex128}) {
    registry.Add<BatchMatMulCpu>("BatchMatMul", kCpu, {{"T", dtype}});
    registry.Add<BatchMatMulCpu>("BatchMatMulV2", kCpu, {{"T", dtype}});
    registry.Add<BatchMatMulCpu>("BatchMatMulV3", kCpu,
                                 {{"Ta", dtype}, {"Tb", dtype}, {"Tout", dtype}});
  }
  registry.Add<BatchMatMulCpu>("BatchMatMulV2", kCpu, {{"T", DType::kInt16}});
  const auto mixed = [&](DType a, DType b, DType out) {
    registry.Add<BatchMatMulCpu>("BatchMatMulV3", kCpu, {{"Ta", a}, {"Tb", b}, {"Tout", out}});
  };
  mixed(DType::kInt16, DType::kInt16, DType::kInt16);
  for (DType a : {DType::kInt8, DType::kUint8}) {
    mixed(a, DType::kBfloat16, DType::kBfloat16);
    mixed(DType::kBfloat16, a, DType::kBfloat16);
    for (DType b : {DType::kInt8, DType::kUint8}) mixed(a, b, DType::kInt32);
  }
}
