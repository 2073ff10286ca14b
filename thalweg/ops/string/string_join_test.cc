// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

const AttrMap kDot = {{"separator", std::string(".")}};
const Tensor kSquare = Texts({"a", "b", "c", "d"}, Shape{2, 2});

TEST(StringJoinTest, ScalarsGoWithAll) {
  ExpectOutputs("StringJoin", {Texts({"a"}, Shape{}), Texts({"b", "c"}), Texts({"d"}, Shape{})},
                kDot, {Texts({"a.b.d", "a.c.d"})});
  ExpectOutputs("StringJoin", {Texts({"a"}, Shape{}), Texts({""}, Shape{})}, {},
                {Texts({"a"}, Shape{})});
  ExpectOutputs("StringJoin", {Texts({"a"}, Shape{}), Texts({}, Shape{0, 2})}, {},
                {Texts({}, Shape{0, 2})});
  ExpectError("StringJoin", {Texts({"a"}), Texts({"b", "c"})}, {}, Code::kInvalidArgument,
              "Dimension 0 in both shapes must be equal, but are 1 and 2. Shapes are [1] and [2].");
}

// Recorded with TensorFlow 2.21.
TEST(StringJoinTest, AlongDimensions) {
  const auto join = [](std::vector<int32_t> axes, bool keep, const Tensor& expected) {
    ExpectOutputs("ReduceJoin", {kSquare, Numbers(axes)},
                  {{"keep_dims", keep}, {"separator", std::string(".")}}, {expected});
  };
  join({0}, false, Texts({"a.c", "b.d"}));
  join({0}, true, Texts({"a.c", "b.d"}, Shape{1, 2}));
  join({-1}, true, Texts({"a.b", "c.d"}, Shape{2, 1}));
  join({0, 1}, false, Texts({"a.c.b.d"}, Shape{}));
  join({1, 0}, true, Texts({"a.b.c.d"}, Shape{1, 1}));
  join({}, false, kSquare);
  ExpectOutputs("ReduceJoin", {Texts({}, Shape{0, 2}), Tensor::Scalar(0)}, kDot, {Texts({"", ""})});
  ExpectError("ReduceJoin", {kSquare, Numbers<int32_t>({0, -2})}, {}, Code::kInvalidArgument,
              "Duplicate reduction dimension -2");
  ExpectError("ReduceJoin", {kSquare, Numbers<int32_t>({2})}, {}, Code::kOutOfRange, "dimension 2");
}

// Recorded with TensorFlow 2.21.
TEST(StringJoinTest, BySegment) {
  const auto join = [](const Tensor& ids, int32_t n, const Tensor& expected) {
    ExpectOutputs("UnsortedSegmentJoin", {kSquare, ids, Tensor::Scalar(n)}, kDot, {expected});
  };
  join(Numbers<int32_t>({0, 0}), 2, Texts({"a.c", "b.d", "", ""}, Shape{2, 2}));
  join(Numbers<int64_t>({1, 0}), 2, Texts({"c", "d", "a", "b"}, Shape{2, 2}));
  join(Numbers<int64_t>({0, 1, 1, 0}, Shape{2, 2}), 2, Texts({"a.d", "b.c"}));
  ExpectOutputs("UnsortedSegmentJoin",
                {Texts({"", "a", "", "b"}), Numbers<int32_t>({0, 0, 0, 0}), Tensor::Scalar(1)},
                kDot, {Texts({"a..b"})});
  const auto refuse = [](const Tensor& input, const Tensor& ids, int32_t n, Code code,
                         std::string_view why) {
    ExpectError("UnsortedSegmentJoin", {input, ids, Tensor::Scalar(n)}, {}, code, why);
  };
  refuse(kSquare, Numbers<int32_t>({-1, 0}), 1, Code::kInvalidArgument, "negative values, got -1");
  refuse(kSquare, Numbers<int32_t>({0, 2}), 2, Code::kInvalidArgument, "got 2 with 2 segments");
  refuse(kSquare, Numbers<int32_t>({0}), 1, Code::kInvalidArgument,
         "Dimensions must be equal, but are 2 and 1 for ");
  refuse(kSquare, Tensor::Scalar(0), 1, Code::kInvalidArgument, "cannot have rank 0");
  refuse(kSquare, Numbers<int32_t>({0, 0}), -1, Code::kInvalidArgument, "non-negative but got -1");
}

}  // namespace
}  // namespace thalweg
