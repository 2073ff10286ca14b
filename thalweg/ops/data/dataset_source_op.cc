// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

THALWEG_OP(dataset_source) {
  using thalweg::ScalarShape;
  registry.Op("TensorDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("A dataset of one element.");
  registry.Op("TensorSliceDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("A dataset of the rows of its inputs.");
  registry.Op("SparseTensorSliceDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("A dataset of the rows of a sparse tensor.");
  registry.Op("ListDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("A dataset of elements that are its inputs.");
  registry.Op("RangeDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("A dataset of numbers that are a step apart.");
  registry.Op("RandomDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("A dataset of random numbers without end.");
  registry.Op("ExperimentalRandomDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("A dataset of random numbers without end.");
  registry.Op("GeneratorDataset")
      .Shape(ScalarShape)
      .NotDifferentiable("a dataset is no number")
      .Doc("A dataset of what a function gives until it is at an end.");
}
