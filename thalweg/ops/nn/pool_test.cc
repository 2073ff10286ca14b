// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "thalweg/testing/op_case.h"
#include "thalweg/testing/tolerance.h"

namespace thalweg {
namespace {

std::vector<int64_t> Whole(const Array<double>& a) {
  std::vector<int64_t> whole;
  for (double v : a.values) whole.push_back(static_cast<int64_t>(v));
  return whole;
}

// Where the windows of one pooling lie, over any number of spatial dimensions.
struct Pool {
  int h, spatial;  // the first spatial dimension, and how many
  std::vector<int64_t> ksize, strides, before;
  Shape image, output;

  Pool(const RefCall<double>& r, const Shape& image_shape)
      : spatial(image_shape.rank() - 2), image(image_shape) {
    const bool has_format = r.node->FindAttr("data_format") != nullptr;
    h = has_format && r.Attr<std::string>("data_format")[1] == 'C' ? 2 : 1;
    const bool has_sizes = r.node->FindAttr("ksize") != nullptr;
    const size_t n = r.in.size();
    ksize = has_sizes ? r.Attr<std::vector<int64_t>>("ksize") : Whole(r.in[n - 2]);
    strides = has_sizes ? r.Attr<std::vector<int64_t>>("strides") : Whole(r.in[n - 1]);
    const std::string padding = r.Attr<std::string>("padding");
    Dims dims = image.dims();
    for (int d = h; d < h + spatial; ++d) {
      const int64_t in = image.dim(d), k = ksize[d], s = strides[d];
      dims[d] = padding == "SAME" ? (in + s - 1) / s : (in - k) / s + 1;
      before.push_back(padding == "SAME" ? std::max<int64_t>(0, (dims[d] - 1) * s + k - in) / 2
                                         : 0);
      if (padding == "EXPLICIT") {
        const auto pads = r.Attr<std::vector<int64_t>>("explicit_paddings");
        before.back() = pads[2 * d];
        dims[d] = (in + pads[2 * d] + pads[2 * d + 1] - k) / s + 1;
      }
    }
    output = Shape(dims);
  }

