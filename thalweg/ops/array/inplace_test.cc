// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/array/test_element_types.h"

namespace thalweg {
namespace {

template <class F>
OpCase RowsCase(const std::string& op, F combine) {
  OpCase made(op);
  for (DType dtype : {DType::kDouble, DType::kFloat, DType::kHalf, DType::kInt32, DType::kInt8,
                      DType::kUint64, DType::kComplex128}) {
    made.Types({{"T", dtype}});
  }
  made.Reference([combine]<class V>(RefCall<V>& r) {
        r.out = {r.in[0]};
        for (int64_t i = 0; i < 3; ++i) {
          const auto row = (static_cast<int64_t>(std::real(r.in[1][i])) + 8) % 4;
          for (int64_t k = 0; k < 5; ++k) {
            V& element = r.out[0][row * 5 + k];
            element = combine(element, r.in[2][i * 5 + k]);
          }
        }
      })
      .Try({In({4, 5}).Range(20, 30), In({3}, {1, -1, 5}), In({3, 5}).Range(1, 5)})
      .Bad({In({4, 5}), In({2}, {0, 1}), In({3, 5})}, {}, Code::kInvalidArgument, "")
      .Bad({In({4, 5}), In({1}, {0}), In({1, 4})}, {}, Code::kInvalidArgument, "")
      .Bad({In({4, 5}), In({}, {0}), In({5})}, {}, Code::kInvalidArgument, "");
  return made;
}

TEST(InplaceTest, ChangesRows) {
  RowsCase("InplaceUpdate", [](auto, auto b) { return b; }).Run();
  RowsCase("InplaceAdd", [](auto a, auto b) { return a + b; }).Run();
  RowsCase("InplaceSub", [](auto a, auto b) { return a - b; }).Run();
}

TEST(InplaceTest, OfNoRows) {
  EveryElementType("InplaceUpdate")
      .Reference([](auto& r) { r.out = {r.in[0]}; })
      .Try({In({0, 2}), In({1}, {0}), In({1, 2})})
      .Try({In({3, 2}), In({0}, {}), In({0, 2})})
      .Trivial("nothing changes")
      .Run();
}

TEST(InplaceTest, TextsAreReplacedOnly) {
  const auto texts = [](std::vector<std::string> values) {
    return Tensor::Of<std::string>(values, Shape{static_cast<int64_t>(values.size())});
  };
  const Tensor row = Tensor::Vector<int32_t>({1});
  const auto got =
      RunOp("InplaceUpdate", {texts({"a", "b"}), row, texts({"a longer text than b"})});
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ((*got)[0].data<std::string>()[1], "a longer text than b");
  EXPECT_EQ(RunOp("InplaceAdd", {texts({"a", "b"}), row, texts({"c"})}).status().code(),
            Code::kInvalidArgument);
}

TEST(ParallelConcatTest, PutsRowsBelowEachOther) {
  EveryElementType("ParallelConcat")
      .Reference([]<class V>(RefCall<V>& r) {
        r.out = {Array<V>(Shape{3, 4})};
        for (int64_t i = 0; i < 12; ++i) {
          r.out[0][i] = r.in[static_cast<size_t>(i / 4)][i % 4];
        }
      })
      .Try({In({1, 4}), In({1, 4}), In({1, 4})}, {{"N", 3}, {"shape", PartialShape{3, 4}}})
      .Bad({In({1, 4}), In({1, 4})}, {{"N", 2}, {"shape", PartialShape{3, 4}}},
           Code::kInvalidArgument, "do not make the shape")
      .Bad({In({1, 4}), In({1, 3})}, {{"N", 2}, {"shape", PartialShape{2, 4}}},
           Code::kInvalidArgument, "")
      .Bad({In({2, 4}), In({2, 4})}, {{"N", 2}, {"shape", PartialShape{2, 4}}},
           Code::kInvalidArgument, "")
      .Run();
}

TEST(ParallelConcatTest, StartAndUpdate) {
  const auto start =
      RunOp("_ParallelConcatStart", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape{2, 2}}});
  ASSERT_TRUE(start.ok()) << start.status().ToString();
  EXPECT_EQ((*start)[0].shape(), (Shape{2, 2}));
  EveryElementType("_ParallelConcatUpdate")
      .Reference([]<class V>(RefCall<V>& r) {
        r.out = {r.in[0]};
        for (int64_t i = 0; i < 2; ++i) r.out[0][2 + i] = r.in[1][i];
      })
      .Try({In({3, 2}).Range(-2, -1), In({1, 2}).Range(1, 2)}, {{"loc", 1}})
      .Bad({In({3, 2}), In({1, 2})}, {{"loc", 3}}, Code::kInvalidArgument, "no row")
      .Bad({In({3, 2}), In({2, 2})}, {{"loc", 0}}, Code::kInvalidArgument, "doesn't match")
      .Trivial("truth values may agree by chance")
      .Run();
}

}  // namespace
}  // namespace thalweg
