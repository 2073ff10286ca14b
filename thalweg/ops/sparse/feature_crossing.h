// SPDX-License-Identifier: Apache-2.0
// Crosses of features: every combination of one feature of each column, row by row, as texts or as
// hashes.
//   ASSIGN_OR_RETURN(const Crossing crossing, Crossing::Of(features));
//   ASSIGN_OR_RETURN(Tensor texts, crossing.Texts(ctx, "_X_"));
// Ownership: copies the columns, which share the inputs' buffers; results are the caller's.
// Threads: const members from any; each uses its caller's thread alone.
// Errors: ResourceExhausted for more than 2^30 of them.
#pragma once

#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "thalweg/base/fingerprint.h"
#include "thalweg/kernel/made_texts.h"
#include "thalweg/ops/sparse/feature_columns.h"

namespace thalweg {

// Two fingerprints in one: the mixing step of MurmurHash64A, as fingerprints of crossed features
// are defined.
inline uint64_t JoinFingerprints(uint64_t a, uint64_t b) {
  constexpr uint64_t kFactor = 0xc6a4a7935bd1e995u;
  const auto fold = [](uint64_t v) { return v ^ (v >> 47); };
  return fold(fold(((a ^ kFactor) ^ (fold(b * kFactor) * kFactor)) * kFactor) * kFactor);
}

// What a column puts into the hash of a combination. Of a sparse number to be hashed, four bytes
// count, as in TensorFlow.
inline uint64_t PartOf(const FeatureColumn& column, int64_t i, bool hash_sparse_numbers) {
  if (column.is_text()) return Fingerprint64(column.bytes(i));
  const int64_t number = column.number(i);
  if (!hash_sparse_numbers || !column.is_sparse()) return static_cast<uint64_t>(number);
  return Fingerprint64({reinterpret_cast<const char*>(&number), 4});
}

inline int64_t Bucket(uint64_t hash, int64_t buckets) {
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
  Status ForEach(compute::Work& work, F&& f) const {
    std::vector<int64_t> at(columns_.size());
    for (size_t row = 0; row < counts_.size(); ++row) {
      for (int64_t i = 0; i < counts_[row]; ++i) {
        if (i % kLookEvery == 0 && work.cancelled()) return CancelledStep();
        int64_t left = i;
        for (size_t k = columns_.size(); k-- > 0;) {
          const int64_t n = columns_[k].count(static_cast<int64_t>(row));
          at[k] = columns_[k].first(static_cast<int64_t>(row)) + left % n;
          left /= n;
        }
        f(at);
      }
    }
    return OkStatus();
  }
  const std::vector<int64_t>& counts() const { return counts_; }

  Result<Tensor> Texts(Context& ctx, std::string_view separator) const {
    ASSIGN_OR_RETURN(Tensor texts,
                     Tensor::Allocate(ctx.allocator(), DType::kString, Shape{total_}));
    auto* text = texts.mutable_data<std::string>();
    TextMeter meter(ctx.allocator(), texts);
    RETURN_IF_ERROR(ForEach(ctx.work(), [&](const std::vector<int64_t>& at) {
      std::string crossed;
      for (size_t k = 0; k < at.size(); ++k) {
        if (k > 0) crossed += separator;
        crossed += columns_[k].Text(at[k]);
      }
      if (meter.Take(crossed.size())) *text++ = std::move(crossed);
    }));
    RETURN_IF_ERROR(meter.status());
    return texts;
  }
  // f(features) gives a number.
  template <class F>
  Result<Tensor> Numbers(Context& ctx, F&& f) const {
    ASSIGN_OR_RETURN(Tensor numbers,
                     Tensor::Allocate(ctx.allocator(), DType::kInt64, Shape{total_}));
    auto* number = numbers.mutable_data<int64_t>();
    RETURN_IF_ERROR(
        ForEach(ctx.work(), [&](const std::vector<int64_t>& at) { *number++ = f(at); }));
    return numbers;
  }
  uint64_t Hash(uint64_t key, const std::vector<int64_t>& at) const {
    for (size_t k = 0; k < at.size(); ++k) {
      key = JoinFingerprints(key, PartOf(columns_[k], at[k], false));
    }
    return key;
  }

 private:
  static constexpr int64_t kMost = int64_t{1} << 30;
  static constexpr int64_t kLookEvery = 1024;
  explicit Crossing(std::vector<FeatureColumn> columns) : columns_(std::move(columns)) {}

  std::vector<FeatureColumn> columns_;
  std::vector<int64_t> counts_;  // of each row
  int64_t total_ = 0;
};

}  // namespace thalweg
