// SPDX-License-Identifier: Apache-2.0
#include <mutex>

#include "thalweg/base/entropy.h"
#include "thalweg/compute/pool/fractional.h"
#include "thalweg/kernel/element_wise.h"
#include "thalweg/ops/nn/fractional_pool_attrs.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// Where the cuts come from: the same in every step when deterministic, else ever new ones.
class CutSource {
 public:
  Status Read(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(deterministic_, c.Attr<bool>("deterministic"));
    ASSIGN_OR_RETURN(pseudo_random_, c.Attr<bool>("pseudo_random"));
    ASSIGN_OR_RETURN(const int64_t seed, c.Attr<int64_t>("seed"));
    ASSIGN_OR_RETURN(const int64_t seed2, c.Attr<int64_t>("seed2"));
    const bool seeded = seed != 0 || seed2 != 0;
    if (seeded && !deterministic_) {
      return InvalidArgument("seed and seed2 must be 0 unless deterministic, got ", seed, " and ",
                             seed2);
    }
    random_ = seeded ? Philox(static_cast<uint64_t>(seed), static_cast<uint64_t>(seed2))
                     : Philox(RandomSeed(), RandomSeed());
    return OkStatus();
  }
  void Make(int64_t rows, int64_t out_rows, int64_t columns, int64_t out_columns,
            std::vector<int64_t>* row_cuts, std::vector<int64_t>* column_cuts) {
    const std::lock_guard lock(mutex_);
    Philox random = random_;
    *row_cuts = compute::FractionalCuts(random, rows, out_rows, pseudo_random_);
    *column_cuts = compute::FractionalCuts(random, columns, out_columns, pseudo_random_);
    if (!deterministic_) random_ = random;
  }

 private:
  std::mutex mutex_;
  Philox random_;
  bool deterministic_ = false, pseudo_random_ = false;
};

template <bool Maximum>
class FractionalPoolCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<FractionalPoolCpu>();
    RETURN_IF_ERROR(kernel->cuts_.Read(c));
    ASSIGN_OR_RETURN(kernel->ratio_, ParseRatio(c));
    ASSIGN_OR_RETURN(kernel->overlapping_, c.Attr<bool>("overlapping"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    if (x.rank() != 4) return InvalidArgument("the image must have 4 dimensions, got ", x.shape());
    int64_t out[2];
    for (int d : {0, 3}) RETURN_IF_ERROR(PooledSize(x.dim(d), 1, d).status());
    for (int d : {1, 2}) {
      ASSIGN_OR_RETURN(out[d - 1], PooledSize(x.dim(d), ratio_[static_cast<size_t>(d)], d));
    }
    std::vector<int64_t> cuts[2];
    cuts_.Make(x.dim(1), out[0], x.dim(2), out[1], &cuts[0], &cuts[1]);
    for (int d : {1, 2}) {
      const auto n = static_cast<int64_t>(cuts[d - 1].size());
      ASSIGN_OR_RETURN(Tensor * t, ctx.AllocateOutput(d, DType::kInt64, Shape{n}));
      std::copy(cuts[d - 1].begin(), cuts[d - 1].end(), t->mutable_data<int64_t>());
    }
    const compute::FractionalShape shape{x.dim(0), x.dim(1), x.dim(2),    x.dim(3),
                                         cuts[0],  cuts[1],  overlapping_};
    ASSIGN_OR_RETURN(Tensor * y,
                     ctx.AllocateOutput(0, x.dtype(), Shape{x.dim(0), out[0], out[1], x.dim(3)}));
    return compute::FractionalPool(ctx.work(), x.dtype(), Maximum, shape, x.raw_data(),
                                   y->mutable_raw_data());
  }

 private:
  CutSource cuts_;
  std::vector<float> ratio_;
  bool overlapping_ = false;
};

// Inputs: the image or its shape; for the maximum, its output; the gradient; the cuts.
template <bool Maximum>
class FractionalPoolGradCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<FractionalPoolGradCpu>();
    ASSIGN_OR_RETURN(kernel->overlapping_, c.Attr<bool>("overlapping"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const int first = Maximum ? 2 : 1;
    const Tensor &dy = ctx.input(first), &rows = ctx.input(first + 1),
                 &columns = ctx.input(first + 2);
    Shape image = ctx.input(0).shape();
    if (!Maximum) {
      ASSIGN_OR_RETURN(image, ShapeOf(ctx.input(0), "orig_input_tensor_shape"));
    }
    if (image.rank() != 4) {
      return InvalidArgument("the image must have 4 dimensions, got ", image.ToString());
    }
    if (Maximum && ctx.input(1).shape() != dy.shape()) {
      return InvalidArgument("orig_output must have the shape of out_backprop, ", dy.shape(),
                             ", got ", ctx.input(1).shape());
    }
    if (dy.rank() != 4 || dy.dim(0) != image.dim(0) || dy.dim(3) != image.dim(3)) {
      return InvalidArgument("out_backprop must have the batch and channels of the image, ",
                             image.ToString(), ", got ", dy.shape());
    }
    for (int d : {1, 2}) {
      const Tensor& cuts = ctx.input(first + d);
      if (cuts.rank() == 1 && cuts.dim(0) == dy.dim(d) + 1) continue;
      return InvalidArgument("a pooling sequence for out_backprop ", dy.shape(), " must have ",
                             dy.dim(d) + 1, " elements, got shape ", cuts.shape());
    }
    const auto span = [](const Tensor& t) {
      return std::span<const int64_t>(t.data<int64_t>(), static_cast<size_t>(t.num_elements()));
    };
    const compute::FractionalShape shape{image.dim(0), image.dim(1),  image.dim(2), image.dim(3),
                                         span(rows),   span(columns), overlapping_};
    RETURN_IF_ERROR(compute::CheckCuts(shape));
    ASSIGN_OR_RETURN(Tensor * dx, ctx.AllocateOutput(0, dy.dtype(), image));
    return compute::FractionalPoolGrad(ctx.work(), dy.dtype(), Maximum, shape,
                                       Maximum ? ctx.input(0).raw_data() : nullptr, dy.raw_data(),
                                       dx->mutable_raw_data());
  }

 private:
  bool overlapping_ = false;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(fractional_pool, cpu) {
  for (DType dtype : {DType::kFloat, DType::kDouble, DType::kInt32, DType::kInt64}) {
    registry.Add<FractionalPoolCpu<true>>("FractionalMaxPool", kCpu, {{"T", dtype}}).KeepsState();
    registry.Add<FractionalPoolCpu<false>>("FractionalAvgPool", kCpu, {{"T", dtype}}).KeepsState();
    registry.Add<FractionalPoolGradCpu<true>>("FractionalMaxPoolGrad", kCpu, {{"T", dtype}});
    registry.Add<FractionalPoolGradCpu<false>>("FractionalAvgPoolGrad", kCpu, {{"T", dtype}});
  }
}
