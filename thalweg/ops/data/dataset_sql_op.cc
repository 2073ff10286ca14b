// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

THALWEG_OP(dataset_sql) {
  for (const char* name : {"SqlDataset", "ExperimentalSqlDataset"}) {
    registry.Op(name)
        .Shape(thalweg::ScalarShape)
        .NotDifferentiable("a dataset is no number")
        .Doc("The rows that a query of a database gives.");
  }
}
