// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/cuda/nccl_api.h"

#include <gtest/gtest.h>

#include "thalweg/devices/gpu/cuda/cuda_group.h"
#include "thalweg/devices/gpu/cuda/test_alike.h"

#if __has_include(<nccl.h>)
#include <nccl.h>
#endif

namespace thalweg {
namespace {

TEST(NcclTypesTest, WhatNcclHasNoCodeForIsLeftToTheHost) {
  const auto can = [](CollectiveKind kind, DType dtype, compute::BinaryOp merge, bool is_mean) {
    return CudaGroup::CanRun({.kind = kind, .dtype = dtype, .merge = merge, .is_mean = is_mean});
  };
  using enum CollectiveKind;
  using compute::BinaryOp;
  for (const DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBfloat16}) {
    EXPECT_TRUE(can(kReduce, dtype, BinaryOp::kAdd, true));
  }
  for (const DType dtype : {DType::kInt32, DType::kInt64}) {
    for (const BinaryOp merge :
         {BinaryOp::kAdd, BinaryOp::kMul, BinaryOp::kMaximum, BinaryOp::kMinimum}) {
      EXPECT_TRUE(can(kReduceScatter, dtype, merge, false));
      EXPECT_FALSE(can(kReduce, dtype, merge, true));
    }
  }
  EXPECT_FALSE(can(kReduce, DType::kFloat, BinaryOp::kMul, true));
  EXPECT_FALSE(can(kReduce, DType::kFloat, BinaryOp::kMaximum, false)) << "of NaN";
  EXPECT_FALSE(can(kReduceScatter, DType::kHalf, BinaryOp::kMinimum, false)) << "of NaN";
  EXPECT_FALSE(can(kReduce, DType::kBool, BinaryOp::kAdd, false));
  EXPECT_TRUE(can(kBroadcast, DType::kBool, BinaryOp::kAdd, false));
  EXPECT_TRUE(can(kGather, DType::kInt64, BinaryOp::kAdd, false));
  EXPECT_FALSE(can(kAllToAll, DType::kFloat, BinaryOp::kAdd, false));
}

#ifdef NCCL_VERSION_CODE
TEST(NcclApiTest, FunctionsAreNccls) {
  NcclApi api = {};
#define EXPECT_ALIKE(name) \
  EXPECT_TRUE(AreAlike(api.name, decltype (&::nccl##name)(nullptr))) << #name
  EXPECT_ALIKE(GetVersion);
  EXPECT_ALIKE(GetErrorString);
  EXPECT_ALIKE(CommInitAll);
  EXPECT_ALIKE(CommDestroy);
  EXPECT_ALIKE(CommAbort);
  EXPECT_ALIKE(CommGetAsyncError);
  EXPECT_ALIKE(GroupStart);
  EXPECT_ALIKE(GroupEnd);
  EXPECT_ALIKE(AllReduce);
  EXPECT_ALIKE(ReduceScatter);
  EXPECT_ALIKE(AllGather);
  EXPECT_ALIKE(Broadcast);
#undef EXPECT_ALIKE
}

TEST(NcclApiTest, NumbersAreNccls) {
  EXPECT_EQ(nccl::kSuccess, ncclSuccess);
  EXPECT_EQ(nccl::kInProgress, ncclInProgress);
  EXPECT_EQ(nccl::kUint8, ncclUint8);
  EXPECT_EQ(nccl::kInt32, ncclInt32);
  EXPECT_EQ(nccl::kInt64, ncclInt64);
  EXPECT_EQ(nccl::kHalf, ncclHalf);
  EXPECT_EQ(nccl::kFloat, ncclFloat);
  EXPECT_EQ(nccl::kDouble, ncclDouble);
  EXPECT_EQ(nccl::kBfloat16, ncclBfloat16);
  EXPECT_EQ(nccl::kSum, ncclSum);
  EXPECT_EQ(nccl::kProduct, ncclProd);
  EXPECT_EQ(nccl::kMaximum, ncclMax);
  EXPECT_EQ(nccl::kMinimum, ncclMin);
  EXPECT_EQ(nccl::kMean, ncclAvg);
}
#endif

}  // namespace
}  // namespace thalweg
