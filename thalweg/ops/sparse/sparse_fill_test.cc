// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/sparse/test_sparse.h"

namespace thalweg {
namespace {

TEST(SparseFillTest, Fills) {
  const Tensor places = Numbers<int64_t>({2, 1, 0, 3, 2, 0}, Shape{3, 2});
  const Tensor shape = Numbers<int64_t>({4, 5});
  ExpectOutputs("SparseFillEmptyRows", {places, Texts({"a", "b", "c"}), shape, Tensor::Scalar("?")},
                {},
                {Numbers<int64_t>({0, 3, 1, 0, 2, 1, 2, 0, 3, 0}, Shape{5, 2}),
                 Texts({"b", "?", "a", "c", "?"}), Tensor::Vector<bool>({false, true, false, true}),
                 Numbers<int64_t>({2, 0, 3})});
  ExpectOutputs("SparseFillEmptyRows",
                {Numbers<int64_t>({}, Shape{0, 2}), Numbers<float>({}), Numbers<int64_t>({2, 0}),
                 Tensor::Scalar(1.0f)},
                {},
                {Numbers<int64_t>({0, 0, 1, 0}, Shape{2, 2}), Numbers<float>({1, 1}),
                 Tensor::Vector<bool>({true, true}), Numbers<int64_t>({})});
  ExpectError("SparseFillEmptyRows",
              {places, Numbers<float>({1, 2, 3}), Numbers<int64_t>({2, 5}), Tensor::Scalar(1.0f)},
              {}, Code::kInvalidArgument, "out of bounds");
  ExpectError("SparseFillEmptyRows",
              {places, Numbers<float>({1, 2, 3}), shape, Numbers<float>({1})}, {},
              Code::kInvalidArgument, "");
  ExpectError("SparseFillEmptyRowsGrad", {Numbers<int64_t>({3}), Numbers<float>({1, 2})}, {},
              Code::kInvalidArgument, "reverse index");
}

TEST(SparseFillTest, FillsRagged) {
  const std::string op = "RaggedFillEmptyRows";
  const Tensor other = Tensor::Scalar("?"), four = Tensor::Scalar<int64_t>(4);
  ExpectOutputs(op, {Numbers<int64_t>({2, 0, 3}), Texts({"a", "b", "c"}), four, other}, {},
                {Numbers<int64_t>({0, 1, 2, 3}), Texts({"b", "?", "a", "c"}),
                 Tensor::Vector<bool>({false, true, false, false}), Numbers<int64_t>({2, 0, 3})});
  ExpectOutputs(op, {Numbers<int64_t>({}), Texts({}), Tensor::Scalar<int64_t>(2), other}, {},
                {Numbers<int64_t>({0, 1}), Texts({"?", "?"}), Tensor::Vector<bool>({true, true}),
                 Numbers<int64_t>({})});
  const auto bad = [&](const Tensor& ids, const Tensor& rows, const Tensor& given,
                       std::string_view words) {
    ExpectError(op, {ids, Texts({"a"}), rows, given}, {}, Code::kInvalidArgument, words);
  };
  const Tensor first = Numbers<int64_t>({0});
  bad(Numbers<int64_t>({4}), four, other, "[0, 4)");
  bad(Numbers<int64_t>({-1}), four, other, "[0, 4)");
  bad(Numbers<int64_t>({0, 1}), four, other, "");
  bad(first, Tensor::Scalar<int64_t>(-1), other, "negative");
  bad(first, Numbers<int64_t>({4}), other, "");
  bad(first, four, Texts({"?"}), "");
  // More rows than memory holds: told before a place is written.
  for (const int64_t rows : {int64_t{1} << 50, std::numeric_limits<int64_t>::max()}) {
    ExpectError(op, {first, Texts({"a"}), Tensor::Scalar(rows), other}, {},
                Code::kResourceExhausted, "");
    ExpectError("SparseFillEmptyRows",
                {Numbers<int64_t>({0}, Shape{1, 1}), Texts({"a"}), Numbers<int64_t>({rows}), other},
                {}, Code::kResourceExhausted, "");
  }
}

TEST(SparseFillTest, GradientOfRagged) {
  OpCase("RaggedFillEmptyRows")
      .Types({{"T", DType::kDouble}})
      .Reference([](RefCall<double>& r) {
        const auto& v = r.in[1];
        r.out = {{Shape{3}, {0, 1, 2}},
                 {Shape{3}, {v[0], r.in[3][0], v[1]}},
                 {Shape{3}, {0, 1, 0}},
                 {Shape{2}, {0, 2}}};
      })
      .GradInputs({1, 3})
      .GradOutputs({1})
      .ShapesFromValues("how many rows are empty")
      .Try({In({2}, {0, 2}), In({2}), In({}, {3}), In({})})
      .Run();
}

TEST(SparseFillTest, Gradient) {
  OpCase("SparseFillEmptyRows")
      .Types({{"T", DType::kDouble}})
      .Reference([](auto& r) {
        const auto& v = r.in[1];
        const auto other = r.in[3][0];
        r.out = {{Shape{3, 1}, {0, 1, 2}},
                 {Shape{3}, {v[0], other, v[1]}},
                 {Shape{3}, {0, 1, 0}},
                 {Shape{2}, {0, 2}}};
      })
      .GradInputs({1, 3})
      .GradOutputs({1})
      .ShapesFromValues("how many rows are empty")
      .Try({In({2, 1}, {0, 2}), In({2}), In({1}, {3}), In({})})
      .Run();
}

}  // namespace
}  // namespace thalweg
