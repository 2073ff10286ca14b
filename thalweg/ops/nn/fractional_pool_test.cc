// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

using Cuts = std::vector<double>;

AttrMap Attrs(bool pseudo_random, int64_t seed, int64_t seed2, bool overlapping = false) {
  return {{"pooling_ratio", std::vector<float>{1, 1.4f, 1.7f, 1}},
          {"pseudo_random", pseudo_random},
          {"overlapping", overlapping},
          {"deterministic", true},
          {"seed", seed},
          {"seed2", seed2}};
}

// Recorded from TensorFlow 2.21 for an image of 17 x 12.
struct Recorded {
  bool pseudo_random;
  int64_t seed, seed2;
  Cuts rows, columns;
};
const Recorded kRecorded[] = {
    {true, 5, 7, {0, 2, 3, 5, 6, 7, 9, 10, 12, 13, 14, 16, 17}, {0, 2, 4, 5, 7, 9, 11, 12}},
    {true, 123, 456, {0, 2, 3, 5, 6, 8, 9, 10, 12, 13, 15, 16, 17}, {0, 1, 3, 5, 6, 8, 10, 12}},
    {false, 5, 7, {0, 1, 3, 4, 6, 8, 9, 10, 12, 13, 14, 16, 17}, {0, 2, 3, 5, 7, 9, 11, 12}},
    {false, 123, 456, {0, 2, 3, 4, 5, 7, 9, 11, 12, 13, 14, 16, 17}, {0, 2, 3, 5, 7, 9, 10, 12}},
};

// f(pixel of the image) for the window of output `at`.
template <class F>
void ForWindow(const Cuts& rows, const Cuts& columns, const Shape& image, bool overlapping,
               const std::vector<int64_t>& at, F f) {
  const auto end = [&](const Cuts& cuts, int64_t i, int64_t size) {
    return std::min<int64_t>(size, static_cast<int64_t>(cuts[i + 1]) + (overlapping ? 1 : 0));
  };
  for (auto r = static_cast<int64_t>(rows[at[1]]); r < end(rows, at[1], image.dim(1)); ++r) {
    for (auto c = static_cast<int64_t>(columns[at[2]]); c < end(columns, at[2], image.dim(2)); ++c)
      f(std::vector<int64_t>{at[0], r, c, at[3]});
  }
}

TEST(FractionalPoolTest, CutsOfTensorFlow) {
  for (const Recorded& recorded : kRecorded) {
    for (const bool maximum : {true, false}) {
      OpCase(maximum ? "FractionalMaxPool" : "FractionalAvgPool")
          .Reference([&](RefCall<double>& r) {
            const Shape& in = r.in[0].shape;
            const auto out_rows = static_cast<int64_t>(recorded.rows.size());
            const auto out_columns = static_cast<int64_t>(recorded.columns.size());
            r.out = {Array<double>(Shape{in.dim(0), out_rows - 1, out_columns - 1, in.dim(3)}),
                     Array<double>(Shape{out_rows}, recorded.rows),
                     Array<double>(Shape{out_columns}, recorded.columns)};
            ForEachIndex(r.out[0].shape, [&](const auto& at) {
              double most = -1e9, sum = 0, count = 0;
              ForWindow(recorded.rows, recorded.columns, in, r.Attr<bool>("overlapping"), at,
                        [&](const auto& place) {
                          most = std::max(most, r.in[0].At(place));
                          sum += r.in[0].At(place);
                          ++count;
                        });
              r.out[0].At(at) = maximum ? most : sum / count;
              if (!maximum && r.in_type(0) == DType::kInt32)
                r.out[0].At(at) = std::trunc(sum / count);
              if (!maximum && r.in_type(0) == DType::kInt64)
                r.out[0].At(at) = std::trunc(sum / count);
            });
          })
          .GradOutputs({0})
          .Try({In({2, 17, 12, 3}).Distinct()},
               Attrs(recorded.pseudo_random, recorded.seed, recorded.seed2))
          .Try({In({1, 17, 12, 1}).Distinct()},
               Attrs(recorded.pseudo_random, recorded.seed, recorded.seed2, true))
          .Run();
    }
  }
}

