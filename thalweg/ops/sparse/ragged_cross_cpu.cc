// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/sparse/feature_crossing.h"

namespace thalweg {
namespace {

template <class T>
Result<Tensor> RowSplits(Context& ctx, const std::vector<int64_t>& counts) {
  ASSIGN_OR_RETURN(Tensor splits, Tensor::Allocate(ctx.allocator(), kDTypeOf<T>,
                                                   Shape{static_cast<int64_t>(counts.size()) + 1}));
  T* split = splits.mutable_data<T>();
  T end = 0;
  *split = 0;
  for (const int64_t count : counts) *++split = end = static_cast<T>(end + count);
  return splits;
}

// Columns of three kinds: ragged (R), sparse (S), dense (D); input_order has a letter for each.
class RaggedCrossCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<RaggedCrossCpu>();
    const auto count = [&](std::string_view attr) -> Result<int> {
      ASSIGN_OR_RETURN(const auto types, c.Attr<std::vector<DType>>(attr));
      return static_cast<int>(types.size());
    };
    ASSIGN_OR_RETURN(kernel->num_ragged_, count("ragged_values_types"));
    ASSIGN_OR_RETURN(const int num_splits, count("ragged_splits_types"));
    ASSIGN_OR_RETURN(kernel->num_sparse_, count("sparse_values_types"));
    ASSIGN_OR_RETURN(kernel->num_dense_, count("dense_types"));
    ASSIGN_OR_RETURN(const int64_t num_sparse, c.Attr<int64_t>("Nsparse"));
    if (kernel->num_ragged_ != num_splits || kernel->num_sparse_ != num_sparse) {
      return InvalidArgument("values, splits and sparse tensors must be as many, got ",
                             kernel->num_ragged_, " values with ", num_splits, " splits and ",
                             kernel->num_sparse_, " sparse values with Nsparse ", num_sparse);
    }
    ASSIGN_OR_RETURN(kernel->order_, c.Attr<std::string>("input_order"));
    RETURN_IF_ERROR(kernel->CheckOrder());
    ASSIGN_OR_RETURN(kernel->num_buckets_, c.Attr<int64_t>("num_buckets"));
    ASSIGN_OR_RETURN(kernel->hash_key_, c.Attr<int64_t>("hash_key"));
    kernel->as_texts_ = c.output_type(0) == DType::kString;
    kernel->narrow_ = c.output_type(1) == DType::kInt32;
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const FeatureColumns features, Columns(ctx));
    ASSIGN_OR_RETURN(const Crossing crossing, Crossing::Of(features));
    ASSIGN_OR_RETURN(Tensor splits, narrow_ ? RowSplits<int32_t>(ctx, crossing.counts())
                                            : RowSplits<int64_t>(ctx, crossing.counts()));
    const auto hash = [&](const std::vector<int64_t>& at) {
      return Bucket(crossing.Hash(static_cast<uint64_t>(hash_key_), at), num_buckets_);
    };
    ASSIGN_OR_RETURN(Tensor values,
                     as_texts_ ? crossing.Texts(ctx, "_X_") : crossing.Numbers(ctx, hash));
    ctx.set_output(0, std::move(values));
    ctx.set_output(1, std::move(splits));
    return OkStatus();
  }

 private:
  Status CheckOrder() const {
    int ragged = 0, sparse = 0, dense = 0;
    for (const char kind : order_) {
      if (kind != 'R' && kind != 'S' && kind != 'D') {
        return InvalidArgument("input_order must consist of R, S and D, got \"", order_, "\"");
      }
      ++(kind == 'R' ? ragged : kind == 'S' ? sparse : dense);
    }
    if (ragged == num_ragged_ && sparse == num_sparse_ && dense == num_dense_) return OkStatus();
    return InvalidArgument("Invalid length for input_order: \"", order_, "\" does not name ",
                           num_ragged_, " ragged, ", num_sparse_, " sparse and ", num_dense_,
                           " dense inputs");
  }

  Result<FeatureColumns> Columns(const Context& ctx) const {
    FeatureColumns made;
    int ragged = 0, sparse = 0, dense = 0;
    const int first_sparse = 2 * num_ragged_;
    for (const char kind : order_) {
      if (kind == 'R') {
        RETURN_IF_ERROR(made.AddRagged(ctx.input(ragged), ctx.input(num_ragged_ + ragged), ragged));
        ++ragged;
      } else if (kind == 'S') {
        const int i = first_sparse + sparse;
        RETURN_IF_ERROR(made.AddSparse(ctx.input(i), ctx.input(i + num_sparse_),
                                       ctx.input(i + 2 * num_sparse_), sparse++));
      } else {
        RETURN_IF_ERROR(made.AddDense(ctx.input(first_sparse + 3 * num_sparse_ + dense), dense));
        ++dense;
      }
    }
    return made;
  }

  int num_ragged_ = 0, num_sparse_ = 0, num_dense_ = 0;
  std::string order_;
  int64_t num_buckets_ = 0, hash_key_ = 0;
  bool as_texts_ = false, narrow_ = false;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(ragged_cross, cpu) {
  for (DType values : {DType::kInt64, DType::kString}) {
    for (DType splits : {DType::kInt32, DType::kInt64}) {
      registry.Add<RaggedCrossCpu>("RaggedCross", kCpu,
                                   {{"out_values_type", values}, {"out_row_splits_type", splits}});
    }
  }
}
