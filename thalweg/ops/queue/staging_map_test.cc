// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/queue/test_queue_calls.h"

namespace thalweg {
namespace {

const std::vector<DType> kTypes = {DType::kInt32, DType::kFloat};

// Elements of an int32 and a float in one resource manager, as nodes of one session are.
class Map {
 public:
  explicit Map(AttrMap bounds = {}, std::string kind = "")
      : bounds_(std::move(bounds)), kind_(std::move(kind)) {}

  StartedCall Start(const std::string& op, std::vector<Tensor> inputs = {},
                    std::vector<DType> types = kTypes) {
    AttrMap attrs = bounds_;
    attrs.Set("shared_name", "map");
    attrs.Set("dtypes", std::move(types));
    auto call = std::make_unique<EndingCall>(kind_ + op, std::move(inputs), std::move(attrs));
    call->step().resources = &resources_;
    first_ = call->Run();
    return call;
  }
  StartedCall Stage(int64_t key, std::vector<int32_t> indices, std::vector<Tensor> values) {
    values.insert(values.begin(), {Tensor::Scalar(key), Indices(indices)});
    return Start("MapStage", std::move(values));
  }
  StartedCall StageAll(int64_t key, int32_t value) {
    return Stage(key, {0, 1}, {Tensor::Scalar(value), Tensor::Scalar(1.5f)});
  }
  StartedCall Get(const std::string& op, int64_t key, std::vector<int32_t> indices) {
    std::vector<DType> types;
    for (const int32_t i : indices) types.push_back(i == 0 ? DType::kInt32 : DType::kFloat);
    return Start(op, {Tensor::Scalar(key), Indices(indices)}, std::move(types));
  }
  int64_t TakeAny() {
    return Start("MapUnstageNoKey", {Indices({0, 1})})->output(0).scalar<int64_t>();
  }
  std::pair<int, int> Sizes() {
    return {Start("MapSize")->output(0).scalar<int32_t>(),
            Start("MapIncompleteSize")->output(0).scalar<int32_t>()};
  }
  const Status& first() const { return first_; }
  void ExpectRefused(std::string_view part, Code code = Code::kInvalidArgument) const {
    EXPECT_EQ(first_.code(), code);
    EXPECT_NE(first_.message().find(part), std::string_view::npos) << first_.ToString();
  }
  static Tensor Indices(const std::vector<int32_t>& values) {
    return Tensor::Of<int32_t>(values, Shape{static_cast<int64_t>(values.size())});
  }

