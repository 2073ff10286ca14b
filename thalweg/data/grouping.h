// SPDX-License-Identifier: Apache-2.0
// Datasets that put elements together whose key is the same: an int64 that a function makes of
// each.
//
//   DatasetPtr groups = GroupByWindowDataset(input, {.key = key, .size = size, .reduce = r}, spec);
//
// Ownership: a dataset shares its input and functions; a pass owns the groups.
// Threads: datasets from any, stages as stage.h says.
// Errors: those of the functions, each that of one element or group; InvalidArgument for results
// that are no key, no size, no dataset.
#pragma once

#include "thalweg/data/element_function.h"
#include "thalweg/data/input_stage.h"
#include "thalweg/data/kept_elements.h"

namespace thalweg {

struct WindowFunctions {
  ElementFunctionPtr key;
  ElementFunctionPtr size;    // of a key: how many elements a group of it has
  ElementFunctionPtr reduce;  // a key and a dataset of the group's elements: gives a dataset
};
// The elements of the datasets that `reduce` makes of the groups, each as soon as it has its size.
// At the end of the input those come that are smaller, in the order of their keys.
DatasetPtr GroupByWindowDataset(DatasetPtr input, WindowFunctions functions, ElementSpec spec);

struct ReducerFunctions {
  ElementFunctionPtr key;
  ElementFunctionPtr init;      // of a key: the first state
  ElementFunctionPtr reduce;    // of a state and an element: the next state
  ElementFunctionPtr finalize;  // of the last state: an element
};
// An element for each key, in the order of the keys, once all of the input has been seen.
DatasetPtr GroupByReducerDataset(DatasetPtr input, ReducerFunctions functions, ElementSpec spec);

// The one int64 that a function `what` gives; InvalidArgument otherwise.
Result<int64_t> KeyOf(const Element& results, const char* what);

}  // namespace thalweg
