// SPDX-License-Identifier: Apache-2.0
// The places of maxima, and gradients, which go to them.
#include <atomic>

#include "thalweg/compute/isa/leaf.h"
#include "thalweg/compute/pool/windows.h"

namespace thalweg::compute {
namespace {

Status CheckTaps(const PoolShape& s) {
  if (SaturatedWindow(s) < std::numeric_limits<int32_t>::max()) return OkStatus();
  return Unimplemented("places in a pooling window of ", SaturatedWindow(s), " elements");
}

// The number of the tap that is the first largest of a channel; `count` is 1 at least.
template <class T>
[[gnu::always_inline]] inline int64_t LargestTap(const T* x, const int64_t* taps, int64_t count) {
  auto best = static_cast<Value<T>>(x[taps[0]]);
  int64_t tap = 0;
  for (int64_t t = 1; t < count; ++t) {
    const auto v = static_cast<Value<T>>(x[taps[t]]);
    tap = v > best ? t : tap;
    best = v > best ? v : best;
  }
  return tap;
}

template <class T>
Status MaxPoolPlacesAs(Work& work, const PoolShape& s, bool include_batch, const void* in,
                       void* out, int64_t* places) {
  T* y = static_cast<T*>(out);
  RETURN_IF_ERROR(CheckTaps(s));
  return ForRowBlocks(work, s, [&](int64_t image, int64_t begin, int64_t end) {
    Scratch<int64_t> room(work, SaturatedWindow(s));
    if (!room) return false;
    PoolTaps taps(s, s.channels, room.get());
    const int64_t first = image * s.InPixels() * s.channels;
    const T* x = static_cast<const T*>(in) + first;
    const int64_t base = include_batch ? first : 0;
    ForWindowsOfRows(s, begin, end, [&](int64_t p, const PoolView& view) {
      taps.Find(view);
      const int64_t at = (image * s.OutPixels() + p) * s.channels;
      for (int64_t c = 0; c < s.channels; ++c) {
        const bool sees = taps.count() > 0;
        const int64_t place =
            sees ? taps.offsets()[LargestTap(x + c, taps.offsets(), taps.count())] + c : 0;
        places[at + c] = sees ? base + place : 0;
        if (y != nullptr) y[at + c] = sees ? x[place] : LeastFinite<T>();
      }
    });
    return true;
  });
}

// Adds the gradient of one window to the place of its maximum, for n channels.
template <class T>
struct AddToLargest {
  [[gnu::always_inline]] static void Run(const T* x, const T* dy, const int64_t* taps,
                                         int64_t count, int64_t n, T* dx) {
    int64_t c = 0;
    if constexpr (PoolLanes<T>::kAny) {
      for (; c + 4 * PoolLanes<T>::kCount <= n; c += 4 * PoolLanes<T>::kCount) {
        InLanes<4>(x + c, dy + c, taps, count, dx + c);
      }
      for (; c + PoolLanes<T>::kCount <= n; c += PoolLanes<T>::kCount) {
        InLanes<1>(x + c, dy + c, taps, count, dx + c);
      }
    }
    for (; c < n; ++c) {
      T& to = dx[taps[LargestTap(x + c, taps, count)] + c];
      to = PoolSum(to, dy[c]);
    }
  }

