// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

THALWEG_OP(dataset_file) {
  constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {"TextLineDataset", "The lines of text files."},
      {"TFRecordDataset", "The records of TFRecord files."},
      {"FixedLengthRecordDataset", "Pieces of equal size of files."},
      {"FixedLengthRecordDatasetV2", "Pieces of equal size of files."}};
  for (const auto& [name, doc] : kKinds) {
    registry.Op(name)
        .Shape(thalweg::ScalarShape)
        .NotDifferentiable("a dataset is no number")
        .Doc(doc);
  }
  for (const char* op : {"MatchingFilesDataset", "ExperimentalMatchingFilesDataset"}) {
    registry.Op(op)
        .Shape(thalweg::ScalarShape)
        .NotDifferentiable("a dataset is no number")
        .Doc("The names of the files that match patterns.");
  }
}
