// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

THALWEG_OP(dataset_counting) {
  using thalweg::ScalarShape;
  registry.Op("TakeDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("The first elements.");
  registry.Op("SkipDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("All but the first elements.");
  registry.Op("RepeatDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("All elements several times.");
  registry.Op("ShardDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("Every nth element.");
  registry.Op("ConcatenateDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("The elements of one dataset, then those of another.");
  registry.Op("ZipDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("Elements put together from one of each dataset.");
  registry.Op("AssertCardinalityDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("The input, which must have as many elements as said.");
  registry.Op("IgnoreErrorsDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("The elements that do not fail.");
  registry.Op("ExperimentalIgnoreErrorsDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("The elements that do not fail.");
  registry.Op("UnbatchDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("The rows of the elements.");
  registry.Op("ExperimentalUnbatchDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("The rows of the elements.");
}
