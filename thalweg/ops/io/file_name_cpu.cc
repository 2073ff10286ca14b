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

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(file_name, cpu) {
  registry.AddFunction<ShardedFilename>("ShardedFilename", kCpu);
  registry.AddFunction<ShardedFilespec>("ShardedFilespec", kCpu);
}
