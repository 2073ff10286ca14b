// SPDX-License-Identifier: Apache-2.0
// What an operation says where libthalweg_linalg.so is missing.
//
//   if (result == LinalgResult::kNotThere) return NoLinalg();
//
// Ownership: the Status is the caller's.
// Threads: any; no state.
// Errors: it makes one: Unimplemented with the name of the component.
#pragma once

#include "thalweg/base/status.h"

namespace thalweg::compute {

Status NoLinalg();

}  // namespace thalweg::compute
