// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "thalweg/compute/move/gather.h"
#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/made_texts.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

struct Paddings {
  Dims before;
  Dims after;
};

Result<Paddings> PaddingsOf(const Tensor& tensor, const Shape& padded) {
  const int rank = padded.rank();
  if (tensor.rank() != 2 || tensor.dim(1) != 2) {
    return InvalidArgument("paddings must be a matrix with 2 columns: ", tensor.shape());
  }
  if (tensor.dim(0) != rank) {
    return InvalidArgument("The first dimension of paddings must be the rank of inputs",
                           tensor.shape(), " ", padded);
  }
  Paddings paddings;
  for (int i = 0; i < rank; ++i) {
    paddings.before.push_back(IntAt(tensor, 2 * i));
    paddings.after.push_back(IntAt(tensor, 2 * i + 1));
    if (paddings.before[i] < 0 || paddings.after[i] < 0) {
      return InvalidArgument("Paddings must be non-negative: ", paddings.before[i], " ",
                             paddings.after[i]);
    }
  }
  return paddings;
}

// The shape with paddings added (sign 1) or taken away (-1).
Result<Shape> Padded(const Shape& shape, const Paddings& paddings, int sign) {
  Dims dims = shape.dims();
  for (int i = 0; i < shape.rank(); ++i) {
    int64_t sum = 0;
    if (__builtin_add_overflow(paddings.before[i], paddings.after[i], &sum) ||
        __builtin_add_overflow(dims[i], sign * sum, &dims[i]) || dims[i] < 0) {
      return InvalidArgument("dimension ", i, " of size ", shape.dim(i), " cannot be padded by ",
                             paddings.before[i], " and ", paddings.after[i]);
    }
  }
  return Shape::Make(dims);
}

int64_t OffsetOf(const Dims& strides, const Dims& index) {
  int64_t offset = 0;
  for (int i = 0; i < index.size(); ++i) offset += strides[i] * index[i];
  return offset;
}

Status PadWith(Context& ctx, const Tensor* value) {
  const Tensor& x = ctx.input(0);
  const Shape input = x.shape();
  ASSIGN_OR_RETURN(const Paddings paddings, PaddingsOf(ctx.input(1), input));
  ASSIGN_OR_RETURN(const Shape shape, Padded(input, paddings, 1));
  if (shape == input) {
    ctx.set_output(0, x);
    return OkStatus();
  }
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.dtype(), shape));
  void* data = out->mutable_raw_data();
  const int64_t n = out->num_elements();
  if (value != nullptr) RETURN_IF_ERROR(ClaimCopies(ctx, *out, *value, n));
  RETURN_IF_ERROR(value == nullptr
                      ? compute::FillZeros(ctx.work(), x.dtype(), data, n)
                      : compute::FillElements(ctx.work(), x.dtype(), value->raw_data(), data, n));
  const Dims strides = compute::ContiguousStrides(shape.dims());
  return compute::CopyStrided(ctx.work(), x.dtype(), input.dims(),
                              {x.raw_data(), compute::ContiguousStrides(input.dims())},
                              {data, strides, OffsetOf(strides, paddings.before)});
}

Status Pad(Context& ctx) { return PadWith(ctx, nullptr); }
Status PadV2(Context& ctx) {
  const Tensor& value = ctx.input(2);
  if (value.rank() != 0) {
    return InvalidArgument("constant_values must be a scalar, got shape ", value.shape());
  }
  return PadWith(ctx, &value);
}

class MirrorKernel : public Kernel {
 public:
  // Whether the element at the border is left out of its image.
  explicit MirrorKernel(bool reflect) : skip_(reflect ? 1 : 0) {}

 protected:
  // A border must not be longer than what it mirrors.
  Status Check(const Shape& inner, const Paddings& paddings) const {
    for (int i = 0; i < inner.rank(); ++i) {
      const int64_t longest = inner.dim(i) - skip_;
      if (paddings.before[i] <= longest && paddings.after[i] <= longest) continue;
      const bool none = paddings.before[i] == 0 && paddings.after[i] == 0;
      if (none) continue;
      return InvalidArgument("paddings must be ", skip_ == 1 ? "less than" : "no greater than",
                             " the dimension size: ", paddings.before[i], ", ", paddings.after[i],
                             skip_ == 1 ? " not less than " : " greater than ", inner.dim(i));
    }
    return OkStatus();
  }

  // The two borders of dimension d of a padded tensor, each with the elements
  // it mirrors: positions `border`, `border` + 1, ... and `source`, `source` -
  // 1, ...
  struct Border {
    int64_t border;
    int64_t source;
    int64_t size;
  };
  std::array<Border, 2> BordersOf(int64_t inner, int64_t before, int64_t after) const {
    return {Border{0, 2 * before - 1 + skip_, before},
            Border{before + inner, before + inner - 1 - skip_, after}};
  }

 private:
  const int64_t skip_;
};

template <class K>
Result<std::unique_ptr<Kernel>> CreateWithMode(const KernelConstruction& c) {
  ASSIGN_OR_RETURN(const std::string mode, c.Attr<std::string>("mode"));
  return std::unique_ptr<Kernel>(std::make_unique<K>(mode == "REFLECT"));
}

