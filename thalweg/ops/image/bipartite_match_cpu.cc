// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

class MatchCpu : public Kernel {
 public:
  explicit MatchCpu(int64_t top_k) : top_k_(top_k) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const int64_t top_k, c.Attr<int64_t>("top_k"));
    return std::unique_ptr<Kernel>(std::make_unique<MatchCpu>(top_k));
  }

  Status Compute(Context& ctx) override {
    const Tensor& distances = ctx.input(0);
    if (distances.rank() != 2) {
      return InvalidArgument("distance_mat should be 2-dimensional, but got ", distances.shape());
    }
    if (distances.dim(0) > INT32_MAX || distances.dim(1) > INT32_MAX) {
      return InvalidArgument("distance_mat ", distances.shape(), " has more rows or columns than ",
                             INT32_MAX);
    }
    ASSIGN_OR_RETURN(const int64_t rows, ValidRows(ctx.input(1), distances.dim(0)));
    ASSIGN_OR_RETURN(Tensor * of_row,
                     ctx.AllocateOutput(0, DType::kInt32, Shape{distances.dim(0)}));
    ASSIGN_OR_RETURN(Tensor * of_column,
                     ctx.AllocateOutput(1, DType::kInt32, Shape{distances.dim(1)}));
    std::fill_n(of_row->mutable_data<int32_t>(), of_row->num_elements(), -1);
    std::fill_n(of_column->mutable_data<int32_t>(), of_column->num_elements(), -1);
    return Match(ctx, rows, of_row->mutable_data<int32_t>(), of_column->mutable_data<int32_t>());
  }

 private:
  static Result<int64_t> ValidRows(const Tensor& count, int64_t rows) {
    if (count.num_elements() != 1) {
      return InvalidArgument("num_valid_rows argument should be a tensor with 1 element, but got ",
                             count.num_elements());
    }
    const float valid = count.data<float>()[0];
    if (valid < 0) return rows;
    // A number that was computed may be a little less than what was meant: as TensorFlow has it.
    const double whole = std::floor(static_cast<double>(valid) + 0.1);
    if (!(whole <= static_cast<double>(rows))) {  // also what is no number
      return InvalidArgument("There should be at least ", valid,
                             " rows in distance_mat, but only got ", rows, " rows.");
    }
    return static_cast<int64_t>(whole);
  }

  // Of equal distances that of the first row, then of the first column.
  Status Match(Context& ctx, int64_t rows, int32_t* of_row, int32_t* of_column) const {
    const int64_t columns = ctx.input(0).dim(1);
    const float* const distance = ctx.input(0).data<float>();
    ASSIGN_OR_RETURN(Tensor pairs,
                     Tensor::Allocate(ctx.allocator(), DType::kInt64, Shape{rows * columns}));
    const std::span order(pairs.mutable_data<int64_t>(), static_cast<size_t>(rows * columns));
    std::iota(order.begin(), order.end(), int64_t{0});
    std::ranges::sort(order, [&](int64_t a, int64_t b) {
      const bool a_is_none = std::isnan(distance[a]), b_is_none = std::isnan(distance[b]);
      if (a_is_none != b_is_none) return b_is_none;
      if (!a_is_none && distance[a] != distance[b]) return distance[a] < distance[b];
      return a < b;
    });
    int64_t left = std::min(rows, columns);
    if (top_k_ > 0) left = std::min(left, top_k_);
    for (auto pair = order.begin(); left > 0 && pair != order.end(); ++pair) {
      const int64_t row = *pair / columns, column = *pair % columns;
      if (of_row[row] >= 0 || of_column[column] >= 0) continue;
      of_row[row] = static_cast<int32_t>(column);
      of_column[column] = static_cast<int32_t>(row);
      --left;
    }
    return OkStatus();
  }

  const int64_t top_k_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(bipartite_match, cpu) { registry.Add<MatchCpu>("BipartiteMatch", kCpu); }
