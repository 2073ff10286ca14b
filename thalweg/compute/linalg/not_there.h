// SPDX-License-Identifier: Apache-2.0
// What an operation says where libthalweg_linalg.so is missing.
//
//   if (result == LinalgResult::kNotThere) return NoLinalg();
#pragma once

#include "thalweg/base/status.h"

namespace thalweg::compute {

Status NoLinalg();

}  // namespace thalweg::compute
