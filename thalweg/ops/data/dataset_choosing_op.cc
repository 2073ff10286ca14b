// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

THALWEG_OP(dataset_choosing) {
  constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {"UniqueDataset", "The elements that were not there before."},
      {"ExperimentalUniqueDataset", "The elements that were not there before."},
      {"SamplingDataset", "Each element with one probability."},
      {"DirectedInterleaveDataset", "Elements of the datasets that a dataset of numbers names."},
      {"ExperimentalDirectedInterleaveDataset", "As DirectedInterleaveDataset."}};
  for (const auto& [name, doc] : kKinds) {
    registry.Op(name)
        .Shape(thalweg::ScalarShape)
        .NotDifferentiable("a dataset is no number")
        .Doc(doc);
  }
}
