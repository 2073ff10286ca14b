// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "thalweg/ops/queue/test_batch_calls.h"

namespace thalweg {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class UnbatchTest : public ::testing::Test {
 protected:
  static Tensor Index(const std::vector<int64_t>& numbers) {
    return Tensor::Of<int64_t>(numbers, Shape{static_cast<int64_t>(numbers.size() / 3), 3});
  }
  StartedCall Unbatch(const Tensor& batch, const Tensor& index, int64_t id, int64_t micros = 5000) {
    return calls_.Start("Unbatch", {batch, index, Tensor::Scalar(id)},
                        {{"timeout_micros", micros}, {"shared_name", "pieces"}});
  }
  StartedCall Grad(const Tensor& batch, const Tensor& index, const Tensor& grad, int64_t id) {
    return calls_.Start("UnbatchGrad", {batch, index, grad, Tensor::Scalar(id)},
                        {{"shared_name", "gradients"}});
  }
  void ExpectBad(const StartedCall& call, const char* words) {
    EXPECT_EQ(calls_.first().code(), Code::kInvalidArgument);
    EXPECT_THAT(std::string(calls_.first().message()), HasSubstr(words));
    (void)call;
  }

  BatchCalls calls_;
  const Tensor batch_ = Row({1, 2, 3, 4, 0});  // the last row is padding
  const Tensor index_ = Index({7, 0, 1, 8, 1, 4});
};

TEST_F(UnbatchTest, EachStepGetsItsRowsInAnyOrder) {
  const auto early = Unbatch(Row({}), Index({}), 7);
  EXPECT_FALSE(early->ended());
  const auto last = Unbatch(batch_, index_, 8);
  EXPECT_THAT(Ints(early->output(0)), ElementsAre(1));
  EXPECT_THAT(Ints(last->output(0)), ElementsAre(2, 3, 4));
  Unbatch(batch_, Index({9, 0, 2, 10, 2, 4}), 9);
  EXPECT_THAT(Ints(Unbatch(Row({}), Index({}), 10)->output(0)), ElementsAre(3, 4)) << "late";
}

TEST_F(UnbatchTest, WaitsNoLongerThanItsTime) {
  const auto a = Unbatch(Row({}), Index({}), 1), b = Unbatch(Row({}), Index({}), 2, 60'000);
  calls_.Pass(std::chrono::milliseconds(6));
  ASSERT_TRUE(a->ended());
  EXPECT_EQ(a->status().ToString(),
            "DEADLINE_EXCEEDED: Batched data did not arrive within timeout window.");
  EXPECT_FALSE(b->ended());
  b->cancellation().Cancel();
  EXPECT_EQ(b->status().code(), Code::kCancelled);
  // What nobody took is forgotten with its time.
  Unbatch(batch_, index_, 8);
  calls_.Pass(std::chrono::milliseconds(6));
  const auto c = Unbatch(Row({}), Index({}), 7);
  EXPECT_FALSE(c->ended());
}

TEST_F(UnbatchTest, BadInput) {
  ExpectBad(Unbatch(batch_, Index({7, 0, 6}), 7), "row 0 of batch_index says rows 0 to 6");
  ExpectBad(Unbatch(batch_, Index({7, -1, 2}), 7), "says rows -1 to 2");
  ExpectBad(Unbatch(batch_, Index({7, 2, 1}), 7), "says rows 2 to 1");
  ExpectBad(Unbatch(batch_, Index({7, 0, 3, 8, 2, 4}), 7), "of which 3 are named before");
  ExpectBad(Unbatch(batch_, Index({7, 0, 1, 7, 1, 2}), 7), "names the id 7 twice");
  ExpectBad(Unbatch(batch_, index_, 7, -1), "timeout_micros must not be negative");
  ExpectBad(Unbatch(Tensor::Scalar(1), index_, 7), "at least one dimension");
  ExpectBad(Unbatch(batch_, Tensor::Scalar(int64_t{1}), 7),
            "batch_index must have shape [tasks, 3]");
  ExpectBad(Grad(Tensor::Scalar(1), Index({}), Tensor::Scalar(1), 7), "at least one dimension");
  ExpectBad(Grad(Row({1, 2}), Index({7, 0, 2}), Row({5}), 7), "the gradient of rows 0 to 2");
  ExpectBad(Grad(Row({1, 2}), Index({7, 1, 2}), Row({5}), 7), "rows must follow each other");
}

TEST_F(UnbatchTest, TheStepWithTheBatchGetsAllGradients) {
  const auto last = Grad(batch_, index_, Row({20, 30, 40}), 8);
  EXPECT_FALSE(last->ended());
  const auto other = Grad(Row({}), Index({}), Row({10}), 7);
  EXPECT_EQ(other->output(0).shape(), (Shape{0}));
  ASSERT_TRUE(last->ended());
  EXPECT_THAT(Ints(last->output(0)), ElementsAre(10, 20, 30, 40, 0));
}

}  // namespace
}  // namespace thalweg
