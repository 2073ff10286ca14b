// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <limits>

#include "thalweg/base/fingerprint.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/sparse/feature_columns.h"

namespace thalweg {
namespace {

// Two fingerprints in one: the mixing step of MurmurHash64A, as fingerprints of crossed features
// are defined.
uint64_t JoinFingerprints(uint64_t a, uint64_t b) {
  constexpr uint64_t kFactor = 0xc6a4a7935bd1e995u;
  const auto fold = [](uint64_t v) { return v ^ (v >> 47); };
  return fold(fold(((a ^ kFactor) ^ (fold(b * kFactor) * kFactor)) * kFactor) * kFactor);
}

// What a column puts into the hash of a combination. Of a sparse number to be hashed, four bytes
// count, as in TensorFlow.
uint64_t PartOf(const FeatureColumn& column, int64_t i, bool hash_sparse_numbers) {
  if (column.is_text()) return Fingerprint64(column.bytes(i));
  const int64_t number = column.number(i);
  if (!hash_sparse_numbers || !column.is_sparse()) return static_cast<uint64_t>(number);
  return Fingerprint64({reinterpret_cast<const char*>(&number), 4});
}

int64_t Bucket(uint64_t hash, int64_t buckets) {
  if (buckets <= 0) buckets = std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(hash % static_cast<uint64_t>(buckets));
}

// The combinations of all rows, the last column changing fastest.
class Crossing {
 public:
  static Result<Crossing> Of(const FeatureColumns& features) {
    Crossing made(features.columns());
    for (int64_t row = 0; row < features.rows(); ++row) {
      int64_t count = made.columns_.empty() ? 0 : 1;
      for (const FeatureColumn& column : made.columns_) {
        if (__builtin_mul_overflow(count, column.count(row), &count)) count = kMost + 1;
        if (count > kMost) return ResourceExhausted("row ", row, " has too many combinations");
      }
      made.counts_.push_back(count);
      made.total_ += count;
      if (made.total_ > kMost) return ResourceExhausted("too many combinations of features");
    }
    return made;
  }
  int64_t total() const { return total_; }

  // f(features): one of each column.
  template <class F>
  void ForEach(F&& f) const {
    std::vector<int64_t> at(columns_.size());
    for (size_t row = 0; row < counts_.size(); ++row) {
      for (int64_t i = 0; i < counts_[row]; ++i) {
        int64_t left = i;
        for (size_t k = columns_.size(); k-- > 0;) {
          const int64_t n = columns_[k].count(static_cast<int64_t>(row));
          at[k] = columns_[k].first(static_cast<int64_t>(row)) + left % n;
          left /= n;
        }
        f(at);
      }
    }
  }
  void SetOutputs(Context& ctx, Tensor values) const {
    std::vector<int64_t> places;
    int64_t width = 0;
    for (size_t row = 0; row < counts_.size(); ++row) {
      width = std::max(width, counts_[row]);
      for (int64_t i = 0; i < counts_[row]; ++i) {
        places.push_back(static_cast<int64_t>(row));
        places.push_back(i);
      }
    }
    ctx.set_output(0, IndexMatrix(places, 2, total_));
    ctx.set_output(1, std::move(values));
    ctx.set_output(2, Tensor::Vector<int64_t>({static_cast<int64_t>(counts_.size()), width}));
  }

  Status SetTexts(Context& ctx, std::string_view separator) const {
    ASSIGN_OR_RETURN(Tensor texts,
                     Tensor::Allocate(ctx.allocator(), DType::kString, Shape{total_}));
    auto* text = texts.mutable_data<std::string>();
    ForEach([&](const std::vector<int64_t>& at) {
      for (size_t k = 0; k < at.size(); ++k) {
        if (k > 0) *text += separator;
        *text += columns_[k].Text(at[k]);
      }
      ++text;
    });
    SetOutputs(ctx, std::move(texts));
    return OkStatus();
  }
  // f(features) gives a number.
  template <class F>
  Status SetNumbers(Context& ctx, F&& f) const {
    std::vector<int64_t> numbers;
    ForEach([&](const std::vector<int64_t>& at) { numbers.push_back(f(at)); });
    SetOutputs(ctx, Tensor::Of<int64_t>(numbers, Shape{total_}));
    return OkStatus();
  }

 private:
  static constexpr int64_t kMost = int64_t{1} << 30;
  explicit Crossing(std::vector<FeatureColumn> columns) : columns_(std::move(columns)) {}

  std::vector<FeatureColumn> columns_;
  std::vector<int64_t> counts_;  // of each row
  int64_t total_ = 0;
};

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
    if (as_texts_) return crossing.SetTexts(ctx, "_X_");
    return crossing.SetNumbers(ctx, [&](const std::vector<int64_t>& at) {
      auto hash = static_cast<uint64_t>(hash_key_);
      for (size_t k = 0; k < at.size(); ++k) {
        hash = JoinFingerprints(hash, PartOf(features.columns()[k], at[k], false));
      }
      return Bucket(hash, num_buckets_);
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
    return crossing.SetTexts(ctx, separator.scalar<std::string>());
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
    if (strong.scalar<bool>()) {
      return Unimplemented("crosses of strong hashes, at which TensorFlow ends the process");
    }
    ASSIGN_OR_RETURN(const FeatureColumns features, Columns(ctx));
    ASSIGN_OR_RETURN(const Crossing crossing, Crossing::Of(features));
    const int64_t num_buckets = buckets.scalar<int64_t>();
    return crossing.SetNumbers(ctx, [&](const std::vector<int64_t>& at) {
      uint64_t hash = PartOf(features.columns()[0], at[0], true);
      for (size_t k = 1; k < at.size(); ++k) {
        hash = JoinFingerprints(hash, PartOf(features.columns()[k], at[k], true));
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