 private:
  ResourceManager resources_;
  const AttrMap bounds_;
  const std::string kind_;
  Status first_;
};

using Sizes = std::pair<int, int>;

TEST(StagingMapTest, PartsComeAndGo) {  // values and errors of TensorFlow 1.15
  Map map;
  map.Stage(1, {0}, {Tensor::Scalar(7)});
  EXPECT_EQ(map.Sizes(), Sizes(0, 1));
  map.Stage(1, {0}, {Tensor::Scalar(7)});
  map.ExpectRefused("The tensor for index '0' for key '1' was already initialized '2'.");
  map.Stage(1, {5}, {Tensor::Scalar(7)});
  map.ExpectRefused("Index '5' for key '1' was out of bounds '2'.");
  const auto peek = map.Get("MapPeek", 1, {1, 0});
  EXPECT_FALSE(peek->ended());
  map.Stage(1, {1}, {Tensor::Scalar(2.0f)});
  EXPECT_EQ(map.Sizes(), Sizes(1, 0));
  EXPECT_EQ(peek->output(0).scalar<float>(), 2);
  EXPECT_EQ(peek->output(1).scalar<int32_t>(), 7);
  EXPECT_TRUE(map.StageAll(1, 9)->ended());
  EXPECT_EQ(map.Get("MapUnstage", 1, {0})->output(0).scalar<int32_t>(), 7)
      << "the first element of a key stays";
  EXPECT_EQ(map.Sizes(), Sizes(1, 0));
  map.Get("MapUnstage", 1, {0});
  map.ExpectRefused("Tensor at index '0' for key '1' has already been removed.");
  EXPECT_EQ(map.Get("MapUnstage", 1, {1})->output(0).scalar<float>(), 2);
  EXPECT_EQ(map.Sizes(), Sizes(0, 0));
}

TEST(StagingMapTest, AnyKey) {
  for (const bool ordered : {false, true}) {
    Map map({}, ordered ? "Ordered" : "");
    const auto waiting = map.Start("MapUnstageNoKey", {Map::Indices({0, 1})});
    EXPECT_FALSE(waiting->ended());
    for (const int64_t key : {3, 2, 1, 4}) map.StageAll(key, 5);
    EXPECT_EQ(waiting->output(0).scalar<int64_t>(), 3);
    EXPECT_EQ(map.TakeAny(), ordered ? 1 : 2);
    EXPECT_EQ(map.TakeAny(), ordered ? 2 : 1);
    map.Start("MapClear");
    EXPECT_EQ(map.Sizes(), Sizes(0, 0));
  }
}

TEST(StagingMapTest, ATakeWaitsForItsKey) {
  Map map;
  const auto two = map.Get("MapUnstage", 2, {0, 1}), one = map.Get("MapUnstage", 1, {0, 1});
  map.StageAll(1, 11);
  EXPECT_FALSE(two->ended());
  EXPECT_EQ(one->output(0).scalar<int32_t>(), 11);
  two->cancellation().Cancel();
  EXPECT_EQ(two->status().code(), Code::kCancelled);
  map.StageAll(2, 22);
  EXPECT_EQ(map.Sizes(), Sizes(1, 0));
}

TEST(StagingMapTest, Capacity) {
  Map map({{"capacity", 1}});
  map.StageAll(1, 1);
  EXPECT_TRUE(map.Stage(2, {0}, {Tensor::Scalar(2)})->ended()) << "a part is no element";
  const auto second = map.Stage(2, {1}, {Tensor::Scalar(2.0f)});
  EXPECT_FALSE(second->ended());
  EXPECT_EQ(map.TakeAny(), 1);
  EXPECT_TRUE(second->ended());
  EXPECT_EQ(map.TakeAny(), 2);
}

TEST(StagingMapTest, MemoryLimit) {
  Map map({{"memory_limit", 10}});
  map.Stage(1, {0}, {*Tensor::AllocateHost(DType::kInt32, Shape{100})});
  map.ExpectRefused("combined size of '400' bytes into Staging Area with a memory limit of '10'",
                    Code::kResourceExhausted);
  map.StageAll(1, 1);
  const auto second = map.Stage(2, {0}, {Tensor::Scalar(2)});
  EXPECT_FALSE(second->ended());
  map.Get("MapUnstage", 1, {1});
  EXPECT_TRUE(second->ended()) << "parts that are taken make room";
}

TEST(StagingMapTest, Refusals) {
  Map map;
  map.Stage(1, {0}, {Tensor::Scalar(7.0f)});
  map.ExpectRefused("part 0 must be of type int32, got float32");
  map.Stage(1, {0}, {Tensor::Scalar(7), Tensor::Scalar(1.0f)});
  map.ExpectRefused("indices must be a vector of 2 elements");
  map.Stage(1, {-1}, {Tensor::Scalar(7)});
  map.ExpectRefused("Index '-1'");
  map.Stage(1, {0, 0}, {Tensor::Scalar(7), Tensor::Scalar(7)});
  map.ExpectRefused("already initialized");
  EXPECT_EQ(map.Sizes(), Sizes(0, 0));
  map.StageAll(1, 1);
  map.Get("MapUnstage", 1, {0, 0});
  map.ExpectRefused("already been removed");
  map.Get("MapPeek", 1, {7});
  map.ExpectRefused("out of bounds '2'");
  map.Start("MapPeek", {Tensor::Scalar(int64_t{1}), Map::Indices({1, 0})});
  map.ExpectRefused("is of type float32, this node says int32");
  map.Start("MapPeek", {Tensor::Scalar(int64_t{1}), Map::Indices({0})});
  map.ExpectRefused("indices must be a vector of 2");
  EXPECT_EQ(map.Sizes(), Sizes(1, 0));
  map.Start("MapStage", {Tensor::Scalar(int64_t{1}), Map::Indices({0}), Tensor::Scalar(1)},
            {DType::kInt32});
  EXPECT_TRUE(map.first().ok()) << "a double is dropped, whatever it is";
}

TEST(StagingMapTest, LargeTensorsAreShared) {
  Map map;
  const Tensor large = *Tensor::AllocateHost(DType::kInt32, Shape{1 << 16});
  map.Stage(1, {0, 1}, {large, Tensor::Scalar(1.0f)});
  EXPECT_EQ(map.Get("MapPeek", 1, {0})->output(0).raw_data(), large.raw_data());
  EXPECT_EQ(map.Get("MapUnstage", 1, {0})->output(0).raw_data(), large.raw_data());
}

}  // namespace
}  // namespace thalweg
