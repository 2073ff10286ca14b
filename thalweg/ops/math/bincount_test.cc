// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

const AttrMap kIndex32 = {{"Tidx", DType::kInt32}};
const AttrMap kIndex64 = {{"Tidx", DType::kInt64}};
const AttrMap kBinary = {{"Tidx", DType::kInt32}, {"binary_output", true}};

// Adds value i to row(i) of out.
template <class Row>
void Count(const Array<double>& values, const Array<double>& weights, bool binary,
           Array<double>& out, int64_t bins, Row row) {
  for (int64_t i = 0; i < values.size(); ++i) {
    const auto bin = static_cast<int64_t>(values[i]);
    if (bin < 0 || bin >= bins) continue;
    double& to = out[row(i) * bins + bin];
    to = binary ? 1 : to + (weights.size() == 0 ? 1 : weights[i]);
  }
}

TEST(BincountTest, Plain) {
  OpCase("Bincount")
      .Reference([](RefCall<double>& r) {
        const auto bins = static_cast<int64_t>(r.in[1][0]);
        r.out = {Array<double>(Shape{bins})};
        Count(r.in[0], r.in[2], false, r.out[0], bins, [](int64_t) { return 0; });
      })
      .Try({In({6}, {1, 1, 2, 0, 7, 0}), In({}, {3}), In({0})})
      .Try({In({2, 3}, {1, 1, 2, 0, 7, 0}), In({}, {3}), In({2, 3})})
      .Try({In({0}), In({}, {3}), In({0})})
      .Try({In({1}, {0}), In({}, {0}), In({0})})
      .Bad({In({1}, {-1}), In({}, {3}), In({0})}, {}, Code::kInvalidArgument, "non-negative")
      .Bad({In({1}, {1}), In({}, {-1}), In({0})}, {}, Code::kInvalidArgument, "size must")
      .Bad({In({1}, {1}), In({1}, {3}), In({0})}, {}, Code::kInvalidArgument,
           "Shape must be rank 0 but is rank 1")
      .Bad({In({2}, {1, 1}), In({}, {3}), In({3})}, {}, Code::kInvalidArgument, "weights must")
      .Bad({In({2}, {1, 1}), In({}, {3}), In({})}, {}, Code::kInvalidArgument, "weights must")
      .Run();
}

TEST(BincountTest, Dense) {
  OpCase("DenseBincount")
      .Reference([](RefCall<double>& r) {
        const auto bins = static_cast<int64_t>(r.in[1][0]);
        const bool matrix = r.in[0].shape.rank() == 2;
        const int64_t width = matrix ? r.in[0].shape.dim(1) : 1;
        r.out = {Array<double>(matrix ? Shape{r.in[0].shape.dim(0), bins} : Shape{bins})};
        Count(r.in[0], r.in[2], r.Attr<bool>("binary_output"), r.out[0], bins,
              [&](int64_t i) { return matrix ? i / width : 0; });
      })
      .Try({In({2, 3}, {1, 1, 2, 0, 0, 7}), In({}, {3}), In({0})}, kIndex32)
      .Try({In({2, 3}, {1, 1, 2, 0, 0, 7}), In({}, {3}), In({2, 3})}, kIndex64)
      .Try({In({2, 3}, {1, 1, 2, 0, 0, 7}), In({}, {3}), In({2, 3})}, kBinary)
      .Try({In({4}, {1, 1, 2, 9}), In({}, {3}), In({4})}, kIndex32)
      .Try({In({}, {2}), In({}, {3}), In({0})}, kIndex32)
      .Try({In({0, 2}), In({}, {3}), In({0})}, kIndex32)
      .Bad({In({1}, {-1}), In({}, {3}), In({0})}, kIndex32, Code::kInvalidArgument, "non-negative")
      .Bad({In({1, 1}, {-1}), In({}, {3}), In({0})}, kIndex32, Code::kInvalidArgument,
           "non-negative")
      .Bad({In({1, 1, 1}, {1}), In({}, {3}), In({0})}, kIndex32, Code::kInvalidArgument, "matrix")
      .Bad({In({1}, {1}), In({}, {-3}), In({0})}, kIndex32, Code::kInvalidArgument, "size must")
      .Bad({In({2}, {1, 1}), In({}, {3}), In({1})}, kIndex32, Code::kInvalidArgument, "weights")
      .Run();
}

TEST(BincountTest, Sparse) {
  const In places = In({3, 2}, {0, 0, 0, 2, 2, 1}), shape = In({2}, {3, 3}), size = In({}, {3});
  OpCase("SparseBincount")
      .Reference([](RefCall<double>& r) {
        const auto bins = static_cast<int64_t>(r.in[3][0]);
        const bool matrix = r.in[2].size() == 2;
        const auto rows = static_cast<int64_t>(r.in[2][0]);
        r.out = {Array<double>(matrix ? Shape{rows, bins} : Shape{bins})};
        Count(r.in[1], r.in[4], r.Attr<bool>("binary_output"), r.out[0], bins,
              [&](int64_t i) { return matrix ? static_cast<int64_t>(r.in[0][2 * i]) : 0; });
      })
      .Try({places, In({3}, {1, 1, 2}), shape, size, In({0})}, kIndex32)
      .Try({places, In({3}, {1, -1, 9}), shape, size, In({3})}, kIndex64)
      .Try({places, In({3}, {1, 1, 2}), shape, size, In({3})}, kBinary)
      .Try({In({2, 1}, {0, 3}), In({2}, {1, 1}), In({1}, {4}), size, In({0})}, kIndex32)
      .Try({In({0, 2}), In({0}), shape, size, In({0})}, kIndex32)
      .Bad({In({3, 2}, {0, 0, 3, 0, 0, 1}), In({3}, {1, 1, 2}), shape, size, In({0})}, kIndex32,
           Code::kInvalidArgument, "out of bounds")
      .Bad({In({2, 2}, {0, 0, 1, 0}), In({3}, {1, 1, 2}), shape, size, In({0})}, kIndex32,
           Code::kInvalidArgument, "indices must have shape")
      .Bad({In({2}, {0, 0}), In({1}, {1}), shape, size, In({0})}, kIndex32, Code::kInvalidArgument,
           "Sparse indices must be rank 2 but is rank 1")
      .Bad({In({1, 2}, {0, 0}), In({}, {1}), shape, size, In({0})}, kIndex32,
           Code::kInvalidArgument, "Sparse values must be rank 1 but is rank 0")
      .Bad({In({1, 2}, {0, 0}), In({1}, {1}), In({}, {3}), size, In({0})}, kIndex32,
           Code::kInvalidArgument, "Sparse shape must be rank 1 but is rank 0")
      .Bad({In({0, 3}), In({0}), In({3}, {1, 1, 1}), size, In({0})}, kIndex32,
           Code::kInvalidArgument, "one or two")
      .Run();
}