  template <int kVectors>
  [[gnu::always_inline]] static void InLanes(const T* x, const T* dy, const int64_t* taps,
                                             int64_t count, T* dx) {
    using Lanes = PoolLanes<T>;
    using Values = typename Lanes::Values;
    using Numbers = typename Lanes::Numbers;
    constexpr int64_t kCount = Lanes::kCount;
    Values best[kVectors], grad[kVectors], none{};
    Numbers largest[kVectors], number{};
#pragma GCC unroll 4
    for (int i = 0; i < kVectors; ++i) {
      Lanes::Load(x + taps[0] + i * kCount, best[i]);
      Lanes::Load(dy + i * kCount, grad[i]);
      largest[i] = number;
    }
    for (int64_t t = 1; t < count; ++t) {
      number += 1;
#pragma GCC unroll 4
      for (int i = 0; i < kVectors; ++i) {
        Values v;
        Lanes::Load(x + taps[t] + i * kCount, v);
        const Numbers larger = v > best[i];
        best[i] = larger ? v : best[i];
        largest[i] = larger ? number : largest[i];
      }
    }
    number = Numbers{};
    for (int64_t t = 0; t < count; ++t) {
#pragma GCC unroll 4
      for (int i = 0; i < kVectors; ++i) {
        T* const to = dx + taps[t] + i * kCount;
        Values sum;
        Lanes::Load(to, sum);
        sum += largest[i] == number ? grad[i] : none;
        Lanes::Store(sum, to);
      }
      number += 1;
    }
  }
};

// Adds the gradient of one window to every place that has its maximum, for n channels.
template <class T>
struct AddToEquals {
  [[gnu::always_inline]] static void Run(const T* x, const T* dy, const int64_t* taps,
                                         int64_t count, int64_t n, T* dx) {
    constexpr int64_t kChannels = 64;
    Value<T> best[kChannels];
    for (int64_t c = 0; c < n; c += kChannels) {
      const int64_t some = std::min(kChannels, n - c);
      for (int64_t i = 0; i < some; ++i) best[i] = static_cast<Value<T>>(x[taps[0] + c + i]);
      for (int64_t t = 1; t < count; ++t) {
        for (int64_t i = 0; i < some; ++i) {
          const auto v = static_cast<Value<T>>(x[taps[t] + c + i]);
          best[i] = v > best[i] ? v : best[i];
        }
      }
      for (int64_t t = 0; t < count; ++t) {
        for (int64_t i = 0; i < some; ++i) {
          const int64_t at = taps[t] + c + i;
          if (static_cast<Value<T>>(x[at]) == best[i]) dx[at] = PoolSum(dx[at], dy[c + i]);
        }
      }
    }
  }
};

// Images and blocks of channels are independent.
template <class T, class Add>
Status MaxPoolGradAs(Work& work, const PoolShape& s, const void* in, const void* out_grad,
                     void* in_grad) {
  const int64_t size = s.InPixels() * s.channels, block = ChannelBlock(s);
  const int64_t blocks = (s.channels + block - 1) / block;
  RETURN_IF_ERROR(CheckTaps(s));
  return ForLookingShards(work, s.batch * blocks, [&](int64_t shard) {
    Scratch<int64_t> room(work, SaturatedWindow(s));
    if (!room) return false;
    PoolTaps taps(s, s.channels, room.get());
    const int64_t image = shard / blocks, channel = shard % blocks * block;
    const int64_t count = std::min(block, s.channels - channel);
    const T* x = static_cast<const T*>(in) + image * size + channel;
    const T* dy = static_cast<const T*>(out_grad) + image * s.OutPixels() * s.channels + channel;
    T* dx = static_cast<T*>(in_grad) + image * size + channel;
    ZeroAhead<T> zero(s, s.channels, count, dx);
    ForWindowsOfRows(s, 0, OutRows(s), [&](int64_t p, const PoolView& view) {
      taps.Find(view);
      if (taps.count() == 0) return;
      zero.Reach(view);
      RunLeaf<Add>(work.isa(), x, dy + p * s.channels, taps.offsets(), taps.count(), count, dx);
    });
    zero.ReachPixel(s.InPixels());
    return true;
  });
}

template <class T>
Status MaxPoolGradOfPlacesAs(Work& work, const PoolShape& s, bool include_batch,
                             const int64_t* places, const void* out_grad, void* in_grad) {
  const T* dy = static_cast<const T*>(out_grad);
  T* dx = static_cast<T*>(in_grad);
  const int64_t in_size = s.InPixels() * s.channels, out_size = s.OutPixels() * s.channels;
  std::atomic<int64_t> bad{-1};
  RETURN_IF_ERROR(ForLookingShards(work, s.batch, [&](int64_t image) {
    std::fill_n(dx + image * in_size, in_size, T(0));
    const int64_t base = include_batch ? image * in_size : 0;
    for (int64_t i = image * out_size; i < (image + 1) * out_size; ++i) {
      Interruption::Look();
      if (places[i] < base || places[i] - base >= in_size) {
        bad = i;
        return true;
      }
      T& to = dx[image * in_size + places[i] - base];
      to = PoolSum(to, dy[i]);
    }
    return true;
  }));
  if (bad < 0) return OkStatus();
  return InvalidArgument("argmax must lie inside its image of ", in_size, " elements, got ",
                         places[bad]);
}

}  // namespace

Status MaxPoolPlaces(Work& work, DType dtype, const PoolShape& shape, bool include_batch,
                     const void* in, void* out, int64_t* places) {
  return WithType<RealTypes>(dtype, "maximum pooling", [&]<class T>() {
    return MaxPoolPlacesAs<T>(work, shape, include_batch, in, out, places);
  });
}

Status MaxPoolGrad(Work& work, DType dtype, const PoolShape& shape, const void* in,
                   const void* out_grad, void* in_grad) {
  return WithType<RealTypes>(dtype, "gradient of maximum pooling", [&]<class T>() {
    return MaxPoolGradAs<T, AddToLargest<T>>(work, shape, in, out_grad, in_grad);
  });
}

Status MaxPoolGradOfEquals(Work& work, DType dtype, const PoolShape& shape, const void* in,
                           const void* out_grad, void* in_grad) {
  return WithType<Types<float, Half, Bfloat16>>(
      dtype, "gradient of maximum pooling", [&]<class T>() {
        return MaxPoolGradAs<T, AddToEquals<T>>(work, shape, in, out_grad, in_grad);
      });
}

Status MaxPoolGradOfPlaces(Work& work, DType dtype, const PoolShape& shape, bool include_batch,
                           const int64_t* places, const void* out_grad, void* in_grad) {
  return WithType<RealTypes>(dtype, "gradient of maximum pooling", [&]<class T>() {
    return MaxPoolGradOfPlacesAs<T>(work, shape, include_batch, places, out_grad, in_grad);
  });
}

}  // namespace thalweg::compute
