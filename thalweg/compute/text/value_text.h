// SPDX-License-Identifier: Apache-2.0
// The elements of a tensor as text for people, in the two forms of TensorFlow's printing.
//   SummarizeFirst(t, 3)  ->  "[1 2 3...]" without the outer brackets: the first elements
//   SummarizeEnds(t, 3)   ->  "[1 2 3 ... 8 9 10]": both ends of every dimension, in rows
// A negative limit means everything. Numbers have as many digits as they need to be read back.
#pragma once

#include <string>

#include "thalweg/tensor/tensor.h"

namespace thalweg::compute {

std::string SummarizeFirst(const Tensor& tensor, int64_t limit);
std::string SummarizeEnds(const Tensor& tensor, int64_t limit);

}  // namespace thalweg::compute
