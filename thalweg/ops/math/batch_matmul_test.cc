// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/testing/op_case.h"
#include "thalweg/testing/tolerance.h"

namespace thalweg {
namespace {

template <class V>
V Conjugate(V value) {
  if constexpr (std::is_same_v<V, double>) {
    return value;
  } else {
    return std::conj(value);
  }
}

constexpr auto kProducts = []<class V>(RefCall<V>& r) {
  const bool ax = r.template Attr<bool>("adj_x"), ay = r.template Attr<bool>("adj_y");
  const auto leading = [](const Shape& shape) {
    Dims dims = shape.dims();
    dims.resize(shape.rank() - 2);
    return Shape(dims);
  };
  const Shape &x = r.in[0].shape, &y = r.in[1].shape;
  Dims dims = BroadcastShape(leading(x), leading(y)).dims();
  const int64_t k = x.dim(x.rank() - (ax ? 2 : 1));
  dims.push_back(x.dim(x.rank() - (ax ? 1 : 2)));
  dims.push_back(y.dim(y.rank() - (ay ? 2 : 1)));
  Array<V> out{Shape(dims)};
  // A one on the inner side must not be taken for a repeated row: index by hand.
  ForEachIndex(out.shape, [&](const std::vector<int64_t>& at) {
    std::vector<int64_t> ix = at, iy = at;
    const size_t rows = at.size() - 2, columns = at.size() - 1;
    V sum = 0;
    for (int64_t l = 0; l < k; ++l) {
      ix[ax ? columns : rows] = at[rows];
      ix[ax ? rows : columns] = l;
      iy[ay ? columns : rows] = l;
      iy[ay ? rows : columns] = at[columns];
      const V a = r.in[0].At(ix), b = r.in[1].At(iy);
      sum += (ax ? Conjugate(a) : a) * (ay ? Conjugate(b) : b);
    }
    out.At(at) = sum;
  });
  r.out = {out};
};

TEST(BatchMatMulTest, OneShapeOfLeadingDimensions) {
  OpCase("BatchMatMul")
      .Reference(kProducts)
      .Tolerance(DType::kHalf, ToleranceOf(OpClass::kProduct, DType::kHalf))
      .Try({In({2, 3}), In({3, 4})})
      .Try({In({5, 2, 7, 3}), In({5, 2, 3, 9})})
      .Try({In({2, 3, 5}), In({2, 3, 4})}, {{"adj_x", true}})
      .Try({In({2, 5, 3}), In({2, 4, 3})}, {{"adj_y", true}})
      .Try({In({2, 3, 5}), In({2, 4, 3})}, {{"adj_x", true}, {"adj_y", true}})
      .Try({In({0, 3, 5}), In({0, 5, 3})})
      .Bad({In({1, 3, 5}), In({2, 5, 3})}, {}, Code::kInvalidArgument, "leading dimensions",
           "In[0] and In[1] must have compatible batch dimensions: ")
      .Bad({In({2, 3, 5}), In({2, 3, 5})}, {}, Code::kInvalidArgument, "inner dimensions differ")
      .Bad({In({3}), In({3, 5})}, {}, Code::kInvalidArgument, "")
      .Run();
}

TEST(BatchMatMulTest, BroadcastLeadingDimensions) {
  for (const char* op : {"BatchMatMulV2", "BatchMatMulV3"}) {
    OpCase(op)
        .Reference(kProducts)
        .Tolerance(DType::kHalf, ToleranceOf(OpClass::kProduct, DType::kHalf))
        .Try({In({2, 7, 3}), In({3, 11})})
        .Try({In({2, 1, 3, 5}), In({4, 5, 2})})
        .Try({In({3, 5}), In({2, 3, 4})}, {{"adj_x", true}})
        .Try({In({3, 1, 5, 3}), In({2, 4, 3})}, {{"adj_y", true}})
        .Try({In({1, 3, 5}), In({2, 4, 3})}, {{"adj_x", true}, {"adj_y", true}})
        .Try({In({0, 3, 5}), In({1, 5, 3})})
        .Bad({In({3, 3, 5}), In({2, 5, 3})}, {}, Code::kInvalidArgument, "leading dimensions",
             "In[0] and In[1] must have compatible batch dimensions: ")
        .Bad({In({2, 3, 5}), In({2, 3, 5})}, {}, Code::kInvalidArgument, "inner dimensions differ")
        .Run();
  }
}

}  // namespace
}  // namespace thalweg
