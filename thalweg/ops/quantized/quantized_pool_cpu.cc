// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/pool/pool.h"
#include "thalweg/compute/quantized/requantize.h"
#include "thalweg/ops/quantized/range_inputs.h"
#include "thalweg/ops/quantized/window_attrs.h"

namespace thalweg {
namespace {

using compute::Padding;

template <bool kMax>
class QuantizedPoolCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<QuantizedPoolCpu<kMax>>();
    ASSIGN_OR_RETURN(kernel->window_, ParseWindow2D(c));
    ASSIGN_OR_RETURN(kernel->ksize_, c.Attr<std::vector<int64_t>>("ksize"));
    RETURN_IF_ERROR(CheckFour(kernel->ksize_, "ksize"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    if (x.rank() != 4) return InvalidArgument("input must be 4-dimensional, got ", x.shape());
    for (int i : {1, 2}) {
      const Shape& end = ctx.input(i).shape();
      if (end.rank() == 0) continue;
      return InvalidArgument(i == 1 ? "min" : "max", "_input shape must be rank 0 but is rank ",
                             end.rank(), ", received shape: ", end);
    }
    ASSIGN_OR_RETURN(const compute::RealRange range, ScalarRange(ctx, 1, "input"));
    const Padding padding = window_.padding == "SAME" ? Padding::kSame : Padding::kValid;
    compute::PoolShape shape{.batch = x.dim(0)};
    ASSIGN_OR_RETURN(shape.rows,
                     compute::MakeWindow(x.dim(1), ksize_[1], window_.rows.stride, 1, padding));
    ASSIGN_OR_RETURN(shape.columns,
                     compute::MakeWindow(x.dim(2), ksize_[2], window_.columns.stride, 1, padding));
    shape.channels = x.dim(3);
    const Dims dims{shape.batch, shape.rows.output, shape.columns.output, shape.channels};
    ASSIGN_OR_RETURN(const Shape to, Shape::Make(dims));
    SetRange(ctx, 1, range);
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.dtype(), to));
    if (y->num_elements() == 0) return OkStatus();
    if (kMax) {
      const DType plain = x.dtype() == DType::kQint8 ? DType::kInt8 : DType::kUint8;
      return compute::MaxPool(ctx.work(), plain, shape, x.raw_data(), y->mutable_raw_data());
    }
    return compute::AveragePoolLevels(ctx.work(), x.dtype(), LevelPoolOf(shape), x.raw_data(),
                                      y->mutable_raw_data());
  }

 private:
  static compute::LevelPool LevelPoolOf(const compute::PoolShape& s) {
    return {.batch = s.batch,
            .in_rows = s.rows.input,
            .in_columns = s.columns.input,
            .channels = s.channels,
            .out_rows = s.rows.output,
            .out_columns = s.columns.output,
            .rows = s.rows.size,
            .columns = s.columns.size,
            .row_stride = s.rows.stride,
            .column_stride = s.columns.stride,
            .row_pad = s.rows.pad_before,
            .column_pad = s.columns.pad_before};
  }

  WindowAttrs2D window_;
  std::vector<int64_t> ksize_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(quantized_pool, cpu) {
  for (DType dtype : {DType::kQint8, DType::kQuint8}) {
    registry.Add<QuantizedPoolCpu<false>>("QuantizedAvgPool", kCpu, {{"T", dtype}});
    registry.Add<QuantizedPoolCpu<true>>("QuantizedMaxPool", kCpu, {{"T", dtype}});
  }
}
