// SPDX-License-Identifier: Apache-2.0
// Datasets saved in files, as `Dataset.save` of TensorFlow 2 leaves them: a folder that holds
// snapshot.metadata and, for each run that has saved, shards of TFRecord files, a record for each
// component of an element.
//
//   DatasetPtr saved = SavedDataset(input, "/data/squares", Compression::kNone);
//   ASSIGN_OR_RETURN(const auto shards, SavedShards("/data/squares", Compression::kNone, spec));
//
// The newest whole run counts: the file that names it comes last. What a pass has written that did
// not come to its end goes with the pass.
// Ownership: a dataset shares its input and functions; a pass owns its files until the run is
// whole.
// Threads: datasets from any, stages as stage.h says; runs of several processes do not meet.
// Errors: those of the file system; DataLoss with file and offset for what is damaged;
// Unimplemented for the form of other versions.
#pragma once

#include <string>
#include <vector>

#include "thalweg/data/element_function.h"
#include "thalweg/data/input_stage.h"
#include "thalweg/io/inflate.h"

namespace thalweg {

// The elements of `input`, which a pass also writes. `shard`: gives the number of an element's
// shard; null: all are in one. A pass that is restored gives the rest without writing it.
DatasetPtr SavedDataset(const DatasetPtr& input, std::string path, Compression compression,
                        ElementFunctionPtr shard = nullptr);

// A dataset for each shard that was saved there.
Result<std::vector<DatasetPtr>> SavedShards(const std::string& path, Compression compression,
                                            const ElementSpec& spec);
// The dataset that `reader` makes of a dataset of those.
Result<DatasetPtr> LoadedDataset(const std::string& path, Compression compression,
                                 const ElementSpec& spec, ElementFunctionPtr reader,
                                 Allocator& allocator);

}  // namespace thalweg
