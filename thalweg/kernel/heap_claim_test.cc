// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/heap_claim.h"

#include <gtest/gtest.h>

#include "thalweg/kernel/test_step.h"

namespace thalweg {
namespace {

// How much is in use during the call.
class InUse final : public Kernel {
 public:
  explicit InUse(int64_t* bytes) : bytes_(bytes) {}
  Status Compute(Context& ctx) override {
    *bytes_ = ctx.allocator().Stats().bytes_in_use;
    return OkStatus();
  }

 private:
  int64_t* const bytes_;
};

TEST(HeapClaimTest, CountsWhileTheCallLasts) {
  TestStep step(int64_t{1} << 20);
  int64_t during = 0;
  const auto kernel = WithHeapClaim(std::make_unique<InUse>(&during), "MatrixInverse");
  const auto input = [&](int64_t n) {
    return *Tensor::Allocate(*step.allocator, DType::kFloat, Shape{n, n});
  };
  TestCall fits(step, {input(256)});
  const int64_t before = step.bytes_in_use();
  ASSERT_TRUE(kernel->Compute(fits.context()).ok());
  EXPECT_GE(during, before + 256 * 256 * 4);
  EXPECT_EQ(step.bytes_in_use(), before);
  TestCall too_large(step, {input(400)});
  during = 0;
  EXPECT_EQ(kernel->Compute(too_large.context()).code(), Code::kResourceExhausted);
  EXPECT_EQ(during, 0);
}

}  // namespace
}  // namespace thalweg
