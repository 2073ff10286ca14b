// SPDX-License-Identifier: Apache-2.0
// The elements of a tensor as text for people, in the two forms of TensorFlow's printing.
//   std::string text = "values: ";
//   Status status = SummarizeFirst(tensor, 3, text, may_grow);  // "1 2 3..."
//   status = SummarizeEnds(tensor, 3, text, may_grow);          // "[1 2 3 ... 8 9 10]", in rows
// The first elements, without the outer brackets; or both ends of every dimension. A negative limit
// means everything. Numbers have as many digits as they need to be read back.
// Ownership: appends to the caller's text.
// Threads: any; no state.
// Errors: what `may_grow` gives, which is asked now and then whether the text may have so many
// bytes; the text is cut then.
#pragma once

#include <functional>
#include <string>

#include "thalweg/base/status.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg::compute {

using MayGrowFn = std::function<Status(size_t bytes)>;

Status SummarizeFirst(const Tensor& tensor, int64_t limit, std::string& out,
                      const MayGrowFn& may_grow);
Status SummarizeEnds(const Tensor& tensor, int64_t limit, std::string& out,
                     const MayGrowFn& may_grow);

}  // namespace thalweg::compute
