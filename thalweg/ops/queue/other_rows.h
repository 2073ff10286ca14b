// SPDX-License-Identifier: Apache-2.0
// OtherRows: the shape of a value whose number of rows is not that of the value it is made of.
// Ownership: a value.
// Threads: any; no state.
// Errors: none.
#pragma once

#include "thalweg/tensor/shape.h"

namespace thalweg {

inline PartialShape OtherRows(const PartialShape& shape) {
  if (!shape.known_rank() || shape.rank() == 0) return PartialShape();
  PartialShape rows = shape;
  rows.set_dim(0, -1);
  return rows;
}

}  // namespace thalweg
