// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/ops/array/test_element_types.h"

namespace thalweg {
namespace {

// Where position `at` of a padded dimension comes from: -1 outside; a mirror
// image when `mirror`.
int64_t Source(int64_t at, int64_t before, int64_t size, int mirror) {
  int64_t from = at - before;
  if (mirror < 0 || (from >= 0 && from < size)) return from >= 0 && from < size ? from : -1;
  if (from < 0) return -from - (mirror == 1 ? 0 : 1);
  return 2 * size - from - (mirror == 1 ? 2 : 1);
}

// mirror: -1 none, 0 symmetric, 1 reflect.
template <class V>
Array<V> Padded(const Array<V>& x, const Array<V>& paddings, int mirror, V constant) {
  Dims dims = x.shape.dims();
  std::vector<int64_t> before;
  for (int i = 0; i < dims.size(); ++i) {
    before.push_back(static_cast<int64_t>(std::real(paddings[2 * i])));
    dims[i] += before.back() + static_cast<int64_t>(std::real(paddings[2 * i + 1]));
  }
  Array<V> out{Shape(dims)};
  ForEachIndex(out.shape, [&](const std::vector<int64_t>& at) {
    int64_t from = 0;
    bool inside = true;
    for (int i = 0; i < dims.size(); ++i) {
      const int64_t source = Source(at[static_cast<size_t>(i)], before[static_cast<size_t>(i)],
                                    x.shape.dim(i), mirror);
      inside = inside && source >= 0;
      from = from * x.shape.dim(i) + source;
    }
    out.At(at) = inside ? x[from] : constant;
  });
  return out;
}

TEST(PadTest, PutsZerosAround) {
  EveryElementType("Pad")
      .Reference([]<class V>(RefCall<V>& r) { r.out = {Padded(r.in[0], r.in[1], -1, V{})}; })
      .Try({In({2, 3}), In({2, 2}, {1, 2, 0, 3})})
      .Try({In({20, 30}), In({2, 2}, {0, 0, 1, 1})}, {{"Tpaddings", DType::kInt64}})
      .Try({In({2, 0}), In({2, 2}, {1, 0, 0, 2})})
      .Try({In({2, 3}), In({2, 2}, {0, 0, 0, 0})})
      .Bad({In({2}), In({1, 2}, {-1, 0})}, {}, Code::kInvalidArgument, "non-negative")
      .Bad({In({2}), In({2, 2}, {1, 0, 1, 0})}, {}, Code::kInvalidArgument, "")
      .Bad({In({2}), In({2}, {1, 0})}, {}, Code::kInvalidArgument, "")
      .Bad({In({2}), In({1, 2}, {9e18, 9e18})}, {{"Tpaddings", DType::kInt64}},
           Code::kInvalidArgument, "cannot be padded")
      .Run();
}

TEST(PadV2Test, PutsAConstantAround) {
  EveryElementType("PadV2")
      .Reference([]<class V>(RefCall<V>& r) { r.out = {Padded(r.in[0], r.in[1], -1, r.in[2][0])}; })
      .Try({In({2, 3}), In({2, 2}, {1, 2, 0, 3}), In({}, {1})})
      .Bad({In({2}), In({1, 2}, {1, 0}), In({2})}, {}, Code::kInvalidArgument, "")
      .GradInputs({0})
      .Run();
}

TEST(MirrorPadTest, PutsAMirrorImageAround) {
  for (const char* mode : {"SYMMETRIC", "REFLECT"}) {
    const int mirror = std::string_view(mode) == "REFLECT" ? 1 : 0;
    EveryElementType("MirrorPad")
        .Reference(
            [mirror]<class V>(RefCall<V>& r) { r.out = {Padded(r.in[0], r.in[1], mirror, V{})}; })
        .Try({In({3, 4}), In({2, 2}, {2, 1, 0, 3})}, {{"mode", mode}})
        .Try({In({5}), In({1, 2}, {4, 4})}, {{"mode", mode}})
        .Bad({In({3}), In({1, 2}, {4, 0})}, {{"mode", mode}}, Code::kInvalidArgument,
             std::string_view(mode) == "REFLECT"
                 ? "less than the dimension size: 4, 0 not less than 3"
                 : "no greater than the dimension size: 4, 0 greater than 3")
        .Run();
  }
}

// Each element of the gradient goes where the element it belongs to came from.
TEST(MirrorPadGradTest, FoldsBordersBack) {
  for (const char* mode : {"SYMMETRIC", "REFLECT"}) {
    const int mirror = std::string_view(mode) == "REFLECT" ? 1 : 0;
    OpCase("MirrorPadGrad")
        .Reference([mirror]<class V>(RefCall<V>& r) {
          Array<V> numbers(Shape{3, 4});
          for (int64_t i = 0; i < 12; ++i) numbers[i] = static_cast<V>(static_cast<double>(i));
          const Array<V> sources = Padded(numbers, r.in[1], mirror, V{});
          r.out = {Array<V>(Shape{3, 4})};
          for (int64_t i = 0; i < sources.size(); ++i) {
            r.out[0][static_cast<int64_t>(std::real(sources[i]))] += r.in[0][i];
          }
        })
        .Try({In({6, 7}), In({2, 2}, {2, 1, 0, 3})}, {{"mode", mode}})
        .Bad({In({3}), In({1, 2}, {4, 0})}, {{"mode", mode}}, Code::kInvalidArgument, "")
        .Run();
  }
}

}  // namespace
}  // namespace thalweg
