// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

Status CheckScalars(Context& ctx) {
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    if (ctx.input(i).rank() != 0) {
      return InvalidArgument("input ", i, " must be a scalar, got shape ", ctx.input(i).shape());
    }
  }
  return OkStatus();
}

Status ShardedFilename(Context& ctx) {
  RETURN_IF_ERROR(CheckScalars(ctx));
  char suffix[40];
  std::snprintf(suffix, sizeof(suffix), "-%05d-of-%05d", ctx.input(1).scalar<int32_t>(),
                ctx.input(2).scalar<int32_t>());
  ctx.set_output(0, Tensor::Scalar(ctx.input(0).scalar<std::string>() + suffix));
  return OkStatus();
}

Status ShardedFilespec(Context& ctx) {
  RETURN_IF_ERROR(CheckScalars(ctx));
  char suffix[40];
  std::snprintf(suffix, sizeof(suffix), "-?\?\?\?\?-of-%05d", ctx.input(1).scalar<int32_t>());
  ctx.set_output(0, Tensor::Scalar(ctx.input(0).scalar<std::string>() + suffix));
  return OkStatus();
}

class StringJoin : public Kernel {
 public:
  explicit StringJoin(std::string separator) : separator_(std::move(separator)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(std::string separator, c.Attr<std::string>("separator"));
    return std::unique_ptr<Kernel>(std::make_unique<StringJoin>(std::move(separator)));
  }
  Status Compute(Context& ctx) override {
    Shape shape;
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      const Tensor& part = ctx.input(i);
      if (part.rank() == 0) continue;
      if (shape.rank() != 0 && part.shape() != shape) {
        return InvalidArgument("strings of shapes ", shape, " and ", part.shape(),
                               " cannot be joined");
      }
      shape = part.shape();
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kString, shape));
    auto* joined = out->mutable_data<std::string>();
    for (int64_t k = 0; k < out->num_elements(); ++k) {
      for (int i = 0; i < ctx.num_inputs(); ++i) {
        const Tensor& part = ctx.input(i);
        if (i > 0) joined[k] += separator_;
        joined[k] += part.data<std::string>()[part.rank() == 0 ? 0 : k];
      }
    }
    return OkStatus();
  }

 private:
  const std::string separator_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(file_name, cpu) {
  registry.AddFunction<ShardedFilename>("ShardedFilename", kCpu);
  registry.AddFunction<ShardedFilespec>("ShardedFilespec", kCpu);
  registry.Add<StringJoin>("StringJoin", kCpu);
}
