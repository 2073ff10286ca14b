// SPDX-License-Identifier: Apache-2.0
// RaggedValue: what a variant that holds a ragged tensor carries: the row splits of its ragged
// dimensions, the outermost first, and the values behind them.
//
//   std::vector<Splits> splits = {{0, 2, 2, 5}};
//   ASSIGN_OR_RETURN(Variant rows, RaggedValue::Make(DType::kInt64, splits, values));
//
// The splits are those of the values: whoever makes one has checked them (SplitsOf).
// Ownership: owns its splits, shares the values' buffer; variants share it.
// Threads: any, as it is immutable.
// Errors: InvalidArgument for values that are variants, and
// nested too deep.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "thalweg/base/str_cat.h"
#include "thalweg/resources/variant_arithmetic.h"
#include "thalweg/tensor/row_splits.h"

namespace thalweg {

class RaggedValue : public ArithmeticVariant {
 public:
  static Result<Variant> Make(DType splits_type, std::vector<Splits> splits, Tensor values);
  std::string TypeName() const override { return "RaggedTensorVariant"; }
  std::string DebugString() const override {
    return StrCat("ragged ", values_.dtype(), " of ragged rank ", splits_.size());
  }
  int depth() const override { return depth_; }
  DType splits_type() const { return splits_type_; }
  const std::vector<Splits>& splits() const { return splits_; }
  const Tensor& values() const { return values_; }
  // The size of the outermost dimension.
  int64_t rows() const {
    return splits_.empty() ? values_.dim(0) : static_cast<int64_t>(splits_[0].size()) - 1;
  }
  Result<Variant> Plus(Context& ctx, const VariantValue& other) const override;
  Result<Variant> Zeros(Context& ctx) const override;

 private:
  RaggedValue(DType splits_type, std::vector<Splits> splits, Tensor values)
      : splits_type_(splits_type),
        splits_(std::move(splits)),
        values_(std::move(values)),
        depth_(DepthAround(values_)) {}

  const DType splits_type_;
  const std::vector<Splits> splits_;
  const Tensor values_;
  const int depth_;
};

}  // namespace thalweg
