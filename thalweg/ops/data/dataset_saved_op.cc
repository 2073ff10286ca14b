// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

THALWEG_OP(dataset_saved) {
  registry.Op("SaveDataset")
      .Shape(thalweg::NoOutputs)
      .NotDifferentiable("a dataset is no number")
      .Doc("Writes all elements into the files of a folder.");
  registry.Op("SaveDatasetV2")
      .Shape(thalweg::ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("The elements, which a pass also writes into the files of a folder.");
  registry.Op("LoadDataset")
      .Shape(thalweg::ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("The elements that were saved in a folder.");
  for (const char* op : {"SnapshotDataset", "SnapshotDatasetV2"}) {
    registry.Op(op)
        .Shape(thalweg::ScalarShape)
        .NotDifferentiable("a dataset is no number")
        .Doc("The elements, which the first whole pass writes into files and later ones read.");
  }
}
