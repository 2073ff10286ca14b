// SPDX-License-Identifier: Apache-2.0
// Cells of recurrent networks: an empty batch, no inputs, gates that are full or shut, refused
// scratch.
#include <gtest/gtest.h>

#include <cmath>

#include "thalweg/compute/rnn/lstm.h"
#include "thalweg/compute/test_work.h"

namespace thalweg::compute {
namespace {

class LstmCellTest : public ::testing::Test {
 protected:
  // One step of one cell without inputs, whose gates are `biases`.
  Status Step(Work& work, std::vector<float> biases, float cs_prev,
              const LstmOptions& options = {}) {
    const LstmShape shape{.batch = batch_, .inputs = 0, .cells = 1};
    const float w[4] = {}, h_prev = 0;
    const LstmWeights weights{w, nullptr, nullptr, nullptr, biases.data()};
    return LstmStep(work, shape, options, weights, nullptr, &cs_prev, &h_prev,
                    {&i_, &cs_, &f_, &o_, &ci_, &co_, &h_});
  }

  int64_t batch_ = 1;
  float i_ = 7, cs_ = 7, f_ = 7, o_ = 7, ci_ = 7, co_ = 7, h_ = 7;
};

TEST_F(LstmCellTest, FullAndShutGatesAreExact) {
  TestWork work;
  ASSERT_TRUE(Step(work, {-1000, 1000, 1000, 1000}, 0.25f).ok());  // i shut, f and o full
  EXPECT_EQ(i_, 0);
  EXPECT_EQ(f_, 1);
  EXPECT_EQ(cs_, 0.25f);
  EXPECT_EQ(h_, std::tanh(0.25f));
  ASSERT_TRUE(Step(work, {1000, -1000, -1000, -1000}, 0.25f).ok());
  EXPECT_EQ(cs_, -1);
  EXPECT_EQ(h_, 0);
}

TEST_F(LstmCellTest, ClipsTheStateAndKnowsBothOrders) {
  TestWork work;
  ASSERT_TRUE(Step(work, {1000, 1000, 1000, 1000}, 5, {.cell_clip = 2}).ok());
  EXPECT_EQ(cs_, 2);
  ASSERT_TRUE(Step(work, {0, 1000, -1000, 0}, 3, {.forget_third = false}).ok());  // i, f, ci, o
  EXPECT_EQ(f_, 1);
  EXPECT_EQ(ci_, -1);
  EXPECT_EQ(cs_, 2.5f);
}

TEST_F(LstmCellTest, AnEmptyBatchTouchesNothing) {
  batch_ = 0;
  TestWork work;
  ASSERT_TRUE(Step(work, {1, 1, 1, 1}, 1).ok());
  EXPECT_EQ(h_, 7);
}

TEST_F(LstmCellTest, AsksForItsScratch) {
  TestWork work;
  work.refuse_scratch = true;
  EXPECT_EQ(Step(work, {1, 1, 1, 1}, 1).code(), Code::kResourceExhausted);
}

TEST(GruCellTest, AFullUpdateGateKeepsTheState) {
  const LstmShape shape{.batch = 1, .inputs = 1, .cells = 1};
  const float w_ru[4] = {}, w_c[2] = {}, b_ru[2] = {0, 1000}, b_c[1] = {3}, x = 1, h_prev = 0.5f;
  float r, u, c, h;
  TestWork work;
  const GruWeights weights{w_ru, w_c, b_ru, b_c};
  ASSERT_TRUE(GruStep(work, shape, weights, &x, &h_prev, {&r, &u, &c, &h}).ok());
  EXPECT_EQ(r, 0.5f);
  EXPECT_EQ(h, 0.5f);
  work.refuse_scratch = true;
  EXPECT_EQ(GruStep(work, shape, weights, &x, &h_prev, {&r, &u, &c, &h}).code(),
            Code::kResourceExhausted);
}

}  // namespace
}  // namespace thalweg::compute
