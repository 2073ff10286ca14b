// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/move/roll.h"

#include <algorithm>

#include "thalweg/compute/move/element.h"

namespace thalweg::compute {
namespace {

constexpr int64_t kGrain = 32 * 1024;

}  // namespace

// A row is the last dimension that moves with all behind it; it is copied in two pieces.
Status RollElements(Work& work, DType dtype, std::span<const int64_t> dims,
                    std::span<const int64_t> shifts, const void* in, void* out) {
  int last = static_cast<int>(dims.size()) - 1;
  int64_t inner = 1;
  while (last > 0 && shifts[last] == 0) inner *= dims[last--];
  int64_t rows = 1;
  for (int d = 0; d < last; ++d) rows *= dims[d];
  const int64_t size = last < 0 ? 1 : dims[last] * inner;
  const int64_t moved = last < 0 ? 0 : shifts[last] * inner;
  if (rows == 0 || size == 0) return OkStatus();
  return WithElement(dtype, [&]<class E>() {
    const E* const from = static_cast<const E*>(in);
    E* const to = static_cast<E*>(out);
    const int64_t grain = std::max<int64_t>(1, kGrain / size);
    return ForBlocks(work, rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        int64_t rest = row;
        int64_t target = 0;
        int64_t stride = 1;
        for (int d = last - 1; d >= 0; --d) {
          const int64_t at = rest % dims[d] + shifts[d];
          target += (at < dims[d] ? at : at - dims[d]) * stride;
          rest /= dims[d];
          stride *= dims[d];
        }
        const E* const source = from + row * size;
        std::copy_n(source, size - moved, to + target * size + moved);
        std::copy_n(source + size - moved, moved, to + target * size);
      }
    });
  });
}

}  // namespace thalweg::compute
