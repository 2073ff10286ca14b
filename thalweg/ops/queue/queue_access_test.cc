// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "thalweg/ops/queue/test_queue_calls.h"

namespace thalweg {
namespace {

using Numbers = std::vector<int32_t>;

TEST(QueueAccessTest, FirstInFirstOut) {
  const IntQueue queue("FIFOQueueV2");
  for (int i = 0; i < 40; ++i) EXPECT_TRUE(queue.Enqueue(i)->status().ok());
  EXPECT_EQ(queue.Size(), 40);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(queue.Dequeue()->output(0).scalar<int32_t>(), i);
  EXPECT_EQ(Ints(queue.DequeueMany(3)->output(0)), (Numbers{20, 21, 22}));
  EXPECT_EQ(queue.Size(), 17);
}

TEST(QueueAccessTest, ADequeueWaitsForAnElementAndHoldsNoThread) {
  const IntQueue queue("FIFOQueueV2");
  const auto first = queue.Dequeue(), second = queue.Dequeue();
  EXPECT_FALSE(first->ended());
  queue.Enqueue(7);
  ASSERT_TRUE(first->ended());
  EXPECT_EQ(first->output(0).scalar<int32_t>(), 7);
  EXPECT_FALSE(second->ended()) << "first come, first served";
  queue.Enqueue(8);
  EXPECT_EQ(second->output(0).scalar<int32_t>(), 8);
}

TEST(QueueAccessTest, AnEnqueueWaitsForRoomInItsTurn) {
  const IntQueue queue("FIFOQueueV2", {}, 2);
  const auto many = queue.EnqueueMany({1, 2, 3, 4}), one = queue.Enqueue(5);
  EXPECT_FALSE(many->ended());
  EXPECT_EQ(queue.Size(), 2);
  EXPECT_EQ(Ints(queue.DequeueMany(2)->output(0)), (Numbers{1, 2}));
  EXPECT_TRUE(many->ended());
  EXPECT_FALSE(one->ended());
  EXPECT_EQ(Ints(queue.DequeueMany(3)->output(0)), (Numbers{3, 4, 5}));
  EXPECT_TRUE(one->ended());
}

TEST(QueueAccessTest, ABatchMayBeLargerThanTheCapacity) {
  const IntQueue queue("FIFOQueueV2", {}, 2);
  const auto batch = queue.DequeueMany(5);
  for (int i = 0; i < 5; ++i) queue.Enqueue(i);
  ASSERT_TRUE(batch->ended());
  EXPECT_EQ(Ints(batch->output(0)), (Numbers{0, 1, 2, 3, 4}));
}

TEST(QueueAccessTest, ACancelledBatchGivesBackWhatItTookInItsOrder) {
  const IntQueue queue("FIFOQueueV2", {}, 4);
  const auto batch = queue.DequeueMany(5), next = queue.DequeueMany(4);
  queue.EnqueueMany({1, 2, 3});
  EXPECT_EQ(queue.Size(), 0);
  batch->cancellation().Cancel(DeadlineExceeded("too late"));
  ASSERT_TRUE(batch->ended());
  EXPECT_EQ(batch->status().code(), Code::kDeadlineExceeded);
  EXPECT_FALSE(next->ended());
  queue.Enqueue(4);
  ASSERT_TRUE(next->ended());
  EXPECT_EQ(Ints(next->output(0)), (Numbers{1, 2, 3, 4}));
}

TEST(QueueAccessTest, ACancelledWaiterTakesNothing) {
  const IntQueue queue("FIFOQueueV2", {}, 1);
  const auto take = queue.Dequeue();
  take->cancellation().Cancel();
  EXPECT_EQ(take->status().code(), Code::kCancelled);
  queue.Enqueue(1);
  const auto put = queue.Enqueue(2), later = queue.Enqueue(3);
  put->cancellation().Cancel();
  EXPECT_EQ(put->status().code(), Code::kCancelled);
  EXPECT_EQ(Ints(queue.DequeueMany(2)->output(0)), (Numbers{1, 3}));
  EXPECT_TRUE(later->status().ok());
}

TEST(QueueAccessTest, CloseLetsPendingEnqueuesEndAndWakesDequeues) {
  const IntQueue queue("FIFOQueueV2", {}, 1);
  queue.Enqueue(1);
  const auto pending = queue.Enqueue(2), close = queue.Close(), late = queue.Enqueue(3);
  EXPECT_FALSE(close->ended());
  EXPECT_EQ(queue.Dequeue()->output(0).scalar<int32_t>(), 1);
  EXPECT_TRUE(pending->status().ok());
  EXPECT_TRUE(close->status().ok());
  EXPECT_EQ(late->status().ToString(), "CANCELLED: FIFOQueue 'under_test' is closed.");
  EXPECT_EQ(queue.DequeueMany(2)->status().ToString(),
            "OUT_OF_RANGE: FIFOQueue 'under_test' is closed and has insufficient elements "
            "(requested 2, current size 1)");
  EXPECT_EQ(Ints(queue.DequeueUpTo(2)->output(0)), (Numbers{2}));
  EXPECT_EQ(queue.DequeueUpTo(2)->status().code(), Code::kOutOfRange);
  EXPECT_EQ(queue.Dequeue()->status().code(), Code::kOutOfRange);
  EXPECT_EQ(queue.Close()->status().ToString(), "CANCELLED: Queue 'under_test' is already closed.");
  EXPECT_TRUE(queue.Close(true)->status().ok());
}

TEST(QueueAccessTest, CloseWithCancelTurnsPendingEnqueuesAway) {
  const IntQueue queue("FIFOQueueV2", {}, 3);
  const auto many = queue.EnqueueMany({1, 2, 3, 4, 5});
  EXPECT_TRUE(queue.Close(true)->status().ok());
  ASSERT_TRUE(many->ended());
  EXPECT_EQ(many->status().ToString(), "CANCELLED: Enqueue operation was cancelled");
  EXPECT_EQ(Ints(queue.DequeueUpTo(9)->output(0)), (Numbers{1, 2, 3}));
}

TEST(QueueAccessTest, CloseEndsABatchThatWaitsForMore) {
  const IntQueue queue("FIFOQueueV2");
  const auto exact = queue.DequeueMany(3), up_to = queue.DequeueUpTo(3);
  queue.EnqueueMany({1, 2});
  queue.Close();
  EXPECT_EQ(exact->status().code(), Code::kOutOfRange);
  ASSERT_TRUE(up_to->ended());
  EXPECT_EQ(Ints(up_to->output(0)), (Numbers{1, 2}));
}

TEST(QueueAccessTest, ShuffledElementsComeInTheOrderOfTensorFlow) {  // recorded from 1.15
  const IntQueue queue("RandomShuffleQueueV2", {{"seed", 1}, {"seed2", 2}});
  Numbers all(20);
  std::iota(all.begin(), all.end(), 0);
  queue.EnqueueMany(all);
  EXPECT_EQ(Ints(queue.DequeueMany(20)->output(0)),
            (Numbers{19, 7, 6, 1, 3, 16, 14, 11, 5, 13, 4, 2, 8, 18, 9, 15, 0, 17, 10, 12}));
}

TEST(QueueAccessTest, AShuffledQueueKeepsSomeUntilItIsClosed) {
  const IntQueue queue("RandomShuffleQueueV2", {{"min_after_dequeue", 2}, {"seed", 5}}, 10);
  queue.EnqueueMany({1, 2, 3});
  EXPECT_TRUE(queue.Dequeue()->ended());
  const auto waits = queue.Dequeue();
  EXPECT_FALSE(waits->ended());
  queue.Close();
  EXPECT_TRUE(waits->ended() && waits->status().ok());
  EXPECT_TRUE(queue.Dequeue()->status().ok());
}

TEST(QueueAccessTest, TheSmallestNumberFirstAndEqualOnesInTheirOrder) {
  const std::vector<DType> types = {DType::kInt64, DType::kInt32};
  const QueueCalls queue("PriorityQueueV2",
                         {{"component_types", std::vector<DType>{DType::kInt32}},
                          {"shapes", std::vector<PartialShape>{PartialShape(Shape())}}});
  const AttrMap out = {{"component_types", types}};
  ASSERT_TRUE(
      queue
          .Start("QueueEnqueueManyV2",
                 {Tensor::Vector<int64_t>({3, 1, 2, 1}), Tensor::Vector<int32_t>({0, 1, 2, 3})},
                 {{"Tcomponents", types}})
          ->status()
          .ok());
  const auto batch = queue.Start("QueueDequeueManyV2", {Tensor::Scalar(3)}, out);
  EXPECT_EQ(Ints(batch->output(1)), (Numbers{1, 3, 2}));
  EXPECT_EQ(queue.Start("QueueDequeueV2", {}, out)->output(1).scalar<int32_t>(), 0);
}

TEST(QueueAccessTest, PaddedBatches) {
  const std::vector<PartialShape> shapes = {PartialShape{-1, -1}};
  const IntQueue queue("PaddingFIFOQueueV2", {{"shapes", shapes}});
  const auto put = [&](std::initializer_list<int32_t> values, const Shape& shape) {
    return queue.Run("QueueEnqueueV2",
                     {Tensor::Of<int32_t>({values.begin(), values.size()}, shape)},
                     {{"Tcomponents", std::vector<DType>{DType::kInt32}}});
  };
  EXPECT_TRUE(put({1, 2}, Shape{2, 1}).ok());
  EXPECT_TRUE(put({3, 4, 5}, Shape{1, 3}).ok());
  EXPECT_TRUE(put({}, Shape{0, 2}).ok());
  EXPECT_EQ(put({1}, Shape{1}).message(),
            "Shape mismatch in tuple component 0. Expected [?,?], got [1]");
  const auto batch = queue.DequeueMany(3);
  EXPECT_EQ(batch->output(0).shape(), (Shape{3, 2, 3}));
  EXPECT_EQ(Ints(batch->output(0)),
            (Numbers{1, 0, 0, 2, 0, 0, 3, 4, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(QueueAccessTest, LargeElementsAreSharedNotCopied) {
  const Tensor large = *Tensor::AllocateHost(DType::kInt32, Shape{4, 4096});
  const std::vector<DType> types = {DType::kInt32};
  const QueueCalls queue("FIFOQueueV2", {{"component_types", types}});
  ASSERT_TRUE(queue.Run("QueueEnqueueV2", {large}, {{"Tcomponents", types}}).ok());
  const auto whole = queue.Start("QueueDequeueV2", {}, {{"component_types", types}});
  EXPECT_TRUE(whole->output(0).SharesBufferWith(large));
  queue.Start("QueueEnqueueManyV2", {large}, {{"Tcomponents", types}});
  const auto row = queue.Start("QueueDequeueV2", {}, {{"component_types", types}});
  EXPECT_EQ(row->output(0).raw_data(), large.raw_data());
  EXPECT_EQ(row->output(0).shape(), Shape{4096});
}

TEST(QueueAccessTest, TextsThatNobodyElseSeesAreTakenNotCopied) {
  const std::vector<DType> types = {DType::kString, DType::kInt32};
  const QueueCalls queue("FIFOQueueV2",
                         {{"component_types", types},
                          {"shapes", std::vector<PartialShape>(2, PartialShape(Shape()))}});
  const std::string text(100, 't');
  const Tensor kept = Tensor::Scalar(text);
  Tensor given = Tensor::Scalar(text);
  const char* const place = given.scalar<std::string>().data();
  const AttrMap in = {{"Tcomponents", types}};
  ASSERT_TRUE(queue.Run("QueueEnqueueV2", {kept, Tensor::Scalar(1)}, in).ok());
  ASSERT_TRUE(queue.Run("QueueEnqueueV2", {std::move(given), Tensor::Scalar(2)}, in).ok());
  const auto batch =
      queue.Start("QueueDequeueManyV2", {Tensor::Scalar(2)}, {{"component_types", types}});
  ASSERT_TRUE(queue.first().ok()) << queue.first().ToString();
  const auto texts = batch->output(0).flat<std::string>();
  EXPECT_EQ(texts[0], text);
  EXPECT_EQ(texts[1], text);
  EXPECT_EQ(texts[1].data(), place);
  EXPECT_EQ(kept.scalar<std::string>(), text);
  EXPECT_EQ(batch->output(1).flat<int32_t>()[1], 2);
}

TEST(QueueAccessTest, BadInput) {
  const IntQueue queue("FIFOQueueV2");
  const std::vector<DType> ints = {DType::kInt32}, floats = {DType::kFloat};
  const Tensor one = Tensor::Scalar(1);
  const auto message = [&](std::string_view op, std::vector<Tensor> inputs, AttrMap attrs) {
    const Status status = queue.Run(op, std::move(inputs), std::move(attrs));
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.ToString();
    return status.ToString();
  };
  EXPECT_NE(message("QueueEnqueueV2", {Tensor::Scalar(1.0f)}, {{"Tcomponents", floats}})
                .find("Signature mismatch, have components: float32, expected those of FIFOQueue"),
            std::string::npos);
  message("QueueDequeueV2", {}, {{"component_types", std::vector<DType>(2, DType::kInt32)}});
  message("QueueEnqueueV2", {Tensor::Vector<int32_t>({1})}, {{"Tcomponents", ints}});
  message("QueueEnqueueManyV2", {one}, {{"Tcomponents", ints}});
  message("QueueEnqueueManyV2", {*Tensor::AllocateHost(DType::kInt32, Shape{2, 2})},
          {{"Tcomponents", ints}});
  message("QueueEnqueueV2", {one}, {{"Tcomponents", ints}, {"timeout_ms", 5}});
  message("QueueDequeueManyV2", {Tensor::Scalar(-1)}, {{"component_types", ints}});
  message("QueueDequeueManyV2", {Tensor::Vector<int32_t>({1, 2})}, {{"component_types", ints}});
  const QueueCalls shapeless("FIFOQueueV2", {{"component_types", ints}});
  EXPECT_EQ(shapeless.Run("QueueDequeueManyV2", {one}, {{"component_types", ints}}).message(),
            "FIFOQueue's DequeueMany and DequeueUpTo require the components to have specified "
            "shapes.");
  EXPECT_EQ(queue.Size(), 0);
}

TEST(QueueAccessTest, ABatchOfNoElementsEndsAtOnce) {
  const IntQueue queue("FIFOQueueV2");
  EXPECT_EQ(queue.DequeueMany(0)->output(0).shape(), Shape{0});
  EXPECT_TRUE(queue.EnqueueMany({})->status().ok());
}

}  // namespace
}  // namespace thalweg
