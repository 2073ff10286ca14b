// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/norm/batch_norm.h"

#include <algorithm>

namespace thalweg::compute {
namespace {

constexpr int64_t kGrain = 32768;  // elements of a shard

// Calls f.template operator()<T>() for the element type.
template <class F>
Status ForFloat(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kFloat:
      return f.template operator()<float>();
    case DType::kHalf:
      return f.template operator()<Half>();
    case DType::kBfloat16:
      return f.template operator()<Bfloat16>();
    default:
      return Unimplemented("batch normalisation of elements of type ", dtype);
  }
}

template <class T>
float Load(T value) {
  return static_cast<float>(value);
}

// Outer indices of a shard: about kGrain elements, whatever the number of threads.
int64_t OuterGrain(const ChannelShape& s) {
  return std::max<int64_t>(1, kGrain / std::max<int64_t>(1, s.channels * s.inner));
}

// sums[k * channels + c] = sum over the elements of channel c of what element(index, c, out) adds
// to out[k], for k < Count. Blocks are added in order.
template <int Count, class F>
Status SumChannels(Work& work, const ChannelShape& s, double* sums, const F& element) {
  const int64_t grain = OuterGrain(s), blocks = (s.outer + grain - 1) / grain;
  const int64_t width = Count * s.channels;
  Scratch<double> partial(work, blocks * width);
  if (!partial) return OutOfScratch();
  std::fill_n(sums, width, 0.0);
  RETURN_IF_ERROR(ForBlocks(work, s.outer, grain, [&](int64_t o, int64_t end) {
    double* own = partial.get() + o / grain * width;
    std::fill_n(own, width, 0.0);
    for (; o < end; ++o) {
      for (int64_t c = 0; c < s.channels; ++c) {
        const int64_t base = (o * s.channels + c) * s.inner;
        double out[Count] = {};
        for (int64_t i = 0; i < s.inner; ++i) element(base + i, c, out);
        for (int k = 0; k < Count; ++k) own[k * s.channels + c] += out[k];
      }
    }
  }));
  for (int64_t b = 0; b < blocks; ++b) {
    for (int64_t i = 0; i < width; ++i) sums[i] += partial[b * width + i];
  }
  return OkStatus();
}

// f(index, c) for every element.
template <class F>
Status ForElements(Work& work, const ChannelShape& s, const F& f) {
  return ForBlocks(work, s.outer, OuterGrain(s), [&](int64_t o, int64_t end) {
    for (; o < end; ++o) {
      for (int64_t c = 0; c < s.channels; ++c) {
        const int64_t base = (o * s.channels + c) * s.inner;
        for (int64_t i = 0; i < s.inner; ++i) f(base + i, c);
      }
    }
  });
}

}  // namespace

Status ChannelMoments(Work& work, DType dtype, const ChannelShape& s, const void* x, double* mean,
                      double* variance) {
  return ForFloat(dtype, [&]<class T> {
    const T* in = static_cast<const T*>(x);
    const auto n = static_cast<double>(std::max<int64_t>(1, s.per_channel()));
    RETURN_IF_ERROR(SumChannels<1>(
        work, s, mean, [&](int64_t i, int64_t, double* out) { out[0] += Load(in[i]); }));
    for (int64_t c = 0; c < s.channels; ++c) mean[c] /= n;
    RETURN_IF_ERROR(SumChannels<1>(work, s, variance, [&](int64_t i, int64_t c, double* out) {
      const double centred = Load(in[i]) - mean[c];
      out[0] += centred * centred;
    }));
    for (int64_t c = 0; c < s.channels; ++c) variance[c] /= n;
    return OkStatus();
  });
}

Status ScaleChannels(Work& work, DType dtype, const ChannelShape& s, const void* x,
                     const float* factor, const float* term, void* y) {
  return ForFloat(dtype, [&]<class T> {
    const T* in = static_cast<const T*>(x);
    T* out = static_cast<T*>(y);
    return ForElements(
        work, s, [&](int64_t i, int64_t c) { out[i] = T(Load(in[i]) * factor[c] + term[c]); });
  });
}

Status ChannelGradSums(Work& work, DType dtype, const ChannelShape& s, const void* dy,
                       const void* x, const float* mean, double* sum, double* dot) {
  return ForFloat(dtype, [&]<class T> {
    const T* grad = static_cast<const T*>(dy);
    const T* in = static_cast<const T*>(x);
    Scratch<double> sums(work, 2 * s.channels);
    if (!sums) return OutOfScratch();
    RETURN_IF_ERROR(SumChannels<2>(work, s, sums.get(), [&](int64_t i, int64_t c, double* out) {
      const double g = Load(grad[i]);
      out[0] += g;
      out[1] += g * (Load(in[i]) - mean[c]);
    }));
    std::copy_n(sums.get(), s.channels, sum);
    std::copy_n(sums.get() + s.channels, s.channels, dot);
    return OkStatus();
  });
}

Status CentredGrad(Work& work, DType dtype, const ChannelShape& s, const void* dy, const void* x,
                   const float* mean, const float* factor, const float* term, const float* slope,
                   void* dx) {
  return ForFloat(dtype, [&]<class T> {
    const T* grad = static_cast<const T*>(dy);
    const T* in = static_cast<const T*>(x);
    T* out = static_cast<T*>(dx);
    return ForElements(work, s, [&](int64_t i, int64_t c) {
      const float centred = Load(in[i]) - mean[c];
      out[i] = T(factor[c] * (Load(grad[i]) - term[c] - centred * slope[c]));
    });
  });
}

}  // namespace thalweg::compute
