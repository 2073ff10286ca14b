// SPDX-License-Identifier: Apache-2.0
#include "thalweg/files/missing_pieces.h"

#include <utility>

namespace thalweg {
namespace {

constexpr size_t kMostBoxes = 64;  // more than that says nothing to anybody, and takes long

// Adds what of `box` lies outside of `hole`, which lies in it: dimension by dimension what is
// before and behind, for the rest within.
void AddAround(TensorSlice box, const TensorSlice& hole, std::vector<TensorSlice>& boxes) {
  for (size_t i = 0; i < box.extents.size(); ++i) {
    const TensorSlice::Extent whole = box.extents[i], inner = hole.extents[i];
    const int64_t end = whole.start + whole.length, inner_end = inner.start + inner.length;
    if (whole.start < inner.start) {
      box.extents[i] = {whole.start, inner.start - whole.start};
      boxes.push_back(box);
    }
    if (inner_end < end) {
      box.extents[i] = {inner_end, end - inner_end};
      boxes.push_back(box);
    }
    box.extents[i] = inner;
  }
}

}  // namespace

Result<std::vector<TensorSlice>> MissingPieces(const Shape& shape,
                                               const std::vector<TensorSlice>& slices) {
  if (shape.num_elements() == 0) return std::vector<TensorSlice>{};
  TensorSlice whole;
  for (int i = 0; i < shape.rank(); ++i) whole.extents.push_back({0, shape.dim(i)});
  std::vector<TensorSlice> missing = {whole};
  for (const TensorSlice& slice : slices) {
    ASSIGN_OR_RETURN(const TensorSlice held, slice.Resolve(shape));
    std::vector<TensorSlice> left;
    for (const TensorSlice& box : missing) {
      TensorSlice common;
      if (Intersect(box, held, &common)) {
        AddAround(box, common, left);
      } else {
        left.push_back(box);
      }
    }
    if (left.size() > kMostBoxes) return std::vector<TensorSlice>{};
    missing = std::move(left);
  }
  for (TensorSlice& box : missing) {
    for (size_t i = 0; i < box.extents.size(); ++i) {
      if (box.extents[i] == whole.extents[i]) box.extents[i] = {};
    }
  }
  return missing;
}

}  // namespace thalweg
