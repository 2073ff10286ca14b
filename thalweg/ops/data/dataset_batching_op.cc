// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

THALWEG_OP(dataset_batching) {
  using thalweg::ScalarShape;
  registry.Op("BatchDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("Several elements as one.");
  registry.Op("BatchDatasetV2")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("Several elements as one.");
  registry.Op("ParallelBatchDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("Several elements as one.");
  registry.Op("PaddedBatchDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("Several elements, padded to one shape, as one.");
  registry.Op("PaddedBatchDatasetV2")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("Several elements, padded to one shape, as one.");
  registry.Op("DenseToSparseBatchDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("Several elements as one sparse tensor.");
  registry.Op("ExperimentalDenseToSparseBatchDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("Several elements as one sparse tensor.");
  registry.Op("WindowDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("Datasets of several elements each.");
  registry.Op("RebatchDatasetV2")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("The rows of batches as batches of other sizes.");
}
