// SPDX-License-Identifier: Apache-2.0
// Scalars take a way of their own; it gives the bits of the loops.
#include "thalweg/kernel/element_wise.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

namespace thalweg {
namespace {

using compute::BinaryOp;

constexpr BinaryOp kOps[] = {BinaryOp::kAdd,       BinaryOp::kSub,      BinaryOp::kMul,
                             BinaryOp::kEqual,     BinaryOp::kNotEqual, BinaryOp::kLess,
                             BinaryOp::kLessEqual, BinaryOp::kGreater,  BinaryOp::kGreaterEqual};

class ScalarTest : public ::testing::Test {
 protected:
  ScalarTest() : work_(compute::GetIsaTable(compute::BestIsaLevel())) {
    step_.allocator = allocator_.get();
    step_.work = &work_;
  }

  Tensor Run(BinaryOp op, const Tensor& a, const Tensor& b, Tensor before = Tensor()) {
    Tensor values[] = {a, b, std::move(before)};
    const Operand operands[] = {Operand::Make(0, 0), Operand::Make(0, 1), Operand::Make(0, 2)};
    Context ctx;
    ctx.Bind(&step_, 0);
    ctx.SetBase(0, values);
    ctx.SetOperands(operands, 2, 1);
    const Status status = RunBinaryKernel(ctx, op);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return std::move(values[2]);
  }

  // All pairs of `values`, as scalars and as vectors of one element.
  template <class T>
  void Compare(const std::vector<T>& values) {
    for (const BinaryOp op : kOps) {
      for (const T a : values) {
        for (const T b : values) {
          const Tensor scalar = Run(op, Tensor::Scalar(a), Tensor::Scalar(b));
          const Tensor vector = Run(op, Tensor::Vector<T>({a}), Tensor::Vector<T>({b}));
          ASSERT_EQ(scalar.dtype(), vector.dtype());
          ASSERT_EQ(scalar.kind(), Tensor::Kind::kInline);
          ASSERT_EQ(std::memcmp(scalar.raw_data(), vector.raw_data(), DTypeSize(scalar.dtype())), 0)
              << compute::BinaryOpName(op) << " of " << +a << " and " << +b;
        }
      }
    }
  }

  AllocatorPtr allocator_ = MakeCpuAllocator();
  compute::SerialWork work_;
  StepContext step_;
};

template <class T>
std::vector<T> Floats() {
  using Limits = std::numeric_limits<T>;
  return {0,
          T{-0.0},
          1,
          T{-1.5},
          T{0.1},
          Limits::max(),
          Limits::lowest(),
          Limits::denorm_min(),
          Limits::infinity(),
          -Limits::infinity(),
          Limits::quiet_NaN()};
}
template <class T>
std::vector<T> Integers() {
  using Limits = std::numeric_limits<T>;
  return {0, 1, -1, 7, Limits::max(), Limits::min(), Limits::max() / 3};
}

TEST_F(ScalarTest, HaveTheBitsOfTheLoops) {
  Compare(Floats<float>());
  Compare(Floats<double>());
  Compare(Integers<int32_t>());
  Compare(Integers<int64_t>());
}

TEST_F(ScalarTest, AnOutputThatHoldsABufferLetsItGo) {
  Tensor buffer = *Tensor::Allocate(*allocator_, DType::kFloat, Shape{100000});
  EXPECT_GT(allocator_->Stats().bytes_in_use, 0);
  const Tensor sum =
      Run(BinaryOp::kAdd, Tensor::Scalar(1.0f), Tensor::Scalar(2.0f), std::move(buffer));
  EXPECT_EQ(sum.scalar<float>(), 3.0f);
  EXPECT_EQ(allocator_->Stats().bytes_in_use, 0);
}

TEST_F(ScalarTest, AScalarBesideAVectorizBroadcast) {
  const Tensor sum = Run(BinaryOp::kAdd, Tensor::Scalar(1.0f), Tensor::Vector<float>({1, 2}));
  EXPECT_EQ(sum.shape(), Shape{2});
  EXPECT_EQ(sum.data<float>()[1], 3.0f);
}

}  // namespace
}  // namespace thalweg
