// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

THALWEG_OP(dataset_csv) {
  for (const char* name : {"CSVDataset", "ExperimentalCSVDataset", "CSVDatasetV2"}) {
    registry.Op(name)
        .Shape(thalweg::ScalarShape)
        .NotDifferentiable("a dataset is no number")
        .Doc("The records of CSV files.");
  }
}
