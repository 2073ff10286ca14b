// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/random/test_digests.h"
#include "thalweg/testing/kernel_call.h"
#include "thalweg/testing/test_values.h"

namespace thalweg {
namespace {

TEST(StatelessRandomTest, AllHaveTheRecordedBits) {
  int compared = 0;
  for (const RecordedRow& row : RecordedRows()) {
    if (!row.op.starts_with("Stateless")) continue;
    int64_t n = 0, low = 0, high = 0;
    char colon;
    std::istringstream(row.argument) >> n >> colon >> low >> colon >> high;
    const DType dtype = *ParseDType(row.dtype);
    std::vector<Tensor> inputs = {Tensor::Vector<int64_t>({n}),
                                  Tensor::Vector<int64_t>({row.seed, row.seed2})};
    if (row.op == "StatelessRandomUniformInt") {
      for (int64_t limit : {low, high}) {
        inputs.push_back(dtype == DType::kInt32 ? Tensor::Scalar(static_cast<int32_t>(limit))
                                                : Tensor::Scalar(limit));
      }
    }
    KernelCall call(row.op, std::move(inputs), {{"dtype", dtype}});
    const Status status = call.Run();
    ASSERT_TRUE(status.ok()) << status.ToString();
    ASSERT_EQ(DigestOf(call.output(0)), row.digest)
        << row.op << " " << row.dtype << " " << row.argument << " seed " << row.seed << ", "
        << row.seed2;
    ++compared;
  }
  EXPECT_GE(compared, 300);
}

TEST(StatelessRandomTest, RefusesBadArguments) {
  const Tensor shape = Tensor::Vector<int32_t>({2});
  EXPECT_EQ(KernelCall("StatelessRandomUniform", {shape, Tensor::Vector<int64_t>({1, 2, 3})})
                .Run()
                .code(),
            Code::kInvalidArgument);
  EXPECT_EQ(KernelCall("StatelessRandomUniformInt", {shape, Tensor::Vector<int64_t>({1, 2}),
                                                     Tensor::Scalar(2), Tensor::Scalar(1)})
                .Run()
                .code(),
            Code::kInvalidArgument);
  EXPECT_EQ(
      KernelCall("StatelessRandomUniformInt", {shape, Tensor::Vector<int64_t>({1, 2}),
                                               Tensor::Vector<int32_t>({1}), Tensor::Scalar(2)})
          .Run()
          .message(),
      "minval must be a scalar; got a tensor of shape [1]");
  ExpectError(
      "StatelessRandomUniformInt",
      {shape, Tensor::Vector<int64_t>({1, 2}), Tensor::Vector<int32_t>({1}), Tensor::Scalar(2)}, {},
      Code::kInvalidArgument, "Shape must be rank 0 but is rank 1 for ");
  ExpectError("StatelessRandomUniform", {shape, Tensor::Vector<int64_t>({1, 2, 3})}, {},
              Code::kInvalidArgument, "Dimension must be 2 but is 3 for ");
}

}  // namespace
}  // namespace thalweg
