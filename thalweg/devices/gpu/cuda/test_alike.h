// SPDX-License-Identifier: Apache-2.0
// Whether a function that we declare is called as one of a header, for tests where there is one.
#pragma once

#include <cstddef>
#include <type_traits>

namespace thalweg {

template <class T>
constexpr size_t kKindOfArgument = std::is_pointer_v<T> ? 100 : sizeof(T);

// As many parameters, pointers and numbers of one size.
template <class R1, class... P1, class R2, class... P2>
constexpr bool AreAlike(R1 (*)(P1...), R2 (*)(P2...)) {
  if constexpr (sizeof...(P1) != sizeof...(P2)) return false;
  return sizeof(R1) == sizeof(R2) && ((kKindOfArgument<P1> == kKindOfArgument<P2>)&&...);
}

}  // namespace thalweg
