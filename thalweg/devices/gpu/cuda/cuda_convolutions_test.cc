// SPDX-License-Identifier: Apache-2.0
// Convolutions by cuDNN, on the cuDNN of the tests (test_libcudnn.h), which computes: op cases
// beside the CPU's, and what it says where it cannot.
#include "thalweg/devices/gpu/cuda/cuda_convolutions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "thalweg/devices/gpu/cuda/test_libcuda.h"
#include "thalweg/devices/gpu/cuda/test_libcudnn.h"
#include "thalweg/devices/gpu/test_gpu_kernels.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;

constexpr const char* kForward = "cudnnConvolutionForward";
constexpr const char* kBackwardData = "cudnnConvolutionBackwardData";
constexpr const char* kBackwardFilter = "cudnnConvolutionBackwardFilter";
constexpr int kNotSupported = 3000, kNotSupportedBy8 = 9, kExecutionFailed = 5000;
constexpr int kNoMemoryOfTheCard = 4004;

class CudaConvolutionsTest : public GpuKernelFixture {
 protected:
  void SetUp() override {
    KernelMachine::Get().Close();  // not to be counted with what the tests leave
    Renew();
    cudnn.Mend();
    computes_ = true;
  }
  void TearDown() override {
    fake.Mend();
    cudnn.Mend();
    Drop();
    EXPECT_EQ(fake.live(), 0);
    EXPECT_EQ(cudnn.live(), 0);
  }
  void Renew() { Use(false, 108); }
  // A convolution of two images, which gives other numbers at every call.
  Result<std::vector<Tensor>> Convolve() {
    return RunThere("Conv2D", {Floats(Shape{2, 5, 5, 3}), Floats(Shape{3, 3, 3, 4})}, same,
                    *device_);
  }
  int ForwardCalls() const { return cudnn.calls(kForward); }

  static AttrMap Attrs(const std::string& padding, std::vector<int64_t> strides) {
    return {{"padding", padding}, {"strides", std::move(strides)}};
  }

  FakeCuda& fake = FakeCuda::Get();
  FakeCudnn& cudnn = FakeCudnn::Get();
  const AttrMap same = Attrs("SAME", {1, 1, 1, 1});
};

TEST_F(CudaConvolutionsTest, AreTheLibrarys) {
  CheckConvolutions();
  EXPECT_EQ(ForwardCalls(), 15);
  EXPECT_EQ(cudnn.calls(kBackwardData), 15);
  EXPECT_EQ(cudnn.calls(kBackwardFilter), 15);
}

// cuDNN pads as much in front as behind.
TEST_F(CudaConvolutionsTest, PaddingMayDifferOnEitherSide) {
  int cases = 0;
  for (const int64_t stride : {1, 2, 3}) {
    for (const auto& [top, bottom, left, right] :
         {std::array<int64_t, 4>{0, 1, 1, 0}, {2, 2, 1, 1}, {0, 3, 2, 0}, {3, 0, 0, 3}}) {
      SCOPED_TRACE(StrCat(stride, ": ", top, bottom, left, right));
      AttrMap attrs = Attrs("EXPLICIT", {1, stride, stride, 1});
      attrs.Set("explicit_paddings", std::vector<int64_t>{0, 0, top, bottom, left, right, 0, 0});
      CheckConvolutions(Shape{2, 7, 6, 3}, Shape{2, 3, 3, 4}, attrs);
      attrs.Set("data_format", std::string("NCHW"));
      attrs.Set("strides", std::vector<int64_t>{1, 1, stride, stride});
      attrs.Set("explicit_paddings", std::vector<int64_t>{0, 0, 0, 0, top, bottom, left, right});
      CheckConvolutions(Shape{2, 3, 7, 6}, Shape{2, 3, 3, 4}, attrs);
      cases += 2;
    }
  }
  EXPECT_EQ(ForwardCalls(), cases);
  EXPECT_EQ(cudnn.calls(kBackwardFilter), cases);
}

