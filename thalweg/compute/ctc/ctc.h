// SPDX-License-Identifier: Apache-2.0
// Connectionist temporal classification (Graves 2006): the loss of one sequence
// with its gradient, and the search for the labels of one sequence. The last
// class is the blank.
//
//   ASSIGN_OR_RETURN(const double loss, CtcLoss(work, logits, labels, true, gradient));
//
// Computed in double. The loss takes room for steps times labels numbers, the search for the
// sequences that it has looked at: both from the Work.
// Ownership: logits, labels and gradient are the caller's; paths are given away.
// Threads: the caller's alone.
// Errors: Cancelled between steps, ResourceExhausted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "thalweg/compute/work.h"

namespace thalweg::compute {

// Rows of logits, one a time step: row t begins at values + t * stride.
template <class T>
struct CtcLogits {
  const T* values;
  int64_t steps, classes, stride;
  const T* row(int64_t t) const { return values + t * stride; }
};

// -log of the probability of the labels; infinity when there is no path, and
// then the gradient is zero. The gradient for row t goes to gradient + t *
// logits.stride. `merge_repeated`: equal neighbors of a path are one label, so
// that two of them in `labels` need a blank between.
template <class T>
Result<double> CtcLoss(Work& work, const CtcLogits<T>& logits, const std::vector<int32_t>& labels,
                       bool merge_repeated, T* gradient);

struct CtcPath {
  std::vector<int64_t> labels;
  double log_probability;
};
// The best `paths` label sequences that a beam of `width` finds, best first:
// fewer when there are no more.
template <class T>
Result<std::vector<CtcPath>> CtcBeamSearch(Work& work, const CtcLogits<T>& logits, int64_t width,
                                           int64_t paths, bool merge_repeated);

extern template Result<double> CtcLoss(Work&, const CtcLogits<float>&, const std::vector<int32_t>&,
                                       bool, float*);
extern template Result<double> CtcLoss(Work&, const CtcLogits<double>&, const std::vector<int32_t>&,
                                       bool, double*);
extern template Result<std::vector<CtcPath>> CtcBeamSearch(Work&, const CtcLogits<float>&, int64_t,
                                                           int64_t, bool);
extern template Result<std::vector<CtcPath>> CtcBeamSearch(Work&, const CtcLogits<double>&, int64_t,
                                                           int64_t, bool);

}  // namespace thalweg::compute
