// SPDX-License-Identifier: Apache-2.0
// Datasets that choose elements of another one by their number, or put several after each other.
//
//   DatasetPtr first = TakeDataset(input, 10);
//
// Ownership: a dataset shares its inputs.
// Threads: datasets from any, stages as stage.h says.
// Errors: InvalidArgument for shards and components that make no sense, FailedPrecondition for
// another cardinality than asserted; those of the inputs.
#pragma once

#include "thalweg/data/dataset.h"

namespace thalweg {

// The first `count`; all when it is negative.
DatasetPtr TakeDataset(DatasetPtr input, int64_t count);
// All but the first `count`; none when it is negative.
DatasetPtr SkipDataset(DatasetPtr input, int64_t count);
// All of it `count` times; without end when that is negative.
DatasetPtr RepeatDataset(DatasetPtr input, int64_t count);
// Every element whose number modulo `shards` is `index`.
Result<DatasetPtr> ShardDataset(DatasetPtr input, int64_t shards, int64_t index);
// The elements of one, then those of the other.
DatasetPtr ConcatenateDataset(DatasetPtr first, DatasetPtr second, ElementSpec spec);
// The components of one element of each, as long as all have one.
DatasetPtr ZipDataset(std::vector<DatasetPtr> inputs, ElementSpec spec);
// The input, which must have `cardinality` elements.
DatasetPtr AssertCardinalityDataset(DatasetPtr input, int64_t cardinality);
// The elements that do not fail.
DatasetPtr IgnoreErrorsDataset(DatasetPtr input);
// The rows of the elements' components.
DatasetPtr UnbatchDataset(DatasetPtr input, ElementSpec spec);

}  // namespace thalweg
