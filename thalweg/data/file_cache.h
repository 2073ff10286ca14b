// SPDX-License-Identifier: Apache-2.0
// Elements that are made once and kept in files, also for other processes: a checkpoint of
// TensorFlow's form, PREFIX.index and PREFIX.data-00000-of-00001, whose tensors are named by number
// and component.
//
//   DatasetPtr cached = FileCacheDataset(input, "/scratch/images");
//
// The first pass that comes to its end writes them; one that does not leaves nothing. Who passes
// while another writes is AlreadyExists by PREFIX_0.lockfile.
// Ownership: a dataset shares its input; a pass owns the file that it writes until it is whole.
// Threads: datasets from any, stages as stage.h says; of several processes one writes.
// Errors: DataLoss that names the file of a cache that is damaged, or one of other elements.
#pragma once

#include <string>

#include "thalweg/data/dataset.h"

namespace thalweg {

DatasetPtr FileCacheDataset(DatasetPtr input, std::string prefix);

}  // namespace thalweg
