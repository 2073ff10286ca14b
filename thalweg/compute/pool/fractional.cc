// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/pool/fractional.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "thalweg/compute/arithmetic.h"
#include "thalweg/compute/interruptible.h"

namespace thalweg::compute {
namespace {

// [0, 1) with 52 bits.
double UnitDouble(uint32_t high, uint32_t low) {
  const uint64_t bits = (static_cast<uint64_t>(high & 0xfffff) << 32) | low;
  return static_cast<double>(bits) * 0x1p-52;
}

// Longer runs first, then shuffled.
std::vector<int64_t> ShuffledRuns(Philox& random, int64_t input, int64_t output) {
  const int64_t run = input / output, longer = input % output;
  std::vector<int64_t> runs(static_cast<size_t>(output), run);
  std::fill_n(runs.begin(), longer, run + 1);
  Philox::Block block{};
  for (size_t i = 0; i + 1 < runs.size(); ++i) {
    if (i % 4 == 0) block = random.Next();
    std::swap(runs[i], runs[i + block[i % 4] % (runs.size() - i)]);
  }
  return runs;
}

// The place of cut i is ceil(ratio * (i + u)) - 1, with one u for all.
std::vector<int64_t> PseudoRandomCuts(Philox& random, int64_t input, int64_t output) {
  const double ratio = static_cast<double>(input) / static_cast<double>(output);
  const auto run = static_cast<double>(input / output);
  const double most =
      std::min((run + 2) / ratio - 1,
               (static_cast<double>(input) + 1 - run) / ratio - (static_cast<double>(output) - 1));
  const Philox::Block block = random.Next();
  const double u = UnitDouble(block[0], block[1]) * most;
  std::vector<int64_t> cuts(static_cast<size_t>(output + 1), 0);
  for (int64_t i = 1; i < output; ++i) {
    cuts[static_cast<size_t>(i)] =
        static_cast<int64_t>(std::ceil(ratio * (static_cast<double>(i) + u))) - 1;
  }
  cuts.back() = input;
  return cuts;
}

struct Range {
  int64_t begin, end;
};

Range Run(std::span<const int64_t> cuts, int64_t i, int64_t size, bool overlapping) {
  const auto at = static_cast<size_t>(i);
  const int64_t end = std::min(size, cuts[at + 1]);  // any number may be a cut of a gradient
  return {cuts[at], std::min(size, end + (overlapping ? 1 : 0))};
}

Status CheckRuns(std::span<const int64_t> cuts, int64_t size, bool overlapping, const char* what) {
  for (size_t i = 0; i + 1 < cuts.size(); ++i) {
    const Range run = Run(cuts, static_cast<int64_t>(i), size, overlapping);
    if (run.begin >= 0 && run.begin < run.end) continue;
    return InvalidArgument("the ", what, " pooling sequence must rise from 0 and stay below ", size,
                           ", got ", cuts[i], " and ", cuts[i + 1]);
  }
  return OkStatus();
}

// Calls body(output pixel, rows, columns) for all windows of one image.
template <class Body>
void ForWindows(const FractionalShape& s, const Body& body) {
  for (int64_t r = 0; r < s.OutRows(); ++r) {
    const Range rows = Run(s.row_cuts, r, s.rows, s.overlapping);
    for (int64_t c = 0; c < s.OutColumns(); ++c) {
      body(r * s.OutColumns() + c, rows, Run(s.column_cuts, c, s.columns, s.overlapping));
    }
  }
}

template <class Body>
void ForPixels(const FractionalShape& s, Range rows, Range columns, const Body& body) {
  for (int64_t r = rows.begin; r < rows.end; ++r) {
    Interruption::Look();
    for (int64_t c = columns.begin; c < columns.end; ++c) body(r * s.columns + c);
  }
}

// Integers wrap.
template <class T>
void AddTo(T& to, T value) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    to = static_cast<T>(static_cast<U>(to) + static_cast<U>(value));
  } else {
    to += value;
  }
}

