// SPDX-License-Identifier: Apache-2.0
// Datasets that choose elements by what they are, by chance, or as another dataset says.
//
//   ASSIGN_OR_RETURN(DatasetPtr once, UniqueDataset(input));
//
// Ownership: a dataset shares its inputs.
// Threads: datasets from any, stages as stage.h says.
// Errors: InvalidArgument for elements that cannot be compared or are no number of a dataset.
#pragma once

#include <vector>

#include "thalweg/data/dataset.h"

namespace thalweg {

// The elements that were not there before; they have one component, int32, int64 or string.
Result<DatasetPtr> UniqueDataset(DatasetPtr input);
// Each element with probability `rate`: TensorFlow's for these seeds; two zeros: any.
DatasetPtr SamplingDataset(DatasetPtr input, float rate, int64_t seed, int64_t seed2);
// Each element of `selector` says which of `inputs` gives the next one. Inputs that have ended are
// passed over; `stops`: the first that has ended ends it.
Result<DatasetPtr> DirectedInterleaveDataset(DatasetPtr selector, std::vector<DatasetPtr> inputs,
                                             bool stops, ElementSpec spec);

}  // namespace thalweg
