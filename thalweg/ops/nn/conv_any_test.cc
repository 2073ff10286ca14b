// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/nn/test_slide.h"
#include "thalweg/testing/tolerance.h"

namespace thalweg {
namespace {

using Ints = std::vector<int64_t>;

AttrMap Attrs(Ints strides, const char* padding, bool first = false, int64_t batch_dims = 1) {
  return {{"dilations", Ints(strides.size(), 1)},
          {"strides", std::move(strides)},
          {"padding", padding},
          {"data_format", first ? "CHANNELS_FIRST" : "CHANNELS_LAST"},
          {"batch_dims", batch_dims}};
}

// Batch dimensions taken together.
void Reference(RefCall<double>& r) {
  const int extra = static_cast<int>(r.Attr<int64_t>("batch_dims")) - 1;
  const Shape& whole = r.in[0].shape;
  const Shape& f = r.in[1].shape;
  Dims one{1};
  for (int i = 0; i < whole.rank(); ++i) {
    if (i <= extra) {
      one[0] *= whole.dim(i);
    } else {
      one.push_back(whole.dim(i));
    }
  }
  const Array<double> image(Shape(one), r.in[0].values);
  const int spatial = f.rank() - 2;
  const TestSlide s(r, image.shape, f, f.dim(spatial + 1));
  Array<double> y(s.output);
  ForEachIndex(s.output, [&](const Index& at) {
    s.ForEachTap(at, [&](const Index& tap, Index place) {
      for (int64_t c = 0; c < f.dim(spatial); ++c) {
        Index filter = tap;
        filter.push_back(c);
        filter.push_back(at[s.channel()]);
        place[s.channel()] = c;
        y.At(at) += image.At(place) * r.in[1].At(filter);
      }
    });
  });
  Dims dims;
  for (int i = 0; i < extra; ++i) dims.push_back(whole.dim(i));
  dims.push_back(whole.dim(extra));
  for (int i = 1; i < s.output.rank(); ++i) dims.push_back(s.output.dim(i));
  r.out = {Array<double>(Shape(dims), y.values)};
}

TEST(ConvAnyTest, Cases) {
  AttrMap padded = Attrs({1, 1, 1, 1}, "EXPLICIT");
  padded.Set("explicit_paddings", Ints{0, 0, 1, 2, 0, 1, 0, 0});
  AttrMap grouped = Attrs({1, 1, 1, 1}, "SAME");
  grouped.Set("groups", 2);
  OpCase("Conv")
      .Reference(Reference)
      .Tolerance(DType::kHalf, ToleranceOf(OpClass::kConvolution, DType::kHalf))
      .Tolerance(DType::kBfloat16, ToleranceOf(OpClass::kConvolution, DType::kBfloat16))
      .Types({{"T", DType::kFloat}})
      .Types({{"T", DType::kDouble}})
      .Types({{"T", DType::kHalf}})
      .Types({{"T", DType::kBfloat16}})
      .Try({In({2, 5, 4, 3}), In({3, 2, 3, 4})}, Attrs({1, 1, 1, 1}, "SAME"))
      .Try({In({2, 3, 5, 4, 3}), In({2, 2, 3, 2})}, Attrs({1, 2, 1, 1}, "VALID", false, 2))
      .Try({In({1, 4, 5, 3, 2}), In({2, 3, 2, 2, 3})}, Attrs({1, 1, 2, 1, 1}, "SAME"))
      .Try({In({1, 4, 5, 2}), In({2, 2, 2, 3})}, padded)
      .Bad({In({1, 4, 4, 3}), In({2, 2, 2, 3})}, Attrs({1, 1, 1, 1}, "SAME"),
           Code::kInvalidArgument, "channels")
      .Bad({In({4, 4, 3}), In({2, 2, 3, 3})}, Attrs({1, 1, 1, 1}, "SAME"), Code::kInvalidArgument,
           "Input tensor must be rank 4 or 5, excluding extra batch dimensions, but got: 3 for ",
           "input and filter must have 4 and 4 dimensions")
      .Bad({In({1, 4, 4, 3}), In({2, 3, 3})}, Attrs({1, 1, 1, 1}, "SAME"), Code::kInvalidArgument,
           "Filter tensor must be rank 4 or 5, but got: 3 for ",
           "The filter must be rank 4 or 5 but got 3")
      .Bad({In({4, 4, 3}), In({2, 3, 3})}, Attrs({1, 1, 1}, "SAME"), Code::kInvalidArgument,
           "strides")
      .Bad({In({1, 4, 4, 4}), In({2, 2, 2, 4})}, grouped, Code::kUnimplemented, "grouped")
      .Run();
  OpCase("Conv")
      .Reference(Reference)
      .Types({{"T", DType::kInt32}})
      .Try({In({2, 5, 4, 3}), In({3, 2, 3, 4})}, Attrs({1, 1, 1, 1}, "SAME"))
      .Run();
  OpCase("Conv")
      .Reference(Reference)
      .Types({{"T", DType::kFloat}})
      .Try({In({2, 3, 4, 5}), In({2, 2, 3, 2})}, Attrs({1, 1, 1, 1}, "VALID", true))
      .Run();
}

}  // namespace
}  // namespace thalweg
