// SPDX-License-Identifier: Apache-2.0
#include "thalweg/devices/gpu/cuda/cudnn_api.h"

#include <gtest/gtest.h>

#include "thalweg/devices/gpu/cuda/test_alike.h"
#include "thalweg/devices/gpu/gpu_driver.h"

#if __has_include(<cudnn.h>)
#include <cudnn.h>
#endif

namespace thalweg {
namespace {

TEST(CudnnStatusTest, BothNumberingsAreRead) {
  for (const int status : {6, 9, 3000, 3007, 3014}) EXPECT_TRUE(cudnn::IsUnsupported(status));
  for (const int status : {0, 1, 3, 8, 1001, 2000, 4000, 5000}) {
    EXPECT_FALSE(cudnn::IsUnsupported(status)) << status;
    EXPECT_FALSE(cudnn::IsOutOfMemory(status)) << status;
  }
  for (const int status : {2, 4003, 4004}) EXPECT_TRUE(cudnn::IsOutOfMemory(status));
}

#ifdef CUDNN_VERSION
template <class Theirs>
void ExpectEstimatesAreAlike() {
  EXPECT_EQ(sizeof(cudnn::Estimate), sizeof(Theirs));
  EXPECT_EQ(offsetof(cudnn::Estimate, algorithm), offsetof(Theirs, algo));
  EXPECT_EQ(offsetof(cudnn::Estimate, status), offsetof(Theirs, status));
  EXPECT_EQ(offsetof(cudnn::Estimate, time), offsetof(Theirs, time));
  EXPECT_EQ(offsetof(cudnn::Estimate, memory), offsetof(Theirs, memory));
  EXPECT_EQ(offsetof(cudnn::Estimate, determinism), offsetof(Theirs, determinism));
  EXPECT_EQ(offsetof(cudnn::Estimate, math), offsetof(Theirs, mathType));
}

TEST(CudnnApiTest, FunctionsAreCudnns) {
  CudnnApi api = {};
#define EXPECT_ALIKE(name) \
  EXPECT_TRUE(AreAlike(api.name, decltype (&::cudnn##name)(nullptr))) << #name
  EXPECT_ALIKE(Create);
  EXPECT_ALIKE(Destroy);
  EXPECT_ALIKE(SetStream);
  EXPECT_ALIKE(GetErrorString);
  EXPECT_ALIKE(CreateTensorDescriptor);
  EXPECT_ALIKE(DestroyTensorDescriptor);
  EXPECT_ALIKE(SetTensor4dDescriptor);
  EXPECT_ALIKE(CreateFilterDescriptor);
  EXPECT_ALIKE(DestroyFilterDescriptor);
  EXPECT_ALIKE(SetFilter4dDescriptor);
  EXPECT_ALIKE(CreateConvolutionDescriptor);
  EXPECT_ALIKE(DestroyConvolutionDescriptor);
  EXPECT_ALIKE(SetConvolution2dDescriptor);
  EXPECT_ALIKE(SetConvolutionMathType);
  EXPECT_ALIKE(SetConvolutionGroupCount);
#undef EXPECT_ALIKE
#define EXPECT_ALIKE(makes, own, name)                                                 \
  EXPECT_TRUE(AreAlike(api.convolutions[static_cast<size_t>(GpuConvolved::makes)].own, \
                       decltype (&::cudnn##name)(nullptr)))                            \
      << #name
  EXPECT_ALIKE(kOutput, GetAlgorithms, GetConvolutionForwardAlgorithm_v7);
  EXPECT_ALIKE(kOutput, GetWorkspaceSize, GetConvolutionForwardWorkspaceSize);
  EXPECT_ALIKE(kOutput, Run, ConvolutionForward);
  EXPECT_ALIKE(kImageGradient, GetAlgorithms, GetConvolutionBackwardDataAlgorithm_v7);
  EXPECT_ALIKE(kImageGradient, GetWorkspaceSize, GetConvolutionBackwardDataWorkspaceSize);
  EXPECT_ALIKE(kImageGradient, Run, ConvolutionBackwardData);
  EXPECT_ALIKE(kFilterGradient, GetAlgorithms, GetConvolutionBackwardFilterAlgorithm_v7);
  EXPECT_ALIKE(kFilterGradient, GetWorkspaceSize, GetConvolutionBackwardFilterWorkspaceSize);
  EXPECT_ALIKE(kFilterGradient, Run, ConvolutionBackwardFilter);
#undef EXPECT_ALIKE
}

TEST(CudnnApiTest, NumbersAreCudnns) {
  ExpectEstimatesAreAlike<cudnnConvolutionFwdAlgoPerf_t>();
  ExpectEstimatesAreAlike<cudnnConvolutionBwdDataAlgoPerf_t>();
  ExpectEstimatesAreAlike<cudnnConvolutionBwdFilterAlgoPerf_t>();
  EXPECT_EQ(cudnn::kSuccess, CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(cudnn::kFloat, CUDNN_DATA_FLOAT);
  EXPECT_EQ(cudnn::kChannelsFirst, CUDNN_TENSOR_NCHW);
  EXPECT_EQ(cudnn::kChannelsLast, CUDNN_TENSOR_NHWC);
  EXPECT_EQ(cudnn::kCrossCorrelation, CUDNN_CROSS_CORRELATION);
  EXPECT_EQ(cudnn::kDeterministic, CUDNN_DETERMINISTIC);
  EXPECT_EQ(cudnn::kDefaultMath, CUDNN_DEFAULT_MATH);
  EXPECT_EQ(cudnn::kFmaMath, CUDNN_FMA_MATH);
  EXPECT_TRUE(cudnn::IsUnsupported(CUDNN_STATUS_NOT_SUPPORTED));
  EXPECT_FALSE(cudnn::IsUnsupported(CUDNN_STATUS_BAD_PARAM));
  EXPECT_FALSE(cudnn::IsUnsupported(CUDNN_STATUS_EXECUTION_FAILED));
  EXPECT_TRUE(cudnn::IsOutOfMemory(CUDNN_STATUS_ALLOC_FAILED));
}
#endif

}  // namespace
}  // namespace thalweg
