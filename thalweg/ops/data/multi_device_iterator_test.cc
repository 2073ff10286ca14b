// SPDX-License-Identifier: Apache-2.0
#include "thalweg/ops/data/test_dataset_calls.h"

namespace thalweg {
namespace {

Tensor IteratorOf(int devices) {
  AttrMap attrs = IntAttrs();
  attrs.Set("devices", std::vector<std::string>(static_cast<size_t>(devices), "/cpu:0"));
  return Made("AnonymousMultiDeviceIteratorV3", {}, attrs);
}

// A pass lives on the device of the step that has begun it.
struct Pass {
  Pass(const Tensor& iterator, int64_t n, int64_t buffer = 4)
      : call("MultiDeviceIteratorInit", {Range(n), iterator, Int(buffer)}) {
    const Status begun = call.Run();
    EXPECT_TRUE(begun.ok()) << begun.ToString();
  }
  const Tensor& incarnation() const { return call.output(0); }
  KernelCall call;
};

// Its next element, or the code of the error.
std::string Next(const Tensor& iterator, int32_t shard, const Tensor& incarnation) {
  KernelCall call("MultiDeviceIteratorGetNextFromShard",
                  {iterator, Tensor::Scalar(shard), incarnation}, IntAttrs());
  const Status status = call.Run();
  if (!status.ok()) return std::string(status.message());
  return StrCat(call.output(0).scalar<int64_t>());
}

TEST(MultiDeviceIteratorTest, DealsElementsInTurn) {
  const Tensor iterator = IteratorOf(3);
  const Pass begun(iterator, 7);
  const Tensor& pass = begun.incarnation();
  EXPECT_EQ(Next(iterator, 1, pass), "1");
  EXPECT_EQ(Next(iterator, 0, pass), "0");
  EXPECT_EQ(Next(iterator, 0, pass), "3");
  EXPECT_EQ(Next(iterator, 0, pass), "6");
  EXPECT_EQ(Next(iterator, 0, pass), "End of sequence");
  EXPECT_EQ(Next(iterator, 2, pass), "2");
  EXPECT_EQ(Next(iterator, 2, pass), "5");
  EXPECT_EQ(Next(iterator, 2, pass), "End of sequence");
  EXPECT_EQ(Next(iterator, 1, pass), "4");
  EXPECT_EQ(Next(iterator, 1, pass), "End of sequence");
}

TEST(MultiDeviceIteratorTest, APassThatIsOverGivesNothing) {
  const Tensor iterator = IteratorOf(2);
  const Pass begun(iterator, 7);
  const Tensor& first = begun.incarnation();
  EXPECT_EQ(Next(iterator, 0, first), "0");
  const Pass again(iterator, 7);
  const Tensor& second = again.incarnation();
  EXPECT_EQ(Next(iterator, 0, second), "0");
  EXPECT_EQ(Next(iterator, 0, first),
            "Invalid incarnation id: expected 2, got 1: the iterator has begun anew since then");
}

TEST(MultiDeviceIteratorTest, RefusesWhatThereIsNot) {
  const Tensor iterator = IteratorOf(2);
  EXPECT_EQ(Next(iterator, 0, Int(0)),
            "the iterator of several devices has no dataset yet: run its initializer before");
  EXPECT_EQ(Next(iterator, 2, Int(0)),
            "shard_num must be at least 0 and less than the 2 devices of the iterator, got 2");
  EXPECT_EQ(Next(iterator, -1, Int(0)),
            "shard_num must be at least 0 and less than the 2 devices of the iterator, got -1");
  EXPECT_EQ(Refused("MultiDeviceIteratorInit", {Range(3), iterator, Int(0)}, {}),
            "max_buffer_size must be at least 1, got 0");
}

}  // namespace
}  // namespace thalweg
