// SPDX-License-Identifier: Apache-2.0
// PatchWindow: the attributes of the operations that cut patches out of images and volumes: sizes,
// strides and rates of the window along each spatial dimension.
//
//   ASSIGN_OR_RETURN(const PatchWindow w, PatchWindowOf(node));
//   ASSIGN_OR_RETURN(const PatchPlaces p, w.PlacesAlong(0, height));
//
// Ownership: a value.
// Threads: any; no state.
// Errors: those of the attributes, with TensorFlow's codes. Used by shape function and kernel.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "thalweg/graph/graph.h"
#include "thalweg/graph/narrow_attr.h"
#include "thalweg/tensor/dims.h"

namespace thalweg {

// Where patches begin along one dimension: patch i at i * stride - before.
struct PatchPlaces {
  int64_t count = 0;
  int64_t before = 0;
};

struct PatchWindow {
  Dims sizes;
  Dims strides;
  Dims rates;
  bool same = false;

  int rank() const { return sizes.size(); }
  // InvalidArgument when the window is larger than the dimension by a stride or more.
  Result<PatchPlaces> PlacesAlong(int d, int64_t size) const {
    const int64_t reach = (sizes[d] - 1) * rates[d] + 1;
    if (!same) {
      const int64_t count = (size - reach + strides[d]) / strides[d];
      if (count >= 0) return PatchPlaces{count, 0};
      return InvalidArgument("Computed output size would be negative: ", count,
                             " [input_size: ", size, ", effective_filter_size: ", reach,
                             ", stride: ", strides[d], "]");
    }
    const int64_t count = size == 0 ? 0 : (size - 1) / strides[d] + 1;
    const int64_t missing = count == 0 ? 0 : (count - 1) * strides[d] + reach - size;
    return PatchPlaces{count, missing > 0 ? missing / 2 : 0};
  }
};

// The spatial part of a list with an entry for batch and channels, which must be 1.
inline Result<Dims> SpatialEntries(const Node& node, const char* name) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> list, node.Attr<std::vector<int64_t>>(name));
  RETURN_IF_ERROR(CheckInt32(list, name));
  const size_t n = list.size();
  if (n < 3) return InvalidArgument(name, " must have an entry for each dimension, has ", n);
  if (list[0] != 1 || list[n - 1] != 1) {
    return Unimplemented("Only support ", name, " across space, got ", list[0],
                         " for the batch and ", list[n - 1], " for the channels.");
  }
  Dims entries;
  for (size_t i = 1; i + 1 < n; ++i) {
    if (list[i] < 1 || list[i] > std::numeric_limits<int32_t>::max()) {
      return OutOfRange(name, " is out of range: ", list[i]);
    }
    entries.push_back(list[i]);
  }
  return entries;
}

inline Result<PatchWindow> PatchWindowOf(const Node& node) {
  PatchWindow window;
  ASSIGN_OR_RETURN(window.sizes, SpatialEntries(node, "ksizes"));
  ASSIGN_OR_RETURN(window.strides, SpatialEntries(node, "strides"));
  window.rates.resize(window.sizes.size(), 1);
  if (node.FindAttr("rates") != nullptr) {
    ASSIGN_OR_RETURN(window.rates, SpatialEntries(node, "rates"));
  }
  std::string padding;
  ASSIGN_OR_RETURN(padding, node.Attr<std::string>("padding"));
  window.same = padding == "SAME";
  const int rank = node.op_name() == "ExtractVolumePatches" ? 3 : 2;
  for (const Dims* entries : {&window.sizes, &window.strides, &window.rates}) {
    if (entries->size() == rank) continue;
    return InvalidArgument("ksizes, strides and rates must have ", rank + 2, " entries, got ",
                           entries->size() + 2);
  }
  return window;
}

}  // namespace thalweg
