// SPDX-License-Identifier: Apache-2.0
#include "thalweg/tensor/tensor.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "thalweg/tensor/heap_charge.h"
#include "thalweg/tensor/text_heap.h"
#include "thalweg/tensor/zero_pages.h"
#include "thalweg/testing/sanitized.h"

namespace thalweg {
namespace {

TEST(TensorTest, ScalarsAreInline) {
  Tensor t = Tensor::Scalar(2.5f);
  EXPECT_EQ(t.kind(), Tensor::Kind::kInline);
  EXPECT_EQ(t.dtype(), DType::kFloat);
  EXPECT_EQ(t.rank(), 0);
  EXPECT_EQ(t.num_elements(), 1);
  EXPECT_EQ(t.scalar<float>(), 2.5f);
  EXPECT_EQ(Tensor::Scalar(std::complex<double>(1, 2)).kind(), Tensor::Kind::kBuffer);
  EXPECT_EQ(Tensor::Scalar("text").scalar<std::string>(), "text");
}

// What is written through data<T>() moves and copies with the handle, also after optimization.
TEST(TensorTest, InlineScalarsWrittenThroughAPointerMove) {
  Result<Tensor> t = Tensor::AllocateHost(DType::kInt32, Shape());
  t->mutable_data<int32_t>()[0] = 5;
  Tensor moved = *std::move(t);
  EXPECT_EQ(moved.scalar<int32_t>(), 5);
  moved.mutable_data<int32_t>()[0] = 6;
  const Tensor copy = moved;
  EXPECT_EQ(copy.payload_word(), 6u);
}

TEST(TensorTest, ASizeJustBelowTheAddressSpaceIsRefused) {
  AllocatorPtr allocator = MakeCpuAllocator();
  EXPECT_EQ(Tensor::Allocate(*allocator, DType::kDouble, Shape{INT64_MAX / 4}).status().code(),
            Code::kResourceExhausted);
}

TEST(TensorTest, CopiesShareAndSoleOwnerIsKnown) {
  AllocatorPtr allocator = MakeCpuAllocator();
  Tensor a = *Tensor::Allocate(*allocator, DType::kFloat, Shape{1000});
  EXPECT_TRUE(a.IsSoleOwner());
  Tensor b = a;
  EXPECT_FALSE(a.IsSoleOwner());
  EXPECT_TRUE(a.SharesBufferWith(b));
  b = Tensor();
  EXPECT_TRUE(a.IsSoleOwner());
  Tensor view = *a.Reshaped(Shape{10, 100});
  EXPECT_FALSE(a.IsSoleOwner());
  a = Tensor();
  EXPECT_TRUE(view.IsSoleOwner());
  Tensor rows = view.Rows(2, 4);
  EXPECT_EQ(rows.shape(), (Shape{2, 100}));
  EXPECT_EQ(rows.data<float>(), view.data<float>() + 200);
}

TEST(TensorTest, BuffersAreAlignedAndReturned) {
  AllocatorPtr allocator = MakeCpuAllocator();
  for (int64_t n : {1, 7, 33, 100, 127, 129, 1000, 70000, 600000, 3000001}) {
    Tensor t = *Tensor::Allocate(*allocator, DType::kFloat, Shape{n});
    EXPECT_EQ(reinterpret_cast<uintptr_t>(t.raw_data()) % kTensorAlignment, 0u) << n;
    std::fill_n(t.mutable_data<float>(), n, 1.0f);
  }
  EXPECT_EQ(allocator->Stats().bytes_in_use, 0);
  EXPECT_GT(allocator->Stats().bytes_kept, 0);
  allocator->Trim();
  EXPECT_EQ(allocator->Stats().bytes_kept, 0);
}

size_t ResidentBytes() {
  size_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
}

// malloc keeps what texts freed where something behind them lives.
TEST(TensorTest, WhatTextsFreedGoesBackBeforeTheLimitIsPassed) {
  AllocatorPtr allocator = MakeCpuAllocator(96 << 20);
  auto* const charged = dynamic_cast<ChargedAllocator*>(allocator.get());
  constexpr size_t kTexts = 1024, kBytes = 64 << 10;
  ASSERT_TRUE(charged->Charge(kTexts * kBytes));
  std::vector<std::string> texts(kTexts, std::string(kBytes, 'x'));
  const std::string behind(kBytes + kBytes / 2, 'y');  // fits into no hole before
  texts.clear();
  charged->Discharge(kTexts * kBytes);
  const size_t before = ResidentBytes();
  const Tensor held = *Tensor::Allocate(*allocator, DType::kFloat, Shape{16 << 20});
  if (kSanitized) return;  // whose own malloc holds back what was freed
  EXPECT_LT(ResidentBytes() + kTexts * kBytes / 2, before);
}

TEST(TensorTest, FreedMemoryIsReused) {
  AllocatorPtr allocator = MakeCpuAllocator();
  const void* first = Tensor::Allocate(*allocator, DType::kFloat, Shape{1 << 20})->raw_data();
  EXPECT_EQ(Tensor::Allocate(*allocator, DType::kFloat, Shape{1 << 20})->raw_data(), first);
}

struct Link : Resource {
  explicit Link(Tensor n) : next(std::move(n)) { ++links; }
  ~Link() override { --links; }
  std::string DebugString() const override { return "a link"; }
  static inline int links = 0;
  const Tensor next;
};

// A million resources, each held by the one before it, deleted by recursion would end the stack.
TEST(TensorTest, AChainOfResourcesIsDeletedWithoutRecursion) {
  Tensor first = Tensor::Scalar(0);
  for (int i = 0; i < 1'000'000; ++i) {
    first = Tensor::Scalar(ResourceHandle({}, RefPtr<Resource>::Adopt(new Link(first))));
  }
  EXPECT_EQ(Link::links, 1'000'000);
  first = Tensor();
  EXPECT_EQ(Link::links, 0);
}

TEST(TensorTest, LimitGivesResourceExhausted) {
  AllocatorPtr allocator = MakeCpuAllocator(10 << 20);
  Tensor held = *Tensor::Allocate(*allocator, DType::kFloat, Shape{1 << 20});
  Result<Tensor> t = Tensor::Allocate(*allocator, DType::kFloat, Shape{2, 1 << 20});
  EXPECT_EQ(t.status().code(), Code::kResourceExhausted);
  EXPECT_NE(
      t.status().message().find("OOM when allocating tensor with shape[2,1048576] and type float"),
      std::string_view::npos)
      << t.status().message();
  held = Tensor();
  EXPECT_TRUE(Tensor::Allocate(*allocator, DType::kFloat, Shape{2, 1 << 20}).ok());
  EXPECT_EQ(Tensor::Allocate(*MakeCpuAllocator(), DType::kDouble, Shape{int64_t{1} << 61})
                .status()
                .code(),
            Code::kResourceExhausted);
}

TEST(TensorTest, TheHeapOfStringsCountsAgainstTheLimit) {
  AllocatorPtr allocator = MakeCpuAllocator(1 << 20);
  const auto in_use = [&] { return allocator->Stats().bytes_in_use; };
  Tensor texts = *Tensor::Allocate(*allocator, DType::kString, Shape{3});
  const int64_t empty = in_use();
  texts.mutable_data<std::string>()[0] = std::string(1000, 'a');
  texts.mutable_data<std::string>()[1] = "in the object";
  ASSERT_TRUE(ChargeTextHeap(*allocator, texts).ok());
  EXPECT_GE(in_use(), empty + 1001);
  EXPECT_LT(in_use(), empty + 2000);
  const int64_t charged = in_use();
  // Once, also through a view.
  ASSERT_TRUE(ChargeTextHeap(*allocator, *texts.Reshaped(Shape{1, 3})).ok());
  EXPECT_EQ(in_use(), charged);
  Tensor other = *Tensor::Allocate(*allocator, DType::kString, Shape{1});
  EXPECT_TRUE(ClaimTextHeap(*allocator, other, 500000).ok());
  const Status refused = ClaimTextHeap(*allocator, other, 600000);
  EXPECT_EQ(refused.code(), Code::kResourceExhausted);
  EXPECT_NE(refused.message().find("600000 bytes asked for"), std::string_view::npos)
      << refused.message();
  EXPECT_NE(refused.message().find("of 1048576 in use"), std::string_view::npos);
  EXPECT_EQ(in_use(), charged + 500000);
  // The charge takes the claim's place.
  ASSERT_TRUE(ChargeTextHeap(*allocator, other).ok());
  EXPECT_EQ(in_use(), charged);
  texts = Tensor();
  other = Tensor();
  EXPECT_EQ(in_use(), 0);
}

TEST(TensorTest, StringsFromMallocAreChargedToWhoAsks) {
  Tensor text = Tensor::Scalar(std::string(5000, 'a'));
  {
    AllocatorPtr allocator = MakeCpuAllocator(1 << 20);
    ASSERT_TRUE(ChargeTextHeap(*allocator, text).ok());
    EXPECT_GT(allocator->Stats().bytes_in_use, 5000);
    Tensor big = Tensor::Scalar(std::string(2 << 20, 'a'));
    EXPECT_EQ(ChargeTextHeap(*allocator, big).code(), Code::kResourceExhausted);
  }
  EXPECT_EQ(text.scalar<std::string>().size(), 5000u);  // the allocator stays for its charge
}

TEST(TensorTest, OutlivesItsAllocator) {
  Tensor t;
  {
    AllocatorPtr allocator = MakeCpuAllocator();
    t = *Tensor::Allocate(*allocator, DType::kInt64, Shape{100000});
    t.mutable_data<int64_t>()[99999] = 7;
  }
  EXPECT_EQ(t.data<int64_t>()[99999], 7);
}

TEST(TensorTest, ObjectsAreConstructedAndCopied) {
  AllocatorPtr allocator = MakeCpuAllocator();
  Tensor t = *Tensor::Allocate(*allocator, DType::kString, Shape{50});
  t.mutable_data<std::string>()[49] = std::string(100, 'x');
  Tensor copy = *t.Clone(*allocator);
  t = Tensor();
  EXPECT_EQ(copy.data<std::string>()[49].size(), 100u);
  EXPECT_EQ(copy.data<std::string>()[0], "");
}

TEST(TensorTest, BufferFromOutsideIsReleasedOnce) {
  int released = 0;
  float values[4] = {1, 2, 3, 4};
  {
    Tensor t = Tensor::FromBuffer(DType::kFloat, Shape{4}, values, [&] { ++released; });
    EXPECT_FALSE(t.IsSoleOwner());
    Tensor view = *t.Reshaped(Shape{2, 2});
    t = Tensor();
    EXPECT_EQ(released, 0);
    EXPECT_EQ(view.data<float>()[3], 4);
  }
  EXPECT_EQ(released, 1);
}

TEST(TensorTest, ViewsOfABufferFromOutsideAreNoSoleOwners) {
  int released = 0;
  float values[4] = {1, 2, 3, 4};
  {
    Tensor t = Tensor::FromBuffer(DType::kFloat, Shape{4}, values, [&] { ++released; });
    Tensor reshaped = *t.Reshaped(Shape{2, 2});
    t = Tensor();
    EXPECT_FALSE(reshaped.IsSoleOwner());
    Tensor row = reshaped.Rows(1, 2);
    reshaped = Tensor();
    EXPECT_FALSE(row.IsSoleOwner());
    Tensor bits = *row.Bitcast(DType::kInt32);
    row = Tensor();
    EXPECT_FALSE(bits.IsSoleOwner());
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
}

TEST(TensorTest, ReshapeChecksAndHandlesScalars) {
  EXPECT_EQ(Tensor::Scalar(1).Reshaped(Shape{2}).status().code(), Code::kInvalidArgument);
  Tensor one = *Tensor::Scalar(5).Reshaped(Shape{1, 1});
  EXPECT_EQ(one.data<int32_t>()[0], 5);
  EXPECT_EQ(one.Reshaped(Shape{})->kind(), Tensor::Kind::kInline);
  EXPECT_EQ(one.Reshaped(Shape{})->scalar<int32_t>(), 5);
}

TEST(TensorTest, ThreadsMayShareAndDrop) {
  AllocatorPtr allocator = MakeCpuAllocator();
  Tensor t = *Tensor::Allocate(*allocator, DType::kFloat, Shape{4096});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([t] {
      for (int k = 0; k < 1000; ++k) Tensor copy = t;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(t.IsSoleOwner());
}

TEST(TensorTest, PrintsTypeShapeAndValues) {
  EXPECT_EQ(Tensor::Vector<int32_t>({1, 2, 3}).ToString(), "int32[3] 1 2 3");
  EXPECT_EQ(Tensor::Scalar(true).ToString(), "bool[] true");
}

TEST(HalfTest, EveryPatternRoundTrips) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float f = HalfBitsToFloat(static_cast<uint16_t>(bits));
    if (std::isnan(f)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(Half(f))));
    } else {
      EXPECT_EQ(FloatToHalfBits(f), bits);
    }
  }
}

TEST(HalfTest, RoundsToNearestEven) {
  EXPECT_EQ(static_cast<float>(Half(2049.0f)), 2048.0f);
  EXPECT_EQ(static_cast<float>(Half(2051.0f)), 2052.0f);
  EXPECT_EQ(static_cast<float>(Half(65520.0f)), INFINITY);
  EXPECT_EQ(static_cast<float>(Half(65519.0f)), 65504.0f);
  EXPECT_EQ(static_cast<float>(Half(0x1p-25f)), 0.0f);
  EXPECT_EQ(static_cast<float>(Half(0x1.1p-25f)), 0x1p-24f);
  EXPECT_EQ(static_cast<float>(Bfloat16(1.00390625f)), 1.0f);
  EXPECT_EQ(static_cast<float>(Bfloat16(1.01171875f)), 1.015625f);
}

TEST(DTypeTest, NamesParse) {
  for (int i = 1; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(*ParseDType(DTypeName(dtype)), dtype);
  }
  EXPECT_EQ(*ParseDType("DT_HALF"), DType::kHalf);
  EXPECT_FALSE(ParseDType("float128").ok());
  EXPECT_EQ(kDTypeOf<float>, DType::kFloat);
}

TEST(ShapeTest, MoreElementsThanANumberHoldsAreUnknown) {
  const int64_t large = (int64_t{1} << 36) - 1;
  EXPECT_EQ((PartialShape{large, large}).num_elements(), -1);
  EXPECT_EQ((PartialShape{large, 2}).num_elements(), 2 * large);
}

TEST(ShapeTest, RefusesWhatDoesNotFit) {
  const int64_t big[] = {int64_t{1} << 40, int64_t{1} << 40};
  EXPECT_EQ(Shape::Make(big).status().code(), Code::kInvalidArgument);
  const int64_t negative[] = {3, -1};
  EXPECT_EQ(Shape::Make(negative).status().message(), "Dimension -1 must be >= 0");
  const int64_t with_zero[] = {int64_t{1} << 40, 0, int64_t{1} << 40};
  EXPECT_FALSE(Shape::Make(with_zero).ok());
}

TEST(ZeroPagesTest, AllBytesOfABlockAndNoOthersBecomeZero) {
  constexpr size_t kBytes = kZeroPagesFrom + 4097;
  Result<Tensor> block = Tensor::AllocateHost(DType::kUint8, Shape{int64_t{kBytes + 128}});
  ASSERT_TRUE(block.ok());
  auto* bytes = block->mutable_data<uint8_t>();
  const size_t places[] = {63, 64, 4095, 4096, kBytes / 2, kBytes - 4096, kBytes + 63, kBytes + 64};
  for (size_t place : places) bytes[place] = 7;
  EXPECT_FALSE(ReleaseToZeros(bytes + 64, kZeroPagesFrom - 1));
  ASSERT_TRUE(ReleaseToZeros(bytes + 64, kBytes));
  for (size_t place : places) {
    EXPECT_EQ(bytes[place], place < 64 || place >= kBytes + 64 ? 7 : 0) << place;
  }
}

TEST(PartialShapeTest, MergesWhatIsKnown) {
  EXPECT_EQ((PartialShape{-1, 3}.MergeWith(PartialShape{2, -1})->ToString()), "[2,3]");
  EXPECT_FALSE((PartialShape{4}.MergeWith(PartialShape{5}).ok()));
  EXPECT_EQ(PartialShape::Unknown().MergeWith(PartialShape{5})->ToString(), "[5]");
  EXPECT_TRUE((PartialShape{-1, 3}.Admits(Shape{7, 3})));
  EXPECT_FALSE((PartialShape{-1, 3}.Admits(Shape{3})));
  EXPECT_EQ((PartialShape{1}.Concatenate(PartialShape{2, -1}).ToString()), "[1,2,?]");
}

TEST(DimsTest, GrowsBeyondInline) {
  Dims dims;
  for (int i = 0; i < 20; ++i) dims.push_back(i);
  Dims copy = dims;
  Dims moved = std::move(dims);
  EXPECT_EQ(copy, moved);
  moved.insert(0, 99);
  moved.erase(1);
  EXPECT_EQ(moved[0], 99);
  EXPECT_EQ(moved[1], 1);
  EXPECT_EQ(moved.size(), 20);
}

}  // namespace
}  // namespace thalweg