TEST(FractionalPoolTest, BadInput) {
  AttrMap small = Attrs(true, 1, 2), channels = small, unseeded = small;
  small.Set("pooling_ratio", std::vector<float>{1, 0.5f, 1, 1});
  channels.Set("pooling_ratio", std::vector<float>{1, 1, 1, 2});
  unseeded.Set("deterministic", false);
  OpCase("FractionalMaxPool")
      .Reference([](RefCall<double>& r) {
        r.out = {r.in[0], Array<double>(Shape{3}, {0, 1, 2}), Array<double>(Shape{3}, {0, 1, 2})};
      })
      .NoGradient("above")
      .Trivial("windows of one place")
      .Try({In({1, 2, 2, 1})},
           {{"pooling_ratio", std::vector<float>{1, 1, 1, 1}}, {"pseudo_random", true}})
      .Bad({In({1, 7, 6, 1})}, small, Code::kInvalidArgument, "smaller than 1")
      .Bad({In({1, 7, 6, 1})}, channels, Code::kUnimplemented, "channel")
      .Bad({In({1, 7, 1, 1})}, Attrs(true, 1, 2), Code::kInvalidArgument, "higher")
      .Bad({In({1, 7, 6, 1})}, unseeded, Code::kInvalidArgument, "seed")
      .Bad({In({0, 7, 6, 1})}, Attrs(true, 1, 2), Code::kInvalidArgument, "higher")
      .Bad({In({7, 6, 1})}, Attrs(true, 1, 2), Code::kInvalidArgument, "")
      .Run();
}

TEST(FractionalPoolTest, Gradients) {
  const In rows({3}, {0, 2, 3}), columns({4}, {0, 1, 3, 4});
  OpCase("FractionalMaxPoolGrad")
      .Reference([](RefCall<double>& r) {
        r.out = {Array<double>(r.in[0].shape)};
        ForEachIndex(r.in[2].shape, [&](const auto& at) {
          std::vector<int64_t> best;
          ForWindow(r.in[3].values, r.in[4].values, r.in[0].shape, r.Attr<bool>("overlapping"), at,
                    [&](const auto& place) {
                      if (best.empty() || r.in[0].At(place) > r.in[0].At(best)) best = place;
                    });
          r.out[0].At(best) += r.in[2].At(at);
        });
      })
      .Try({In({2, 3, 4, 2}).Distinct(), In({2, 2, 3, 2}), In({2, 2, 3, 2}), rows, columns},
           {{"overlapping", false}})
      .Try({In({2, 3, 4, 2}).Distinct(), In({2, 2, 3, 2}), In({2, 2, 3, 2}), rows, columns},
           {{"overlapping", true}})
      .Bad({In({1, 3, 4, 2}), In({1, 2, 3, 2}), In({1, 2, 2, 2}), rows, columns}, {},
           Code::kInvalidArgument, "orig_output")
      .Run();
  OpCase("FractionalAvgPoolGrad")
      .Reference([](RefCall<double>& r) {
        Dims dims;
        for (double size : r.in[0].values) dims.push_back(static_cast<int64_t>(size));
        r.out = {Array<double>(Shape(dims))};
        const bool whole = r.in_type(1) == DType::kInt32 || r.in_type(1) == DType::kInt64;
        ForEachIndex(r.in[1].shape, [&](const auto& at) {
          double count = 0;
          const auto each = [&](auto f) {
            ForWindow(r.in[2].values, r.in[3].values, r.out[0].shape, r.Attr<bool>("overlapping"),
                      at, f);
          };
          each([&](const auto&) { ++count; });
          const double part = r.in[1].At(at) / count;
          each([&](const auto& place) { r.out[0].At(place) += whole ? std::trunc(part) : part; });
        });
      })
      .Try({In({4}, {2, 3, 4, 2}), In({2, 2, 3, 2}).Range(-40, 40), rows, columns},
           {{"overlapping", true}})
      .Bad({In({4}, {1, 3, 4, 2}), In({1, 2, 3, 2}), In({2}, {0, 2}), columns}, {},
           Code::kInvalidArgument, "3 elements")
      .Bad({In({1, 4}, {1, 3, 4, 2}), In({1, 2, 3, 2}), In({3}, {0, 2, 3}), columns}, {},
           Code::kInvalidArgument, "Shape must be rank 1 but is rank 2 for ", "")
      .Bad({In({4}, {1, 3, 4, 2}), In({1, 2, 3, 2}), In({3}, {0, 2, 2}), columns}, {},
           Code::kInvalidArgument, "must rise")
      .Bad({In({4}, {1, 3, 4, 2}), In({1, 2, 3, 2}), In({3}, {-1, 2, 3}), columns}, {},
           Code::kInvalidArgument, "must rise")
      .Bad({In({4}, {1, 3, 4, 2}), In({1, 2, 3, 2}), In({3}, {0, 5, 6}), columns}, {},
           Code::kInvalidArgument, "must rise")
      .Run();
}

}  // namespace
}  // namespace thalweg
