// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/conv/conv2d.h"

#include <algorithm>
#include <optional>
#include <type_traits>

#include "thalweg/base/str_cat.h"
#include "thalweg/compute/conv/conv2d_bfloat16.h"
#include "thalweg/compute/conv/conv2d_component.h"
#include "thalweg/compute/conv/conv2d_float.h"
#include "thalweg/compute/conv/conv2d_plain.h"
#include "thalweg/compute/conv/packed_filter.h"
#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/compute/move/transpose_matrix.h"

namespace thalweg::compute {
namespace {

enum class Form { kForward, kBackwardInput, kBackwardFilter };

struct Sizes {
  explicit Sizes(const Conv2DShape& s)
      : input(s.batch * s.InPixels() * s.in_channels),
        filter(s.Taps() * s.in_channels * s.out_channels),
        output(s.batch * s.OutPixels() * s.out_channels) {}
  int64_t input, filter, output;
};

// The one that the form makes is written, the other two are read.
struct Operands {
  void* input;
  void* filter;
  void* output;
  ConvPlans* plans = nullptr;
  const float* scale = nullptr;  // of the filter
  PackedFilterCache* keeper = nullptr;
};

// What the component does; nullopt for all else.
std::optional<Status> TryComponent(Work& work, Form form, const Conv2DShape& s, const Operands& o,
                                   const GemmEpilogue& epilogue) {
  if (o.plans == nullptr) return std::nullopt;
  auto* input = static_cast<float*>(o.input);
  auto* output = static_cast<float*>(o.output);
  const ConvFilter filter(o.filter, o.scale, o.keeper);
  switch (form) {
    case Form::kForward:
      return ComponentForward(work, *o.plans, s, input, filter, output, epilogue);
    case Form::kBackwardInput:
      return ComponentBackwardInput(work, *o.plans, s, filter, output, input);
    case Form::kBackwardFilter:
      return ComponentBackwardFilter(work, *o.plans, s, input, output,
                                     static_cast<float*>(o.filter));
  }
  return std::nullopt;
}

// The filter in the form of PackedGemm, which takes bits to be those of the plain one.
Status ForwardPacked(Work& work, const Conv2DShape& s, const float* input, const ConvFilter& filter,
                     float* output, const GemmEpilogue& epilogue) {
  const GemmShape shape =
      GemmShape::Dense(s.batch * s.OutPixels(), s.out_channels, s.Taps() * s.in_channels);
  ASSIGN_OR_RETURN(const int64_t size, PackedSize(work.isa(), DType::kFloat, shape.n, shape.k));
  PackedFilter packed(work);
  RETURN_IF_ERROR(packed.Make(filter, StrCat("own ", static_cast<int>(work.isa().level)), s, size,
                              [&](const float* plain, float* to) {
                                return PackGemm(work, DType::kFloat, shape, plain, to);
                              }));
  const auto* values = static_cast<const float*>(filter.values);
  return ConvForward(work, s, input, values, output, epilogue, packed.get());
}

template <class T>
Status RunChannelsLast(Work& work, Form form, const Conv2DShape& s, const Operands& o,
                       const GemmEpilogue& epilogue) {
  T* input = static_cast<T*>(o.input);
  T* filter = static_cast<T*>(o.filter);
  T* output = static_cast<T*>(o.output);
  const Sizes sizes(s);
  if constexpr (std::is_same_v<T, float>) {
    const bool empty = sizes.input == 0 || sizes.output == 0 || sizes.filter == 0;
    std::optional<Status> done;
    if (!empty) done = TryComponent(work, form, s, o, epilogue);
    if (done.has_value()) return *std::move(done);
  }
  if (form == Form::kForward) {
    if (sizes.output == 0) return OkStatus();
    if constexpr (std::is_same_v<T, float>) {
      if (sizes.filter != 0 && (o.keeper != nullptr || o.scale != nullptr)) {
        return ForwardPacked(work, s, input, {filter, o.scale, o.keeper}, output, epilogue);
      }
    }
    return ConvForward(work, s, input, filter, output, epilogue);
  }
  const bool nothing = sizes.input == 0 || sizes.output == 0;
  if (form == Form::kBackwardInput) {
    if (nothing) std::fill_n(input, sizes.input, T(0));
    return nothing ? OkStatus() : ConvBackwardInput(work, s, filter, output, input);
  }
  if (nothing) std::fill_n(filter, sizes.filter, T(0));
  return nothing ? OkStatus() : ConvBackwardFilter(work, s, input, output, filter);
}

// Copies the images to channels-last scratch and the result back.
template <class T>
Status RunTyped(Work& work, Form form, const Conv2DShape& s, const Operands& o,
                const GemmEpilogue& epilogue) {
  if (!s.channels_first) return RunChannelsLast<T>(work, form, s, o, epilogue);
  const Sizes sizes(s);
  Scratch<T> input(work, sizes.input), output(work, sizes.output);
  if (!input || !output) return OutOfScratch();
  const auto to_last = [&](const void* from, int64_t channels, int64_t pixels, T* to) {
    return TransposeMatrices(work, s.batch, channels, pixels, static_cast<const T*>(from), to);
  };
  const auto to_first = [&](const T* from, int64_t channels, int64_t pixels, void* to) {
    return TransposeMatrices(work, s.batch, pixels, channels, from, static_cast<T*>(to));
  };
  if (form != Form::kBackwardInput)
    RETURN_IF_ERROR(to_last(o.input, s.in_channels, s.InPixels(), input.get()));
  if (form != Form::kForward)
    RETURN_IF_ERROR(to_last(o.output, s.out_channels, s.OutPixels(), output.get()));
  Conv2DShape last = s;
  last.channels_first = false;
  RETURN_IF_ERROR(RunChannelsLast<T>(
      work, form, last, {input.get(), o.filter, output.get(), o.plans, o.scale, o.keeper},
      epilogue));
  if (form == Form::kForward)
    return to_first(output.get(), s.out_channels, s.OutPixels(), o.output);
  if (form == Form::kBackwardInput)
    return to_first(input.get(), s.in_channels, s.InPixels(), o.input);
  return OkStatus();
}

template <class H>
Status RunHalf(Work& work, Form form, const Conv2DShape& s, const Operands& o,
               const GemmEpilogue& epilogue) {
  const Sizes sizes(s);
  const int64_t residual_size = epilogue.residual != nullptr ? sizes.output : 0;
  const int64_t bias_size = epilogue.bias != nullptr ? s.out_channels : 0;
  Scratch<float> input(work, sizes.input), filter(work, sizes.filter), output(work, sizes.output);
  Scratch<float> bias(work, bias_size), residual(work, residual_size);
  if (!input || !filter || !output || !bias || !residual) return OutOfScratch();
  const auto widen = [](const void* from, int64_t n, float* to) {
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(static_cast<const H*>(from)[i]);
  };
  const auto narrow = [](const float* from, int64_t n, void* to) {
    for (int64_t i = 0; i < n; ++i) static_cast<H*>(to)[i] = H(from[i]);
  };
  if (form != Form::kBackwardInput) widen(o.input, sizes.input, input.get());
  if (form != Form::kBackwardFilter) widen(o.filter, sizes.filter, filter.get());
  if (form != Form::kForward) widen(o.output, sizes.output, output.get());
  widen(epilogue.bias, bias_size, bias.get());
  widen(epilogue.residual, residual_size, residual.get());
  const GemmEpilogue wide{bias.get(), residual.get(), epilogue.relu};
  RETURN_IF_ERROR(
      RunTyped<float>(work, form, s, {input.get(), filter.get(), output.get(), o.plans}, wide));
  if (form == Form::kForward) narrow(output.get(), sizes.output, o.output);
  if (form == Form::kBackwardInput) narrow(input.get(), sizes.input, o.input);
  if (form == Form::kBackwardFilter) narrow(filter.get(), sizes.filter, o.filter);
  return OkStatus();
}

// Whether every pixel of the output sees one of the input, its own.
bool SeesOwnPixel(const Window& w) {
  return w.size == 1 && w.stride == 1 && w.pad_before == 0 && w.output == w.input;
}

// By the processor's own instructions where it has them: as a product of matrices, or over what
// windows see.
Status RunBfloat16(Work& work, Form form, const Conv2DShape& s, const Operands& o,
                   const GemmEpilogue& epilogue) {
  const Bfloat16Unit unit = Bfloat16UnitOf(work.isa());
  const bool product = SeesOwnPixel(s.rows) && SeesOwnPixel(s.columns);
  if (unit == Bfloat16Unit::kNone || s.channels_first ||
      (!product && !IsForBfloat16Blocks(unit, s))) {
    return RunHalf<Bfloat16>(work, form, s, o, epilogue);
  }
  const int64_t pixels = s.batch * s.OutPixels(), in = s.in_channels, out = s.out_channels;
  constexpr auto kNo = Transpose::kNo, kYes = Transpose::kYes;
  const auto multiply = [&](const GemmShape& shape, const void* a, const void* b, void* c) {
    return Gemm(work, DType::kBfloat16, shape, a, b, c, epilogue);
  };
  switch (form) {
    case Form::kForward:
      return product ? multiply(GemmShape::Dense(pixels, out, in), o.input, o.filter, o.output)
                     : Bfloat16ConvForward(work, unit, s, o.input, o.filter, o.output, epilogue);
    case Form::kBackwardInput:
      return product ? multiply(GemmShape::Dense(pixels, in, out, kNo, kYes), o.output, o.filter,
                                o.input)
                     : Bfloat16ConvBackwardInput(work, unit, s, o.filter, o.output, o.input);
    case Form::kBackwardFilter:
      return product ? multiply(GemmShape::Dense(in, out, pixels, kYes, kNo), o.input, o.output,
                                o.filter)
                     : Bfloat16ConvBackwardFilter(work, unit, s, o.input, o.output, o.filter);
  }
  return OkStatus();
}

Status RunDense(Work& work, DType dtype, Form form, const Conv2DShape& shape,
                const Operands& operands, const GemmEpilogue& epilogue) {
  switch (dtype) {
    case DType::kFloat:
      return RunTyped<float>(work, form, shape, operands, epilogue);
    case DType::kDouble:
      return RunTyped<double>(work, form, shape, operands, epilogue);
    case DType::kInt32:
      return RunTyped<int32_t>(work, form, shape, operands, epilogue);
    case DType::kHalf:
      return RunHalf<Half>(work, form, shape, operands, epilogue);
    case DType::kBfloat16:
      return RunBfloat16(work, form, shape, operands, epilogue);
    default:
      return Unimplemented("convolution of elements of type ", dtype);
  }
}

// One group's part of an operand: `count` channels of every pixel (or filter tap) from `first` on.
struct ChannelPart {
  int64_t outer, channels, inner, first, count;

