// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/conv/conv_nd.h"

#include <algorithm>
#include <type_traits>

#include "thalweg/compute/conv/conv2d.h"
#include "thalweg/compute/conv/gather.h"
#include "thalweg/compute/gemm/gemm.h"

namespace thalweg::compute {
namespace {

constexpr int64_t kTile = 1 << 20;  // elements of a block of patches
constexpr int64_t kChannels = 32;   // that one shard adds back

enum class Form { kForward, kBackwardInput, kBackwardFilter };

// body(tap, input pixel counted over the batch, or -1 outside) for all taps of an output pixel.
template <class Body>
void ForTaps(const ConvNdShape& s, int64_t out_pixel, const Body& body) {
  const auto& [planes, rows, columns] = s.windows;
  const int64_t place = out_pixel % s.OutPixels();
  const int64_t first_plane =
      place / columns.output / rows.output * planes.stride - planes.pad_before;
  const int64_t first_row = place / columns.output % rows.output * rows.stride - rows.pad_before;
  const int64_t first_column = place % columns.output * columns.stride - columns.pad_before;
  const int64_t image = out_pixel / s.OutPixels() * s.InPixels();
  int64_t tap = 0;
  for (int64_t d = 0; d < planes.size; ++d) {
    const int64_t plane = first_plane + d * planes.dilation;
    for (int64_t r = 0; r < rows.size; ++r) {
      const int64_t row = first_row + r * rows.dilation;
      const bool inside = plane >= 0 && plane < planes.input && row >= 0 && row < rows.input;
      for (int64_t c = 0; c < columns.size; ++c, ++tap) {
        const int64_t column = first_column + c * columns.dilation;
        const bool seen = inside && column >= 0 && column < columns.input;
        body(tap, seen ? image + (plane * rows.input + row) * columns.input + column : -1);
      }
    }
  }
}

template <class T>
struct Run {
  Work& work;
  const ConvNdShape& s;
  T* input;
  T* filter;
  T* output;
  int64_t depth = s.Taps() * s.in_channels;
  int64_t pixels = s.batch * s.OutPixels();

  int64_t BlockPixels() const {
    return std::clamp<int64_t>(kTile / std::max<int64_t>(1, depth), 1, pixels);
  }

  Status Fill(int64_t begin, int64_t count, T* tile) const {
    const int64_t in = s.in_channels, grain = std::max<int64_t>(1, 32768 / depth);
    return ForBlocks(work, count, grain, [&](int64_t i, int64_t end) {
      for (; i < end; ++i) {
        ForTaps(s, begin + i, [&](int64_t tap, int64_t pixel) {
          CopyOrZero(pixel < 0 ? nullptr : input + pixel * in, in, tile + i * depth + tap * in);
        });
      }
    });
  }

  // Pixels overlap, channels do not.
  Status Add(int64_t begin, int64_t count, const T* tile) const {
    const int64_t in = s.in_channels;
    return ForBlocks(work, in, kChannels, [&](int64_t first, int64_t last) {
      for (int64_t i = 0; i < count; ++i) {
        ForTaps(s, begin + i, [&](int64_t tap, int64_t pixel) {
          if (pixel < 0) return;
          T* to = input + pixel * in;
          const T* from = tile + i * depth + tap * in;
          for (int64_t c = first; c < last; ++c) to[c] += from[c];
        });
      }
    });
  }

