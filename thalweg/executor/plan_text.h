// SPDX-License-Identifier: Apache-2.0
// A compiled plan as text for people: what is scheduled, and which nodes run together.
//
//   root: 2 units
//     block of 3: Mul 'a', Add 'b', _FusedMatMul 'c'
//     heavy: Conv2D 'd' (about 120 us)
//   structured loop 'while': condition of 1: Less 'l'; body of 2: Add 'e', MatMul 'f'
//
// Ownership: the text is the caller's.
// Threads: as for reading a Plan.
// Errors: none.
#pragma once

#include <string>

#include "thalweg/executor/plan.h"

namespace thalweg {

std::string PlanText(const Plan& plan);

}  // namespace thalweg
