// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/text/hashes.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/sparse/feature_crossing.h"

namespace thalweg {
namespace {

void SetOutputs(Context& ctx, const Crossing& crossing, Tensor values) {
  const std::vector<int64_t>& counts = crossing.counts();
  std::vector<int64_t> places;
  int64_t width = 0;
  for (size_t row = 0; row < counts.size(); ++row) {
    width = std::max(width, counts[row]);
    for (int64_t i = 0; i < counts[row]; ++i) {
      places.push_back(static_cast<int64_t>(row));
      places.push_back(i);
    }
  }
  ctx.set_output(0, IndexMatrix(places, 2, crossing.total()));
  ctx.set_output(1, std::move(values));
  ctx.set_output(2, Tensor::Vector<int64_t>({static_cast<int64_t>(counts.size()), width}));
}

Status SetTexts(Context& ctx, const Crossing& crossing, std::string_view separator) {
  ASSIGN_OR_RETURN(Tensor texts, crossing.Texts(ctx, separator));
  SetOutputs(ctx, crossing, std::move(texts));
  return OkStatus();
}
// f(features) gives a number.
template <class F>
Status SetNumbers(Context& ctx, const Crossing& crossing, F&& f) {
  ASSIGN_OR_RETURN(Tensor numbers, crossing.Numbers(ctx, f));
  SetOutputs(ctx, crossing, std::move(numbers));
  return OkStatus();
}

// What all three operations begin with.
class CrossKernel : public Kernel {
 public:
  Status ReadColumns(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const int64_t n, c.Attr<int64_t>("N"));
    ASSIGN_OR_RETURN(const auto sparse, c.Attr<std::vector<DType>>("sparse_types"));
    ASSIGN_OR_RETURN(const auto dense, c.Attr<std::vector<DType>>("dense_types"));
    if (static_cast<int64_t>(sparse.size()) != n) {
      return InvalidArgument("N must be the number of sparse_types, ", sparse.size(), ", got ", n);
    }
    num_sparse_ = static_cast<int>(n);
    num_dense_ = static_cast<int>(dense.size());
    for (const auto& types : {sparse, dense}) {
      for (DType dtype : types) all_texts_ &= dtype == DType::kString;
    }
    return OkStatus();
  }

 protected:
  Result<FeatureColumns> Columns(const Context& ctx) const {
    return FeatureColumns::Of(ctx, num_sparse_, num_dense_);
  }
  int num_features() const { return 3 * num_sparse_ + num_dense_; }
  bool all_texts() const { return all_texts_; }

 private:
  int num_sparse_ = 0, num_dense_ = 0;
  bool all_texts_ = true;
};

class CrossCpu : public CrossKernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<CrossCpu>();
    RETURN_IF_ERROR(kernel->ReadColumns(c));
    ASSIGN_OR_RETURN(kernel->num_buckets_, c.Attr<int64_t>("num_buckets"));
    ASSIGN_OR_RETURN(kernel->hash_key_, c.Attr<int64_t>("hash_key"));
    ASSIGN_OR_RETURN(kernel->internal_type_, c.Attr<DType>("internal_type"));
    kernel->as_texts_ = c.output_type(1) == DType::kString;
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    if (internal_type_ == DType::kString && !all_texts()) {
      return InvalidArgument("Input values should be of internal type string but received int64");
    }
    ASSIGN_OR_RETURN(const FeatureColumns features, Columns(ctx));
    ASSIGN_OR_RETURN(const Crossing crossing, Crossing::Of(features));
    if (as_texts_) return SetTexts(ctx, crossing, "_X_");
    return SetNumbers(ctx, crossing, [&](const std::vector<int64_t>& at) {
      return Bucket(crossing.Hash(static_cast<uint64_t>(hash_key_), at), num_buckets_);
    });
  }

 private:
  int64_t num_buckets_ = 0, hash_key_ = 0;
  DType internal_type_ = DType::kInvalid;
  bool as_texts_ = false;
};

class CrossTextsCpu : public CrossKernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<CrossTextsCpu>();
    RETURN_IF_ERROR(kernel->ReadColumns(c));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const Tensor& separator = ctx.input(num_features());
    if (separator.rank() != 0) {
      return InvalidArgument("Input separator should be a scalar, got shape ", separator.shape());
    }
    ASSIGN_OR_RETURN(const FeatureColumns features, Columns(ctx));
    ASSIGN_OR_RETURN(const Crossing crossing, Crossing::Of(features));
    return SetTexts(ctx, crossing, separator.scalar<std::string>());
  }
};

class CrossHashedCpu : public CrossKernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<CrossHashedCpu>();
    RETURN_IF_ERROR(kernel->ReadColumns(c));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const Tensor &buckets = ctx.input(num_features()), &strong = ctx.input(num_features() + 1),
                 &salt = ctx.input(num_features() + 2);
    if (buckets.num_elements() != 1 || strong.num_elements() != 1) {
      return InvalidArgument("num_buckets and strong_hash must be scalars, got shapes ",
                             buckets.shape(), " and ", strong.shape());
    }
    if (salt.num_elements() != 2) {
      return InvalidArgument("Input \"salt\" must have length 2 but has length ",
                             salt.num_elements());
    }
    ASSIGN_OR_RETURN(const FeatureColumns features, Columns(ctx));
    ASSIGN_OR_RETURN(const Crossing crossing, Crossing::Of(features));
    const int64_t num_buckets = buckets.scalar<int64_t>();
    const auto salt0 = static_cast<uint64_t>(salt.data<int64_t>()[0]);
    const auto salt1 = static_cast<uint64_t>(salt.data<int64_t>()[1]);
    const bool is_strong = strong.scalar<bool>();
    // By SipHash; of a number, four bytes.
    const auto part = [&](const FeatureColumn& column, int64_t i) -> uint64_t {
      if (!is_strong) return PartOf(column, i, true);
      if (column.is_text()) return compute::SipHash(salt0, salt1, column.bytes(i));
      const int64_t number = column.number(i);
      return compute::SipHash(salt0, salt1, {reinterpret_cast<const char*>(&number), 4});
    };
    return SetNumbers(ctx, crossing, [&](const std::vector<int64_t>& at) {
      uint64_t hash = part(features.columns()[0], at[0]);
      for (size_t k = 1; k < at.size(); ++k) {
        hash = JoinFingerprints(hash, part(features.columns()[k], at[k]));
      }
      return Bucket(hash, num_buckets);
    });
  }
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(sparse_cross, cpu) {
  for (DType out : {DType::kInt64, DType::kString}) {
    registry.Add<CrossCpu>("SparseCross", kCpu, {{"out_type", out}});
  }
  registry.Add<CrossTextsCpu>("SparseCrossV2", kCpu);
  registry.Add<CrossHashedCpu>("SparseCrossHashed", kCpu);
}
