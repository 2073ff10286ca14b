// SPDX-License-Identifier: Apache-2.0
// WithElement: calls f.template operator()<E>() with a type E that moves one element of `dtype`
// when it is assigned: an integer of the element's size for plain types (so that float and int32
// share code), the object itself for string, resource and variant. f returns a Status.
//   RETURN_IF_ERROR(WithElement(dtype, [&]<class E>() { ...; return OkStatus(); }));
//
// Ownership: none; `f` moves what is the caller's.
// Threads: any; no state.
// Errors: InvalidArgument for a type without elements; those of `f`.
#pragma once

#include <cstdint>
#include <string>

#include "thalweg/base/status.h"
#include "thalweg/tensor/dtype.h"
#include "thalweg/tensor/resource.h"
#include "thalweg/tensor/variant.h"

namespace thalweg::compute {

struct Bytes16 {
  uint64_t low;
  uint64_t high;
};

template <class F>
Status WithElement(DType dtype, F&& f) {
  switch (DTypeSize(dtype)) {
    case 1:
      return f.template operator()<uint8_t>();
    case 2:
      return f.template operator()<uint16_t>();
    case 4:
      return f.template operator()<uint32_t>();
    case 8:
      return f.template operator()<uint64_t>();
    case 16:
      return f.template operator()<Bytes16>();
    default:
      break;
  }
  switch (dtype) {
    case DType::kString:
      return f.template operator()<std::string>();
    case DType::kResource:
      return f.template operator()<ResourceHandle>();
    case DType::kVariant:
      return f.template operator()<Variant>();
    default:
      return InvalidArgument("elements of type ", dtype, " cannot be moved");
  }
}

}  // namespace thalweg::compute