TEST_F(CudaConvolutionsTest, FiltersMayBeOfGroups) {
  CheckConvolutionsInParts();
  EXPECT_EQ(ForwardCalls(), 12);
  EXPECT_EQ(cudnn.calls(kBackwardData), 12);
  EXPECT_EQ(cudnn.calls(kBackwardFilter), 12);
}

TEST_F(CudaConvolutionsTest, AShapeIsAskedForOnce) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Convolve().ok());
  EXPECT_EQ(ForwardCalls(), 3);
  EXPECT_EQ(cudnn.calls("cudnnGetConvolutionForwardAlgorithm_v7"), 1);
  EXPECT_EQ(cudnn.calls("cudnnCreateConvolutionDescriptor"), 1);
}

TEST_F(CudaConvolutionsTest, AsManyShapesAreKeptAsThereIsRoomFor) {
  ASSERT_TRUE(device_->has_convolutions());
  GpuConvolution shape = {.batch = 1,
                          .in_channels = 1,
                          .in_rows = 5,
                          .in_columns = 1,
                          .out_channels = 1,
                          .out_rows = 5,
                          .out_columns = 1,
                          .size_rows = 1,
                          .size_columns = 1};
  const GpuConvolution first = shape;
  for (shape.batch = 1; shape.batch <= 2000; ++shape.batch) {
    ASSERT_TRUE(device_->queue().FindWorkspace(shape, 0).ok());
    ASSERT_TRUE(device_->queue().FindWorkspace(first, 0).ok());
  }
  EXPECT_EQ(cudnn.live(), 1 + 4 * 512);
  // What is used stays.
  EXPECT_EQ(cudnn.calls("cudnnGetConvolutionForwardAlgorithm_v7"), 2000);
}

TEST_F(CudaConvolutionsTest, TheFastestThatGivesTheSameBitsIsTaken) {
  ASSERT_TRUE(Convolve().ok());
  EXPECT_EQ(cudnn.last_algorithm(), FakeCudnn::kFastest);
}

TEST_F(CudaConvolutionsTest, WithoutMemoryForItsWorkspaceASmallerOneIs) {
  ASSERT_TRUE(device_->Allocate(DType::kFloat, Shape{1}).ok());  // the first part of the memory
  fake.Fail("cuMemAlloc_v2", 2, true);
  Check("Conv2D", {Floats(Shape{2, 5, 5, 3}), Floats(Shape{3, 3, 3, 4})}, same, 2e-4f);
  EXPECT_EQ(cudnn.last_algorithm(), FakeCudnn::kSmaller);
}

TEST_F(CudaConvolutionsTest, WorkspacesHaveABound) {
  GpuConvolution shape = {.batch = 1,
                          .in_channels = 1,
                          .in_rows = 5,
                          .in_columns = 1,
                          .out_channels = 1,
                          .out_rows = 5,
                          .out_columns = 1,
                          .size_rows = 1,
                          .size_columns = 1};
  ASSERT_TRUE(device_->has_convolutions());
  GpuQueue& queue = device_->queue();
  EXPECT_EQ(*queue.FindWorkspace(shape, 1 << 30), FakeCudnn::kWorkspaceOfFastest);
  EXPECT_EQ(*queue.FindWorkspace(shape, FakeCudnn::kWorkspaceOfFastest - 1),
            FakeCudnn::kWorkspaceOfSmaller);
  EXPECT_EQ(*queue.FindWorkspace(shape, FakeCudnn::kWorkspaceOfSmaller - 1), 0);
}

// The card of the tests runs none of the device's convolutions: that they are launched is seen.
TEST_F(CudaConvolutionsTest, WhatTheLibraryHasNoCodeForKernelsCompute) {
  for (const int status : {kNotSupported, kNotSupported + 4, kNotSupportedBy8}) {
    for (const char* call :
         {"cudnnGetConvolutionForwardAlgorithm_v7", "cudnnSetConvolution2dDescriptor", kForward}) {
      SCOPED_TRACE(StrCat(call, status));
      Renew();
      cudnn.Mend();
      cudnn.Fail(call, status);
      const int launches = fake.launches();
      for (int i = 0; i < 2; ++i) {
        const Result<std::vector<Tensor>> y = Convolve();
        ASSERT_TRUE(y.ok()) << y.status().ToString();
        EXPECT_EQ(y->front().shape(), (Shape{2, 5, 5, 4}));
      }
      EXPECT_GE(fake.launches(), launches + 2);
      EXPECT_EQ(cudnn.calls(call), 1) << "it is asked once, so that all steps are alike";
      EXPECT_EQ(ForwardCalls(), call == kForward ? 1 : 0);
    }
  }
}

