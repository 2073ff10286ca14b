// SPDX-License-Identifier: Apache-2.0
// Softmax and cross entropy over the rows of a [rows, classes] matrix, each row while it is in
// cache.
//
//   RETURN_IF_ERROR(Softmax(work, dtype, rows, classes, logits, out));            // also in place
//   RETURN_IF_ERROR(SparseCrossEntropy(work, dtype, rows, classes, logits, DType::kInt32, labels,
//                                      loss, grad));
//
// Types: float, double; half and bfloat16 through float. The largest logit of a row is subtracted
// first, so that no exponential overflows. A row without classes has loss 0.
// Ownership: operands are the caller's; nothing is kept.
// Threads: any, each with its own Work.
// Errors: Unimplemented for another type, InvalidArgument for a label out of range; those of
// work.h.
#pragma once

#include "thalweg/compute/work.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

Status Softmax(Work& work, DType dtype, int64_t rows, int64_t classes, const void* logits,
               void* out);
Status LogSoftmax(Work& work, DType dtype, int64_t rows, int64_t classes, const void* logits,
                  void* out);

// Element (i, j) of an operand lies at i * row_stride + j * column_stride; 0 repeats, else
// column_stride is 1.
struct CrossEntropyStrides {
  int64_t logits_row, logits_column;
  int64_t labels_row, labels_column;
};
// loss[i] = sum of -labels * log_softmax; grad = softmax - labels, its gradient by the logits.
Status CrossEntropy(Work& work, DType dtype, int64_t rows, int64_t classes,
                    const CrossEntropyStrides& strides, const void* logits, const void* labels,
                    void* loss, void* grad);
// The same with one class index per row, int32 or int64. InvalidArgument when one is outside [0,
// classes).
Status SparseCrossEntropy(Work& work, DType dtype, int64_t rows, int64_t classes,
                          const void* logits, DType labels_type, const void* labels, void* loss,
                          void* grad);

}  // namespace thalweg::compute