  Status Copy(Work& work, DType dtype, bool out, void* whole, void* part) const {
    const Dims dims{outer, count, inner}, dense{count * inner, inner, 1};
    const Dims strides{channels * inner, inner, 1};
    if (out) {
      return CopyStrided(work, dtype, dims, {part, dense}, {whole, strides, first * inner});
    }
    return CopyStrided(work, dtype, dims, {whole, strides, first * inner}, {part, dense});
  }
};

// Each group by itself, its operands copied together.
Status RunGroups(Work& work, DType dtype, Form form, const Conv2DShape& s, const Operands& o,
                 const GemmEpilogue& epilogue) {
  Conv2DShape one = s;
  one.groups = 1;
  one.in_channels = s.in_channels / s.groups;
  one.out_channels = s.out_channels / s.groups;
  const Sizes sizes(one);
  const auto bytes = static_cast<int64_t>(DTypeSize(dtype));
  Scratch<char> input(work, sizes.input * bytes), filter(work, sizes.filter * bytes),
      output(work, sizes.output * bytes);
  if (!input || !filter || !output) return OutOfScratch();
  const auto image = [&](int64_t channels, int64_t pixels, int64_t first, int64_t count) {
    return s.channels_first ? ChannelPart{s.batch, channels, pixels, first, count}
                            : ChannelPart{s.batch * pixels, channels, 1, first, count};
  };
  for (int64_t g = 0; g < s.groups; ++g) {
    const auto in = image(s.in_channels, s.InPixels(), g * one.in_channels, one.in_channels);
    const auto out = image(s.out_channels, s.OutPixels(), g * one.out_channels, one.out_channels);
    const ChannelPart taps{s.Taps() * one.in_channels, s.out_channels, 1, g * one.out_channels,
                           one.out_channels};
    const auto move = [&](bool back) -> Status {
      const bool fwd = form == Form::kForward, bwd = form == Form::kBackwardInput;
      if (bwd == back) RETURN_IF_ERROR(in.Copy(work, dtype, back, o.input, input.get()));
      if (!(fwd || bwd) == back) {
        RETURN_IF_ERROR(taps.Copy(work, dtype, back, o.filter, filter.get()));
      }
      return fwd == back ? out.Copy(work, dtype, back, o.output, output.get()) : OkStatus();
    };
    RETURN_IF_ERROR(move(false));
    GemmEpilogue part = epilogue;
    if (epilogue.bias != nullptr) {
      part.bias = static_cast<const char*>(epilogue.bias) + g * one.out_channels * bytes;
    }
    const float* scale = o.scale != nullptr ? o.scale + g * one.out_channels : nullptr;
    RETURN_IF_ERROR(RunDense(work, dtype, form, one,
                             {input.get(), filter.get(), output.get(), o.plans, scale}, part));
    RETURN_IF_ERROR(move(true));
  }
  return OkStatus();
}

Status Run(Work& work, DType dtype, Form form, const Conv2DShape& shape, const Operands& operands,
           const GemmEpilogue& epilogue) {
  if (shape.groups == 1) return RunDense(work, dtype, form, shape, operands, epilogue);
  return RunGroups(work, dtype, form, shape, operands, epilogue);
}

}  // namespace

Status Conv2D(Work& work, DType dtype, const Conv2DShape& shape, const void* input,
              const ConvFilter& filter, void* output, const GemmEpilogue& epilogue,
              ConvPlans* plans) {
  if (filter.scale != nullptr && dtype != DType::kFloat) {
    return Unimplemented("a filter of type ", dtype, " with a scale");
  }
  if ((shape.channels_first || shape.groups != 1) && epilogue.residual != nullptr) {
    return Unimplemented("a residual added to a convolution with channels first or groups");
  }
  return Run(work, dtype, Form::kForward, shape,
             {const_cast<void*>(input), const_cast<void*>(filter.values), output, plans,
              filter.scale, filter.keeper},
             epilogue);
}

Status Conv2DBackwardInput(Work& work, DType dtype, const Conv2DShape& shape,
                           const ConvFilter& filter, const void* output_grad, void* input_grad,
                           ConvPlans* plans) {
  if (filter.scale != nullptr) return Unimplemented("an input gradient of a filter with a scale");
  return Run(work, dtype, Form::kBackwardInput, shape,
             {input_grad, const_cast<void*>(filter.values), const_cast<void*>(output_grad), plans,
              nullptr, filter.keeper},
             {});
}

Status Conv2DBackwardFilter(Work& work, DType dtype, const Conv2DShape& shape, const void* input,
                            const void* output_grad, void* filter_grad, ConvPlans* plans) {
  return Run(work, dtype, Form::kBackwardFilter, shape,
             {const_cast<void*>(input), filter_grad, const_cast<void*>(output_grad), plans}, {});
}

}  // namespace thalweg::compute
