// SPDX-License-Identifier: Apache-2.0
// FloatOperands: the inputs and outputs of a kernel as arrays of float, whatever their type: half
// tensors are converted on the way in and out. Private to this family.
//
//   FloatOperands f(ctx, ctx.input(0).dtype());
//   ASSIGN_OR_RETURN(const float* x, f.Input(0));
//   ASSIGN_OR_RETURN(float* y, f.Output(0, shape));
//   ... return f.Finish();
//
// Ownership: lies on the stack of a call; it owns the converted copies, the context the outputs.
// Threads: the kernel's call: one.
// Errors: ResourceExhausted; those of compute/ew.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "thalweg/compute/ew/ew.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {

class FloatOperands {
 public:
  FloatOperands(Context& ctx, DType type) : ctx_(ctx), type_(type) {}

  Result<const float*> Input(int i) {
    const Tensor& t = ctx_.input(i);
    if (type_ == DType::kFloat) return t.data<float>();
    ASSIGN_OR_RETURN(Tensor wide, ctx_.AllocateTemporary(DType::kFloat, t.shape()));
    RETURN_IF_ERROR(compute::RunCast(ctx_.work(), type_, DType::kFloat, t.num_elements(),
                                     t.raw_data(), wide.mutable_raw_data()));
    kept_.push_back(std::move(wide));
    return kept_.back().data<float>();
  }
  // Zeros to begin with.
  Result<float*> Output(int i, const Shape& shape) {
    ASSIGN_OR_RETURN(Tensor * out, ctx_.AllocateOutput(i, type_, shape));
    if (type_ == DType::kFloat) return Zeros(*out);
    ASSIGN_OR_RETURN(Tensor wide, ctx_.AllocateTemporary(DType::kFloat, shape));
    outputs_.push_back({i, std::move(wide)});
    return Zeros(outputs_.back().wide);
  }
  Status Finish() {
    for (const Converted& c : outputs_) {
      Tensor& out = ctx_.output(c.index);
      RETURN_IF_ERROR(compute::RunCast(ctx_.work(), DType::kFloat, type_, out.num_elements(),
                                       c.wide.raw_data(), out.mutable_raw_data()));
    }
    return OkStatus();
  }

 private:
  struct Converted {
    int index;
    Tensor wide;
  };
  static float* Zeros(Tensor& t) {
    std::fill_n(t.mutable_data<float>(), t.num_elements(), 0.0f);
    return t.mutable_data<float>();
  }

  Context& ctx_;
  DType type_;
  std::vector<Tensor> kept_;
  std::vector<Converted> outputs_;
};

}  // namespace thalweg
