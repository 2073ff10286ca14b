// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "thalweg/ops/quantized/test_levels.h"

namespace thalweg {
namespace {

AttrMap Pool(std::vector<int64_t> ksize, std::vector<int64_t> strides, const std::string& padding) {
  return {{"ksize", std::move(ksize)}, {"strides", std::move(strides)}, {"padding", padding}};
}

template <bool kMax>
void PoolReference(RefCall<double>& r) {
  const auto& x = r.in[0];
  const auto k = r.Attr<std::vector<int64_t>>("ksize"), s = r.Attr<std::vector<int64_t>>("strides");
  const bool same = r.Attr<std::string>("padding") == "SAME";
  Dims dims = x.shape.dims();
  int64_t pad[2];
  for (int d = 1; d < 3; ++d) {
    const int64_t in = x.shape.dim(d), i = d;
    dims[d] = same ? (in + s[i] - 1) / s[i] : (in - k[i]) / s[i] + 1;
    pad[d - 1] = same ? std::max<int64_t>(0, (dims[d] - 1) * s[i] + k[i] - in) / 2 : 0;
  }
  r.out = {Array<double>(Shape(dims)), r.in[1], r.in[2]};
  ForEachIndex(r.out[0].shape, [&](const std::vector<int64_t>& at) {
    double most = -1e9, sum = 0, count = 0;
    ForEachIndex(Shape{k[1], k[2]}, [&](const std::vector<int64_t>& tap) {
      const int64_t row = at[1] * s[1] + tap[0] - pad[0], column = at[2] * s[2] + tap[1] - pad[1];
      if (row < 0 || row >= x.shape.dim(1) || column < 0 || column >= x.shape.dim(2)) return;
      const double value =
          x[((at[0] * x.shape.dim(1) + row) * x.shape.dim(2) + column) * x.shape.dim(3) + at[3]];
      most = std::max(most, value);
      sum += value;
      ++count;
    });
    r.out[0].At(at) = kMax ? most : std::trunc(sum / count);
  });
}

template <bool kMax>
void TestCases(const char* op) {
  const std::vector<int64_t> two = {1, 2, 2, 1}, one = {1, 1, 1, 1}, wide = {1, 3, 2, 1};
  OpCase(op)
      .Reference(PoolReference<kMax>)
      .Try({In({2, 5, 4, 3}).Range(-100, 100), End(-1), End(3)}, Pool(wide, two, "SAME"))
      .Try({In({2, 5, 4, 3}).Range(-100, 100), End(-1), End(3)}, Pool(two, one, "VALID"))
      .Try({In({0, 5, 4, 3}), End(-1), End(3)}, Pool(two, one, "VALID"))
      .Bad({In({5, 4, 3}), End(-1), End(3)}, Pool(two, one, "VALID"), Code::kInvalidArgument, "")
      .Bad({In({1, 1, 4, 3}), End(-1), End(3)}, Pool({1, 3, 2, 1}, one, "VALID"),
           Code::kInvalidArgument, "fit")
      .Bad({In({1, 5, 4, 3}), End(-1), End(3)}, Pool(two, {1, 1}, "VALID"), Code::kInvalidArgument,
           "4 elements")
      .Bad({In({1, 5, 4, 3}), End(-1), End(3)}, Pool({1, 2, 2, 2}, one, "VALID"),
           Code::kUnimplemented, "channel")
      .Bad({In({1, 5, 4, 3}), In({1}), End(3)}, Pool(two, one, "VALID"), Code::kInvalidArgument,
           "Shape must be rank 0 but is rank 1 for ",
           "min_input shape must be rank 0 but is rank 1, received shape: [1]")
      .Run();
}

TEST(QuantizedPoolTest, Average) { TestCases<false>("QuantizedAvgPool"); }
TEST(QuantizedPoolTest, Maximum) { TestCases<true>("QuantizedMaxPool"); }

}  // namespace
}  // namespace thalweg
