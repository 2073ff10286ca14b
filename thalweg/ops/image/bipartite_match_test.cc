// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

In ValidRows(float count) { return In(Tensor::Scalar<float>(count)); }

// The least of what is left, again and again.
void MatchReference(RefCall<double>& r) {
  const Array<double>& d = r.in[0];
  const int64_t rows = d.shape.dim(0), columns = d.shape.dim(1);
  const int64_t valid = r.in[1][0] < 0 ? rows : static_cast<int64_t>(r.in[1][0] + 0.1);
  Array<double> of_row(Shape{rows}), of_column(Shape{columns});
  for (double& x : of_row.values) x = -1;
  for (double& x : of_column.values) x = -1;
  auto left = r.Attr<int64_t>("top_k");
  if (left <= 0) left = rows;
  for (; left > 0; --left) {
    int64_t row = -1, column = -1;
    for (int64_t i = 0; i < valid; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        if (of_row[i] >= 0 || of_column[j] >= 0) continue;
        if (row >= 0 && d.At({i, j}) >= d.At({row, column})) continue;
        row = i;
        column = j;
      }
    }
    if (row < 0) break;
    of_row[row] = static_cast<double>(column);
    of_column[column] = static_cast<double>(row);
  }
  r.out = {of_row, of_column};
}

TEST(BipartiteMatchTest, Cases) {
  OpCase("BipartiteMatch")
      .Reference(MatchReference)
      .Try({In({7, 5}), ValidRows(-1)})
      .Try({In({4, 9}), ValidRows(3)})
      .Try({In({4, 9}), ValidRows(2.9999998f)})  // three that were computed
      .Try({In({4, 9}), ValidRows(2.5f)})
      .Try({In({4, 9}), ValidRows(1.9f)})
      .Try({In({6, 6}), ValidRows(6)}, {{"top_k", int64_t{2}}})
      .Try({In({6, 6}), ValidRows(-1)}, {{"top_k", int64_t{0}}})
      .Try({In({3, 3}, {1, 1, 1, 1, 1, 1, 1, 1, 1}), ValidRows(-1)})
      .Try({In({0, 3}), ValidRows(-1)})
      .Try({In({3, 0}), ValidRows(2)})
      .Bad({In({3}), ValidRows(1)}, {}, Code::kInvalidArgument, "")
      .Bad({In({2, 3}), ValidRows(5)}, {}, Code::kInvalidArgument, "at least 5 rows")
      .Bad({In({3, 3}), ValidRows(3.99f)}, {}, Code::kInvalidArgument, "only got 3 rows")
      .Bad({In({2, 3}), ValidRows(NAN)}, {}, Code::kInvalidArgument, "only got 2 rows")
      .Bad({In({2, 3}), In({2})}, {}, Code::kInvalidArgument, "1 element, but got 2")
      .Run();
}

// What is no distance comes last; values of TensorFlow 1.15.
TEST(BipartiteMatchTest, Recorded) {
  const auto match = [](std::vector<float> distances, Shape shape) {
    const auto y =
        RunOp("BipartiteMatch", {Tensor::Of<float>(distances, shape), Tensor::Scalar<float>(-1)});
    EXPECT_TRUE(y.ok()) << y.status().ToString();
    return ToArray<double>((*y)[0]).values;
  };
  using Values = std::vector<double>;
  EXPECT_EQ(match({.5f, .1f, .8f, .3f, .2f, .15f}, Shape{2, 3}), (Values{1, 2}));
  EXPECT_EQ(match({INFINITY, .1f, .2f, INFINITY}, Shape{2, 2}), (Values{1, 0}));
  EXPECT_EQ(match({NAN, .1f, .2f, .3f}, Shape{2, 2}), (Values{1, 0}));
}

}  // namespace
}  // namespace thalweg