  Status Go(Form form) const {
    const int64_t out = s.out_channels, in_size = s.batch * s.InPixels() * s.in_channels;
    if (form == Form::kBackwardInput) std::fill_n(input, in_size, T(0));
    if (form == Form::kBackwardFilter) std::fill_n(filter, depth * out, T(0));
    if (form == Form::kForward && depth == 0) std::fill_n(output, pixels * out, T(0));
    if (depth == 0 || pixels == 0 || out == 0) return OkStatus();
    const int64_t block = BlockPixels();
    Scratch<T> tile(work, block * depth);
    if (!tile) return OutOfScratch();
    for (int64_t begin = 0; begin < pixels; begin += block) {
      const int64_t count = std::min(block, pixels - begin);
      T* part = output + begin * out;
      if (form == Form::kBackwardInput) {
        RETURN_IF_ERROR(Gemm(work, kDTypeOf<T>,
                             GemmShape::Dense(count, depth, out, Transpose::kNo, Transpose::kYes),
                             part, filter, tile.get()));
        RETURN_IF_ERROR(Add(begin, count, tile.get()));
        continue;
      }
      RETURN_IF_ERROR(Fill(begin, count, tile.get()));
      if (form == Form::kForward) {
        RETURN_IF_ERROR(
            Gemm(work, kDTypeOf<T>, GemmShape::Dense(count, out, depth), tile.get(), filter, part));
      } else {
        const auto shape = GemmShape::Dense(depth, out, count, Transpose::kYes);
        RETURN_IF_ERROR(
            Gemm(work, kDTypeOf<T>, shape, tile.get(), part, filter, {.residual = filter}));
      }
    }
    return OkStatus();
  }
};

template <class H>
Status RunHalf(Work& work, Form form, const ConvNdShape& s, void* input, void* filter,
               void* output) {
  struct Part {
    void* data;
    int64_t size;
    bool written;
  };
  const Part parts[] = {
      {input, s.batch * s.InPixels() * s.in_channels, form == Form::kBackwardInput},
      {filter, s.Taps() * s.in_channels * s.out_channels, form == Form::kBackwardFilter},
      {output, s.batch * s.OutPixels() * s.out_channels, form == Form::kForward}};
  Scratch<float> x(work, parts[0].size), f(work, parts[1].size), y(work, parts[2].size);
  if (!x || !f || !y) return OutOfScratch();
  float* wide[] = {x.get(), f.get(), y.get()};
  for (int p = 0; p < 3; ++p) {
    const H* from = static_cast<const H*>(parts[p].data);
    for (int64_t i = 0; i < parts[p].size && !parts[p].written; ++i) {
      wide[p][i] = static_cast<float>(from[i]);
    }
  }
  RETURN_IF_ERROR((Run<float>{work, s, wide[0], wide[1], wide[2]}.Go(form)));
  for (int p = 0; p < 3; ++p) {
    H* to = static_cast<H*>(parts[p].data);
    for (int64_t i = 0; i < parts[p].size && parts[p].written; ++i) to[i] = H(wide[p][i]);
  }
  return OkStatus();
}

// A float convolution as a sum of 2-D ones: a plane of the filter goes over all planes of an image
// that it meets. Nothing is copied but what the gradients are added up from.
struct RunPlanes {
  Work& work;
  const ConvNdShape& s;
  float *input, *filter, *output;
  ConvPlans* plans;

  int64_t InPlane() const { return s.InPixels() / s.windows[0].input * s.in_channels; }
  int64_t OutPlane() const { return s.OutPixels() / s.windows[0].output * s.out_channels; }
  int64_t FilterPlane() const {
    return s.windows[1].size * s.windows[2].size * s.in_channels * s.out_channels;
  }
  // Planes of one 2-D convolution: those that lie one after another.
  int64_t MostPlanes() const { return s.windows[0].stride == 1 ? s.windows[0].output : 1; }

  // Few products in each of many calls cost more than the copies; so does a gradient of the filter
  // that few pixels make, which is added up once for all of them.
  bool IsWorthIt() const {
    constexpr int64_t kLeastPixels = 256;
    constexpr double kLeastProducts = 4e6;
    if (s.InPixels() == 0 || s.OutPixels() == 0) return false;
    const int64_t pixels = MostPlanes() * (s.OutPixels() / s.windows[0].output);
    return pixels >= kLeastPixels &&
           static_cast<double>(pixels) * static_cast<double>(FilterPlane()) >= kLeastProducts;
  }

  // body(shape, plane of the filter, first plane of the input, first plane of the output).
  template <class Body>
  Status ForRuns(const Body& body) const {
    const Window& w = s.windows[0];
    for (int64_t image = 0; image < s.batch; ++image) {
      for (int64_t tap = 0; tap < w.size; ++tap) {
        const int64_t shift = tap * w.dilation - w.pad_before;  // output o meets o * stride + shift
        const int64_t first = shift < 0 ? (w.stride - 1 - shift) / w.stride : 0;
        const int64_t end =
            shift >= w.input ? 0 : std::min(w.output, (w.input - 1 - shift) / w.stride + 1);
        const int64_t run = std::min(MostPlanes(), end - first);
        for (int64_t o = first; o < end; o += run) {
          const Conv2DShape shape{.batch = run,
                                  .rows = s.windows[1],
                                  .columns = s.windows[2],
                                  .in_channels = s.in_channels,
                                  .out_channels = s.out_channels};
          RETURN_IF_ERROR(
              body(shape, tap, image * w.input + o * w.stride + shift, image * w.output + o));
        }
      }
    }
    return OkStatus();
  }

