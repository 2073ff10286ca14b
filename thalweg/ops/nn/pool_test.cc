// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

// Where the windows of one pooling lie.
struct Pool {
  int h;  // of the rows dimension
  std::vector<int64_t> ksize, strides;
  int64_t before[2];
  Shape image, output;

  Pool(const RefCall<double>& r, const Shape& image_shape) : image(image_shape) {
    const bool first = r.Attr<std::string>("data_format") == "NCHW";
    h = first ? 2 : 1;
    ksize = r.Attr<std::vector<int64_t>>("ksize");
    strides = r.Attr<std::vector<int64_t>>("strides");
    const bool same = r.Attr<std::string>("padding") == "SAME";
    Dims dims = image.dims();
    for (int d = 0; d < 2; ++d) {
      const int64_t in = image.dim(h + d), k = ksize[h + d], s = strides[h + d];
      dims[h + d] = same ? (in + s - 1) / s : (in - k) / s + 1;
      before[d] = same ? std::max<int64_t>(0, (dims[h + d] - 1) * s + k - in) / 2 : 0;
    }
    output = Shape(dims);
  }

  // f(place in the image) for every place that the window of output `at` sees.
  template <class F>
  void ForEachPlace(const std::vector<int64_t>& at, F f) const {
    for (int64_t y = 0; y < ksize[h]; ++y) {
      for (int64_t x = 0; x < ksize[h + 1]; ++x) {
        std::vector<int64_t> place = at;
        place[h] = at[h] * strides[h] - before[0] + y;
        place[h + 1] = at[h + 1] * strides[h + 1] - before[1] + x;
        if (place[h] < 0 || place[h + 1] < 0) continue;
        if (place[h] >= image.dim(h) || place[h + 1] >= image.dim(h + 1)) continue;
        f(place);
      }
    }
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

TEST(PoolTest, Max) {
  OpCase("MaxPool")
      .Reference([](RefCall<double>& r) {
        const Pool pool(r, r.in[0].shape);
        r.out = {Array<double>(pool.output)};
        ForEachIndex(pool.output, [&](const std::vector<int64_t>& at) {
          r.out[0].At(at) = r.in[0].At(pool.Largest(r.in[0], at));
        });
      })
      .Try({In({2, 6, 7, 3}).Distinct()}, Attrs(2, 2, 2, "VALID"))
      .Try({In({1, 6, 7, 17}).Distinct()}, Attrs(3, 2, 2, "SAME"))
      .Try({In({2, 5, 5, 3}).Distinct()}, Attrs(3, 3, 1, "SAME"))
      .Try({In({2, 3, 6, 7}).Distinct()}, Attrs(2, 3, 2, "VALID", true))
      .Try({In({0, 4, 4, 3})}, Attrs(2, 2, 2, "VALID"))
      .Bad({In({1, 2, 2, 3})}, Attrs(3, 3, 1, "VALID"), Code::kInvalidArgument, "fit")
      .Bad({In({2, 2, 3})}, Attrs(2, 2, 1, "VALID"), Code::kInvalidArgument, "")
      .Bad({In({1, 4, 4, 3})}, Attrs(2, 2, 0, "SAME"), Code::kInvalidArgument, "strides")
      .Run();
}

TEST(PoolTest, MaxGrad) {
  OpCase("MaxPoolGrad")
      .Reference([](RefCall<double>& r) {
        const Pool pool(r, r.in[0].shape);
        r.out = {Array<double>(pool.image)};
        ForEachIndex(pool.output, [&](const std::vector<int64_t>& at) {
          r.out[0].At(pool.Largest(r.in[0], at)) += r.in[2].At(at);
        });
      })
      .Tolerance(DType::kHalf, 1e-2)
      .Tolerance(DType::kBfloat16, 6e-2)
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

TEST(PoolTest, MaxGradGrad) {
  OpCase("MaxPoolGradGrad")
      .Reference([](RefCall<double>& r) {
        const Pool pool(r, r.in[0].shape);
        r.out = {Array<double>(pool.output)};
        ForEachIndex(pool.output, [&](const std::vector<int64_t>& at) {
          r.out[0].At(at) = r.in[2].At(pool.Largest(r.in[0], at));
        });
      })
      .GradInputs({2})
      .Try({In({2, 6, 7, 3}).Distinct(), In({2, 3, 3, 3}), In({2, 6, 7, 3})},
           Attrs(2, 2, 2, "VALID"))
      .Try({In({2, 3, 6, 7}).Distinct(), In({2, 3, 3, 4}), In({2, 3, 6, 7})},
           Attrs(2, 3, 2, "SAME", true))
      .Bad({In({1, 4, 4, 3}), In({1, 2, 2, 3}), In({1, 2, 2, 3})}, Attrs(2, 2, 2, "VALID"),
           Code::kInvalidArgument, "grad must have")
      .Run();
}

TEST(PoolTest, Average) {
  const auto count = [](const Pool& pool, const std::vector<int64_t>& at) {
    double n = 0;
    pool.ForEachPlace(at, [&](const auto&) { ++n; });
    return n;
  };
  OpCase("AvgPool")
      .Reference([count](RefCall<double>& r) {
        const Pool pool(r, r.in[0].shape);
        r.out = {Array<double>(pool.output)};
        ForEachIndex(pool.output, [&](const std::vector<int64_t>& at) {
          double sum = 0;
          pool.ForEachPlace(at, [&](const auto& place) { sum += r.in[0].At(place); });
          r.out[0].At(at) = sum / count(pool, at);
        });
      })
      .Try({In({2, 6, 7, 3})}, Attrs(2, 2, 2, "VALID"))
      .Try({In({1, 6, 7, 17})}, Attrs(3, 2, 2, "SAME"))
      .Try({In({2, 3, 6, 7})}, Attrs(3, 3, 1, "SAME", true))
      .Try({In({0, 4, 4, 3})}, Attrs(2, 2, 2, "VALID"))
      .Bad({In({1, 2, 2, 3})}, Attrs(3, 3, 1, "VALID"), Code::kInvalidArgument, "fit")
      .Run();
  OpCase("AvgPoolGrad")
      .Reference([count](RefCall<double>& r) {
        Dims dims;
        for (double size : r.in[0].values) dims.push_back(static_cast<int64_t>(size));
        const Pool pool(r, Shape(dims));
        r.out = {Array<double>(pool.image)};
        ForEachIndex(pool.output, [&](const std::vector<int64_t>& at) {
          const double share = r.in[1].At(at) / count(pool, at);
          pool.ForEachPlace(at, [&](const auto& place) { r.out[0].At(place) += share; });
        });
      })
      .Tolerance(DType::kHalf, 1e-2)
      .Tolerance(DType::kBfloat16, 6e-2)
      .Try({In({4}, {2, 6, 7, 3}), In({2, 3, 3, 3})}, Attrs(2, 2, 2, "VALID"))
      .Try({In({4}, {2, 3, 6, 7}), In({2, 3, 3, 4})}, Attrs(3, 3, 2, "SAME", true))
      .Try({In({4}, {0, 4, 4, 3}), In({0, 2, 2, 3})}, Attrs(2, 2, 2, "VALID"))
      .Bad({In({4}, {1, 4, 4, 3}), In({1, 3, 2, 3})}, Attrs(2, 2, 2, "VALID"),
           Code::kInvalidArgument, "grad must have")
      .Bad({In({3}, {1, 4, 4}), In({1, 3, 2, 3})}, Attrs(2, 2, 2, "VALID"), Code::kInvalidArgument,
           "")
      .Run();
}

}  // namespace
}  // namespace thalweg
