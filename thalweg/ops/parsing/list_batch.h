// SPDX-License-Identifier: Apache-2.0
// ParseLists: the feature lists of SequenceExamples as tensors: dense ones padded to the longest
// list of the batch, with their lengths; sparse ones; ragged ones with two levels of row splits.
// Lists are counted first, and read when the outputs have been made in their exact sizes.
//
//   RETURN_IF_ERROR(ParseLists(ctx, columns_, {texts, keys, words, absent, first_output, single}));
//
// Outputs from first_output on: indices, values, shapes of the sparse ones, dense values and (of a
// batch, or where has_lengths says so) lengths, values, outer and inner splits of the ragged ones.
// Ownership: points at texts, keys and words during the call; the outputs are the context's.
// Threads: as feature_batch.h.
// Errors: as feature_batch.h.
#pragma once

#include <vector>

#include "thalweg/ops/parsing/feature_batch.h"

namespace thalweg {

struct ListColumns {
  ParsedColumns features;  // dense ones have rows of known shape
  bool has_lengths = true;

  static Result<ListColumns> Of(const KernelConstruction& c);
};

struct ListTexts {
  std::span<const std::string> texts;
  const FeatureKeys& keys;
  const ParseWords& words;
  const std::vector<bool>& may_be_absent;  // of each dense one: taken as empty
  int first_output = 0;
  bool is_single = false;
};
Status ParseLists(Context& ctx, const ListColumns& columns, const ListTexts& from);

}  // namespace thalweg
