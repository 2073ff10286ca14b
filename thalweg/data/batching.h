// SPDX-License-Identifier: Apache-2.0
// Several elements as one, and one component more.
//
//   ASSIGN_OR_RETURN(DatasetPtr batches, BatchDataset(input, 32, {.drop_remainder = true}, spec));
//
// Ownership: a dataset shares its input, padding values and kept elements; batches are the
// caller's.
// Threads: datasets from any, stages as stage.h says.
// Errors: InvalidArgument for sizes that are none and for elements whose shapes differ or do not
// fit; DataLoss for what does not fit a sparse row.
#pragma once

#include "thalweg/data/dataset.h"
#include "thalweg/data/kept_elements.h"

namespace thalweg {

struct BatchOptions {
  bool drop_remainder = false;
};

Result<DatasetPtr> BatchDataset(DatasetPtr input, int64_t size, const BatchOptions& options,
                                ElementSpec spec);
// Components are padded to `shapes`, whose unknown dimensions are those of the batch's largest
// element, with the scalars in `values`.
Result<DatasetPtr> PaddedBatchDataset(DatasetPtr input, int64_t size, const BatchOptions& options,
                                      std::vector<PartialShape> shapes, Element values,
                                      ElementSpec spec);
// Elements of one component, as a sparse tensor of three variants; a row of it is `row`, whose
// unknown dimensions are those of the batch's largest element. DataLoss for larger elements.
Result<DatasetPtr> SparseBatchDataset(DatasetPtr input, int64_t size, PartialShape row,
                                      ElementSpec spec);
// Datasets of `size` elements each, of which one begins every `shift` elements; within one every
// `stride`th element counts. Components of the elements are datasets.
Result<DatasetPtr> WindowDataset(DatasetPtr input, int64_t size, int64_t shift, int64_t stride,
                                 bool drop_remainder, ElementSpec spec);

// The rows of the batches that `input` gives as batches of other sizes, each in its turn.
Result<DatasetPtr> RebatchDataset(DatasetPtr input, std::vector<int64_t> sizes,
                                  const BatchOptions& options, ElementSpec spec);

// A dataset of elements that are there.
DatasetPtr ListDataset(KeptElementsPtr elements, ElementSpec spec);
// The same in a variant; the elements may hold datasets.
Result<Tensor> TensorOfList(KeptElementsPtr elements, ElementSpec spec);

}  // namespace thalweg
