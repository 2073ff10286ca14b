// SPDX-License-Identifier: Apache-2.0
// A dataset whose elements three functions make: the first begins and gives a state, the second
// makes an element of it until it is OutOfRange, the third ends.
//
//   DatasetPtr dataset = GeneratorDataset({begin, next, end}, spec);
//
// Ownership: a dataset shares its functions; a pass owns the state.
// Threads: datasets from any, stages as stage.h says.
// Errors: those of the functions, but OutOfRange of `next`, which is the end; FailedPrecondition
// where it is saved.
#pragma once

#include "thalweg/data/element_function.h"
#include "thalweg/data/input_stage.h"

namespace thalweg {

struct GeneratorFunctions {
  ElementFunctionPtr begin;
  ElementFunctionPtr next;
  ElementFunctionPtr end;
};

// A pass that is given up before its end is ended, too. It cannot be saved: what it stands on is
// not the graph's.
DatasetPtr GeneratorDataset(GeneratorFunctions functions, ElementSpec spec);

}  // namespace thalweg
