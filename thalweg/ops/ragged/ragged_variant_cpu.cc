// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/ragged/ragged_splits.h"
#include "thalweg/resources/ragged_value.h"
#include "thalweg/tensor/integers.h"
#include "thalweg/tensor/variant.h"

namespace thalweg {
namespace {

// Rows [begin, end) of dimension 0, in their own memory where theirs would not be aligned.
Result<Tensor> ValueRows(Context& ctx, const Tensor& values, int64_t begin, int64_t end) {
  return values.Rows(begin, end).Clone(ctx.allocator());
}

// Row `row` of a ragged tensor: what each level says of it, counted from its own first.
Result<Variant> RowOf(Context& ctx, DType splits_type, const std::vector<Splits>& splits,
                      const Tensor& values, int64_t row) {
  std::vector<Splits> own;
  int64_t begin = row, end = row + 1;
  for (size_t level = 0; level < splits.size(); ++level) {
    const Splits& all = splits[level];
    if (level > 0) {
      Splits part;
      for (int64_t i = begin; i <= end; ++i) {
        part.push_back(all[static_cast<size_t>(i)] - all[static_cast<size_t>(begin)]);
      }
      own.push_back(std::move(part));
    }
    begin = all[static_cast<size_t>(begin)];
    end = all[static_cast<size_t>(end)];
  }
  ASSIGN_OR_RETURN(Tensor part, ValueRows(ctx, values, begin, end));
  if (splits.empty()) {  // the row itself, one dimension less
    Dims dims;
    for (int d = 1; d < values.rank(); ++d) dims.push_back(values.dim(d));
    ASSIGN_OR_RETURN(part, part.Reshaped(Shape(dims)));
  }
  return RaggedValue::Make(splits_type, std::move(own), std::move(part));
}

class ToVariant : public Kernel {
 public:
  ToVariant(bool batched, DType splits_type) : batched_(batched), splits_type_(splits_type) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const bool batched, c.Attr<bool>("batched_input"));
    ASSIGN_OR_RETURN(const DType splits_type, c.Attr<DType>("Tsplits"));
    return std::unique_ptr<Kernel>(std::make_unique<ToVariant>(batched, splits_type));
  }

  Status Compute(Context& ctx) override {
    const int ranks = ctx.num_inputs() - 1;
    const Tensor& values = ctx.input(ranks);
    if (values.rank() == 0 && (ranks > 0 || batched_)) {
      return InvalidArgument("rt_dense_values must not be a scalar");
    }
    std::vector<Splits> levels;
    for (int i = 0; i < ranks; ++i) {
      const int64_t below = i + 1 < ranks ? ctx.input(i + 1).num_elements() - 1 : values.dim(0);
      ASSIGN_OR_RETURN(Splits splits, SplitsOf(ctx.input(i), below, Cover::kWhole));
      levels.push_back(std::move(splits));
    }
    if (!batched_) {
      ASSIGN_OR_RETURN(const Variant whole,
                       RaggedValue::Make(splits_type_, std::move(levels), values));
      ctx.set_output(0, Tensor::Scalar(whole));
      return OkStatus();
    }
    const int64_t rows = ranks == 0 ? values.dim(0) : static_cast<int64_t>(levels[0].size()) - 1;
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kVariant, Shape{rows}));
    auto* const variants = out->mutable_data<Variant>();
    for (int64_t row = 0; row < rows; ++row) {
      ASSIGN_OR_RETURN(variants[row], RowOf(ctx, splits_type_, levels, values, row));
    }
    return OkStatus();
  }

 private:
  const bool batched_;
  const DType splits_type_;
};

