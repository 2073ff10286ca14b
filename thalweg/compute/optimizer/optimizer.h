// SPDX-License-Identifier: Apache-2.0
// Optimizer updates in one pass over variable, slots and gradient; formulas are TensorFlow's,
// epsilon included.
//
//   Update update{.rule = UpdateRule::kAdam, .var = var, .slots = {m, v}, .grad = grad};
//   update.scalars = AdamScalars(dtype, lr, beta1, beta2, epsilon, beta1_power, beta2_power);
//   RETURN_IF_ERROR(RunUpdate(work, dtype, n, update));
//
// rule              slots            scalars
// kGradientDescent                   lr
// kMomentum         accum            lr, momentum        a = accum * momentum + g; var -= lr * a
// kNesterov         accum            lr, momentum        ...; var -= lr * g + lr * momentum * accum
// kAdagrad          accum            lr                  accum += g^2; var -= lr * g / sqrt(accum)
// kAdagradV2        accum            lr, epsilon         ...; var -= lr * g / (sqrt(accum) + e)
// kAdadelta         accum, updates   lr, rho, epsilon
// kRmsProp          ms, mom          lr, rho, momentum, epsilon    epsilon inside the root
// kCenteredRmsProp  ms, mom, mg      lr, rho, momentum, epsilon
// kAdam             m, v             AdamScalars                   epsilon outside the root
// kAdamNesterov     m, v             AdamScalars
//
// Types: float, double; half and bfloat16 through float. Sparse: row i of grad ([count, inner])
// updates row indices[i] of var and slots, in the order of i; the caller checks the indices.
// Ownership: written in place; nobody else holds those buffers.
// Threads: any, each with its own Work.
// Errors: Unimplemented for another type or rule (plain.h has those); those of work.h.
#pragma once

#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

enum class UpdateRule : uint8_t {
  kGradientDescent,
  kMomentum,
  kNesterov,
  kAdagrad,
  kAdagradV2,
  kAdadelta,
  kRmsProp,
  kCenteredRmsProp,
  kAdam,
  kAdamNesterov,
  // From here on by RunPlain alone (plain.h).
  kAdaMax,
  kAddSign,
  kPowerSign,
  kAmsgrad,
  kKerasMomentum,
  kKerasNesterov,
};
inline constexpr int kUpdateRules = 10;  // that have vectorized loops: the first ones
inline constexpr int kUpdateScalars = 4;

struct UpdateScalars {
  double value[kUpdateScalars] = {};
};

struct Update {
  UpdateRule rule;
  void* var = nullptr;
  void* slots[3] = {};
  const void* grad = nullptr;
  UpdateScalars scalars;
};

// lr * sqrt(1 - beta2_power) / (1 - beta1_power), beta1, beta2, epsilon: computed in `dtype` as
// TensorFlow does.
UpdateScalars AdamScalars(DType dtype, double lr, double beta1, double beta2, double epsilon,
                          double beta1_power, double beta2_power);

Status RunUpdate(Work& work, DType dtype, int64_t n, const Update& update);

struct UpdateRows {
  const int64_t* indices = nullptr;
  int64_t count = 0;
  int64_t inner = 1;
};
Status RunSparseUpdate(Work& work, DType dtype, const UpdateRows& rows, const Update& update);

}  // namespace thalweg::compute
