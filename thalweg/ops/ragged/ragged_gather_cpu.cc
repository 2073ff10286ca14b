// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/cancel_looks.h"
#include "thalweg/compute/move/gather.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/made_texts.h"
#include "thalweg/ops/ragged/ragged_splits.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// The rows picked at one level: where each begins at the level below, and splits by their lengths.
struct Picked {
  Tensor begins, splits;
  int64_t rows() const { return begins.num_elements(); }
  int64_t length() const { return splits.flat<int64_t>().back(); }
};

Result<Picked> NewPicked(Context& ctx, int64_t rows) {
  Picked picked;
  ASSIGN_OR_RETURN(picked.begins, ctx.AllocateTemporary(DType::kInt64, Shape{rows}));
  ASSIGN_OR_RETURN(picked.splits, NewSplits(ctx, rows + 1));
  return picked;
}

// The row of each index.
Result<Picked> Chosen(Context& ctx, const Tensor& indices, int64_t rows) {
  const int64_t count = indices.num_elements();
  ASSIGN_OR_RETURN(Picked picked, NewPicked(ctx, count));
  compute::CancelLooks looks(ctx.work());
  for (int64_t i = 0; i < count; ++i) {
    RETURN_IF_ERROR(looks.Did());
    const int64_t row = IntAt(indices, i);
    if (row < 0 || row >= rows) {
      return InvalidArgument("indices", IndexText(indices.shape(), i), " = ", row,
                             " is not in [0, ", rows, ")");
    }
    picked.begins.mutable_data<int64_t>()[i] = row;
    picked.splits.mutable_data<int64_t>()[i + 1] = i + 1;
  }
  return picked;
}

// One level down: the rows of each picked one side by side.
Result<Picked> Descend(Context& ctx, const Splits& splits, const Picked& above) {
  ASSIGN_OR_RETURN(Picked below, NewPicked(ctx, above.length()));
  auto* begins = below.begins.mutable_data<int64_t>();
  auto* end = below.splits.mutable_data<int64_t>();
  const auto* const from = above.begins.data<int64_t>();
  const auto* const widths = above.splits.data<int64_t>();
  compute::CancelLooks looks(ctx.work());
  for (int64_t i = 0; i < above.rows(); ++i) {
    RETURN_IF_ERROR(looks.Did(1 + widths[i + 1] - widths[i]));
    const int64_t* at = splits.data() + from[i];
    for (int64_t left = widths[i + 1] - widths[i]; left > 0; --left, ++at, ++begins, ++end) {
      *begins = at[0];
      if (!__builtin_add_overflow(end[0], at[1] - at[0], &end[1])) continue;
      return InvalidArgument("the rows picked have more than ", kMostValues, " values");
    }
  }
  return below;
}

Status PickValues(Context& ctx, const Tensor& values, const Picked& picked) {
  Dims dims = values.shape().dims();
  const int64_t available = dims[0];
  dims[0] = picked.length();
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(ctx.num_outputs() - 1, values.dtype(), shape));
  if (out->num_elements() == 0) return OkStatus();
  const int64_t inner = out->num_elements() / dims[0];
  constexpr size_t kBlock = size_t{1} << 14;  // rows at a time
  std::vector<int64_t> rows;
  auto* to = static_cast<std::byte*>(out->mutable_raw_data());
  TextMeter meter(ctx.allocator(), *out);
  const auto gather = [&] {
    for (size_t i = 0; i < rows.size() && values.dtype() == DType::kString; ++i) {
      for (int64_t k = 0; k < inner; ++k) {
        if (!meter.Take(values.data<std::string>()[rows[i] * inner + k].size())) {
          return meter.status();
        }
      }
    }
    Status status = compute::GatherRows(
        ctx.work(), values.dtype(),
        {.rows = available, .inner = inner, .count = static_cast<int64_t>(rows.size())},
        values.raw_data(), rows.data(), to);
    to += rows.size() * static_cast<size_t>(inner) * DTypeStride(values.dtype());
    rows.clear();
    return status;
  };
  const auto* const begins = picked.begins.data<int64_t>();
  const auto* const splits = picked.splits.data<int64_t>();
  for (int64_t i = 0; i < picked.rows(); ++i) {
    for (int64_t k = 0; k < splits[i + 1] - splits[i]; ++k) {
      rows.push_back(begins[i] + k);
      if (rows.size() == kBlock) RETURN_IF_ERROR(gather());
    }
  }
  return gather();
}

class GatherCpu : public Kernel {
 public:
  explicit GatherCpu(DType splits_type) : splits_type_(splits_type) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const DType splits_type, c.Attr<DType>("Tsplits"));
    return std::unique_ptr<Kernel>(std::make_unique<GatherCpu>(splits_type));
  }

  Status Compute(Context& ctx) override {
    const int ranks = ctx.num_inputs() - 2;
    const Tensor &values = ctx.input(ranks), &indices = ctx.input(ranks + 1);
    if (values.rank() == 0) return InvalidArgument("params.rank must be nonzero");
    if (indices.rank() + ranks != ctx.num_outputs()) {
      return InvalidArgument("OUTPUT_RAGGED_RANK must be ", indices.rank() + ranks - 1,
                             " for indices of shape ", indices.shape(), ", got ",
                             ctx.num_outputs() - 1);
    }
    if (ctx.input(0).rank() == 0) return InvalidArgument("Split tensors must not be scalars");
    // Indices first: splits that are none have -1 rows.
    ASSIGN_OR_RETURN(Picked picked, Chosen(ctx, indices, ctx.input(0).dim(0) - 1));
    std::vector<Splits> params;
    for (int i = 0; i < ranks; ++i) {
      const int64_t below =
          i + 1 < ranks ? ctx.input(i + 1).num_elements() - 1 : values.shape().dim(0);
      ASSIGN_OR_RETURN(Splits splits, SplitsOf(ctx.input(i), below, Cover::kPart));
      params.push_back(std::move(splits));
    }
    // The outermost dimensions of the output are those of the indices but the last.
    ASSIGN_OR_RETURN(std::vector<Tensor> made, RegularSplits(ctx, indices.shape()));
    for (const Splits& splits : params) {
      ASSIGN_OR_RETURN(picked, Descend(ctx, splits, picked));
      made.push_back(picked.splits);
    }
    // With a scalar index the row itself is the output: its own split is not one of them.
    const size_t skipped = made.size() - static_cast<size_t>(ctx.num_outputs() - 1);
    for (size_t i = skipped; i < made.size(); ++i) {
      RETURN_IF_ERROR(SetSplits(ctx, static_cast<int>(i - skipped), splits_type_, made[i]));
    }
    return PickValues(ctx, values, picked);
  }

 private:
  const DType splits_type_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(ragged_gather, cpu) {
  for (const DType index : {DType::kInt32, DType::kInt64}) {
    registry.Add<GatherCpu>("RaggedGather", kCpu, {{"Tindices", index}});
  }
}
