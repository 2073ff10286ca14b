// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

THALWEG_OP(dataset_grouping) {
  constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {"GroupByWindowDataset", "What a function makes of groups of elements of one key."},
      {"ExperimentalGroupByWindowDataset", "As GroupByWindowDataset."},
      {"GroupByReducerDataset", "What is left of the elements of each key."},
      {"ExperimentalGroupByReducerDataset", "As GroupByReducerDataset."}};
  for (const auto& [name, doc] : kKinds) {
    registry.Op(name)
        .Shape(thalweg::ScalarShape)
        .NotDifferentiable("a dataset is no number")
        .Doc(doc);
  }
}
