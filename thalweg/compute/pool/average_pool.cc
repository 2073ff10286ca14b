// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/isa/leaf.h"
#include "thalweg/compute/pool/windows.h"

namespace thalweg::compute {
namespace {

// The mean of one window, for n channels.
template <class T>
struct MeanOfTaps {
  [[gnu::always_inline]] static void Run(const T* x, const int64_t* taps, int64_t count, int64_t n,
                                         T* y) {
    int64_t c = 0;
    if constexpr (PoolLanes<T>::kAny) {
      for (; c + 4 * PoolLanes<T>::kCount <= n; c += 4 * PoolLanes<T>::kCount) {
        InLanes(x + c, taps, count, y + c);
      }
    }
    for (; c < n; ++c) {
      Value<T> sum = 0;
      for (int64_t t = 0; t < count; ++t) sum += static_cast<Value<T>>(x[taps[t] + c]);
      y[c] = T(sum / static_cast<Value<T>>(count));
    }
  }

  // Sums four vectors of channels.
  [[gnu::always_inline]] static void InLanes(const T* x, const int64_t* taps, int64_t count, T* y) {
    using Lanes = PoolLanes<T>;
    using Values = typename Lanes::Values;
    Values sum[4] = {};
    for (int64_t t = 0; t < count; ++t) {
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        Values v;
        Lanes::Load(x + taps[t] + i * Lanes::kCount, v);
        sum[i] += v;
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      sum[i] /= static_cast<Value<T>>(count);
      Lanes::Store(sum[i], y + i * Lanes::kCount);
    }
  }
};

template <class T>
Status AvgPoolAs(Work& work, const PoolShape& s, const void* in, void* out) {
  return ForRowBlocks(work, s, [&](int64_t image, int64_t begin, int64_t end) {
    Scratch<int64_t> room(work, SaturatedWindow(s));
    if (!room) return false;
    PoolTaps taps(s, s.channels, room.get());
    const T* x = static_cast<const T*>(in) + image * s.InPixels() * s.channels;
    T* y = static_cast<T*>(out) + image * s.OutPixels() * s.channels;
    ForWindowsOfRows(s, begin, end, [&](int64_t p, const PoolView& view) {
      taps.Find(view);
      RunLeaf<MeanOfTaps<T>>(work.isa(), x, taps.offsets(), taps.count(), s.channels,
                             y + p * s.channels);
    });
    return true;
  });
}

// Adds a window's share of its gradient to each of its taps, for n channels.
template <class T>
struct AddShares {
  [[gnu::always_inline]] static void Run(const T* dy, const int64_t* taps, int64_t count, int64_t n,
                                         Value<T>* dx) {
    const auto divisor = static_cast<Value<T>>(count);
    int64_t c = 0;
    if constexpr (PoolLanes<T>::kAny) {
      for (; c + 4 * PoolLanes<T>::kCount <= n; c += 4 * PoolLanes<T>::kCount) {
        InLanes(dy + c, taps, count, dx + c);
      }
    }
    for (; c < n; ++c) {
      const Value<T> share = static_cast<Value<T>>(dy[c]) / divisor;
      for (int64_t t = 0; t < count; ++t) dx[taps[t] + c] += share;
    }
  }

  // For four vectors of channels.
  [[gnu::always_inline]] static void InLanes(const T* dy, const int64_t* taps, int64_t count,
                                             Value<T>* dx) {
    using Lanes = PoolLanes<T>;
    using Sums = PoolLanes<Value<T>>;
    typename Lanes::Values share[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      Lanes::Load(dy + i * Lanes::kCount, share[i]);
      share[i] /= static_cast<Value<T>>(count);
    }
    for (int64_t t = 0; t < count; ++t) {
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        Value<T>* const to = dx + taps[t] + i * Lanes::kCount;
        typename Lanes::Values sum;
        Sums::Load(to, sum);
        sum += share[i];
        Sums::Store(sum, to);
      }
    }
  }
};

// Sums of halves are kept in float until all are in.
template <class T>
Status AvgPoolGradAs(Work& work, const PoolShape& s, const void* out_grad, void* in_grad) {
  constexpr bool kApart = !std::is_same_v<T, Value<T>>;
  const int64_t block = ChannelBlock(s), blocks = (s.channels + block - 1) / block;
  return ForLookingShards(work, s.batch * blocks, [&](int64_t shard) {
    const int64_t image = shard / blocks, channel = shard % blocks * block;
    const int64_t count = std::min(block, s.channels - channel);
    Scratch<int64_t> room(work, SaturatedWindow(s));
    Scratch<Value<T>> sums(work, kApart ? s.InPixels() * count : 0);
    if (!room || !sums) return false;
    const T* dy = static_cast<const T*>(out_grad) + image * s.OutPixels() * s.channels + channel;
    T* dx = static_cast<T*>(in_grad) + image * s.InPixels() * s.channels + channel;
    Value<T>* to = sums.get();
    if constexpr (!kApart) to = dx;
    const int64_t stride = kApart ? count : s.channels;
    PoolTaps taps(s, stride, room.get());
    ZeroAhead<Value<T>> zero(s, stride, count, to);
    ForWindowsOfRows(s, 0, OutRows(s), [&](int64_t p, const PoolView& view) {
      taps.Find(view);
      if (taps.count() == 0) return;
      zero.Reach(view);
      RunLeaf<AddShares<T>>(work.isa(), dy + p * s.channels, taps.offsets(), taps.count(), count,
                            to);
    });
    zero.ReachPixel(s.InPixels());
    if constexpr (kApart) {
      for (int64_t p = 0; p < s.InPixels(); ++p) {
        Interruption::Look();
        for (int64_t c = 0; c < count; ++c) dx[p * s.channels + c] = T(to[p * count + c]);
      }
    }
    return true;
  });
}

}  // namespace

Status AvgPool(Work& work, DType dtype, const PoolShape& shape, const void* in, void* out) {
  return WithType<FloatTypes>(dtype, "average pooling",
                              [&]<class T>() { return AvgPoolAs<T>(work, shape, in, out); });
}

Status AvgPoolGrad(Work& work, DType dtype, const PoolShape& shape, const void* out_grad,
                   void* in_grad) {
  return WithType<FloatTypes>(dtype, "gradient of average pooling", [&]<class T>() {
    return AvgPoolGradAs<T>(work, shape, out_grad, in_grad);
  });
}

}  // namespace thalweg::compute