// All values one after the other along dimension 0; of none, an empty vector.
Result<Tensor> Joined(Context& ctx, DType dtype, const std::vector<Tensor>& parts) {
  Dims dims{0};
  if (!parts.empty()) {
    dims = parts[0].shape().dims();
    dims[0] = 0;
  }
  for (const Tensor& part : parts) {
    Dims own = part.shape().dims();
    if (__builtin_add_overflow(dims[0], own[0], &dims[0])) {
      return InvalidArgument("the parts together have more than ", kMostValues, " values");
    }
    own[0] = dims[0];
    if (Shape(own) == Shape(dims)) continue;
    return InvalidArgument("all values must have one shape but for the first dimension, got ",
                           parts[0].shape(), " and ", part.shape());
  }
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  ASSIGN_OR_RETURN(Tensor joined, Tensor::Allocate(ctx.allocator(), dtype, shape));
  Dims strides = compute::ContiguousStrides(dims);
  int64_t at = 0;
  for (const Tensor& part : parts) {
    if (part.num_elements() == 0) continue;
    const Dims own = part.shape().dims();
    RETURN_IF_ERROR(compute::CopyStrided(ctx.work(), dtype, own,
                                         {part.raw_data(), compute::ContiguousStrides(own)},
                                         {joined.mutable_raw_data(), strides, at * strides[0]}));
    at += own[0];
  }
  return joined;
}

// The ragged tensors of the elements, checked to be of these types and `ranks` ragged dimensions.
Result<std::vector<const RaggedValue*>> Parts(const Tensor& encoded, size_t ranks, DType values,
                                              DType splits) {
  std::vector<const RaggedValue*> parts;
  for (const Variant& variant : encoded.flat<Variant>()) {
    const auto* part = variant.As<RaggedValue>();
    if (part == nullptr) {
      return InvalidArgument(
          "Input Variant element does not hold a RaggedTensorVariant but ",
          variant.get() == nullptr ? std::string("nothing") : variant.get()->TypeName());
    }
    if (part->values().dtype() != values) {
      return InvalidArgument("Expected values of type ", values, ", got ", part->values().dtype());
    }
    if (part->splits().size() != ranks) {
      return InvalidArgument("Encoded input RaggedTensorVariant has ragged_rank=",
                             part->splits().size(), ". Expected ragged_rank=", ranks);
    }
    if (ranks > 0 && part->splits_type() != splits) {
      return InvalidArgument("Expected row_splits of type ", splits, ", got ", part->splits_type());
    }
    parts.push_back(part);
  }
  return parts;
}

class FromVariant : public Kernel {
 public:
  FromVariant(int64_t ranks, DType dtype, DType splits_type)
      : ranks_(ranks), dtype_(dtype), splits_type_(splits_type) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const int64_t ranks, c.Attr<int64_t>("input_ragged_rank"));
    ASSIGN_OR_RETURN(const DType dtype, c.Attr<DType>("Tvalues"));
    ASSIGN_OR_RETURN(const DType splits_type, c.Attr<DType>("Tsplits"));
    return std::unique_ptr<Kernel>(std::make_unique<FromVariant>(ranks, dtype, splits_type));
  }

  Status Compute(Context& ctx) override {
    const Tensor& encoded = ctx.input(0);
    const int outer = encoded.rank(), out_ranks = ctx.num_outputs() - 1;
    const int64_t ranks = ranks_ == -1 ? out_ranks - outer : ranks_;
    if (ranks < 0 || ranks != out_ranks - outer) {
      return InvalidArgument("output_ragged_rank must be input_ragged_rank plus the rank of ",
                             "encoded_ragged, got ", out_ranks, " for ", ranks_, " and ", outer);
    }
    ASSIGN_OR_RETURN(const auto parts,
                     Parts(encoded, static_cast<size_t>(ranks), dtype_, splits_type_));
    std::vector<Tensor> values;
    for (const RaggedValue* part : parts) {
      if (outer > 0 && part->values().rank() == 0) {
        return InvalidArgument("encoded values must not be scalars where they are stacked");
      }
      values.push_back(part->values());
    }
    if (outer == 0) {
      for (int i = 0; i < out_ranks; ++i) {
        ASSIGN_OR_RETURN(Tensor splits, JoinedSplits(ctx, parts, static_cast<size_t>(i)));
        RETURN_IF_ERROR(SetSplits(ctx, i, splits_type_, std::move(splits)));
      }
      ctx.set_output(out_ranks, values[0]);
      return OkStatus();
    }
    RETURN_IF_ERROR(SetOuter(ctx, encoded.shape(), parts));
    for (size_t level = 0; level < static_cast<size_t>(ranks); ++level) {
      ASSIGN_OR_RETURN(Tensor splits, JoinedSplits(ctx, parts, level));
      RETURN_IF_ERROR(
          SetSplits(ctx, outer + static_cast<int>(level), splits_type_, std::move(splits)));
    }
    ASSIGN_OR_RETURN(Tensor joined, Joined(ctx, dtype_, values));
    ctx.set_output(out_ranks, std::move(joined));
    return OkStatus();
  }

 private:
  // The dimensions of the variants: regular ones but for the last, whose rows are the elements.
  Status SetOuter(Context& ctx, const Shape& shape,
                  const std::vector<const RaggedValue*>& parts) const {
    ASSIGN_OR_RETURN(std::vector<Tensor> levels, RegularSplits(ctx, shape));
    ASSIGN_OR_RETURN(Tensor lengths, NewSplits(ctx, shape.num_elements() + 1));
    auto* end = lengths.mutable_data<int64_t>();
    for (const RaggedValue* part : parts) {
      RETURN_IF_ERROR(Append(part->rows(), end++));
    }
    levels.push_back(std::move(lengths));
    for (int d = 0; d < shape.rank(); ++d) {
      RETURN_IF_ERROR(SetSplits(ctx, d, splits_type_, std::move(levels[static_cast<size_t>(d)])));
    }
    return OkStatus();
  }

  // The splits of one level of all parts, one part behind the other.
  static Result<Tensor> JoinedSplits(Context& ctx, const std::vector<const RaggedValue*>& parts,
                                     size_t level) {
    int64_t count = 1;
    for (const RaggedValue* part : parts) {
      count += static_cast<int64_t>(part->splits()[level].size()) - 1;
    }
    ASSIGN_OR_RETURN(Tensor joined, NewSplits(ctx, count));
    auto* end = joined.mutable_data<int64_t>();
    for (const RaggedValue* part : parts) {
      const Splits& own = part->splits()[level];
      for (size_t i = 1; i < own.size(); ++i) {
        RETURN_IF_ERROR(Append(own[i] - own[i - 1], end++));
      }
    }
    return joined;
  }

  // The split behind `end`, for a row of `length`.
  static Status Append(int64_t length, int64_t* end) {
    if (!__builtin_add_overflow(end[0], length, &end[1])) return OkStatus();
    return InvalidArgument("the parts together have more than ", kMostValues, " values");
  }

  const int64_t ranks_;
  const DType dtype_, splits_type_;
};

