// SPDX-License-Identifier: Apache-2.0
// What loops over typed elements share: the type that elements are computed in (16-bit floats are
// stored, floats are computed), and the switch from a DType to a C++ type.
//   Value<T> sum = 0;
//   for (T x : xs) sum += ValueOf(x);
//   RETURN_IF_ERROR(
//       WithType<FloatTypes>(dtype, "a dot product", [&]<class T>() { ...; return OkStatus(); }));
//
// Ownership: values.
// Threads: any; no state.
// Errors: WithType: Unimplemented with `what` and the type, where the list lacks it; those of `f`.
#pragma once

#include <type_traits>

#include "thalweg/base/status.h"
#include "thalweg/tensor/dtype.h"

namespace thalweg::compute {

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>;

template <class T>
using Value = std::conditional_t<kIsHalf<T>, float, T>;

template <class T>
constexpr Value<T> ValueOf(T element) {
  return static_cast<Value<T>>(element);
}

// Rounded to T by way of Value<T>.
template <class T, class Number>
constexpr T ElementOf(Number number) {
  return T(static_cast<Value<T>>(number));
}

// f.template operator()<T>(), which returns a Status, for the T of `List` that is `dtype`;
// Unimplemented, with the name of what was wanted, when it is none of them.
template <class List, class F>
Status WithType(DType dtype, const char* what, F&& f) {
  bool found = false;
  Status status;
  ForEachType<List>([&]<class T>() {
    if (kDTypeOf<T> != dtype) return;
    found = true;
    status = f.template operator()<T>();
  });
  return found ? status : Unimplemented(what, " of elements of type ", dtype);
}

}  // namespace thalweg::compute
