// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/array/test_element_types.h"
#include "thalweg/testing/kernel_call.h"

namespace thalweg {
namespace {

template <class V>
void SliceReference(RefCall<V>& r) {
  Dims begin, dims;
  for (int i = 0; i < r.in[0].shape.rank(); ++i) {
    begin.push_back(static_cast<int64_t>(std::real(r.in[1][i])));
    const auto size = static_cast<int64_t>(std::real(r.in[2][i]));
    dims.push_back(size == -1 ? r.in[0].shape.dim(i) - begin[i] : size);
  }
  r.out = {Array<V>(Shape(dims))};
  ForEachIndex(r.out[0].shape, [&](const std::vector<int64_t>& at) {
    int64_t from = 0;
    for (int i = 0; i < begin.size(); ++i) {
      from = from * r.in[0].shape.dim(i) + at[static_cast<size_t>(i)] + begin[i];
    }
    r.out[0].At(at) = r.in[0][from];
  });
}

TEST(SliceTest, TakesABlock) {
  EveryElementType("Slice")
      .Reference([]<class V>(RefCall<V>& r) { SliceReference(r); })
      .Try({In({5, 6}), In({2}, {1, 2}), In({2}, {3, -1})}, {{"Index", DType::kInt32}})
      .Try({In({3, 4, 5}), In({3}, {0, 1, 0}), In({3}, {2, 2, 5})}, {{"Index", DType::kInt64}})
      .Try({In({64, 64}), In({2}, {16, 0}), In({2}, {32, 64})}, {{"Index", DType::kInt32}})
      .Try({In({3}), In({1}, {3}), In({1}, {0})}, {{"Index", DType::kInt32}})
      .Bad({In({3}), In({1}, {2}), In({1}, {2})}, {{"Index", DType::kInt32}},
           Code::kInvalidArgument, "")
      .Bad({In({0}), In({1}, {1}), In({1}, {2})}, {{"Index", DType::kInt32}},
           Code::kInvalidArgument,
           "Expected begin[0] == 0 (got 1) and size[0] == 0 (got 2) when input.dim_size(0) == 0")
      .Bad({In({3}), In({1}, {-1}), In({1}, {-1})}, {{"Index", DType::kInt32}},
           Code::kInvalidArgument, "Expected begin[0] in [0, 3]")
      .Bad({In({3}), In({1}, {0}), In({1}, {-2})}, {{"Index", DType::kInt32}},
           Code::kInvalidArgument, "size[0]")
      .Bad({In({3}), In({2}, {0, 0}), In({2}, {1, 1})}, {{"Index", DType::kInt32}},
           Code::kInvalidArgument, "Shape must be rank 2 but is rank 1 for ",
           "1-D tensors of size 1")
      .Run();
}

TEST(SliceTest, LargeRowsShareTheBuffer) {
  const Tensor x = *Tensor::AllocateHost(DType::kFloat, Shape{100, 1024});
  KernelCall call("Slice",
                  {x, Tensor::Vector<int32_t>({10, 0}), Tensor::Vector<int32_t>({50, -1})});
  ASSERT_TRUE(call.Run().ok());
  EXPECT_TRUE(call.output(0).SharesBufferWith(x));
  KernelCall columns("Slice",
                     {x, Tensor::Vector<int32_t>({0, 1}), Tensor::Vector<int32_t>({50, -1})});
  ASSERT_TRUE(columns.Run().ok());
  EXPECT_FALSE(columns.output(0).SharesBufferWith(x));
}

}  // namespace
}  // namespace thalweg
