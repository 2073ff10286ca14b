// SPDX-License-Identifier: Apache-2.0
// Optimizer updates element by element, for the rules and types that the vectorized loops of
// optimizer.h do not have: complex numbers, slots that stay as they are, rare rules.
//
//   PlainUpdate update{.rule = UpdateRule::kAddSign, .var = var, .slots = {m}, .grad = grad};
//   update.scalars = {lr, alpha, sign_decay, beta};
//   RETURN_IF_ERROR(RunPlain(work, dtype, n, update));
//
// Up to kAdamNesterov slots and scalars of a rule are those of optimizer.h, in the same order.
// Then:
//
// kAdaMax         m, v        lr, beta1, beta2, epsilon, beta1_power
// kAddSign        m           lr, alpha, sign_decay, beta
// kPowerSign      m           lr, logbase, sign_decay, beta
// kAmsgrad        m, v, vhat  as kAdam (AdamScalars)
// kKerasMomentum  accum       lr, momentum      accum = accum * momentum - lr g; var += accum
// kKerasNesterov  accum       lr, momentum
//
// Types: float, double, complex64, complex128; half and bfloat16 through float; rules that compare
// are Unimplemented for complex types. Sparse: row i of grad updates row indices[i], in the order
// of i; the caller checks the indices.
// Ownership: variable and slots are written in place; nobody else holds their buffers.
// Threads: any, each with its own Work.
// Errors: Unimplemented for another type; those of work.h.
#pragma once

#include <array>
#include <complex>

#include "thalweg/compute/optimizer/optimizer.h"

namespace thalweg::compute {

struct PlainUpdate {
  UpdateRule rule;
  bool update_slots = true;  // of kAdagrad and kAdagradV2
  void* var = nullptr;
  void* slots[3] = {};
  const void* grad = nullptr;
  std::array<std::complex<double>, 5> scalars = {};
};

Status RunPlain(Work& work, DType dtype, int64_t n, const PlainUpdate& update);
Status RunSparsePlain(Work& work, DType dtype, const int64_t* indices, int64_t count, int64_t inner,
                      const PlainUpdate& update);

}  // namespace thalweg::compute
