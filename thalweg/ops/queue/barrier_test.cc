// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "thalweg/ops/queue/test_queue_calls.h"

namespace thalweg {
namespace {

using Keys = std::vector<std::string>;
const std::vector<DType> kTypes = {DType::kFloat, DType::kInt32};

// A barrier whose elements are a float and two int32.
class Pairs : public QueueCalls {
 public:
  Pairs() : QueueCalls("Barrier", Attrs()) {}
  static AttrMap Attrs() {
    return {{"component_types", kTypes},
            {"shapes", std::vector<PartialShape>{PartialShape(Shape()), PartialShape{2}}}};
  }
  Status Insert(int64_t component, const Keys& keys, Tensor values) const {
    const DType dtype = values.dtype();
    return Run("BarrierInsertMany",
               {Tensor::Of<std::string>(keys, Shape{static_cast<int64_t>(keys.size())}),
                std::move(values)},
               {{"component_index", component}, {"T", dtype}});
  }
  Status First(const Keys& keys, std::vector<float> values) const {
    return Insert(0, keys, Tensor::Of<float>(values, Shape{static_cast<int64_t>(values.size())}));
  }
  Status Second(const Keys& keys, std::vector<int32_t> values) const {
    const auto n = static_cast<int64_t>(values.size()) / 2;
    return Insert(1, keys, Tensor::Of<int32_t>(values, Shape{n, 2}));
  }
  StartedCall Take(int32_t n, bool fewer = false) const {
    return Start("BarrierTakeMany", {Tensor::Scalar(n)},
                 {{"component_types", kTypes}, {"allow_small_batch", fewer}});
  }
  Status Close(bool cancel = false) const {
    return Run("BarrierClose", {}, {{"cancel_pending_enqueues", cancel}});
  }
  std::pair<int, int> Sizes() const {
    return {Start("BarrierReadySize", {}, {})->output(0).scalar<int32_t>(),
            Start("BarrierIncompleteSize", {}, {})->output(0).scalar<int32_t>()};
  }
};

Keys KeysOf(const StartedCall& take) {
  const auto keys = take->output(1).flat<std::string>();
  return {keys.begin(), keys.end()};
}
std::vector<int64_t> StepsOf(const StartedCall& take) {
  std::vector<int64_t> steps;
  for (const int64_t index : take->output(0).flat<int64_t>()) {
    steps.push_back(index - std::numeric_limits<int64_t>::min());
  }
  return steps;
}
using Sizes = std::pair<int, int>;

TEST(BarrierTest, ElementsComeInTheOrderOfTheirKeys) {  // indices of TensorFlow 1.15
  const Pairs barrier;
  EXPECT_TRUE(barrier.First({"x", "y"}, {1, 2}).ok());
  EXPECT_EQ(barrier.Sizes(), Sizes(0, 2));
  EXPECT_TRUE(barrier.Second({"y", "z"}, {1, 2, 3, 4}).ok());
  EXPECT_EQ(barrier.Sizes(), Sizes(1, 2));
  const auto y = barrier.Take(1);
  EXPECT_EQ(KeysOf(y), Keys{"y"});
  EXPECT_EQ(y->output(2).ToString(), Tensor::Vector<float>({2}).ToString());
  EXPECT_EQ(Ints(y->output(3)), (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(y->output(3).shape(), (Shape{1, 2}));
  EXPECT_TRUE(barrier.First({"z"}, {9}).ok());
  EXPECT_TRUE(barrier.Second({"x"}, {8, 9}).ok());
  const auto both = barrier.Take(2);
  EXPECT_EQ(KeysOf(both), (Keys{"x", "z"}));
  EXPECT_EQ(StepsOf(both), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(barrier.Sizes(), Sizes(0, 0));
}

TEST(BarrierTest, TakesWaitInTheirOrder) {
  const Pairs barrier;
  const auto two = barrier.Take(2), one = barrier.Take(1);
  EXPECT_TRUE(barrier.First({"a", "b", "c"}, {1, 2, 3}).ok());
  EXPECT_TRUE(barrier.Second({"a"}, {1, 1}).ok());
  EXPECT_FALSE(two->ended() || one->ended()) << "the first in the line is served first";
  EXPECT_TRUE(barrier.Second({"c", "b"}, {3, 3, 2, 2}).ok());
  EXPECT_EQ(KeysOf(two), (Keys{"a", "b"})) << "keys that came together keep the order of the call";
  EXPECT_EQ(KeysOf(one), Keys{"c"});
  const auto none = barrier.Take(0);
  EXPECT_EQ(none->output(3).shape(), (Shape{0, 2}));
}

TEST(BarrierTest, ACancelledTakeTakesNothing) {
  const Pairs barrier;
  const auto two = barrier.Take(2), one = barrier.Take(1);
  EXPECT_TRUE(barrier.First({"a"}, {1}).ok() && barrier.Second({"a"}, {1, 1}).ok());
  EXPECT_FALSE(one->ended());
  two->cancellation().Cancel();
  EXPECT_EQ(two->status().code(), Code::kCancelled);
  EXPECT_EQ(KeysOf(one), Keys{"a"});
}

TEST(BarrierTest, Closing) {  // errors of TensorFlow 1.15
  const Pairs barrier;
  EXPECT_TRUE(barrier.First({"p", "q"}, {1, 2}).ok() && barrier.Second({"p"}, {1, 2}).ok());
  const auto five = barrier.Take(5);
  EXPECT_TRUE(barrier.Close().ok());
  EXPECT_EQ(five->status().ToString(),
            "OUT_OF_RANGE: Barrier 'under_test' is closed and has insufficient elements (requested "
            "5, total size 2)");
  EXPECT_EQ(barrier.First({"n"}, {1}).message(),
            "Barrier under_test is closed, but attempted to insert a brand new key: n.  Pending "
            "enqueues cancelled: 0.  Insertion index: 0.  Number of incomplete keys: 1.");
  const auto two = barrier.Take(2);
  EXPECT_FALSE(two->ended()) << "an incomplete element may still come";
  EXPECT_TRUE(barrier.Second({"q"}, {5, 5}).ok());
  EXPECT_EQ(KeysOf(two), (Keys{"p", "q"}));
  EXPECT_EQ(barrier.Take(1)->status().code(), Code::kOutOfRange);
  EXPECT_EQ(barrier.Close().message(), "Barrier 'under_test' is already closed.");
  EXPECT_TRUE(barrier.Close(true).ok());
  EXPECT_EQ(barrier.Close(true).code(), Code::kCancelled);
}

TEST(BarrierTest, SmallBatchesOfAClosedBarrier) {
  const Pairs barrier;
  EXPECT_TRUE(barrier.First({"p", "q"}, {1, 2}).ok() && barrier.Second({"p"}, {1, 2}).ok());
  const auto waiting = barrier.Take(5, true);
  EXPECT_FALSE(waiting->ended());
  EXPECT_TRUE(barrier.Close().ok());
  EXPECT_EQ(KeysOf(waiting), Keys{"p"});
  EXPECT_EQ(barrier.Take(5, true)->status().code(), Code::kOutOfRange);
  EXPECT_EQ(barrier.Sizes(), Sizes(0, 1));
  EXPECT_TRUE(barrier.Close(true).ok());
  EXPECT_EQ(barrier.Sizes(), Sizes(0, 0)) << "cancelling drops what is incomplete";
  EXPECT_EQ(barrier.Second({"q"}, {1, 2}).code(), Code::kCancelled);
}

TEST(BarrierTest, BadInsertsChangeNothing) {
  const Pairs barrier;
  const auto bad = [](const Status& status, std::string_view part) {
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_NE(status.message().find(part), std::string_view::npos) << status.ToString();
  };
  const Tensor two = Tensor::Vector<float>({1, 2});
  EXPECT_TRUE(barrier.First({"a"}, {1}).ok());
  bad(barrier.First({"a"}, {1}), "Key a already has a value for component 0");
  bad(barrier.First({"b", "b"}, {1, 2}), "Key b already has a value for component 0");
  bad(barrier.Insert(2, {"b"}, two), "The component ID is out of range 2 > num_components (= 2)");
  bad(barrier.Insert(-1, {"b"}, two), "out of range -1");
  bad(barrier.Insert(0, {"b"}, two), "one row for each of the 1 keys, got shape [2]");
  bad(barrier.Insert(1, {"b"}, Tensor::Of<int32_t>(std::vector<int32_t>{1, 2, 3}, Shape{1, 3})),
      "Shape mismatch in tuple component 1. Expected [2], got [3]");
  bad(barrier.Insert(0, {"b"}, *Tensor::Vector<float>({}).Reshaped(Shape{1, 0})),
      "Tensors with no elements are not supported");
  EXPECT_TRUE(barrier.Insert(0, {}, *Tensor::Vector<float>({}).Reshaped(Shape{0, 7})).ok());
  bad(barrier.Insert(0, {"b"}, Tensor::Vector<int32_t>({1})), "Signature mismatch");
  bad(barrier.Run("BarrierInsertMany", {Tensor::Scalar("b"), two},
                  {{"component_index", 0}, {"T", DType::kFloat}}),
      "keys must be a vector");
  bad(barrier.Take(-1)->status(), "must not be negative");
  EXPECT_TRUE(barrier.Insert(0, {}, Tensor::Vector<float>({})).ok());
  EXPECT_EQ(barrier.Sizes(), Sizes(0, 1));
}

TEST(BarrierTest, BadAttributes) {
  const auto made = [](AttrMap attrs) { return KernelCall("Barrier", {}, std::move(attrs)).Run(); };
  AttrMap bounded = Pairs::Attrs(), partial = Pairs::Attrs(), none = Pairs::Attrs();
  bounded.Set("capacity", 5);
  EXPECT_EQ(made(std::move(bounded)).code(), Code::kInvalidArgument);
  partial.Set("shapes", std::vector<PartialShape>{PartialShape{-1}, PartialShape{2}});
  EXPECT_NE(made(std::move(partial)).message().find("not fully defined"), std::string_view::npos);
  AttrMap unknown = Pairs::Attrs();
  unknown.Set("shapes", std::vector<PartialShape>{PartialShape(), PartialShape{2}});
  EXPECT_TRUE(made(std::move(unknown)).ok());
  none.Set("shapes", std::vector<PartialShape>{});
  EXPECT_EQ(made(std::move(none)).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace thalweg
