// SPDX-License-Identifier: Apache-2.0
#include "thalweg/tensor/inlined_tensors.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

TEST(InlinedTensorsTest, ThereAreAsManyAsAskedForAndAllAreLetGo) {
  const AllocatorPtr allocator = MakeCpuAllocator();
  for (const size_t size : {0, 1, 8, 9, 40}) {
    const Tensor shared = *Tensor::Allocate(*allocator, DType::kFloat, Shape({3}));
    {
      InlinedTensors tensors(size);
      ASSERT_EQ(tensors.span().size(), size);
      for (Tensor& tensor : tensors.span()) {
        EXPECT_TRUE(tensor.empty());
        tensor = shared;
      }
      EXPECT_EQ(shared.IsSoleOwner(), size == 0);
    }
    EXPECT_TRUE(shared.IsSoleOwner()) << size;
  }
}

}  // namespace
}  // namespace thalweg
