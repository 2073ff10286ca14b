// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set level.
#include "thalweg/compute/reduce/row.inc"

namespace thalweg::compute {
namespace {

// Signed sums and products are made unsigned: they wrap.
template <class T, class U, U (*F)(const U*, int64_t)>
T AsUnsigned(const T* x, int64_t n) {
  return static_cast<T>(F(reinterpret_cast<const U*>(x), n));
}

template <class T>
constexpr ReduceKernels<T> MakeReal() {
  return {ReduceRow<T, SumRule>, ReduceRow<T, SumSquaresRule>, ReduceRow<T, ProductRule>,
          ReduceRowFromFirst<T, MaximumRule>, ReduceRowFromFirst<T, MinimumRule>};
}
template <class T, class U>
constexpr ReduceKernels<T> MakeSigned() {
  return {AsUnsigned<T, U, ReduceRow<U, SumRule>>, AsUnsigned<T, U, ReduceRow<U, SumSquaresRule>>,
          AsUnsigned<T, U, ReduceRow<U, ProductRule>>, ReduceRowFromFirst<T, MaximumRule>,
          ReduceRowFromFirst<T, MinimumRule>};
}

}  // namespace

namespace THALWEG_LEVEL {
constinit const ReduceKernels<float> kReduceFloat = MakeReal<float>();
constinit const ReduceKernels<double> kReduceDouble = MakeReal<double>();
constinit const ReduceKernels<int32_t> kReduceInt32 = MakeSigned<int32_t, uint32_t>();
constinit const ReduceKernels<int64_t> kReduceInt64 = MakeSigned<int64_t, uint64_t>();
constinit const ReduceKernels<uint32_t> kReduceUint32 = MakeReal<uint32_t>();
constinit const ReduceKernels<uint64_t> kReduceUint64 = MakeReal<uint64_t>();
}  // namespace THALWEG_LEVEL

}  // namespace thalweg::compute
