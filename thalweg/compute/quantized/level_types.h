// SPDX-License-Identifier: Apache-2.0
// The integers that levels are stored as. Private to compute/quantized.
// Ownership: none; types and constants.
// Threads: any; no state.
// Errors: none; another type calls nothing.
#pragma once

#include <cstdint>
#include <type_traits>

#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

// Calls f.operator()<T>() with the integer type of a quantized dtype; nothing for others.
template <class F>
void ForLevelType(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kQint8:
      return f.template operator()<int8_t>();
    case DType::kQuint8:
      return f.template operator()<uint8_t>();
    case DType::kQint16:
      return f.template operator()<int16_t>();
    case DType::kQuint16:
      return f.template operator()<uint16_t>();
    case DType::kQint32:
      return f.template operator()<int32_t>();
    default:
      return;
  }
}

template <class T>
inline constexpr DType kQuantizedOf = std::is_same_v<T, int8_t>     ? DType::kQint8
                                      : std::is_same_v<T, uint8_t>  ? DType::kQuint8
                                      : std::is_same_v<T, int16_t>  ? DType::kQint16
                                      : std::is_same_v<T, uint16_t> ? DType::kQuint16
                                                                    : DType::kQint32;

}  // namespace thalweg::compute
