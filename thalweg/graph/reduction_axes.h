// SPDX-License-Identifier: Apache-2.0
// ReductionAxes: the dimensions that a reduction's axes name, each once, from the front.
//
//   ASSIGN_OR_RETURN(const Dims axes, ReductionAxes(ctx.input(1), rank, may_repeat));
//
// Ownership: values; keeps nothing of the tensor.
// Threads: any; no state.
// Errors: InvalidArgument for an axis out of range, and for one that is named twice in a graph of a
// producer that refuses it: releases before take it once.
#pragma once

#include <algorithm>

#include "thalweg/graph/graph.h"
#include "thalweg/tensor/axis.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {

// Whether the graph is of a release that takes an axis given twice as one.
inline bool TakesAxesTwice(const Graph& graph) {
  constexpr int kFirstProducerThatRefuses = 561;  // of release 2.4
  return graph.versions().producer < kFirstProducerThatRefuses;
}

inline Result<Dims> ReductionAxes(const Tensor& axes, int rank, bool may_repeat) {
  Dims found;
  for (int64_t i = 0; i < axes.num_elements(); ++i) {
    const std::optional<int> axis = AxisFromFront(IntAt(axes, i), rank);
    if (!axis.has_value()) {
      return InvalidArgument("Invalid reduction dimension (", IntAt(axes, i), " for input with ",
                             rank, " dimension(s)");
    }
    if (std::find(found.begin(), found.end(), *axis) == found.end()) {
      found.push_back(*axis);
    } else if (!may_repeat) {
      return InvalidArgument("Invalid reduction arguments: Axes contains duplicate dimension: ",
                             *axis);
    }
  }
  return found;
}

}  // namespace thalweg
