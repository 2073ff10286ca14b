// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/queue/test_queue_calls.h"

namespace thalweg {
namespace {

// Calls in one resource manager, as nodes of one session are.
class Area {
 public:
  explicit Area(AttrMap bounds = {}) : bounds_(std::move(bounds)) {}

  StartedCall Start(std::string_view op, std::vector<Tensor> inputs = {},
                    DType dtype = DType::kInt32) {
    AttrMap attrs = bounds_;
    attrs.Set("shared_name", "area");
    attrs.Set("dtypes", std::vector<DType>{dtype});
    auto call = std::make_unique<EndingCall>(op, std::move(inputs), std::move(attrs));
    call->step().resources = &resources_;
    first_ = call->Run();
    return call;
  }
  StartedCall Stage(int32_t value) { return Start("Stage", {Tensor::Scalar(value)}); }
  int32_t Size() { return Start("StageSize")->output(0).scalar<int32_t>(); }
  const Status& first() const { return first_; }

 private:
  ResourceManager resources_;
  const AttrMap bounds_;
  Status first_;
};

TEST(StagingTest, FirstInFirstOutUpToTheCapacity) {
  Area area({{"capacity", 2}});
  area.Stage(1);
  area.Stage(2);
  const auto third = area.Stage(3);
  EXPECT_FALSE(third->ended());
  EXPECT_EQ(area.Start("StagePeek", {Tensor::Scalar(1)})->output(0).scalar<int32_t>(), 2);
  EXPECT_EQ(area.Start("Unstage")->output(0).scalar<int32_t>(), 1);
  EXPECT_TRUE(third->ended());
  EXPECT_EQ(area.Size(), 2);
  area.Start("StageClear");
  EXPECT_EQ(area.Size(), 0);
}

TEST(StagingTest, WaitsForAnElement) {
  Area area;
  const auto peek = area.Start("StagePeek", {Tensor::Scalar(1)});
  const auto cancelled = area.Start("Unstage"), take = area.Start("Unstage");
  cancelled->cancellation().Cancel();
  EXPECT_EQ(cancelled->status().code(), Code::kCancelled);
  area.Stage(5);
  EXPECT_EQ(take->output(0).scalar<int32_t>(), 5);
  area.Stage(6);
  EXPECT_FALSE(peek->ended());
  area.Stage(7);
  EXPECT_EQ(peek->output(0).scalar<int32_t>(), 7);
}

TEST(StagingTest, BoundsAndTypes) {
  Area area({{"memory_limit", 10}});
  area.Start("Stage", {*Tensor::AllocateHost(DType::kFloat, Shape{100})}, DType::kFloat);
  EXPECT_EQ(area.first().ToString(),
            "RESOURCE_EXHAUSTED: Attempted to insert tensors with combined size of '400' bytes "
            "into Staging Area with a memory limit of '10'.");
  area.Stage(1);
  area.Stage(2);
  const auto third = area.Stage(3);
  EXPECT_FALSE(third->ended());
  area.Start("Unstage", {}, DType::kFloat);
  EXPECT_EQ(area.first().code(), Code::kInvalidArgument);
  EXPECT_EQ(area.Size(), 2) << "an element that was not wanted stays";
  area.Start("StagePeek", {Tensor::Scalar(-1)});
  EXPECT_EQ(area.first().code(), Code::kInvalidArgument);
  area.Start("Unstage");
  EXPECT_TRUE(third->ended());
}

}  // namespace
}  // namespace thalweg
