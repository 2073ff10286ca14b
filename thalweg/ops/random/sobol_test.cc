// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "thalweg/ops/random/test_recorded.h"
#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

// The first two coordinates by their matrices: the identity, and Pascal's triangle modulo 2.
double Coordinate(int64_t number, int64_t dim) {
  const auto index = static_cast<uint64_t>(number);
  const uint64_t code = index ^ (index >> 1);
  uint64_t sum = 0, column = 1;
  for (int bit = 0; bit < 32; ++bit) {
    if ((code >> bit & 1) != 0) sum ^= column << (31 - bit);
    column = dim == 0 ? 1 : column ^ (column << 1);
  }
  return static_cast<double>(sum) * 0x1p-32;
}

TEST(SobolTest, Cases) {
  const auto of = [](double value) { return In({}, {value}); };
  OpCase("SobolSample")
      .Reference([](RefCall<double>& r) {
        const auto dims = static_cast<int64_t>(r.in[0][0]);
        const auto count = static_cast<int64_t>(r.in[1][0]);
        const auto skip = static_cast<int64_t>(r.in[2][0]);
        r.out = {Array<double>(Shape{count, dims})};
        for (int64_t i = 0; i < count * dims; ++i) {
          r.out[0][i] = Coordinate(skip + 1 + i / dims, i % dims);
        }
      })
      .Try({of(1), of(9), of(0)})
      .Try({of(2), of(20000), of(5)})  // several shards
      .Try({of(2), of(17), of(1000003)})
      .Try({of(2), of(3), of(2147483643)})  // the last ones
      .Bad({of(0), of(3), of(0)}, {}, Code::kInvalidArgument, "dim must be at least one")
      .Bad({of(21201), of(3), of(0)}, {}, Code::kInvalidArgument, "at most 21200")
      .Bad({of(162), of(3), of(0)}, {}, Code::kUnimplemented, "161")
      .Bad({of(2), of(0), of(0)}, {}, Code::kInvalidArgument, "num_results must be")
      .Bad({of(2), of(3), of(-1)}, {}, Code::kInvalidArgument, "skip must be")
      .Bad({of(2), of(3), of(2147483644)}, {}, Code::kInvalidArgument, "less than 2147483647")
      .Bad({In({1}, {2}), of(3), of(0)}, {}, Code::kInvalidArgument, "")
      .Run();
}

// All dimensions: hashes of what TensorFlow 2.21 gave.
TEST(SobolTest, RecordedBits) {
  struct Row {
    int32_t count, skip;
    uint64_t hash;
  };
  for (const Row& row : {Row{40, 0, 5638018396046471011u}, Row{7, 1000003, 8858176919416696977u},
                         Row{3, 536870912, 7087928789643049605u}}) {
    uint64_t hash = 1469598103934665603u;
    for (double value :
         DrawnBy<double>("SobolSample",
                         {Tensor::Scalar<int32_t>(161), Tensor::Scalar<int32_t>(row.count),
                          Tensor::Scalar<int32_t>(row.skip)},
                         {{"dtype", DType::kDouble}})) {
      hash = (hash ^ static_cast<uint64_t>(value * 0x1p32)) * 1099511628211u;
    }
    EXPECT_EQ(hash, row.hash) << row.count << " from " << row.skip;
  }
}

}  // namespace
}  // namespace thalweg
