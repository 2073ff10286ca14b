// SPDX-License-Identifier: Apache-2.0
// Attributes of the operations of this family, for tests.
#pragma once

#include "thalweg/testing/kernel_call.h"

namespace thalweg {

using Lines = std::vector<std::string>;
using Numbers = std::vector<int64_t>;
using DTypes = std::vector<DType>;

inline AttrMap Attrs(Lines program, Numbers results, DTypes out = {DType::kFloat},
                     Lines nodes = {}) {
  return {{"program", std::move(program)},
          {"results", std::move(results)},
          {"Tout", std::move(out)},
          {"nodes", std::move(nodes)},
          {"shapes", std::vector<PartialShape>{}}};
}

}  // namespace thalweg
