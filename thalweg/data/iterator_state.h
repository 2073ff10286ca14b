// SPDX-License-Identifier: Apache-2.0
// IteratorState: where a pass over a dataset stands, and over which.
//
//   RETURN_IF_ERROR(CheckLineage(*dataset, state.lineage));
//
// Ownership: none.
// Threads: any.
// Errors: InvalidArgument that says where the datasets differ.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "thalweg/data/dataset.h"

namespace thalweg {

struct IteratorState {
  std::vector<Tensor> tensors;  // of the stages, see state.h
  std::string lineage;          // Dataset::Lineage(); empty where it was not told
};

// Whether a state with this lineage is one of the dataset, as far as both tell.
Status CheckLineage(const Dataset& dataset, std::string_view lineage);

}  // namespace thalweg
