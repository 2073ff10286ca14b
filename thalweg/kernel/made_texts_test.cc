// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/made_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <thread>

#include "thalweg/base/test_temporary_directory.h"
#include "thalweg/kernel/charged_file.h"
#include "thalweg/kernel/test_step.h"

namespace thalweg {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

class MadeTextsTest : public testing::Test {
 protected:
  Tensor Texts(int64_t n) { return *Tensor::Allocate(*step_.allocator, DType::kString, Shape{n}); }

  TestStep step_{8 * kMiB};
  TestCall call_{step_, {}, 0};
};

TEST_F(MadeTextsTest, AMeterHasRoomUpToTheLimitAndThenNeverAgain) {
  Tensor out = Texts(1);
  TextMeter meter(*step_.allocator, out);
  int64_t taken = 0;
  while (taken < 100 && meter.Take(kMiB / 2)) ++taken;
  EXPECT_GE(taken, 13) << "nearly all of the limit can be taken";
  EXPECT_LE(taken, 16);
  EXPECT_EQ(meter.status().code(), Code::kResourceExhausted);
  EXPECT_FALSE(meter.Take(size_t{4} * kMiB)) << "once refused, for ever";
  EXPECT_TRUE(meter.Take(3)) << "a short string lies in the tensor itself";
}

TEST_F(MadeTextsTest, WhatAMeterTookGoesWithTheTensor) {
  {
    Tensor out = Texts(1);
    TextMeter meter(*step_.allocator, out);
    ASSERT_TRUE(meter.Take(kMiB));
    EXPECT_GE(step_.bytes_in_use(), kMiB);
    EXPECT_TRUE(meter.status().ok());
  }
  EXPECT_EQ(step_.bytes_in_use(), 0);
}

TEST_F(MadeTextsTest, ShardsTogetherTakeNoMoreThanTheLimit) {
  Tensor out = Texts(1);
  TextMeter meter(*step_.allocator, out);
  std::atomic<int64_t> taken{0};
  std::vector<std::thread> shards;
  for (int t = 0; t < 4; ++t) {
    shards.emplace_back([&] {
      while (meter.Take(10000)) taken.fetch_add(10001);
    });
  }
  for (std::thread& shard : shards) shard.join();
  EXPECT_LE(taken.load(), 8 * kMiB);
  EXPECT_GE(taken.load(), 6 * kMiB);
}

TEST_F(MadeTextsTest, CopiesAreClaimedAsOftenAsTheyAreMade) {
  const Tensor value = Tensor::Vector<std::string>({std::string(999, 'x'), "short"});
  {
    Tensor out = Texts(1);
    const int64_t before = step_.bytes_in_use();
    ASSERT_TRUE(ClaimCopies(call_.context(), out, value, 100).ok());
    EXPECT_EQ(step_.bytes_in_use() - before, 100000);
    EXPECT_EQ(ClaimCopies(call_.context(), out, value, int64_t{1} << 62).code(),
              Code::kResourceExhausted)
        << "a product that overflows is too much, not little";
  }
  Tensor numbers = Tensor::Vector<float>({1});
  EXPECT_TRUE(ClaimCopies(call_.context(), numbers, numbers, int64_t{1} << 62).ok());
  EXPECT_EQ(step_.bytes_in_use(), 0);
}

TEST_F(MadeTextsTest, CopiesOfARangeCountThatRangeAlone) {
  const Tensor value =
      Tensor::Vector<std::string>({std::string(999, 'x'), std::string(99, 'y'), "z"});
  Tensor out = Texts(1);
  const int64_t before = step_.bytes_in_use();
  ASSERT_TRUE(ClaimCopiesOf(*step_.allocator, out, value, 1, 2).ok());
  EXPECT_EQ(step_.bytes_in_use() - before, 100);
}

// Moves element 0 to every place, as a broadcast does.
Status Repeat(DType dtype, const void* from, void* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    if (dtype == DType::kInt64) {
      static_cast<int64_t*>(to)[i] = *static_cast<const int64_t*>(from);
    } else {
      static_cast<std::string*>(to)[i] = *static_cast<const std::string*>(from);
    }
  }
  return OkStatus();
}

TEST_F(MadeTextsTest, MovedStringsAreClaimedBeforeTheFirstIsMade) {
  const Tensor from = Tensor::Vector<std::string>({std::string(999, 'x')});
  const auto move = [&](int64_t n) {
    Tensor to = Texts(n);
    const Status status =
        MoveElements(call_.context(), from, to,
                     [&](DType dtype, const void* f, void* t) { return Repeat(dtype, f, t, n); });
    EXPECT_EQ(to.data<std::string>()[n - 1].size(), status.ok() ? 999u : 0u);
    return status;
  };
  EXPECT_TRUE(move(100).ok());
  EXPECT_EQ(move(10000).code(), Code::kResourceExhausted);
  EXPECT_EQ(step_.bytes_in_use(), 0);
}

TEST_F(MadeTextsTest, AnErrorOfTheMoveIsTheErrorOfAll) {
  const Tensor from = Tensor::Vector<std::string>({"a"});
  Tensor to = Texts(1);
  const Status status = MoveElements(call_.context(), from, to, [](DType, const void*, void*) {
    return InvalidArgument("index 3");
  });
  EXPECT_EQ(status.message(), "index 3");
}

TEST_F(MadeTextsTest, AFileCountsBeforeItIsReadAndIsNamedWhereItDoesNotFit) {
  const TemporaryDirectory directory;
  PosixFileSystem files;
  const std::string small = directory.path() + "/small", large = directory.path() + "/large";
  ASSERT_TRUE(WriteFileAtomically(files, small, std::string(1000, 'x')).ok());
  ASSERT_TRUE(WriteFileAtomically(files, large, std::string(9 * kMiB, 'x')).ok());
  {
    HeapCharge charge;
    EXPECT_EQ(ReadFile(*step_.allocator, charge, small)->size(), 1000u);
    EXPECT_GE(step_.bytes_in_use(), 1000);
    const Status refused = ReadFile(*step_.allocator, charge, large).status();
    EXPECT_EQ(refused.code(), Code::kResourceExhausted);
    EXPECT_THAT(std::string(refused.message()), testing::HasSubstr("file '" + large + "'"));
    EXPECT_EQ(ReadFile(*step_.allocator, charge, small + "er").status().code(), Code::kNotFound);
  }
  EXPECT_EQ(step_.bytes_in_use(), 0) << "the charge goes with its owner";
}

}  // namespace
}  // namespace thalweg
