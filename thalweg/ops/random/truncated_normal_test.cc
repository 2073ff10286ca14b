// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "thalweg/ops/random/test_recorded.h"

namespace thalweg {
namespace {

const float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> Draw(int32_t n, float mean, float deviation, float low, float high) {
  return DrawnBy<float>("ParameterizedTruncatedNormal",
                        {VectorOf<int32_t>({n}), Tensor::Scalar(mean), Tensor::Scalar(deviation),
                         Tensor::Scalar(low), Tensor::Scalar(high)},
                        {{"seed", 1}, {"seed2", 0}});
}

void ExpectNear(const std::vector<float>& got, const std::vector<float>& expected) {
  ASSERT_GE(got.size(), expected.size());
  // The last bit depends on the mathematical library.
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_FLOAT_EQ(got[i], expected[i]) << i;
}

TEST(TruncatedNormalTest, RecordedValues) {
  const std::vector<float> normals = {1.6104093790054321f,  2.134275436401367f,
                                      1.837045431137085f,   1.4652842283248901f,
                                      -0.3204425573348999f, -0.06564724445343018f};
  ExpectNear(Draw(6, 1, 2, -1, 5), normals);
  const std::vector<float> many = Draw(300, 1, 2, -1, 5);
  ExpectNear(many, normals);
  ExpectNear({many.begin() + 100, many.end()}, {1.0552707f, 3.618458f, 0.91485715f});
  ExpectNear({many.begin() + 200, many.end()}, {0.14153373f, 0.41251326f, 0.716448f});
  ExpectNear(Draw(6, 0, 1, 1.5f, 1.7f),
             {1.6625393629074097f, 1.5157148838043213f, 1.6783370971679688f, 1.5338510274887085f,
              1.6856238842010498f, 1.5244784355163574f});
  const std::vector<float> tail = {2.085906982421875f,  2.0474863052368164f, 3.144397258758545f,
                                   2.2840311527252197f, 2.166159152984619f,  2.8700649738311768f};
  ExpectNear(Draw(6, 0, 1, 2, kInfinity), tail);
  std::vector<float> left = tail;
  for (float& x : left) x = -x;
  ExpectNear(Draw(6, 0, 1, -kInfinity, -2), left);
}

TEST(TruncatedNormalTest, OneRowForEachParameter) {
  const std::vector<float> got = DrawnBy<float>(
      "ParameterizedTruncatedNormal",
      {VectorOf<int32_t>({3, 4}), VectorOf<float>({1, 2, 3}), VectorOf<float>({2, 1, 1}),
       VectorOf<float>({-1, 1, 2}), VectorOf<float>({5, 4, 4.5f})},
      {{"seed", 1}, {"seed2", 0}});
  ExpectNear(got,
             {1.6104093790054321f, 2.134275436401367f, 1.837045431137085f, 1.4652842283248901f,
              1.3397786617279053f, 1.4671764373779297f, 3.0428433418273926f, 1.609076976776123f,
              2.566384792327881f, 2.889916181564331f, 2.3869786262512207f, 2.6820015907287598f});
}

TEST(TruncatedNormalTest, Stateless) {
  const std::vector<float> got =
      DrawnBy<float>("StatelessParameterizedTruncatedNormal",
                     {VectorOf<int32_t>({4, 2}), VectorOf<int64_t>({1, 2}), VectorOf<float>({1, 2}),
                      Tensor::Scalar(2.0f), Tensor::Scalar(-1.0f), Tensor::Scalar(5.0f)});
  ExpectNear(got,
             {2.0882201194763184f, -0.6031796932220459f, 1.4147605895996094f, 0.09228694438934326f,
              1.1471285820007324f, 3.683457136154175f, 1.0928690433502197f, 3.3025155067443848f});
}

TEST(TruncatedNormalTest, RefusesBadParameters) {
  const auto code = [](float mean, float deviation, float low, float high, std::vector<int32_t> n) {
    return CodeOf("ParameterizedTruncatedNormal",
                  {VectorOf<int32_t>(n), Tensor::Scalar(mean), Tensor::Scalar(deviation),
                   Tensor::Scalar(low), Tensor::Scalar(high)},
                  {{"seed", 1}});
  };
  EXPECT_EQ(code(0, -1, 0, 1, {2}), Code::kInvalidArgument);
  EXPECT_EQ(code(0, 1, 2, 1, {2}), Code::kInvalidArgument);
  EXPECT_EQ(code(0, 1, -kInfinity, kInfinity, {2}), Code::kInvalidArgument);
  EXPECT_EQ(code(0, std::numeric_limits<float>::quiet_NaN(), 0, 1, {2}), Code::kInvalidArgument);
  EXPECT_EQ(code(0, 1, 0, 1, {}), Code::kInvalidArgument);
  EXPECT_EQ(code(0, 1, 0, 1, {0, 3}), Code::kOk);
}

}  // namespace
}  // namespace thalweg