TEST(BincountTest, Ragged) {
  const In splits = In({4}, {0, 2, 2, 5}), size = In({}, {3});
  OpCase("RaggedBincount")
      .Reference([](RefCall<double>& r) {
        const auto bins = static_cast<int64_t>(r.in[2][0]);
        r.out = {Array<double>(Shape{r.in[0].size() - 1, bins})};
        Count(r.in[1], r.in[3], r.Attr<bool>("binary_output"), r.out[0], bins, [&](int64_t i) {
          int64_t row = 0;
          while (i >= static_cast<int64_t>(r.in[0][row + 1])) ++row;
          return row;
        });
      })
      .Try({splits, In({5}, {1, 1, 2, 0, 9}), size, In({0})}, kIndex32)
      .Try({splits, In({5}, {1, 1, 2, 0, 2}), size, In({5})}, kIndex64)
      .Try({splits, In({5}, {1, 1, 2, 0, 2}), size, In({5})}, kBinary)
      .Try({In({1}, {0}), In({0}), size, In({0})}, kIndex32)
      .Bad({splits, In({5}, {1, -1, 2, 0, 2}), size, In({0})}, kIndex32, Code::kInvalidArgument,
           "non-negative")
      .Bad({splits, In({4}, {1, 1, 2, 0}), size, In({0})}, kIndex32, Code::kInvalidArgument,
           "row splits end at 5, of 4 values")
      .Bad({In({2}, {1, 5}), In({5}), size, In({0})}, kIndex32, Code::kInvalidArgument,
           "begin with 0")
      .Bad({In({4}, {0, 3, 2, 5}), In({5}), size, In({0})}, kIndex32, Code::kInvalidArgument,
           "go down")
      .Bad({In({3}, {0, 9, 5}), In({5}), size, In({0})}, kIndex32, Code::kInvalidArgument,
           "go down")
      .Bad({In({0}), In({0}), size, In({0})}, kIndex32, Code::kInvalidArgument, "plits must")
      .Bad({splits, In({5}), In({}, {-1}), In({0})}, kIndex32, Code::kInvalidArgument, "size must")
      .Bad({splits, In({5}), size, In({2})}, kIndex32, Code::kInvalidArgument, "weights")
      .Run();
}

TEST(BincountTest, Histogram) {
  OpCase("HistogramFixedWidth")
      .Reference([](RefCall<double>& r) {
        const double low = r.in[1][0], high = r.in[1][1], bins = r.in[2][0];
        r.out = {Array<double>(Shape{static_cast<int64_t>(bins)})};
        for (const double value : r.in[0].values) {
          const double place = std::floor((value - low) / ((high - low) / bins));
          r.out[0][static_cast<int64_t>(std::clamp(place, 0.0, bins - 1))] += 1;
        }
      })
      .Try({In({6}, {-1, 0, 1, 2, 5, 15}), In({2}, {0, 5}), In({}, {5})})
      .Try({In({7, 31}).Range(-9, 9), In({2}, {-4, 5}), In({}, {7})})
      .Try({In({0}), In({2}, {0, 5}), In({}, {5})})
      .Bad({In({1}), In({2}, {5, 5}), In({}, {5})}, {}, Code::kInvalidArgument, "value_range")
      .Bad({In({1}), In({2}, {5, 0}), In({}, {5})}, {}, Code::kInvalidArgument, "value_range")
      .Bad({In({1}), In({3}, {0, 5, 6}), In({}, {5})}, {}, Code::kInvalidArgument, "two elements")
      .Bad({In({1}), In({2}, {0, 5}), In({}, {0})}, {}, Code::kInvalidArgument, "nbins")
      .Run();
}

TEST(BincountTest, HistogramOfOddNumbers) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const auto histogram = [](std::initializer_list<float> values, float low, float high) {
    return RunOp("HistogramFixedWidth", {Tensor::Vector<float>(values),
                                         Tensor::Vector<float>({low, high}), Tensor::Scalar(2)});
  };
  const Tensor counts = (*histogram({inf, -inf, inf, 3e38f}, -3e38f, 3e38f))[0];
  EXPECT_EQ(counts.data<int32_t>()[0], 1);
  EXPECT_EQ(counts.data<int32_t>()[1], 3);
  EXPECT_EQ(histogram({nan}, 0, 1).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(histogram({0}, 0, inf).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(histogram({0}, 0, nan).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace thalweg
