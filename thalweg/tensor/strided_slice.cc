// SPDX-License-Identifier: Apache-2.0
#include "thalweg/tensor/strided_slice.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace thalweg {
namespace {

bool Bit(int64_t mask, int i) { return i < 63 && ((mask >> i) & 1) != 0; }

// One entry, spread over the dimensions it stands for.
struct Entry {
  int index = 0;  // in begin, end, strides; -1: the whole dimension
  bool new_axis = false;
};

// Which entry each dimension of the input and each new axis comes from, in order.
Result<std::vector<Entry>> SpreadEntries(int rank, int entries, const StridedSliceMasks& masks) {
  if (std::popcount(static_cast<uint32_t>(masks.ellipsis)) > 1) {  // also behind the last entry
    return InvalidArgument("Multiple ellipses in slice spec not allowed: ellipsis_mask is ",
                           masks.ellipsis);
  }
  int ellipsis = entries;  // behind the last entry when there is none
  int taken = 0;           // dimensions that entries other than the ellipsis take
  for (int i = 0; i < entries; ++i) {
    if (Bit(masks.ellipsis, i)) {
      ellipsis = i;
    } else if (!Bit(masks.new_axis, i)) {
      ++taken;
    }
  }
  if (taken > rank) {
    return InvalidArgument("Index out of range using input dim ", rank, "; input has only ", rank,
                           " dims, the slice takes ", taken);
  }
  std::vector<Entry> spread;
  for (int i = 0; i <= entries; ++i) {
    if (i == ellipsis) {
      for (int k = taken; k < rank; ++k) spread.push_back({.index = -1});
    } else if (i < entries) {
      spread.push_back({.index = i, .new_axis = Bit(masks.new_axis, i)});
    }
  }
  return spread;
}

// Elements in steps of `stride` from begin to before end.
int64_t CountSteps(int64_t begin, int64_t end, int64_t stride) {
  const int64_t length = end - begin;
  if (length == 0 || (length < 0) != (stride < 0)) return 0;
  return length / stride + (length % stride != 0 ? 1 : 0);
}

// A position of a slice, moved into the dimension: from the end when negative, cut off outside.
int64_t Clamp(int64_t position, int64_t dim, int64_t stride) {
  if (position < 0) position += dim;
  return stride > 0 ? std::clamp<int64_t>(position, 0, dim)
                    : std::clamp<int64_t>(position, -1, dim - 1);
}

class Maker {
 public:
  Maker(const PartialShape& input, const Dims* begin, const Dims* end, const Dims& strides,
        const StridedSliceMasks& masks)
      : input_(input), begin_(begin), end_(end), strides_(strides), masks_(masks) {}

  Result<StridedSlice> Make() {
    ASSIGN_OR_RETURN(const std::vector<Entry> spread,
                     SpreadEntries(input_.rank(), strides_.size(), masks_));
    Dims shape;
    int dim = 0;
    for (const Entry& entry : spread) {
      if (entry.new_axis) {
        shape.push_back(1);
      } else if (entry.index < 0) {
        AddDimension(0, 1, input_.dim(dim));
        shape.push_back(input_.dim(dim++));
      } else {
        RETURN_IF_ERROR(AddSliced(dim, entry.index));
        if (!Bit(masks_.shrink_axis, entry.index)) shape.push_back(slice_.sizes[dim]);
        ++dim;
      }
    }
    ASSIGN_OR_RETURN(slice_.shape, PartialShape::Make(shape));
    return std::move(slice_);
  }

 private:
  void AddDimension(int64_t begin, int64_t stride, int64_t size) {
    slice_.begin.push_back(begin);
    slice_.strides.push_back(stride);
    slice_.sizes.push_back(size);
  }

  Status AddIndex(int dim, int i) {
    const int64_t size = input_.dim(dim);
    if (strides_[i] <= 0) return InvalidArgument("only stride 1 allowed on non-range indexing.");
    int64_t at = -1;
    if (begin_ != nullptr && size >= 0) {
      at = (*begin_)[i] < 0 ? (*begin_)[i] + size : (*begin_)[i];
      if (at < 0 || at >= size) {
        return InvalidArgument("slice index ", (*begin_)[i], " of dimension ", dim,
                               " out of bounds: the dimension has ", size, " elements");
      }
    }
    AddDimension(at, 1, 1);
    return OkStatus();
  }

  Status AddSliced(int dim, int i) {
    const int64_t size = input_.dim(dim);
    const int64_t stride = strides_[i];
    if (stride == 0) return InvalidArgument("strides[", i, "] must be non-zero");
    if (Bit(masks_.shrink_axis, i)) return AddIndex(dim, i);
    const bool whole_begin = Bit(masks_.begin, i);
    const bool whole_end = Bit(masks_.end, i);
    if (size < 0 || (!whole_begin && begin_ == nullptr) || (!whole_end && end_ == nullptr)) {
      AddDimension(-1, stride, PartialShape::kUnknownDim);
      return OkStatus();
    }
    const int64_t first = stride > 0 ? 0 : size - 1;
    const int64_t behind = stride > 0 ? size : -1;
    const int64_t begin = whole_begin ? first : Clamp((*begin_)[i], size, stride);
    const int64_t end = whole_end ? behind : Clamp((*end_)[i], size, stride);
    AddDimension(begin, stride, CountSteps(begin, end, stride));
    return OkStatus();
  }

  const PartialShape& input_;
  const Dims* begin_;
  const Dims* end_;
  const Dims& strides_;
  const StridedSliceMasks& masks_;
  StridedSlice slice_;
};

}  // namespace

Status CheckSliceArguments(const PartialShape& begin, const PartialShape& end,
                           const PartialShape& strides) {
  int64_t length = PartialShape::kUnknownDim;
  for (const PartialShape* shape : {&begin, &end, &strides}) {
    if (!shape->known_rank()) continue;
    if (shape->rank() != 1 || (length >= 0 && shape->dim(0) >= 0 && shape->dim(0) != length)) {
      return InvalidArgument("Expected begin, end, and strides to be 1D equal size tensors, but ",
                             "got shapes ", begin, ", ", end, ", and ", strides, " instead.");
    }
    length = std::max(length, shape->dim(0));
  }
  return OkStatus();
}

Result<StridedSlice> MakeStridedSlice(const PartialShape& input, const Dims* begin, const Dims* end,
                                      const Dims& strides, const StridedSliceMasks& masks) {
  const auto differs = [&](const Dims* dims) {
    return dims != nullptr && dims->size() != strides.size();
  };
  if (differs(begin) || differs(end)) {
    const auto length = [](const Dims* dims) {
      return PartialShape{dims == nullptr ? PartialShape::kUnknownDim : dims->size()};
    };
    return CheckSliceArguments(length(begin), length(end), length(&strides));
  }
  if (!input.known_rank()) return StridedSlice();
  return Maker(input, begin, end, strides, masks).Make();
}

}  // namespace thalweg