class MirrorPadCpu : public MirrorKernel {
 public:
  using MirrorKernel::MirrorKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return CreateWithMode<MirrorPadCpu>(c);
  }

  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    const Shape inner = x.shape();
    ASSIGN_OR_RETURN(const Paddings paddings, PaddingsOf(ctx.input(1), inner));
    RETURN_IF_ERROR(Check(inner, paddings));
    ASSIGN_OR_RETURN(const Shape shape, Padded(inner, paddings, 1));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.dtype(), shape));
    if (inner.num_elements() == 0) return OkStatus();
    return MoveElements(ctx, x, *out, [&](DType dtype, const void* from, void* to) {
      return Mirror(ctx.work(), dtype, inner, shape, paddings, from, to);
    });
  }

 private:
  Status Mirror(compute::Work& work, DType dtype, const Shape& inner, const Shape& shape,
                const Paddings& paddings, const void* x, void* data) const {
    const Dims strides = compute::ContiguousStrides(shape.dims());
    RETURN_IF_ERROR(compute::CopyStrided(work, dtype, inner.dims(),
                                         {x, compute::ContiguousStrides(inner.dims())},
                                         {data, strides, OffsetOf(strides, paddings.before)}));
    // Dimension by dimension: those before d are whole already, those behind
    // still lack borders.
    Dims sizes = inner.dims();
    Dims begin = paddings.before;
    for (int d = 0; d < shape.rank(); ++d) {
      for (const Border& b : BordersOf(inner.dim(d), paddings.before[d], paddings.after[d])) {
        Dims mirrored = strides;
        mirrored[d] = -strides[d];
        Dims from = begin;
        Dims to = begin;
        from[d] = b.source;
        to[d] = b.border;
        sizes[d] = b.size;
        RETURN_IF_ERROR(compute::CopyStrided(work, dtype, sizes,
                                             {data, mirrored, OffsetOf(strides, from)},
                                             {data, strides, OffsetOf(strides, to)}));
      }
      sizes[d] = shape.dim(d);
      begin[d] = 0;
    }
    return OkStatus();
  }
};

class MirrorPadGradCpu : public MirrorKernel {
 public:
  using MirrorKernel::MirrorKernel;
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    return CreateWithMode<MirrorPadGradCpu>(c);
  }

  Status Compute(Context& ctx) override {
    const Tensor& dy = ctx.input(0);
    const Shape outer = dy.shape();
    ASSIGN_OR_RETURN(const Paddings paddings, PaddingsOf(ctx.input(1), outer));
    ASSIGN_OR_RETURN(const Shape inner, Padded(outer, paddings, -1));
    RETURN_IF_ERROR(Check(inner, paddings));
    ASSIGN_OR_RETURN(Tensor folded, dy.Clone(ctx.allocator()));
    // The last dimension first, the reverse of how borders were made.
    const Dims strides = compute::ContiguousStrides(outer.dims());
    Dims sizes = outer.dims();
    Dims begin = sizes;
    std::fill(begin.data(), begin.data() + begin.size(), 0);
    for (int d = outer.rank() - 1; d >= 0; --d) {
      for (const Border& b : BordersOf(inner.dim(d), paddings.before[d], paddings.after[d])) {
        RETURN_IF_ERROR(Fold(ctx, folded, strides, sizes, begin, d, b));
      }
      sizes[d] = inner.dim(d);
      begin[d] = paddings.before[d];
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, dy.dtype(), inner));
    return compute::CopyStrided(
        ctx.work(), dy.dtype(), inner.dims(),
        {folded.raw_data(), strides, OffsetOf(strides, paddings.before)},
        {out->mutable_raw_data(), compute::ContiguousStrides(inner.dims())});
  }

 private:
  // Adds a border to the elements it mirrors: one slab of dimension d after the
  // other.
  static Status Fold(Context& ctx, Tensor& folded, const Dims& strides, Dims sizes, Dims begin,
                     int d, const Border& b) {
    sizes[d] = 1;
    const Shape slab{Dims(sizes)};
    if (slab.num_elements() == 0 || b.size == 0) return OkStatus();
    const Dims packed = compute::ContiguousStrides(sizes);
    ASSIGN_OR_RETURN(Tensor border, ctx.AllocateTemporary(folded.dtype(), slab));
    ASSIGN_OR_RETURN(Tensor sum, ctx.AllocateTemporary(folded.dtype(), slab));
    void* data = folded.mutable_raw_data();
    for (int64_t i = 0; i < b.size; ++i) {
      begin[d] = b.border + i;
      const int64_t from = OffsetOf(strides, begin);
      begin[d] = b.source - i;
      const int64_t to = OffsetOf(strides, begin);
      RETURN_IF_ERROR(compute::CopyStrided(ctx.work(), folded.dtype(), sizes, {data, strides, from},
                                           {border.mutable_raw_data(), packed}));
      RETURN_IF_ERROR(compute::CopyStrided(ctx.work(), folded.dtype(), sizes, {data, strides, to},
                                           {sum.mutable_raw_data(), packed}));
      RETURN_IF_ERROR(compute::CombineElements(ctx.work(), folded.dtype(), compute::Combine::kAdd,
                                               slab.num_elements(), border.raw_data(),
                                               sum.mutable_raw_data()));
      RETURN_IF_ERROR(compute::CopyStrided(ctx.work(), folded.dtype(), sizes,
                                           {sum.raw_data(), packed}, {data, strides, to}));
    }
    return OkStatus();
  }
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(pad, cpu) {
  registry.AddFunction<Pad>("Pad", kCpu);
  registry.AddFunction<PadV2>("PadV2", kCpu);
  registry.Add<MirrorPadCpu>("MirrorPad", kCpu);
  ForEachType<NumberTypes>([&]<class T>() {
    registry.Add<MirrorPadGradCpu>("MirrorPadGrad", kCpu, {{"T", kDTypeOf<T>}});
  });
}
