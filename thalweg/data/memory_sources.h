// SPDX-License-Identifier: Apache-2.0
// Datasets whose elements are in memory, or are counted or drawn.
//
//   ASSIGN_OR_RETURN(dataset, SliceDataset({images, labels}, spec));  // a row of each at a time
//
// Ownership: a dataset shares the buffers of its tensors.
// Threads: datasets from any, stages as stage.h says.
// Errors: InvalidArgument for tensors without rows, of several lengths, or no sparse tensor, and
// for a step of 0; Unimplemented for sparse rows that are not in order; those of making a row.
#pragma once

#include "thalweg/data/dataset.h"

namespace thalweg {

// One element.
DatasetPtr OneElementDataset(Element element, ElementSpec spec);
// An element for each row of the tensors, which have as many. InvalidArgument otherwise.
Result<DatasetPtr> SliceDataset(Element tensors, ElementSpec spec);
// The rows of a sparse tensor, as indices, values and shape. InvalidArgument for tensors that are
// none; Unimplemented where its rows do not come in order.
Result<DatasetPtr> SparseRowsDataset(Tensor indices, Tensor values, const Tensor& shape);
// start, start + step ... before stop, as int64 or whatever integer or float `spec` says.
Result<DatasetPtr> RangeDataset(int64_t start, int64_t stop, int64_t step, ElementSpec spec);
// Random int64s without end: TensorFlow's for these seeds.
DatasetPtr RandomDataset(uint64_t seed, uint64_t seed2, ElementSpec spec);

}  // namespace thalweg