// The values of all rows one after the other.
class VariantGradient : public Kernel {
 public:
  explicit VariantGradient(DType dtype) : dtype_(dtype) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const DType dtype, c.Attr<DType>("Tvalues"));
    return std::unique_ptr<Kernel>(std::make_unique<VariantGradient>(dtype));
  }
  Status Compute(Context& ctx) override {
    const Tensor& encoded = ctx.input(0);
    ASSIGN_OR_RETURN(const Shape shape, ShapeOf(ctx.input(2), "dense_values_shape"));
    const bool regular = ctx.input(1).shape() == Shape{0};  // rows without ragged dimensions
    if (!regular) RETURN_IF_ERROR(SplitsFromZero(ctx.input(1)).status());
    std::vector<Tensor> parts;
    for (const Variant& variant : encoded.flat<Variant>()) {
      const auto* part = variant.As<RaggedValue>();
      if (part == nullptr || part->values().dtype() != dtype_) {
        return InvalidArgument(
            "encoded_ragged_grad must hold ragged tensors of ", dtype_, ", got ",
            variant.get() == nullptr ? std::string("nothing") : variant.get()->DebugString());
      }
      ASSIGN_OR_RETURN(Tensor flat, part->values().Reshaped(Shape{part->values().num_elements()}));
      parts.push_back(std::move(flat));
    }
    ASSIGN_OR_RETURN(const Tensor joined, Joined(ctx, dtype_, parts));
    if (joined.num_elements() != shape.num_elements()) {
      return InvalidArgument("the gradients of all rows have ", joined.num_elements(),
                             " values, for values of shape ", shape);
    }
    ASSIGN_OR_RETURN(Tensor out, joined.Reshaped(shape));
    ctx.set_output(0, std::move(out));
    return OkStatus();
  }

 private:
  const DType dtype_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(ragged_variant, cpu) {
  registry.Add<FromVariant>("RaggedTensorFromVariant", kCpu);
  registry.Add<ToVariant>("RaggedTensorToVariant", kCpu);
  registry.Add<VariantGradient>("RaggedTensorToVariantGradient", kCpu);
}