  // f(place in the image) for every place that the window of output `at` sees.
  template <class F>
  void ForEachPlace(const std::vector<int64_t>& at, F f) const {
    Dims window;
    for (int d = h; d < h + spatial; ++d) window.push_back(ksize[d]);
    ForEachIndex(Shape(window), [&](const std::vector<int64_t>& tap) {
      std::vector<int64_t> place = at;
      for (int d = 0; d < spatial; ++d) {
        place[h + d] = at[h + d] * strides[h + d] - before[d] + tap[d];
        if (place[h + d] < 0 || place[h + d] >= image.dim(h + d)) return;
      }
      f(place);
    });
  }
  std::vector<int64_t> Largest(const Array<double>& image_values,
                               const std::vector<int64_t>& at) const {
    double best = -std::numeric_limits<double>::infinity();
    std::vector<int64_t> found;
    ForEachPlace(at, [&](const std::vector<int64_t>& place) {
      if (image_values.At(place) > best) {
        best = image_values.At(place);
        found = place;
      }
    });
    return found;
  }
};

AttrMap Attrs(int64_t rows, int64_t columns, int64_t stride, const char* padding,
              bool first = false) {
  const auto order = [&](int64_t r, int64_t c) {
    return first ? std::vector<int64_t>{1, 1, r, c} : std::vector<int64_t>{1, r, c, 1};
  };
  return {{"ksize", order(rows, columns)},
          {"strides", order(stride, stride)},
          {"padding", padding},
          {"data_format", first ? "NCHW" : "NHWC"}};
}

AttrMap Attrs3D(int64_t planes, int64_t rows, int64_t columns, int64_t stride, const char* padding,
                bool first = false) {
  const auto order = [&](int64_t p, int64_t r, int64_t c) {
    return first ? std::vector<int64_t>{1, 1, p, r, c} : std::vector<int64_t>{1, p, r, c, 1};
  };
  return {{"ksize", order(planes, rows, columns)},
          {"strides", order(stride, stride, stride)},
          {"padding", padding},
          {"data_format", first ? "NCDHW" : "NDHWC"}};
}

AttrMap Only(const AttrMap& attrs, std::initializer_list<const char*> names) {
  AttrMap some;
  for (const char* name : names) some.Set(name, *attrs.Find(name));
  return some;
}

AttrMap Explicit(AttrMap attrs, std::vector<int64_t> pads) {
  attrs.Set("padding", "EXPLICIT");
  attrs.Set("explicit_paddings", std::move(pads));
  return attrs;
}

void MaxReference(RefCall<double>& r) {
  const Pool pool(r, r.in[0].shape);
  r.out = {Array<double>(pool.output)};
  ForEachIndex(pool.output, [&](const std::vector<int64_t>& at) {
    r.out[0].At(at) = r.in[0].At(pool.Largest(r.in[0], at));
  });
}

TEST(PoolTest, Max) {
  OpCase("MaxPool")
      .Reference(MaxReference)
      .Try({In({2, 6, 7, 3}).Distinct()}, Attrs(2, 2, 2, "VALID"))
      .Try({In({1, 6, 7, 17}).Distinct()}, Attrs(3, 2, 2, "SAME"))
      .Try({In({2, 5, 5, 3}).Distinct()}, Attrs(3, 3, 1, "SAME"))
      .Try({In({2, 3, 6, 7}).Distinct()}, Attrs(2, 3, 2, "VALID", true))
      .Try({In({1, 5, 5, 2}).Distinct()},
           Explicit(Attrs(3, 2, 2, "VALID"), {0, 0, 2, 0, 1, 1, 0, 0}))
      .Try({In({0, 4, 4, 3})}, Attrs(2, 2, 2, "VALID"))
      .Bad({In({1, 1, 2, 3})}, Attrs(3, 3, 1, "VALID"), Code::kInvalidArgument, "fit")
      .Bad({In({2, 2, 3})}, Attrs(2, 2, 1, "VALID"), Code::kInvalidArgument, "")
      .Bad({In({1, 4, 4, 3})}, Attrs(2, 2, 0, "SAME"), Code::kInvalidArgument, "strides")
      .Bad({In({1, 4, 4, 3})}, Explicit(Attrs(2, 2, 1, "SAME"), {0, 0, 1}), Code::kInvalidArgument,
           "8 elements")
      .Run();
  OpCase("MaxPoolV2")
      .Reference(MaxReference)
      .Try({In({2, 6, 7, 3}).Distinct(), In({4}, {1, 2, 2, 1}), In({4}, {1, 2, 2, 1})},
           Only(Attrs(2, 2, 2, "SAME"), {"padding", "data_format"}))
      .Try({In({2, 3, 6, 7}).Distinct(), In({4}, {1, 1, 3, 2}), In({4}, {1, 1, 1, 2})},
           Only(Attrs(3, 2, 2, "VALID", true), {"padding", "data_format"}))
      .Bad({In({1, 4, 4, 3}), In({4}, {1, 0, 2, 1}), In({4}, {1, 1, 1, 1})}, {{"padding", "SAME"}},
           Code::kInvalidArgument, "ksize")
      .Bad({In({1, 4, 4, 3}), In({3}, {1, 2, 2}), In({4}, {1, 1, 1, 1})}, {{"padding", "SAME"}},
           Code::kInvalidArgument, "Dimension must be 4 but is 3", "4 elements")
      .Bad({In({1, 4, 4, 3}), In({}, {1}), In({4}, {1, 1, 1, 1})}, {{"padding", "SAME"}},
           Code::kInvalidArgument, "Shape must be rank 1 but is rank 0 for ", "4 elements")
      .Bad({In({1, 4, 4, 3}), In({4}, {1, 2, 2, 1}), In({4}, {1, 2, 2, 0})}, {{"padding", "SAME"}},
           Code::kUnimplemented, "channel")
      .Run();
  OpCase("MaxPool3D")
      .Reference(MaxReference)
      .Try({In({2, 4, 6, 5, 3}).Distinct()}, Attrs3D(2, 2, 3, 2, "VALID"))
      .Try({In({1, 3, 4, 5, 2}).Distinct()}, Attrs3D(3, 2, 2, 1, "SAME"))
      .Try({In({1, 2, 3, 4, 5}).Distinct()}, Attrs3D(2, 2, 2, 1, "SAME", true))
      .Bad({In({1, 1, 2, 2, 3})}, Attrs3D(3, 1, 1, 1, "VALID"), Code::kInvalidArgument, "fit")
      .Bad({In({1, 2, 2, 3})}, Attrs3D(1, 1, 1, 1, "VALID"), Code::kInvalidArgument, "")
      .Run();
}

AttrMap OverChannels(int64_t window, int64_t stride, int64_t rows = 1) {
  return {{"ksize", std::vector<int64_t>{1, rows, 1, window}},
          {"strides", std::vector<int64_t>{1, 1, 1, stride}},
          {"padding", "VALID"}};
}

TEST(PoolTest, OverChannels) {
  OpCase("MaxPool")
      .Reference([](RefCall<double>& r) {
        const Shape& in = r.in[0].shape;
        const int64_t k = r.Attr<std::vector<int64_t>>("ksize")[3];
        r.out = {Array<double>(Shape{in.dim(0), in.dim(1), in.dim(2), in.dim(3) / k})};
        for (int64_t i = 0; i < r.out[0].size(); ++i) {
          const auto* begin = r.in[0].values.data() + i * k;
          r.out[0][i] = *std::max_element(begin, begin + k);
        }
      })
      .NoGradient("TensorFlow has none over channels")
      .Try({In({2, 3, 2, 6}).Distinct()}, OverChannels(3, 3))
      .Bad({In({1, 2, 2, 6})}, OverChannels(3, 2), Code::kUnimplemented, "stride")
      .Bad({In({1, 2, 2, 6})}, OverChannels(3, 3, 2), Code::kUnimplemented, "both")
      .Bad({In({1, 2, 2, 5})}, OverChannels(3, 3), Code::kUnimplemented, "divide")
      .Run();
}

// As TensorFlow gives them: MaxPool passes over NaN, places keep one that comes first.
TEST(PoolTest, NotANumber) {
  const float n = std::nanf(""), least = std::numeric_limits<float>::lowest();
  const float inf = std::numeric_limits<float>::infinity();
  const float windows[][4] = {{n, 1, 1, n}, {1, n, 1, 1}, {n, n, n, n}, {n, -inf, n, -inf}};
  const float expected[] = {1, 1, least, least};
  const AttrMap attrs = Only(Attrs(2, 2, 2, "VALID"), {"ksize", "strides", "padding"});
  for (int i = 0; i < 4; ++i) {
    const Tensor image = Tensor::Of<float>(windows[i], Shape{1, 2, 2, 1});
    EXPECT_EQ((*RunOp("MaxPool", {image}, attrs))[0].data<float>()[0], expected[i]);
  }
  const float first[] = {n, 1, 7, 8};
  const auto both =
      *RunOp("MaxPoolWithArgmax", {Tensor::Of<float>(first, Shape{1, 2, 2, 1})}, attrs);
  EXPECT_TRUE(std::isnan(both[0].data<float>()[0]));
  EXPECT_EQ(both[1].data<int64_t>()[0], 0);
}

TEST(PoolTest, Argmax) {
  const auto attrs = [](int64_t rows, int64_t columns, int64_t stride, const char* padding,
                        bool batch) {
    AttrMap some = Only(Attrs(rows, columns, stride, padding), {"ksize", "strides", "padding"});
    some.Set("include_batch_in_index", batch);
    return some;
  };
  const auto flat = [](const Shape& s, const std::vector<int64_t>& at, bool batch) {
    return static_cast<double>(
        (((batch ? at[0] : 0) * s.dim(1) + at[1]) * s.dim(2) + at[2]) * s.dim(3) + at[3]);
  };
  OpCase("MaxPoolWithArgmax")
      .Reference([flat](RefCall<double>& r) {
        const Pool pool(r, r.in[0].shape);
        r.out = {Array<double>(pool.output), Array<double>(pool.output)};
        ForEachIndex(pool.output, [&](const std::vector<int64_t>& at) {
          const auto place = pool.Largest(r.in[0], at);
          r.out[0].At(at) = r.in[0].At(place);
          r.out[1].At(at) = flat(pool.image, place, r.Attr<bool>("include_batch_in_index"));
        });
      })
      .NoGradient("below; not all types of places have one")
      .Try({In({2, 5, 4, 3}).Distinct()}, attrs(2, 2, 2, "SAME", false))
      .Try({In({2, 4, 4, 2}).Distinct()}, attrs(3, 2, 1, "VALID", true))
      .Bad({In({1, 1, 2, 3})}, attrs(3, 3, 1, "VALID", false), Code::kInvalidArgument, "fit")
      .Run();
  // Recorded with TensorFlow 2.21: a window over channels is checked, and nothing is pooled.
  const Tensor x = Tensor::Of<float>(std::vector<float>{3, 1, 2, 5}, Shape{1, 1, 2, 2});
  const auto over = [&](int64_t window, int64_t stride) {
    return RunOp("MaxPoolWithArgmax", {x},
                 {{"ksize", std::vector<int64_t>{1, 1, 1, window}},
                  {"strides", std::vector<int64_t>{1, 1, 1, stride}},
                  {"padding", "VALID"}});
  };
  const auto got = over(2, 2);
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ((*got)[0].shape(), x.shape());
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ((*got)[0].data<float>()[i], x.data<float>()[i]);
    EXPECT_EQ((*got)[1].data<int64_t>()[i], i);
  }
  EXPECT_EQ(over(2, 1).status().code(), Code::kUnimplemented);
  EXPECT_EQ(over(3, 3).status().code(), Code::kUnimplemented);
  OpCase("MaxPoolGradWithArgmax")
      .Reference([](RefCall<double>& r) {
        r.out = {Array<double>(r.in[0].shape)};
        for (int64_t i = 0; i < r.in[1].size(); ++i) {
          r.out[0][static_cast<int64_t>(r.in[2][i])] += r.in[1][i];
        }
      })
      .Try({In({2, 2, 2, 1}), In({2, 2, 1, 1}), In({2, 2, 1, 1}, {0, 0, 7, 4})},
           attrs(1, 2, 1, "VALID", true))
      .Bad({In({1, 2, 2, 1}), In({1, 1, 1, 1}), In({1, 1, 1, 1}, {4})},
           attrs(2, 2, 2, "VALID", false), Code::kInvalidArgument, "argmax must lie")
      .Bad({In({1, 2, 2, 1}), In({1, 1, 1, 1}), In({1, 1, 1, 1}, {-1})},
           attrs(2, 2, 2, "VALID", false), Code::kInvalidArgument, "argmax must lie")
      .Run();
}

void MaxGradReference(RefCall<double>& r) {
  const Pool pool(r, r.in[0].shape);
  r.out = {Array<double>(pool.image)};
  ForEachIndex(pool.output, [&](const std::vector<int64_t>& at) {
    r.out[0].At(pool.Largest(r.in[0], at)) += r.in[2].At(at);
  });
}

void MaxGradOfEqualsReference(RefCall<double>& r) {
  const Pool pool(r, r.in[0].shape);
  r.out = {Array<double>(r.in[0].shape)};
  ForEachIndex(pool.output, [&](const std::vector<int64_t>& at) {
    const double largest = r.in[0].At(pool.Largest(r.in[0], at));
    pool.ForEachPlace(at, [&](const auto& place) {
      if (r.in[0].At(place) == largest) r.out[0].At(place) += r.in[2].At(at);
    });
  });
}

// As TensorFlow's own kernel: each of several largest elements gets the whole gradient.
TEST(PoolTest, MaxGradOfEqualElementsOfAVolume) {
  const Tensor volume =
      Tensor::Of<float>(std::vector<float>{1, 3, 3, 2, 0, 3, 1, 1}, Shape{1, 2, 2, 2, 1});
  const Tensor five = Tensor::Of<float>(std::vector<float>{5}, Shape{1, 1, 1, 1, 1});
  const auto got = RunOp("MaxPool3DGrad", {volume, five, five}, Attrs3D(2, 2, 2, 2, "VALID"));
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  const float expected[] = {0, 5, 5, 0, 0, 5, 0, 0};
  for (int i = 0; i < 8; ++i) EXPECT_EQ((*got)[0].data<float>()[i], expected[i]) << i;
}

TEST(PoolTest, MaxGrad) {
  OpCase("MaxPoolGradV2")
      .Reference(MaxGradReference)
      .GradInputs({2})
      .Try({In({2, 6, 7, 3}).Distinct(), In({2, 3, 3, 3}), In({2, 3, 3, 3}), In({4}, {1, 2, 2, 1}),
            In({4}, {1, 2, 2, 1})},
           {{"padding", "VALID"}})
      .Run();
  OpCase("MaxPool3DGrad")
      .Reference(MaxGradOfEqualsReference)
      .Tolerance(DType::kHalf, ToleranceOf(OpClass::kPool, DType::kHalf))
      .Tolerance(DType::kBfloat16, ToleranceOf(OpClass::kPool, DType::kBfloat16))
      .Try({In({2, 3, 4, 5, 2}).Distinct(), In({2, 2, 2, 3, 2}), In({2, 2, 2, 3, 2})},
           Attrs3D(2, 2, 2, 2, "SAME"))
      .Bad({In({1, 2, 2, 2, 1}), In({1, 1, 1, 1, 1}), In({1, 1, 1, 1, 2})},
           Attrs3D(2, 2, 2, 2, "SAME"), Code::kInvalidArgument, "grad must have")
      .Run();
  OpCase("MaxPoolGrad")
      .Reference(MaxGradReference)
      .Tolerance(DType::kHalf, ToleranceOf(OpClass::kPool, DType::kHalf))
      .Tolerance(DType::kBfloat16, ToleranceOf(OpClass::kPool, DType::kBfloat16))
      .GradInputs({2})
      .Try({In({2, 6, 7, 3}).Distinct(), In({2, 3, 3, 3}), In({2, 3, 3, 3})},
           Attrs(2, 2, 2, "VALID"))
      .Try({In({2, 5, 5, 3}).Distinct(), In({2, 5, 5, 3}), In({2, 5, 5, 3})},
           Attrs(3, 3, 1, "SAME"))
      .Try({In({2, 3, 6, 7}).Distinct(), In({2, 3, 3, 4}), In({2, 3, 3, 4})},
           Attrs(2, 3, 2, "SAME", true))
      .Try({In({0, 4, 4, 3}), In({0, 2, 2, 3}), In({0, 2, 2, 3})}, Attrs(2, 2, 2, "VALID"))
      .Bad({In({1, 4, 4, 3}), In({1, 2, 2, 3}), In({1, 2, 2, 2})}, Attrs(2, 2, 2, "VALID"),
           Code::kInvalidArgument, "grad must have")
      .Run();
}

void MaxGradGradReference(RefCall<double>& r) {
  const Pool pool(r, r.in[0].shape);
  r.out = {Array<double>(pool.output)};
  ForEachIndex(pool.output, [&](const std::vector<int64_t>& at) {
    r.out[0].At(at) = r.in[2].At(pool.Largest(r.in[0], at));
  });
}

TEST(PoolTest, MaxGradGrad) {
  OpCase("MaxPoolGradGradV2")
      .Reference(MaxGradGradReference)
      .GradInputs({2})
      .Try({In({2, 6, 7, 3}).Distinct(), In({2, 3, 3, 3}), In({2, 6, 7, 3}), In({4}, {1, 2, 2, 1}),
            In({4}, {1, 2, 2, 1})},
           {{"padding", "VALID"}})
      .Run();
  OpCase("MaxPool3DGradGrad")
      .Reference(MaxGradGradReference)
      .Try({In({2, 3, 4, 5, 2}).Distinct(), In({2, 2, 2, 3, 2}), In({2, 3, 4, 5, 2})},
           Attrs3D(2, 2, 2, 2, "SAME"))
      .Run();
  OpCase("MaxPoolGradGrad")
      .Reference(MaxGradGradReference)
      .GradInputs({2})
      .Try({In({2, 6, 7, 3}).Distinct(), In({2, 3, 3, 3}), In({2, 6, 7, 3})},
           Attrs(2, 2, 2, "VALID"))
      .Try({In({2, 3, 6, 7}).Distinct(), In({2, 3, 3, 4}), In({2, 3, 6, 7})},
           Attrs(2, 3, 2, "SAME", true))
      .Bad({In({1, 4, 4, 3}), In({1, 2, 2, 3}), In({1, 2, 2, 3})}, Attrs(2, 2, 2, "VALID"),
           Code::kInvalidArgument, "Dimension 1 in both shapes must be equal, but are 4 and 2",
           "grad must have the shape of orig_input, [1,4,4,3], got [1,2,2,3]")
      .Bad({In({1, 4, 4, 3}), In({2, 2, 2, 3}), In({1, 4, 4, 3})}, Attrs(2, 2, 2, "VALID"),
           Code::kInvalidArgument,
           "Dimension 0 in both shapes must be equal, but are 2 and 1. Shapes are [2,2,2,3] and "
           "[1,2,2,3].",
           "")
      .Run();
}

double CountOf(const Pool& pool, const std::vector<int64_t>& at) {
  double n = 0;
  pool.ForEachPlace(at, [&](const auto&) { ++n; });
  return n;
}

void AverageReference(RefCall<double>& r) {
  const Pool pool(r, r.in[0].shape);
  r.out = {Array<double>(pool.output)};
  ForEachIndex(pool.output, [&](const std::vector<int64_t>& at) {
    double sum = 0;
    pool.ForEachPlace(at, [&](const auto& place) { sum += r.in[0].At(place); });
    r.out[0].At(at) = sum / CountOf(pool, at);
  });
}

void AverageGradReference(RefCall<double>& r) {
  Dims dims;
  for (double size : r.in[0].values) dims.push_back(static_cast<int64_t>(size));
  const Pool pool(r, Shape(dims));
  r.out = {Array<double>(pool.image)};
  ForEachIndex(pool.output, [&](const std::vector<int64_t>& at) {
    const double share = r.in[1].At(at) / CountOf(pool, at);
    pool.ForEachPlace(at, [&](const auto& place) { r.out[0].At(place) += share; });
  });
}

TEST(PoolTest, Average) {
  OpCase("AvgPool")
      .Reference(AverageReference)
      .Try({In({2, 6, 7, 3})}, Attrs(2, 2, 2, "VALID"))
      .Try({In({1, 6, 7, 17})}, Attrs(3, 2, 2, "SAME"))
      .Try({In({2, 3, 6, 7})}, Attrs(3, 3, 1, "SAME", true))
      .Try({In({0, 4, 4, 3})}, Attrs(2, 2, 2, "VALID"))
      .Bad({In({1, 1, 2, 3})}, Attrs(3, 3, 1, "VALID"), Code::kInvalidArgument, "fit")
      .Bad({In({1, 2, 2, 6})}, OverChannels(3, 3), Code::kUnimplemented, "channels")
      .Run();
  OpCase("AvgPoolGrad")
      .Reference(AverageGradReference)
      .Tolerance(DType::kHalf, ToleranceOf(OpClass::kPool, DType::kHalf))
      .Tolerance(DType::kBfloat16, ToleranceOf(OpClass::kPool, DType::kBfloat16))
      .Try({In({4}, {2, 6, 7, 3}), In({2, 3, 3, 3})}, Attrs(2, 2, 2, "VALID"))
      .Try({In({4}, {2, 3, 6, 7}), In({2, 3, 3, 4})}, Attrs(3, 3, 2, "SAME", true))
      .Try({In({4}, {0, 4, 4, 3}), In({0, 2, 2, 3})}, Attrs(2, 2, 2, "VALID"))
      .Bad({In({4}, {1, 4, 4, 3}), In({1, 3, 2, 3})}, Attrs(2, 2, 2, "VALID"),
           Code::kInvalidArgument, "grad must have")
      .Bad({In({3}, {1, 4, 4}), In({1, 3, 2, 3})}, Attrs(2, 2, 2, "VALID"), Code::kInvalidArgument,
           "Shape must be rank 4 but is rank 3 for ", "4-dimensional")
      .Run();
  OpCase("AvgPool3D")
      .Reference(AverageReference)
      .Try({In({2, 4, 6, 5, 3})}, Attrs3D(2, 2, 3, 2, "VALID"))
      .Try({In({1, 2, 3, 4, 5})}, Attrs3D(2, 3, 2, 1, "SAME", true))
      .Run();
  OpCase("AvgPool3DGrad")
      .Reference(AverageGradReference)
      .Tolerance(DType::kHalf, ToleranceOf(OpClass::kPool, DType::kHalf))
      .Tolerance(DType::kBfloat16, ToleranceOf(OpClass::kPool, DType::kBfloat16))
      .Try({In({5}, {2, 3, 4, 5, 2}), In({2, 2, 2, 3, 2})}, Attrs3D(2, 2, 2, 2, "SAME"))
      .Bad({In({4}, {1, 4, 4, 3}), In({1, 3, 2, 3, 1})}, Attrs3D(2, 2, 2, 2, "SAME"),
           Code::kInvalidArgument, "Shape must be rank 5 but is rank 4 for ",
           "tensor_in must be 5-dimensional, got [1,4,4,3]")
      .Run();
}

}  // namespace
}  // namespace thalweg