  Status Zero(float* to, int64_t size) const {
    return ForBlocks(work, size, 1 << 16,
                     [&](int64_t begin, int64_t end) { std::fill(to + begin, to + end, 0.0f); });
  }

  Status AddUp(const float* from, int64_t size, float* to) const {
    return ForBlocks(work, size, 1 << 14, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] += from[i];
    });
  }

  Status Forward() const {
    RETURN_IF_ERROR(Zero(output, s.batch * s.OutPixels() * s.out_channels));
    return ForRuns([&](const Conv2DShape& shape, int64_t tap, int64_t in, int64_t out) {
      float* y = output + out * OutPlane();
      return Conv2D(work, DType::kFloat, shape, input + in * InPlane(),
                    filter + tap * FilterPlane(), y, {.residual = y}, plans);
    });
  }

  Status BackwardInput() const {
    RETURN_IF_ERROR(Zero(input, s.batch * s.InPixels() * s.in_channels));
    Scratch<float> part(work, MostPlanes() * InPlane());
    if (!part) return OutOfScratch();
    return ForRuns([&](const Conv2DShape& shape, int64_t tap, int64_t in, int64_t out) {
      RETURN_IF_ERROR(Conv2DBackwardInput(work, DType::kFloat, shape, filter + tap * FilterPlane(),
                                          output + out * OutPlane(), part.get(), plans));
      return AddUp(part.get(), shape.batch * InPlane(), input + in * InPlane());
    });
  }

  Status BackwardFilter() const {
    RETURN_IF_ERROR(Zero(filter, s.windows[0].size * FilterPlane()));
    Scratch<float> part(work, FilterPlane());
    if (!part) return OutOfScratch();
    return ForRuns([&](const Conv2DShape& shape, int64_t tap, int64_t in, int64_t out) {
      RETURN_IF_ERROR(Conv2DBackwardFilter(work, DType::kFloat, shape, input + in * InPlane(),
                                           output + out * OutPlane(), part.get(), plans));
      return AddUp(part.get(), FilterPlane(), filter + tap * FilterPlane());
    });
  }

  Status Go(Form form) const {
    if (form == Form::kForward) return Forward();
    return form == Form::kBackwardInput ? BackwardInput() : BackwardFilter();
  }
};

Status RunAny(Work& work, DType dtype, Form form, const ConvNdShape& s, const void* input,
              const void* filter, const void* output, ConvPlans* plans) {
  // One of the three is written, and was given as such.
  void *x = const_cast<void*>(input), *f = const_cast<void*>(filter),
       *y = const_cast<void*>(output);
  if (dtype == DType::kFloat && plans != nullptr) {
    const RunPlanes by_planes{
        work, s, static_cast<float*>(x), static_cast<float*>(f), static_cast<float*>(y), plans};
    if (by_planes.IsWorthIt()) return by_planes.Go(form);
  }
  const auto as = [&]<class T>(T) {
    return Run<T>{work, s, static_cast<T*>(x), static_cast<T*>(f), static_cast<T*>(y)}.Go(form);
  };
  switch (dtype) {
    case DType::kFloat:
      return as(float{});
    case DType::kDouble:
      return as(double{});
    case DType::kHalf:
      return RunHalf<Half>(work, form, s, x, f, y);
    case DType::kBfloat16:
      return RunHalf<Bfloat16>(work, form, s, x, f, y);
    default:
      return Unimplemented("convolution of volumes of type ", dtype);
  }
}

}  // namespace

Status ConvNd(Work& work, DType dtype, const ConvNdShape& shape, const void* input,
              const void* filter, void* output, ConvPlans* plans) {
  return RunAny(work, dtype, Form::kForward, shape, input, filter, output, plans);
}

Status ConvNdBackwardInput(Work& work, DType dtype, const ConvNdShape& shape, const void* filter,
                           const void* output_grad, void* input_grad, ConvPlans* plans) {
  return RunAny(work, dtype, Form::kBackwardInput, shape, input_grad, filter, output_grad, plans);
}

Status ConvNdBackwardFilter(Work& work, DType dtype, const ConvNdShape& shape, const void* input,
                            const void* output_grad, void* filter_grad, ConvPlans* plans) {
  return RunAny(work, dtype, Form::kBackwardFilter, shape, input, filter_grad, output_grad, plans);
}

}  // namespace thalweg::compute
