// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

THALWEG_OP(dataset_mapping) {
  using thalweg::ScalarShape;
  registry.Op("MapDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("What a function makes of each element.");
  registry.Op("ParallelMapDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("What a function makes of each element, several at once.");
  registry.Op("ParallelMapDatasetV2")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("What a function makes of each element, several at once.");
  registry.Op("FilterDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("The elements for which a function is true.");
  registry.Op("ParallelFilterDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("The elements for which a function is true.");
  registry.Op("TakeWhileDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("The elements before the first for which a function is false.");
  registry.Op("ExperimentalTakeWhileDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("The elements before the first for which a function is false.");
  registry.Op("ScanDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("What a function makes of a state and each element, which makes the next state.");
  registry.Op("ExperimentalScanDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("What a function makes of a state and each element, which makes the next state.");
  registry.Op("FlatMapDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("The elements of the datasets that a function makes.");
  registry.Op("InterleaveDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("The elements of several of the datasets that a function makes, in turn.");
  registry.Op("ParallelInterleaveDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("As InterleaveDataset, with elements made in advance.");
  registry.Op("ExperimentalParallelInterleaveDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("As InterleaveDataset, with elements made in advance.");
  registry.Op("ParallelInterleaveDatasetV2")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("As InterleaveDataset, with elements made in advance.");
  registry.Op("ParallelInterleaveDatasetV3")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("As InterleaveDataset, with elements made in advance.");
  registry.Op("ParallelInterleaveDatasetV4")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("As InterleaveDataset, with elements made in advance.");
  registry.Op("MapAndBatchDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("What a function makes of each element, several as one.");
  registry.Op("ExperimentalMapAndBatchDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("What a function makes of each element, several as one.");
  registry.Op("LegacyParallelInterleaveDatasetV2")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("As InterleaveDataset, with elements made in advance.");
  registry.Op("ExperimentalMapDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("What a function makes of each element.");
}
