// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "thalweg/compute/ew/quantize.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

using compute::GridShape;
using compute::QuantizeSpec;

Status CheckBits(int64_t bits, bool is_signed) {
  if (bits > 0 && bits < (is_signed ? 62 : 63)) return OkStatus();
  return InvalidArgument("num_bits is out of range: ", bits, " with signed_input ", is_signed);
}

// An attribute that not all versions have.
template <class T>
Result<T> AttrOr(const KernelConstruction& c, std::string_view name, T otherwise) {
  return c.node().FindAttr(name) == nullptr ? Result<T>(otherwise) : c.Attr<T>(name);
}

Result<GridShape> ChannelsOf(const Shape& shape, int64_t axis) {
  if (axis == -1) return GridShape{.inner = shape.num_elements()};
  if (axis < -1) return InvalidArgument("Axis must be at least -1. Found ", axis);
  if (axis >= shape.rank()) {
    return InvalidArgument("Shape must be at least rank ", static_cast<uint64_t>(axis) + 1,
                           " but is rank ", shape.rank());
  }
  GridShape channels;
  const int at = static_cast<int>(axis);
  for (int i = 0; i < at; ++i) channels.outer *= shape.dim(i);
  channels.channels = shape.dim(at);
  for (int i = at + 1; i < shape.rank(); ++i) channels.inner *= shape.dim(i);
  return channels;
}

// A scalar without an axis, else a vector with an entry for each channel.
Status CheckEnds(const Tensor& low, const Tensor& high, int64_t axis, int64_t channels) {
  for (const Tensor* end : {&low, &high}) {
    if (end->rank() == (axis == -1 ? 0 : 1) && end->num_elements() == channels) continue;
    return InvalidArgument(
        end == &low ? "input_min" : "input_max",
        axis == -1 ? " must be a scalar" : StrCat(" has incorrect size, expected ", channels),
        ", got shape ", end->shape());
  }
  return OkStatus();
}

template <class T>
Status CheckOrder(const Tensor& low, const Tensor& high) {
  for (int64_t c = 0; c < low.num_elements(); ++c) {
    if (low.data<T>()[c] <= high.data<T>()[c]) continue;
    return InvalidArgument("Invalid range: input_min ", low.data<T>()[c], " > input_max ",
                           high.data<T>()[c]);
  }
  return OkStatus();
}

template <class T>
class QuantizeDequantizeCpu : public Kernel {
 public:
  QuantizeDequantizeCpu(const QuantizeSpec& spec, int64_t axis, T low, T high)
      : spec_(spec), axis_(axis), low_(low), high_(high) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    QuantizeSpec spec;
    ASSIGN_OR_RETURN(spec.is_signed, c.Attr<bool>("signed_input"));
    ASSIGN_OR_RETURN(spec.clamp, c.Attr<bool>("range_given"));
    ASSIGN_OR_RETURN(spec.narrow, AttrOr(c, "narrow_range", false));
    std::string mode;
    ASSIGN_OR_RETURN(mode, AttrOr<std::string>(c, "round_mode", "HALF_TO_EVEN"));
    ASSIGN_OR_RETURN(const int64_t axis, AttrOr<int64_t>(c, "axis", -1));
    ASSIGN_OR_RETURN(const int64_t bits, AttrOr<int64_t>(c, "num_bits", 8));
    RETURN_IF_ERROR(CheckBits(bits, spec.is_signed));
    if (axis < -1) return InvalidArgument("Axis must be at least -1. Found ", axis);
    spec.round_up = mode == "HALF_UP";
    spec.bits = static_cast<int>(bits);
    // The first version has the range in attributes.
    ASSIGN_OR_RETURN(const float low, AttrOr(c, "input_min", 0.0f));
    ASSIGN_OR_RETURN(const float high, AttrOr(c, "input_max", 0.0f));
    return std::unique_ptr<Kernel>(std::make_unique<QuantizeDequantizeCpu<T>>(
        spec, axis, static_cast<T>(low), static_cast<T>(high)));
  }

  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    QuantizeSpec spec = spec_;
    ASSIGN_OR_RETURN(const GridShape channels, ChannelsOf(x.shape(), axis_));
    Tensor low = Tensor::Scalar(low_);
    Tensor high = Tensor::Scalar(high_);
    if (ctx.num_inputs() > 2) {
      low = ctx.input(1);
      high = ctx.input(2);
    }
    if (ctx.num_inputs() > 3) {
      ASSIGN_OR_RETURN(const int64_t bits, IntScalar(ctx.input(3), "num_bits"));
      RETURN_IF_ERROR(CheckBits(bits, spec.is_signed));
      spec.bits = static_cast<int>(bits);
    }
    if (spec.clamp) {
      RETURN_IF_ERROR(CheckEnds(low, high, axis_, channels.channels));
      RETURN_IF_ERROR(CheckOrder<T>(low, high));
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.dtype(), x.shape()));
    return compute::QuantizeAndDequantize(ctx.work(), kDTypeOf<T>, spec, channels, x.raw_data(),
                                          low.raw_data(), high.raw_data(), out->mutable_raw_data());
  }

 private:
  const QuantizeSpec spec_;
  const int64_t axis_;
  const T low_;
  const T high_;
};

class QuantizeDequantizeGradCpu : public Kernel {
 public:
  explicit QuantizeDequantizeGradCpu(int64_t axis) : axis_(axis) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const int64_t axis, c.Attr<int64_t>("axis"));
    if (axis < -1) return InvalidArgument("Axis must be at least -1. Found ", axis);
    return std::unique_ptr<Kernel>(std::make_unique<QuantizeDequantizeGradCpu>(axis));
  }

  Status Compute(Context& ctx) override {
    const Tensor& dy = ctx.input(0);
    const Tensor& x = ctx.input(1);
    const Tensor& low = ctx.input(2);
    const Tensor& high = ctx.input(3);
    if (dy.shape() != x.shape()) {
      return InvalidArgument("gradient and input must be the same size, got ", dy.shape(), " and ",
                             x.shape());
    }
    ASSIGN_OR_RETURN(const GridShape channels, ChannelsOf(x.shape(), axis_));
    RETURN_IF_ERROR(CheckEnds(low, high, axis_, channels.channels));
    for (int i = 1; i < 3; ++i) {
      ASSIGN_OR_RETURN(Tensor * end, ctx.AllocateOutput(i, x.dtype(), low.shape()));
      std::memset(end->mutable_raw_data(), 0, end->bytes());
    }
    ASSIGN_OR_RETURN(Tensor * dx, ctx.AllocateOutput(0, x.dtype(), x.shape()));
    return compute::PassInside(ctx.work(), x.dtype(), channels, dy.raw_data(), x.raw_data(),
                               low.raw_data(), high.raw_data(), dx->mutable_raw_data());
  }

 private:
  const int64_t axis_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(quantize_dequantize, cpu) {
  ForEachType<Types<float, double>>([&]<class T>() {
    for (const char* op : {"QuantizeAndDequantize", "QuantizeAndDequantizeV2",
                           "QuantizeAndDequantizeV3", "QuantizeAndDequantizeV4"}) {
      registry.Add<QuantizeDequantizeCpu<T>>(op, kCpu, {{"T", kDTypeOf<T>}});
    }
    registry.Add<QuantizeDequantizeGradCpu>("QuantizeAndDequantizeV4Grad", kCpu,
                                            {{"T", kDTypeOf<T>}});
  });
}
