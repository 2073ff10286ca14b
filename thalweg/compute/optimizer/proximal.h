// SPDX-License-Identifier: Apache-2.0
// Optimizer updates with a penalty on the variable: proximal steps, FTRL, dual averaging. Formulas
// are TensorFlow's.
//
//   ProximalUpdate update{.rule = ProximalRule::kFtrl, .var = var, .slots = {accum, linear}, ...};
//   update.scalars = {.lr = 0.1, .l1 = 0.01};
//   RETURN_IF_ERROR(RunProximal(work, dtype, n, update));
//
// rule              slots                     scalars
// kGradientDescent                            lr, l1, l2
// kAdagrad          accum                     lr, l1, l2
// kFtrl             accum, linear             lr, l1, l2, l2_shrinkage, lr_power
// kDualAveraging    sums, sums of squares     lr, l1, l2, step
//
// Types: float, double; half and bfloat16 through float. Sparse: row i of grad ([count, inner])
// updates row indices[i], in the order of i; the caller checks the indices.
// Ownership: variable and slots are written in place; nobody else holds their buffers.
// Threads: any, each with its own Work.
// Errors: Unimplemented for another type; those of work.h.
#pragma once

#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

enum class ProximalRule : uint8_t { kGradientDescent, kAdagrad, kFtrl, kDualAveraging };

struct ProximalScalars {
  double lr = 0, l1 = 0, l2 = 0, l2_shrinkage = 0, lr_power = -0.5, step = 0;
  bool linear_times_lr = false;  // kFtrl: the slot `linear` holds lr times the sum
};

struct ProximalUpdate {
  ProximalRule rule;
  void* var = nullptr;
  void* slots[2] = {};
  const void* grad = nullptr;
  ProximalScalars scalars;
};

Status RunProximal(Work& work, DType dtype, int64_t n, const ProximalUpdate& update);
// count rows of inner elements.
Status RunSparseProximal(Work& work, DType dtype, const int64_t* indices, int64_t count,
                         int64_t inner, const ProximalUpdate& update);

}  // namespace thalweg::compute