template <class T>
void PoolImage(const FractionalShape& s, bool maximum, const T* x, T* y) {
  const int64_t channels = s.channels;
  ForWindows(s, [&](int64_t out, Range rows, Range columns) {
    T* to = y + out * channels;
    bool first = true;
    ForPixels(s, rows, columns, [&](int64_t pixel) {
      const T* from = x + pixel * channels;
      for (int64_t c = 0; c < channels; ++c) {
        if (first) {
          to[c] = from[c];
        } else if (maximum) {
          to[c] = from[c] > to[c] ? from[c] : to[c];
        } else {
          AddTo(to[c], from[c]);
        }
      }
      first = false;
    });
    const auto count = static_cast<T>((rows.end - rows.begin) * (columns.end - columns.begin));
    for (int64_t c = 0; c < channels && !maximum; ++c) to[c] /= count;
  });
}

template <class T>
void GradImage(const FractionalShape& s, bool maximum, const T* x, const T* dy, T* dx) {
  const int64_t channels = s.channels;
  std::fill_n(dx, s.rows * s.columns * channels, T(0));
  ForWindows(s, [&](int64_t out, Range rows, Range columns) {
    const auto count = static_cast<T>((rows.end - rows.begin) * (columns.end - columns.begin));
    for (int64_t c = 0; c < channels; ++c) {
      const T grad = dy[out * channels + c];
      if (!maximum) {
        ForPixels(s, rows, columns,
                  [&](int64_t pixel) { AddTo(dx[pixel * channels + c], T(grad / count)); });
        continue;
      }
      int64_t best = rows.begin * s.columns + columns.begin;
      ForPixels(s, rows, columns, [&](int64_t pixel) {
        if (x[pixel * channels + c] > x[best * channels + c]) best = pixel;
      });
      AddTo(dx[best * channels + c], grad);
    }
  });
}

using PoolTypes = Types<float, double, int32_t, int64_t>;

}  // namespace

std::vector<int64_t> FractionalCuts(Philox& random, int64_t input, int64_t output,
                                    bool pseudo_random) {
  if (pseudo_random) return PseudoRandomCuts(random, input, output);
  std::vector<int64_t> cuts{0};
  for (int64_t run : ShuffledRuns(random, input, output)) cuts.push_back(cuts.back() + run);
  return cuts;
}

Status CheckCuts(const FractionalShape& s) {
  RETURN_IF_ERROR(CheckRuns(s.row_cuts, s.rows, s.overlapping, "row"));
  return CheckRuns(s.column_cuts, s.columns, s.overlapping, "column");
}

Status FractionalPool(Work& work, DType dtype, bool maximum, const FractionalShape& s,
                      const void* in, void* out) {
  return WithType<PoolTypes>(dtype, "fractional pooling", [&]<class T>() {
    const T* x = static_cast<const T*>(in);
    T* y = static_cast<T*>(out);
    return ForLookingShards(work, s.batch, [&](int64_t image) {
      PoolImage(s, maximum, x + image * s.rows * s.columns * s.channels,
                y + image * s.OutRows() * s.OutColumns() * s.channels);
      return true;
    });
  });
}

Status FractionalPoolGrad(Work& work, DType dtype, bool maximum, const FractionalShape& s,
                          const void* in, const void* out_grad, void* in_grad) {
  return WithType<PoolTypes>(dtype, "fractional pooling", [&]<class T>() {
    const T *x = static_cast<const T*>(in), *dy = static_cast<const T*>(out_grad);
    T* dx = static_cast<T*>(in_grad);
    const int64_t in_size = s.rows * s.columns * s.channels;
    return ForLookingShards(work, s.batch, [&](int64_t image) {
      GradImage(s, maximum, maximum ? x + image * in_size : nullptr,
                dy + image * s.OutRows() * s.OutColumns() * s.channels, dx + image * in_size);
      return true;
    });
  });
}

}  // namespace thalweg::compute
