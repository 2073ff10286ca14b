// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/array/test_element_types.h"

namespace thalweg {
namespace {

template <class V>
void TransposeReference(RefCall<V>& r) {
  const int rank = r.in[0].shape.rank();
  Dims dims;
  std::vector<int> perm;
  for (int i = 0; i < rank; ++i) {
    perm.push_back((static_cast<int>(std::real(r.in[1][i])) + rank) % rank);
    dims.push_back(r.in[0].shape.dim(perm.back()));
  }
  r.out = {Array<V>(Shape(dims))};
  ForEachIndex(r.out[0].shape, [&](const std::vector<int64_t>& at) {
    std::vector<int64_t> from(at.size());
    for (size_t i = 0; i < at.size(); ++i) from[static_cast<size_t>(perm[i])] = at[i];
    r.out[0].At(at) = r.in[0].values[static_cast<size_t>(r.in[0].Offset(from))];
  });
}

TEST(TransposeTest, OrdersDimensionsAnew) {
  EveryElementType("Transpose")
      .Reference([]<class V>(RefCall<V>& r) { TransposeReference(r); })
      .Try({In({33, 18}), In({2}, {1, 0})})
      .Try({In({2, 3, 4, 5}), In({4}, {0, 3, 1, 2})}, {{"Tperm", DType::kInt64}})
      .Try({In({2, 1, 3}), In({3}, {1, 0, 2})})
      .Try({In({0, 3}), In({2}, {1, 0})})
      .Try({In({}), In({0}, {})})
      .Bad({In({2, 3}), In({2}, {0, 0})}, {}, Code::kInvalidArgument, "1 is missing from {0,0}.")
      .Bad({In({2, 3}), In({2}, {0, 2})}, {}, Code::kInvalidArgument,
           "perm dim 2 is out of range of input rank 2", "2 is out of range [0 .. 2)")
      .Bad({In({2, 3}), In({1}, {0})}, {}, Code::kInvalidArgument,
           "Dimension must be 2 but is 1 for ",
           "transpose expects a vector of size 2. But input(1) is a vector of size 1")
      .Run();
}

TEST(TransposeTest, CountsDimensionsFromTheEnd) {
  OpCase("Transpose")
      .Types({{"T", DType::kFloat}})
      .Reference([]<class V>(RefCall<V>& r) { TransposeReference(r); })
      .Try({In({2, 3, 4, 5}), In({4}, {-1, 2, 1, 0})})
      .NoGradient("a permutation with negative numbers has no inverse, as in TensorFlow")
      .Run();
}

TEST(ConjugateTransposeTest, OrdersDimensionsAnewAndConjugates) {
  OpCase("ConjugateTranspose")
      .Skip(DType::kFloat8E5m2, "moved as the other types of one byte; cases have no such numbers")
      .Skip(DType::kFloat8E4m3fn, "likewise")
      .Skip(DType::kString, "the harness compares numbers")
      .Skip(DType::kResource, "the harness compares numbers")
      .Skip(DType::kVariant, "the harness compares numbers")
      .Reference([]<class V>(RefCall<V>& r) {
        TransposeReference(r);
        if constexpr (!std::is_same_v<V, double>) {
          for (V& value : r.out[0].values) value = std::conj(value);
        }
      })
      .Try({In({3, 5}), In({2}, {1, 0})})
      .Try({In({3, 5}), In({2}, {0, 1})})
      .Trivial("real types in order are unchanged")
      .Run();
}

TEST(InvertPermutationTest, UndoesAPermutation) {
  OpCase("InvertPermutation")
      .Reference([](RefCall<double>& r) {
        r.out = {Array<double>(r.in[0].shape)};
        for (int64_t i = 0; i < r.in[0].size(); ++i) {
          r.out[0][static_cast<int64_t>(r.in[0][i])] = static_cast<double>(i);
        }
      })
      .Try({In({5}, {3, 4, 0, 2, 1})})
      .Try({In({0}, {})})
      .Bad({In({2}, {0, 0})}, {}, Code::kInvalidArgument, "duplicated")
      .Bad({In({2}, {0, 2})}, {}, Code::kInvalidArgument, "not between 0 and 2")
      .Bad({In({}, {0})}, {}, Code::kInvalidArgument, "")
      .Run();
}

}  // namespace
}  // namespace thalweg
