// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "thalweg/testing/op_case.h"

namespace thalweg {
namespace {

using Ints = std::vector<int64_t>;
using Index = std::vector<int64_t>;

struct Window {
  Ints sizes, strides, rates;
  bool same;
  Shape out;
};

// Every output element from its definition.
template <class V>
Array<V> Patches(const Array<V>& x, const Window& w) {
  const auto rank = w.sizes.size() - 2;
  const int64_t channels = x.shape.dim(static_cast<int>(rank) + 1);
  Array<V> out(w.out);
  int64_t next = 0;
  ForEachIndex(w.out, [&](const Index& at) {
    Index from = at;
    from[rank + 1] = at[rank + 1] % channels;
    int64_t tap = at[rank + 1] / channels;
    bool inside = true;
    for (size_t d = rank; d >= 1; --d) {
      const int64_t size = x.shape.dim(static_cast<int>(d));
      const int64_t count = w.out.dim(static_cast<int>(d));
      const int64_t reach = (w.sizes[d] - 1) * w.rates[d] + 1;
      const int64_t missing = std::max<int64_t>(0, (count - 1) * w.strides[d] + reach - size);
      from[d] = at[d] * w.strides[d] + tap % w.sizes[d] * w.rates[d] - (w.same ? missing / 2 : 0);
      tap /= w.sizes[d];
      inside = inside && from[d] >= 0 && from[d] < size;
    }
    if (inside) out[next] = x[x.Offset(from)];
    ++next;
  });
  return out;
}

AttrMap Attrs(const Window& w, bool volume) {
  AttrMap attrs = {
      {"ksizes", w.sizes}, {"strides", w.strides}, {"padding", w.same ? "SAME" : "VALID"}};
  if (!volume) attrs.Set("rates", w.rates);
  return attrs;
}

void Check(const std::string& op, const In& x, const Window& w, const std::vector<DType>& types) {
  OpCase made(op);
  for (DType dtype : types) made.Types({{"T", dtype}});
  made.Reference([&](auto& r) { r.out = {Patches(r.in[0], w)}; })
      .Try({x}, Attrs(w, op == "ExtractVolumePatches"))
      .Trivial("windows of one, and of more than there is")
      .Run();
}

TEST(PatchesTest, OfImages) {
  const std::vector<DType> types = {DType::kDouble, DType::kFloat,  DType::kHalf,
                                    DType::kInt8,   DType::kUint64, DType::kComplex64};
  const Ints one = {1, 1, 1, 1};
  const In x({2, 5, 6, 3});
  Check("ExtractImagePatches", x, {{1, 2, 3, 1}, one, one, false, {2, 4, 4, 18}}, types);
  Check("ExtractImagePatches", x, {{1, 3, 2, 1}, {1, 2, 3, 1}, one, true, {2, 3, 2, 18}}, types);
  Check("ExtractImagePatches", x, {{1, 2, 3, 1}, one, {1, 2, 2, 1}, true, {2, 5, 6, 18}}, types);
  Check("ExtractImagePatches", x, {{1, 2, 2, 1}, {1, 7, 1, 1}, {1, 3, 1, 1}, false, {2, 1, 5, 12}},
        types);
  Check("ExtractImagePatches", x, {{1, 7, 2, 1}, {1, 3, 1, 1}, one, false, {2, 0, 5, 42}}, types);
  Check("ExtractImagePatches", x, {one, one, one, true, {2, 5, 6, 3}}, types);
}

TEST(PatchesTest, OfVolumes) {
  const std::vector<DType> types = {DType::kDouble, DType::kFloat, DType::kInt32};
  const Ints one = {1, 1, 1, 1, 1};
  const In x({2, 3, 4, 3, 2});
  Check("ExtractVolumePatches", x, {{1, 2, 2, 3, 1}, one, one, false, {2, 2, 3, 1, 24}}, types);
  Check("ExtractVolumePatches", x, {{1, 3, 1, 2, 1}, {1, 2, 2, 1, 1}, one, true, {2, 2, 2, 3, 12}},
        types);
}

TEST(PatchesTest, Refusals) {
  const Ints one = {1, 1, 1, 1};
  const auto attrs = [&](const Ints& sizes, const Ints& strides, const Ints& rates) {
    return AttrMap{{"ksizes", sizes}, {"strides", strides}, {"rates", rates}, {"padding", "VALID"}};
  };
  OpCase("ExtractImagePatches")
      .Types({{"T", DType::kFloat}})
      .Reference([](RefCall<double>& r) { r.out = {r.in[0]}; })
      .Try({In({1, 2, 2, 1})}, attrs(one, one, one))
      .Trivial("windows of one")
      .Bad({In({1, 3, 3, 1})}, attrs({2, 1, 1, 1}, one, one), Code::kUnimplemented, "across space")
      .Bad({In({1, 3, 3, 1})}, attrs({1, 0, 1, 1}, one, one), Code::kOutOfRange, "ksizes")
      .Bad({In({1, 3, 3, 1})}, attrs(one, {1, 0, 1, 1}, one), Code::kOutOfRange, "strides")
      .Bad({In({1, 3, 3, 1})}, attrs(one, one, {1, 1, -1, 1}), Code::kOutOfRange, "rates")
      .Bad({In({1, 3, 3, 1})}, attrs({1, 1, 1, 1, 1}, one, one), Code::kInvalidArgument, "entries")
      .Bad({In({1, 3, 3, 1})}, attrs({1, 1, 5, 1}, one, one), Code::kInvalidArgument,
           "output size would be negative")
      .Bad({In({3, 3, 1})}, attrs(one, one, one), Code::kInvalidArgument, "")
      .Run();
}

}  // namespace
}  // namespace thalweg
