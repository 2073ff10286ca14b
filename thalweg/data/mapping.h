// SPDX-License-Identifier: Apache-2.0
// Datasets that call functions of the graph with the elements of another one.
//
//   DatasetPtr squares = MapDataset(input, function, spec, {.calls = 4});
//
// Ownership: a dataset shares its input and functions; the state of a scan is the pass's.
// Threads: datasets from any, stages as stage.h says; calls of a function run side by side.
// Errors: those of the functions, each that of one element; InvalidArgument for options that make
// no sense and for results that are no bool or dataset.
#pragma once

#include <optional>

#include "thalweg/data/element_function.h"
#include "thalweg/data/input_stage.h"

namespace thalweg {

struct MapOptions {
  int64_t calls =
      1;  // at once; kAutotune: what the tuner chooses, at most as many as there are threads
  // In the order of the input, or as they end; open: as the pipeline says.
  std::optional<bool> deterministic;
  bool preserve_cardinality = false;
};
inline constexpr int64_t kAutotune = -1;

DatasetPtr MapDataset(DatasetPtr input, ElementFunctionPtr function, ElementSpec spec,
                      const MapOptions& options);
// The elements for which the function is true.
DatasetPtr FilterDataset(DatasetPtr input, ElementFunctionPtr predicate);
// Those before the first for which it is not.
DatasetPtr TakeWhileDataset(DatasetPtr input, ElementFunctionPtr predicate);
// The function takes a state and an element, and gives the next state and an element.
DatasetPtr ScanDataset(DatasetPtr input, Element initial_state, ElementFunctionPtr function,
                       ElementSpec spec, bool preserve_cardinality);

// The same elements; what comes before them has these options.
DatasetPtr OptionsDataset(DatasetPtr input, StageOptions options);

// The one bool that a predicate gives; InvalidArgument otherwise.
Result<bool> PredicateOf(const Element& results);

struct InterleaveOptions {
  int64_t cycle_length = 1;
  int64_t block_length = 1;
  // Elements that each of the cycle has ready in advance, in the background; 0: none; -n: n, and
  // more where that was too few.
  int64_t buffer = 0;
  // One that has no element yet is waited for, or passed over; open: as the pipeline says.
  std::optional<bool> deterministic;
};
// The function makes a dataset of each element; `block_length` elements of each of `cycle_length`
// of them in turn. A cycle of one is all of the first, then all of the next ... (flat_map).
Result<DatasetPtr> InterleaveDataset(DatasetPtr input, ElementFunctionPtr function,
                                     ElementSpec spec, const InterleaveOptions& options);

}  // namespace thalweg