TEST_F(CudaConvolutionsTest, ImagesWithoutElementsAreNotTheLibrarys) {
  EXPECT_TRUE(
      RunThere("Conv2D", {Floats(Shape{0, 8, 9, 3}), Floats(Shape{3, 2, 3, 4})}, same, *device_)
          .ok());
  EXPECT_TRUE(RunThere("Conv2DBackpropFilter",
                       {Floats(Shape{0, 8, 9, 3}), Ints({3, 2, 3, 4}), Floats(Shape{0, 8, 9, 4})},
                       same, *device_)
                  .ok());
  EXPECT_EQ(ForwardCalls() + cudnn.calls(kBackwardFilter), 0);
}

// Whatever call fails: a word, nothing that leaks (TearDown), and the device goes on.
TEST_F(CudaConvolutionsTest, EveryCallMayFail) {
  for (const char* call :
       {"cudnnCreateTensorDescriptor", "cudnnSetTensor4dDescriptor", "cudnnCreateFilterDescriptor",
        "cudnnSetFilter4dDescriptor", "cudnnCreateConvolutionDescriptor",
        "cudnnSetConvolution2dDescriptor", "cudnnSetConvolutionMathType",
        "cudnnSetConvolutionGroupCount", "cudnnGetConvolutionForwardAlgorithm_v7",
        "cudnnGetConvolutionForwardWorkspaceSize", kForward}) {
    SCOPED_TRACE(call);
    Renew();
    cudnn.Fail(call, kExecutionFailed);
    const Status status = Convolve().status();
    EXPECT_EQ(status.code(), Code::kInternal);
    EXPECT_THAT(status.message(), HasSubstr("cuDNN: "));
    EXPECT_THAT(status.message(),
                HasSubstr("on device 'Fake card': CUDNN_STATUS_EXECUTION_FAILED (5000)"));
    Check("Conv2D", {Floats(Shape{2, 5, 5, 3}), Floats(Shape{3, 3, 3, 4})}, same, 2e-4f);
  }
}

TEST_F(CudaConvolutionsTest, MemoryThatTheLibraryDoesNotGetIsNotMissed) {
  cudnn.Fail(kForward, kNoMemoryOfTheCard);
  EXPECT_TRUE(Convolve().ok());
}

TEST_F(CudaConvolutionsTest, ALibraryThatDoesNotStartIsNone) {
  for (const char* call : {"cudnnCreate", "cudnnSetStream"}) {
    Renew();
    cudnn.Fail(call, 1001);
    EXPECT_TRUE(Convolve().ok());
    EXPECT_FALSE(device_->has_convolutions());
    EXPECT_EQ(ForwardCalls(), 0);
  }
}

TEST_F(CudaConvolutionsTest, ACardThatIsLostIsSaidToBe) {
  ASSERT_TRUE(Convolve().ok());
  const Tensor x = *CopiedBy(*device_, &Device::CopyFromHost, Floats(Shape{1, 5, 1, 1}));
  const GpuConvolution shape = {.batch = 1,
                                .in_channels = 1,
                                .in_rows = 5,
                                .in_columns = 1,
                                .out_channels = 1,
                                .out_rows = 5,
                                .out_columns = 1,
                                .size_rows = 1,
                                .size_columns = 1};
  const Tensor f = *device_->Allocate(DType::kFloat, Shape{1, 1, 1, 1});
  fake.Break(700);
  cudnn.Fail(kForward, kExecutionFailed);
  const Status status =
      device_->queue().Convolve(shape, {.image = x, .filter = f, .output = x, .workspace = {}});
  EXPECT_EQ(status.code(), Code::kUnavailable) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS (700)"));
}

}  // namespace
}  // namespace thalweg
