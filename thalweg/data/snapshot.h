// SPDX-License-Identifier: Apache-2.0
// SnapshotDataset: elements that the first whole pass writes into files, and later ones read from
// them, also in other processes.
//
//   DatasetPtr kept = SnapshotDataset(input, "/data/decoded", {.reader = reader});
//
// The files are those of saved_dataset.h, in a folder below the path that is named by what the
// input is made of: another pipeline with the same path has files of its own. Each pass finds out
// for itself, when it begins, whether they are there. A pass that is restored goes on as it was:
// one that wrote gives the rest without writing it.
// Ownership: a dataset shares its input and functions; a pass owns what it writes until it is
// whole.
// Threads: datasets from any, stages as stage.h says; several processes may pass at once.
// Errors: as of saved datasets.
#pragma once

#include <string>

#include "thalweg/data/saved_dataset.h"

namespace thalweg {

struct SnapshotOptions {
  Compression compression = Compression::kNone;
  ElementFunctionPtr shard{};  // the number of an element's shard; null: all are in one
  // Makes one dataset of a dataset of those of the shards; null: there is one shard.
  ElementFunctionPtr reader{};
  std::string folder{};  // below the path; "": named by what the input is made of
};

DatasetPtr SnapshotDataset(DatasetPtr input, const std::string& path, SnapshotOptions options);

}  // namespace thalweg
