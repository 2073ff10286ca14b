// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/tensor/axis.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// Output 0 = input 0 with the dimensions turned round for which turn[i] != 0.
Status Turn(Context& ctx, const Dims& turn) {
  const Tensor& x = ctx.input(0);
  const Shape shape = x.shape();
  const Dims to = compute::ContiguousStrides(shape.dims());
  Dims from(to);
  int64_t offset = 0;
  bool any = false;
  for (int i = 0; i < shape.rank(); ++i) {
    if (turn[i] == 0 || shape.dim(i) <= 1) continue;
    any = true;
    offset += to[i] * (shape.dim(i) - 1);
    from[i] = -to[i];
  }
  if (!any || x.num_elements() == 0) {
    ctx.set_output(0, x);
    return OkStatus();
  }
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.dtype(), shape));
  return compute::CopyStrided(ctx.work(), x.dtype(), shape.dims(), {x.raw_data(), from, offset},
                              {out->mutable_raw_data(), to});
}

Dims NoDims(int rank) {
  Dims dims;
  dims.resize(rank, 0);
  return dims;
}

Status Reverse(Context& ctx) {
  const Tensor& marks = ctx.input(1);
  const int rank = ctx.input(0).rank();
  if (rank == 0) return Turn(ctx, Dims());  // whatever the marks, as in TensorFlow
  if (marks.rank() != 1 || marks.num_elements() != rank) {
    return InvalidArgument("'dims' must be a vector of ", rank, " truth values, got shape ",
                           marks.shape());
  }
  Dims turn = NoDims(rank);
  for (int i = 0; i < rank; ++i) turn[i] = marks.data<bool>()[i] ? 1 : 0;
  return Turn(ctx, turn);
}

Status ReverseV2(Context& ctx) {
  const int rank = ctx.input(0).rank();
  if (rank == 0) return Turn(ctx, Dims());  // whatever the axes, as in TensorFlow
  ASSIGN_OR_RETURN(const Dims axes, IntVector(ctx.input(1), "axis"));
  Dims turn = NoDims(rank);
  for (const int64_t& given : axes) {
    const std::optional<int> axis = AxisFromFront(given, rank);
    if (!axis.has_value()) {
      return InvalidArgument("'axis'[", &given - axes.begin(), "] = ", given,
                             " is out of valid range [0, ", rank - 1);
    }
    if (turn[*axis] != 0) return InvalidArgument("axis ", *axis, " specified more than once.");
    turn[*axis] = 1;
  }
  return Turn(ctx, turn);
}

class ReverseSequenceCpu : public Kernel {
 public:
  ReverseSequenceCpu(int64_t seq_dim, int64_t batch_dim)
      : seq_dim_(seq_dim), batch_dim_(batch_dim) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const int64_t seq_dim, c.Attr<int64_t>("seq_dim"));
    ASSIGN_OR_RETURN(const int64_t batch_dim, c.Attr<int64_t>("batch_dim"));
    return std::unique_ptr<Kernel>(std::make_unique<ReverseSequenceCpu>(seq_dim, batch_dim));
  }

  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    const Tensor& lengths = ctx.input(1);
    const Shape shape = x.shape();
    for (const auto& [name, given] : {std::pair{"seq_dim", seq_dim_}, {"batch_dim", batch_dim_}}) {
      if (given < 0) return InvalidArgument(name, " must not be negative, got ", given);
    }
    ASSIGN_OR_RETURN(const int seq, NormalizeAxis(seq_dim_, shape.rank(), "seq_dim"));
    ASSIGN_OR_RETURN(const int batch, NormalizeAxis(batch_dim_, shape.rank(), "batch_dim"));
    if (seq == batch) return InvalidArgument("batch_dim == seq_dim: both are ", seq);
    if (lengths.rank() != 1 || lengths.num_elements() != shape.dim(batch)) {
      return InvalidArgument("seq_lengths must be a vector of ", shape.dim(batch),
                             " elements, got shape ", lengths.shape());
    }
    for (int64_t i = 0; i < lengths.num_elements(); ++i) {
      const int64_t length = IntAt(lengths, i);
      if (length < 0) return InvalidArgument("seq_lens(", i, ") < 0");
      if (length > shape.dim(seq)) {
        return InvalidArgument("seq_lens(", i, ") > input.dims(", seq, "): ", length, " and ",
                               shape.dim(seq));
      }
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, x.dtype(), shape));
    if (out->num_elements() == 0) return OkStatus();
    const Dims strides = compute::ContiguousStrides(shape.dims());
    for (int64_t i = 0; i < shape.dim(batch); ++i) {
      const int64_t turned = IntAt(lengths, i);
      Dims sizes = shape.dims();
      sizes[batch] = 1;
      sizes[seq] = turned;
      Dims from = strides;
      from[seq] = -strides[seq];
      const int64_t start = i * strides[batch];
      RETURN_IF_ERROR(compute::CopyStrided(
          ctx.work(), x.dtype(), sizes, {x.raw_data(), from, start + (turned - 1) * strides[seq]},
          {out->mutable_raw_data(), strides, start}));
      sizes[seq] = shape.dim(seq) - turned;
      const int64_t rest = start + turned * strides[seq];
      RETURN_IF_ERROR(compute::CopyStrided(ctx.work(), x.dtype(), sizes,
                                           {x.raw_data(), strides, rest},
                                           {out->mutable_raw_data(), strides, rest}));
    }
    return OkStatus();
  }

 private:
  const int64_t seq_dim_;
  const int64_t batch_dim_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(reverse, cpu) {
  registry.AddFunction<Reverse>("Reverse", kCpu);
  registry.AddFunction<ReverseV2>("ReverseV2", kCpu);
  registry.Add<ReverseSequenceCpu>("ReverseSequence", kCpu);
}
