// SPDX-License-Identifier: Apache-2.0
// WideInteger<T>: the type whose sorts also order elements of T: int64 for integers of all types
// but uint64, else T itself. A sort of each type would be a dozen.
//
//   static_assert(sizeof(WideInteger<int8_t>) == 8);  // sorted as int64
//
// Threads: any; a type only.
#pragma once

#include <cstdint>
#include <type_traits>

namespace thalweg {

template <class T>
using WideInteger =
    std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, uint64_t>, int64_t, T>;

}  // namespace thalweg
