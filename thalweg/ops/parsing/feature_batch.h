// SPDX-License-Identifier: Apache-2.0
// ParseFeatures: the features of Examples, or of the contexts of SequenceExamples, as tensors. Each
// message is walked once to find the features; dense values of a known number go into the outputs
// then, others are counted, and read when the outputs have been made in their exact sizes.
//
//   ASSIGN_OR_RETURN(columns_, ParsedColumns::Of(c, "sparse_types", "Tdense", "dense_shapes"));
//   RETURN_IF_ERROR(ParseFeatures(ctx, columns_, {texts, keys, words, first_default, single}));
//
// Outputs from 0 on: indices, values, shapes of the sparse ones, dense values, values and row
// splits of the ragged ones.
// Ownership: points at texts, keys and words during the call; the outputs are the context's.
// Threads: any; shards of a batch run on the step's threads.
// Errors: as ParseWords has them, of the first bad example; ResourceExhausted.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/parsing/parse_words.h"

namespace thalweg {

struct DenseColumn {
  DType dtype = DType::kFloat;
  PartialShape shape;
  bool is_variable = false;  // the first dimension is as long as need be
  int64_t size = 1;          // of an example; of a row, where it is variable
};

// What the attributes of a node ask for. Keys stand in this order: sparse, dense, ragged.
struct ParsedColumns {
  std::vector<DType> sparse;
  std::vector<DenseColumn> dense;
  std::vector<DType> ragged;
  std::vector<DType> splits;

  static Result<ParsedColumns> Of(const KernelConstruction& c, std::string_view sparse_types,
                                  std::string_view dense_types, std::string_view dense_shapes);
  // With ragged ones; prefix: "" or "context_".
  Status AddRagged(const KernelConstruction& c, std::string_view prefix);
  int num_keys() const { return static_cast<int>(sparse.size() + dense.size() + ragged.size()); }
  int num_sparse() const { return static_cast<int>(sparse.size()); }
  int first_ragged() const { return static_cast<int>(sparse.size() + dense.size()); }
  int num_outputs() const {
    return static_cast<int>(3 * sparse.size() + dense.size() + 2 * ragged.size());
  }
};

// The size of one element of a column, or of a row of it.
Result<DenseColumn> MakeDenseColumn(DType dtype, const PartialShape& shape, size_t number);

struct FeatureTexts {
  std::span<const std::string> texts;
  const FeatureKeys& keys;
  const ParseWords& words;
  int first_default = 0;  // the input with the default of the first dense column
  bool is_single = false;
};
Status ParseFeatures(Context& ctx, const ParsedColumns& columns, const FeatureTexts& from);

// How many examples a shard gets, from sizes alone.
int64_t ExamplesOfAShard(std::span<const std::string> texts);
// Row splits of counts[0 .. n), as int32 or int64.
Status WriteSplits(std::span<const int64_t> starts, Tensor* splits);

}  // namespace thalweg
