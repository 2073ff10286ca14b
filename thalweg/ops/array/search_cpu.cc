// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "thalweg/compute/move/search.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

Status CheckMatrix(const Shape& shape, std::string_view what) {
  if (shape.rank() == 2) return OkStatus();
  return InvalidArgument("Shape must be rank 2 but is rank ", shape.rank(), " for `", what,
                         "` argument, got shape ", shape);
}

template <bool kUpper>
class SearchCpu : public Kernel {
 public:
  explicit SearchCpu(const KernelConstruction& c) : out_type_(c.output_type(0)) {}

  Status Compute(Context& ctx) override {
    const Tensor& sorted = ctx.input(0);
    const Tensor& values = ctx.input(1);
    RETURN_IF_ERROR(CheckMatrix(sorted.shape(), "sorted_inputs"));
    RETURN_IF_ERROR(CheckMatrix(values.shape(), "values"));
    if (sorted.dim(0) != values.dim(0)) {
      return InvalidArgument("Leading dim_size of both tensors must match, got ", sorted.shape(),
                             " and ", values.shape());
    }
    if (out_type_ == DType::kInt32 && sorted.dim(1) > std::numeric_limits<int32_t>::max()) {
      return InvalidArgument("rows of ", sorted.dim(1), " elements have places beyond int32");
    }
    const bool narrow = out_type_ == DType::kInt32;
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, out_type_, values.shape()));
    Tensor places;
    if (narrow) {
      ASSIGN_OR_RETURN(places, ctx.AllocateTemporary(DType::kInt64, values.shape()));
    }
    int64_t* const to = narrow ? places.mutable_data<int64_t>() : out->mutable_data<int64_t>();
    RETURN_IF_ERROR(compute::SearchRows(
        ctx.work(), sorted.dtype(), kUpper,
        {.batch = sorted.dim(0), .sorted = sorted.dim(1), .values = values.dim(1)},
        sorted.raw_data(), values.raw_data(), to));
    if (narrow) {
      std::transform(to, to + values.num_elements(), out->mutable_data<int32_t>(),
                     [](int64_t place) { return static_cast<int32_t>(place); });
    }
    return OkStatus();
  }

 private:
  const DType out_type_;
};

class BucketizeCpu : public Kernel {
 public:
  explicit BucketizeCpu(std::vector<float> boundaries) : boundaries_(std::move(boundaries)) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(std::vector<float> boundaries, c.Attr<std::vector<float>>("boundaries"));
    if (!std::ranges::is_sorted(boundaries)) {
      return InvalidArgument("Expected sorted boundaries");
    }
    return std::unique_ptr<Kernel>(std::make_unique<BucketizeCpu>(std::move(boundaries)));
  }

  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kInt32, x.shape()));
    return compute::Bucketize(ctx.work(), x.dtype(), boundaries_, x.num_elements(), x.raw_data(),
                              out->mutable_data<int32_t>());
  }

 private:
  const std::vector<float> boundaries_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(search, cpu) {
  ForEachType<RealTypes>([&]<class T>() {
    registry.Add<SearchCpu<false>>("LowerBound", kCpu, {{"T", kDTypeOf<T>}});
    registry.Add<SearchCpu<true>>("UpperBound", kCpu, {{"T", kDTypeOf<T>}});
  });
  for (DType dtype : {DType::kFloat, DType::kDouble, DType::kInt32, DType::kInt64}) {
    registry.Add<BucketizeCpu>("Bucketize", kCpu, {{"T", dtype}});
  }
}
