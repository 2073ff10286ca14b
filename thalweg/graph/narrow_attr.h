// SPDX-License-Identifier: Apache-2.0
// Integer attributes that TensorFlow's kernels hold in 32 bits: schemas say int for all, but a
// number that does not fit is refused there, and so here.
//
//   ASSIGN_OR_RETURN(const int64_t width, Int32Attr(c, "beam_width"));
//
// Source: something with Attr<T>(name): a ShapeContext, a KernelConstruction, a Node.
// Ownership: values.
// Threads: any; no state.
// Errors: InvalidArgument with the name and the number.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "thalweg/base/status.h"

namespace thalweg {

inline Status CheckInt32(int64_t value, std::string_view name) {
  if (value >= std::numeric_limits<int32_t>::min() &&
      value <= std::numeric_limits<int32_t>::max()) {
    return OkStatus();
  }
  return InvalidArgument("Attr ", name, " has value ", value, " out of range for an int32");
}

inline Status CheckInt32(const std::vector<int64_t>& values, std::string_view name) {
  for (int64_t value : values) RETURN_IF_ERROR(CheckInt32(value, name));
  return OkStatus();
}

template <class Source>
Result<int64_t> Int32Attr(const Source& source, std::string_view name) {
  ASSIGN_OR_RETURN(const int64_t value, source.template Attr<int64_t>(name));
  RETURN_IF_ERROR(CheckInt32(value, name));
  return value;
}

}  // namespace thalweg
