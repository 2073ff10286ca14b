// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "thalweg/compute/ew/ew.h"
#include "thalweg/compute/ew/storage.h"

namespace thalweg::compute {
namespace {

struct Bytes16 {
  uint64_t part[2];
};

// One row; steps are 0 or 1.
template <class T>
void SelectRow(int64_t n, const bool* c, int64_t c_step, const T* a, int64_t a_step, const T* b,
               int64_t b_step, T* out) {
  if (c_step == 0) {
    const T* from = *c ? a : b;
    const int64_t step = *c ? a_step : b_step;
    for (int64_t i = 0; i < n; ++i) out[i] = from[i * step];
  } else if (a_step == 1 && b_step == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = c[i] ? a[i] : b[i];
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = c[i] ? a[i * a_step] : b[i * b_step];
  }
}

template <class T>
Status SelectAll(Work& work, const Broadcast& broadcast, const bool* c, const void* a,
                 const void* b, void* out) {
  const int64_t inner = broadcast.inner();
  const int last = broadcast.rank() - 1;
  const int64_t c_step = broadcast.stride(0, last), a_step = broadcast.stride(1, last),
                b_step = broadcast.stride(2, last);
  const T* x = static_cast<const T*>(a);
  const T* y = static_cast<const T*>(b);
  T* o = static_cast<T*>(out);
  constexpr int64_t kGrain = 65536;
  if (broadcast.rank() == 1) {
    return ForBlocks(work, inner, kGrain, [&](int64_t i, int64_t end) {
      SelectRow(end - i, c + i * c_step, c_step, x + i * a_step, a_step, y + i * b_step, b_step,
                o + i);
    });
  }
  return ForBlocks(work, broadcast.rows(), std::max<int64_t>(1, kGrain / inner),
                   [&](int64_t begin, int64_t end) {
                     RowCursor cursor(broadcast, begin);
                     for (int64_t row = begin; row < end; ++row, cursor.Next()) {
                       SelectRow(inner, c + cursor.offset(0), c_step, x + cursor.offset(1), a_step,
                                 y + cursor.offset(2), b_step, o + row * inner);
                     }
                   });
}

template <class T>
void SelectRowOf(int64_t n, const bool* c, int64_t c_step, const void* a, int64_t a_step,
                 const void* b, int64_t b_step, void* out) {
  SelectRow(n, c, c_step, static_cast<const T*>(a), a_step, static_cast<const T*>(b), b_step,
            static_cast<T*>(out));
}

}  // namespace

void SelectTile(int64_t element_size, int64_t n, const void* c, int64_t c_step, const void* a,
                int64_t a_step, const void* b, int64_t b_step, void* out) {
  const auto row = element_size == 1   ? SelectRowOf<uint8_t>
                   : element_size == 2 ? SelectRowOf<uint16_t>
                   : element_size == 4 ? SelectRowOf<uint32_t>
                   : element_size == 8 ? SelectRowOf<uint64_t>
                                       : SelectRowOf<Bytes16>;
  row(n, static_cast<const bool*>(c), c_step, a, a_step, b, b_step, out);
}

Status RunSelect(Work& work, size_t element_size, const Broadcast& broadcast, const bool* condition,
                 const void* a, const void* b, void* out) {
  if (broadcast.elements() == 0) return OkStatus();
  switch (element_size) {
    case 1:
      return SelectAll<uint8_t>(work, broadcast, condition, a, b, out);
    case 2:
      return SelectAll<uint16_t>(work, broadcast, condition, a, b, out);
    case 4:
      return SelectAll<uint32_t>(work, broadcast, condition, a, b, out);
    case 8:
      return SelectAll<uint64_t>(work, broadcast, condition, a, b, out);
    case 16:
      return SelectAll<Bytes16>(work, broadcast, condition, a, b, out);
    default:
      return Unimplemented("select of elements of ", element_size, " bytes");
  }
}

}  // namespace thalweg::compute
