// SPDX-License-Identifier: Apache-2.0
// Features of a batch of examples, column by column, sparse columns first, as the operations that
// cross features take them: N indices, N values, N shapes, then dense matrices.
//   ASSIGN_OR_RETURN(const FeatureColumns columns, FeatureColumns::Of(ctx, n, num_dense));
//   const FeatureColumn& column = columns.columns()[k];
//   column.Text(column.first(row) + i);
// Other layouts add their columns one by one.
// Ownership: columns share the inputs' buffers and own where rows begin.
// Threads: one makes it; then const members from any.
// Errors: InvalidArgument for shapes that do not belong together.
#pragma once

#include <string>
#include <vector>

#include "thalweg/ops/sparse/sparse_input.h"
#include "thalweg/tensor/row_splits.h"

namespace thalweg {

class FeatureColumn {
 public:
  FeatureColumn(const Tensor& values, std::vector<int64_t> starts, bool sparse)
      : values_(values), starts_(std::move(starts)), sparse_(sparse) {}

  // Where the features of a row begin, and how many there are.
  int64_t first(int64_t row) const { return starts_[static_cast<size_t>(row)]; }
  int64_t count(int64_t row) const { return starts_[static_cast<size_t>(row) + 1] - first(row); }
  bool is_sparse() const { return sparse_; }
  bool is_text() const { return values_.dtype() == DType::kString; }
  const std::string& bytes(int64_t i) const { return values_.data<std::string>()[i]; }
  int64_t number(int64_t i) const { return values_.data<int64_t>()[i]; }
  std::string Text(int64_t i) const { return is_text() ? bytes(i) : StrCat(number(i)); }

 private:
  Tensor values_;
  std::vector<int64_t> starts_;  // one more than rows
  bool sparse_;
};

class FeatureColumns {
 public:
  static Result<FeatureColumns> Of(const Context& ctx, int num_sparse, int num_dense) {
    FeatureColumns made;
    for (int k = 0; k < num_sparse; ++k) {
      RETURN_IF_ERROR(made.AddSparse(ctx.input(k), ctx.input(num_sparse + k),
                                     ctx.input(2 * num_sparse + k), k));
    }
    for (int k = 0; k < num_dense; ++k) {
      RETURN_IF_ERROR(made.AddDense(ctx.input(3 * num_sparse + k), k));
    }
    return made;
  }
  Status AddSparse(const Tensor& indices, const Tensor& values, const Tensor& shape, int k) {
    if (shape.rank() != 1 || shape.dim(0) != 2) {
      return InvalidArgument("shape should imply a 2D tensor, but got ", shape.shape(),
                             " at position ", k);
    }
    ASSIGN_OR_RETURN(const SparseInput input, SparseInput::Of(indices, values, shape));
    RETURN_IF_ERROR(SetRows(input.shape().dim(0), "sparse tensor", k));
    // What is out of order or bounds belongs to no row.
    std::vector<int64_t> starts = {0};
    int64_t at = 0;
    for (int64_t row = 0; row < rows_; ++row) {
      while (at < input.count() && input.row(at)[0] == row) ++at;
      starts.push_back(at);
    }
    columns_.emplace_back(values, std::move(starts), true);
    return OkStatus();
  }
  Status AddDense(const Tensor& values, int k) {
    if (values.rank() != 2) {
      return InvalidArgument("Dense inputs should be a matrix but received shape ", values.shape(),
                             " at position ", k);
    }
    RETURN_IF_ERROR(SetRows(values.dim(0), "dense tensor", k));
    std::vector<int64_t> starts;
    for (int64_t row = 0; row <= rows_; ++row) starts.push_back(row * values.dim(1));
    columns_.emplace_back(values, std::move(starts), false);
    return OkStatus();
  }
  // Values [n] in rows by splits.
  Status AddRagged(const Tensor& values, const Tensor& splits, int k) {
    if (values.rank() != 1 || splits.rank() != 1) {
      return InvalidArgument("ragged tensor ", k, " must have rank 2: vectors of values and of ",
                             "row splits, got shapes ", values.shape(), " and ", splits.shape());
    }
    ASSIGN_OR_RETURN(Splits starts, SplitsOf(splits, values.dim(0), Cover::kWhole));
    RETURN_IF_ERROR(SetRows(splits.dim(0) - 1, "ragged tensor", k));
    columns_.emplace_back(values, std::move(starts), false);
    return OkStatus();
  }
  int64_t rows() const { return std::max<int64_t>(rows_, 0); }
  const std::vector<FeatureColumn>& columns() const { return columns_; }

 private:
  static constexpr int64_t kMostRows = int64_t{1} << 26;

  Status SetRows(int64_t rows, std::string_view kind, int k) {
    if (rows_ < 0) rows_ = rows;
    if (rows != rows_) {
      return InvalidArgument("Expected batch size ", rows_, " got ", rows, " at ", kind, " ", k);
    }
    if (rows > kMostRows) return ResourceExhausted("a batch of ", rows, " rows is too large");
    return OkStatus();
  }
  int64_t rows_ = -1;
  std::vector<FeatureColumn> columns_;
};

}  // namespace thalweg
