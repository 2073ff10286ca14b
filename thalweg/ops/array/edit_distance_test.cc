// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

// Recursion from the definition.
template <class V>
double Edits(const std::vector<V>& a, const std::vector<V>& b, size_t i, size_t j) {
  if (i == a.size()) return static_cast<double>(b.size() - j);
  if (j == b.size()) return static_cast<double>(a.size() - i);
  return std::min({Edits(a, b, i + 1, j) + 1, Edits(a, b, i, j + 1) + 1,
                   Edits(a, b, i + 1, j + 1) + (a[i] == b[j] ? 0.0 : 1.0)});
}

// Rows of a sparse matrix.
template <class V>
std::map<int64_t, std::vector<V>> RowsOf(const Array<V>& indices, const Array<V>& values) {
  std::map<int64_t, std::vector<V>> rows;
  for (int64_t i = 0; i < values.size(); ++i) {
    rows[static_cast<int64_t>(std::real(indices[2 * i]))].push_back(values[i]);
  }
  return rows;
}

const std::vector<In> kSparse = {
    In({6, 2}, {0, 0, 0, 1, 2, 0, 2, 1, 2, 2, 4, 0}), In({6}, {1, 0, 1, 0, 0, 1}), In({2}, {5, 3}),
    In({5, 2}, {0, 0, 0, 1, 0, 2, 2, 0, 3, 0}),       In({5}, {1, 1, 0, 0, 0}),    In({2}, {4, 3})};

TEST(EditDistanceTest, OfRows) {
  for (const bool normalize : {false, true}) {
    OpCase("EditDistance")
        .Skip(DType::kString, "the reference computes with numbers")
        .Reference([normalize]<class V>(RefCall<V>& r) {
          auto a = RowsOf(r.in[0], r.in[1]), b = RowsOf(r.in[3], r.in[4]);
          r.out = {Array<V>(Shape{5})};
          for (int64_t row = 0; row < 5; ++row) {
            double edits = Edits(a[row], b[row], 0, 0);
            if (normalize && edits > 0) edits /= static_cast<double>(b[row].size());
            r.out[0][row] = edits;
          }
        })
        .Try(kSparse, {{"normalize", normalize}})
        .Bad({kSparse[0], kSparse[1], kSparse[2], kSparse[3], In({4}, {1, 1, 1, 1}), kSparse[5]},
             {}, Code::kInvalidArgument, "")
        .Bad({kSparse[0], kSparse[1], In({3}, {5, 3, 1}), kSparse[3], kSparse[4], kSparse[5]}, {},
             Code::kInvalidArgument, "")
        .Bad({kSparse[0], kSparse[1], In({2}, {-5, 3}), kSparse[3], kSparse[4], kSparse[5]}, {},
             Code::kInvalidArgument, "must be >= 0")
        .Bad({kSparse[0], kSparse[1], In({2}, {3, 3}), kSparse[3], kSparse[4], In({2}, {3, 3})}, {},
             Code::kInternal, "outside of the output")
        .Run();
  }
}

TEST(EditDistanceTest, OfTextsInAnyOrder) {
  const auto texts = [](std::vector<std::string> values) {
    return Tensor::Of<std::string>(values, Shape{static_cast<int64_t>(values.size())});
  };
  const auto got =
      RunOp("EditDistance", {*Tensor::Vector<int64_t>({1, 0, 0, 0, 0, 1}).Reshaped(Shape{3, 2}),
                             texts({"z", "a", "b"}), Tensor::Vector<int64_t>({2, 2}),
                             *Tensor::Vector<int64_t>({0, 0, 0, 1}).Reshaped(Shape{2, 2}),
                             texts({"a", "c"}), Tensor::Vector<int64_t>({2, 2})});
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ((*got)[0].data<float>()[0], 0.5f);
  EXPECT_EQ((*got)[0].data<float>()[1], std::numeric_limits<float>::infinity());
}

}  // namespace
}  // namespace thalweg
