// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/ew/complex_parts.h"

#include <algorithm>
#include <cmath>
#include <complex>

namespace thalweg::compute {
namespace {

constexpr int64_t kGrain = 16384;  // elements of a shard

template <class T>
void TakePart(ComplexPart part, const std::complex<T>* z, T* out, int64_t n) {
  switch (part) {
    case ComplexPart::kReal:
      for (int64_t i = 0; i < n; ++i) out[i] = z[i].real();
      return;
    case ComplexPart::kImag:
      for (int64_t i = 0; i < n; ++i) out[i] = z[i].imag();
      return;
    case ComplexPart::kAbs:
      for (int64_t i = 0; i < n; ++i) out[i] = std::hypot(z[i].real(), z[i].imag());
      return;
    case ComplexPart::kAngle:
      for (int64_t i = 0; i < n; ++i) out[i] = std::atan2(z[i].imag(), z[i].real());
      return;
  }
}

template <class T>
Status RunPart(Work& work, ComplexPart part, int64_t n, const void* in, void* out) {
  return ForBlocks(work, n, kGrain, [&](int64_t begin, int64_t end) {
    TakePart(part, static_cast<const std::complex<T>*>(in) + begin, static_cast<T*>(out) + begin,
             end - begin);
  });
}

template <class T>
Status RunMake(Work& work, const Broadcast& broadcast, const void* re, const void* im, void* out) {
  const int last = broadcast.rank() - 1;
  const int64_t inner = broadcast.inner();
  const int64_t re_step = broadcast.stride(0, last), im_step = broadcast.stride(1, last);
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, inner));
  return ForBlocks(work, broadcast.rows(), grain, [&](int64_t begin, int64_t end) {
    RowCursor cursor(broadcast, begin);
    for (int64_t row = begin; row < end; ++row, cursor.Next()) {
      const T* a = static_cast<const T*>(re) + cursor.offset(0);
      const T* b = static_cast<const T*>(im) + cursor.offset(1);
      auto* to = static_cast<std::complex<T>*>(out) + row * inner;
      for (int64_t i = 0; i < inner; ++i) to[i] = {a[i * re_step], b[i * im_step]};
    }
  });
}

}  // namespace

Status RunComplexPart(Work& work, ComplexPart part, DType dtype, int64_t n, const void* in,
                      void* out) {
  if (dtype == DType::kComplex64) return RunPart<float>(work, part, n, in, out);
  if (dtype == DType::kComplex128) return RunPart<double>(work, part, n, in, out);
  return Unimplemented("parts of elements of type ", dtype);
}

Status RunMakeComplex(Work& work, DType dtype, const Broadcast& broadcast, const void* re,
                      const void* im, void* out) {
  if (dtype == DType::kFloat) return RunMake<float>(work, broadcast, re, im, out);
  if (dtype == DType::kDouble) return RunMake<double>(work, broadcast, re, im, out);
  return Unimplemented("complex numbers of parts of type ", dtype);
}

}  // namespace thalweg::compute
