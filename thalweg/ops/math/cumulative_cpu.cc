// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/reduce/scan.h"
#include "thalweg/compute/reduce/scan_log_sum_exp.h"
#include "thalweg/kernel/element_wise.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

class CumulativeCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<CumulativeCpu>();
    ASSIGN_OR_RETURN(kernel->shape_.exclusive, c.Attr<bool>("exclusive"));
    ASSIGN_OR_RETURN(kernel->shape_.reverse, c.Attr<bool>("reverse"));
    kernel->op_ = c.node().op_name() == "Cumsum" ? compute::ScanOp::kSum : compute::ScanOp::kProd;
    kernel->log_sum_exp_ = c.node().op_name() == "CumulativeLogsumexp";
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    const Shape shape = x.shape();
    ASSIGN_OR_RETURN(const int64_t given, IntScalar(ctx.input(1), "axis"));
    const Result<int> found = NormalizeAxis(given, shape.rank(), "scan axis");
    if (!found.ok()) return InvalidArgument("ScanOp: ", found.status().message());
    const int axis = *found;
    compute::ScanShape scan = shape_;
    for (int d = 0; d < axis; ++d) scan.outer *= shape.dim(d);
    scan.size = shape.dim(axis);
    for (int d = axis + 1; d < shape.rank(); ++d) scan.inner *= shape.dim(d);
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.dtype(), shape));
    if (log_sum_exp_) {
      return compute::ScanLogSumExp(ctx.work(), x.dtype(), scan, x.raw_data(),
                                    y->mutable_raw_data());
    }
    return compute::Scan(ctx.work(), op_, x.dtype(), scan, x.raw_data(), y->mutable_raw_data());
  }

 private:
  compute::ScanShape shape_;
  compute::ScanOp op_ = compute::ScanOp::kSum;
  bool log_sum_exp_ = false;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(cumulative, cpu) {
  for (const char* op : {"Cumsum", "Cumprod"}) {
    for (DType dtype : kNumbers) registry.Add<CumulativeCpu>(op, kCpu, {{"T", dtype}});
  }
  for (DType dtype : kFloats) {
    registry.Add<CumulativeCpu>("CumulativeLogsumexp", kCpu, {{"T", dtype}});
  }
}
