// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/ew/storage.h"

#include <cstring>

namespace thalweg::compute {
namespace {

template <class T>
void WidenInt(const HalfKernels&, void* out, const void* in, int64_t n) {
  for (int64_t i = 0; i < n; ++i) static_cast<int32_t*>(out)[i] = static_cast<const T*>(in)[i];
}
template <class T>
void NarrowInt(const HalfKernels&, void* out, const void* in, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    static_cast<T*>(out)[i] = static_cast<T>(static_cast<const int32_t*>(in)[i]);
}
void WidenHalf(const HalfKernels& half, void* out, const void* in, int64_t n) {
  half.half_to_float(static_cast<float*>(out), static_cast<const uint16_t*>(in), n);
}
void NarrowHalf(const HalfKernels& half, void* out, const void* in, int64_t n) {
  half.float_to_half(static_cast<uint16_t*>(out), static_cast<const float*>(in), n);
}
void WidenBfloat16(const HalfKernels& half, void* out, const void* in, int64_t n) {
  half.bfloat16_to_float(static_cast<float*>(out), static_cast<const uint16_t*>(in), n);
}
void NarrowBfloat16(const HalfKernels& half, void* out, const void* in, int64_t n) {
  half.float_to_bfloat16(static_cast<uint16_t*>(out), static_cast<const float*>(in), n);
}

template <class T>
void FillElements(const void* value, int64_t n, void* out) {
  T v;
  std::memcpy(&v, value, sizeof v);
  for (int64_t i = 0; i < n; ++i) std::memcpy(static_cast<char*>(out) + i * sizeof v, &v, sizeof v);
}

struct Wide16 {
  uint64_t part[2];
};

}  // namespace

void CopyElements(int size, const void* from, int64_t step, int64_t n, void* out) {
  if (step != 0) {
    std::memcpy(out, from, static_cast<size_t>(n * size));
    return;
  }
  switch (size) {
    case 1:
      return FillElements<uint8_t>(from, n, out);
    case 2:
      return FillElements<uint16_t>(from, n, out);
    case 4:
      return FillElements<uint32_t>(from, n, out);
    case 8:
      return FillElements<uint64_t>(from, n, out);
    default:
      return FillElements<Wide16>(from, n, out);
  }
}

StorageType StorageTypeOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return {true, kEwFloat, 4, 4};
    case DType::kDouble:
      return {true, kEwDouble, 8, 8};
    case DType::kInt32:
      return {true, kEwInt32, 4, 4};
    case DType::kInt64:
      return {true, kEwInt64, 8, 8};
    case DType::kUint32:
      return {true, kEwUint32, 4, 4};
    case DType::kUint64:
      return {true, kEwUint64, 8, 8};
    case DType::kBool:
      return {true, kEwBool, 1, 1};
    case DType::kComplex64:
      return {true, kEwComplex64, 8, 8};
    case DType::kComplex128:
      return {true, kEwComplex128, 16, 16};
    case DType::kInt8:
      return {true, kEwInt32, 1, 4, WidenInt<int8_t>, NarrowInt<int8_t>};
    case DType::kUint8:
      return {true, kEwInt32, 1, 4, WidenInt<uint8_t>, NarrowInt<uint8_t>};
    case DType::kInt16:
      return {true, kEwInt32, 2, 4, WidenInt<int16_t>, NarrowInt<int16_t>};
    case DType::kUint16:
      return {true, kEwInt32, 2, 4, WidenInt<uint16_t>, NarrowInt<uint16_t>};
    case DType::kHalf:
      return {true, kEwFloat, 2, 4, WidenHalf, NarrowHalf};
    case DType::kBfloat16:
      return {true, kEwFloat, 2, 4, WidenBfloat16, NarrowBfloat16};
    default:
      return {};
  }
}

}  // namespace thalweg::compute
