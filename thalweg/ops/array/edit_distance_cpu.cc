// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <numeric>

#include "thalweg/compute/move/edit_distance.h"
#include "thalweg/compute/sort.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// A sparse tensor: its elements grouped by all of their coordinates but the last.
struct Groups {
  Tensor order;   // int64: numbers of the elements, group by group
  Tensor places;  // int64, parallel to order: the place of the element's group in the output
};

Result<Shape> CheckSparse(const Tensor& indices, const Tensor& values, const Tensor& shape,
                          std::string_view what) {
  if (indices.rank() != 2) {
    return InvalidArgument(what, "_indices should be a matrix, but got shape: ", indices.shape());
  }
  if (values.rank() != 1 || values.num_elements() != indices.dim(0)) {
    return InvalidArgument("Expected ", what, "_values.NumElements == #rows(", what,
                           "_indices), their shapes are: ", values.shape(), " and ",
                           indices.shape());
  }
  ASSIGN_OR_RETURN(Shape dense, ShapeOf(shape, StrCat(what, "_shape")));
  if (dense.rank() != indices.dim(1)) {
    return InvalidArgument("Expected ", what, "_shape.NumElements == #cols(", what,
                           "_indices), their shapes are: ", shape.shape(), " and ",
                           indices.shape());
  }
  if (dense.rank() < 2) {
    return InvalidArgument("Input SparseTensors must have rank at least 2, but ", what,
                           "_shape rank is: ", dense.rank());
  }
  return dense;
}

Result<Groups> GroupsOf(Context& ctx, const Tensor& indices, const Shape& out) {
  const int64_t n = indices.dim(0);
  const int64_t rank = indices.dim(1);
  const int64_t* const at = indices.data<int64_t>();
  ASSIGN_OR_RETURN(Tensor place, ctx.AllocateTemporary(DType::kInt64, Shape{n}));
  int64_t* const place_of = place.mutable_data<int64_t>();
  for (int64_t i = 0; i < n; ++i) {
    place_of[i] = 0;
    for (int d = 0; d < out.rank(); ++d) {
      const int64_t index = at[i * rank + d];
      if (index < 0 || index >= out.dim(d)) {
        return Internal("Got an index ", index, " in dimension ", d, " of element ", i,
                        " which would lie outside of the output of shape ", out);
      }
      place_of[i] = place_of[i] * out.dim(d) + index;
    }
  }
  Groups groups;
  ASSIGN_OR_RETURN(groups.order, ctx.AllocateTemporary(DType::kInt64, Shape{n}));
  ASSIGN_OR_RETURN(groups.places, ctx.AllocateTemporary(DType::kInt64, Shape{n}));
  int64_t* const order = groups.order.mutable_data<int64_t>();
  std::iota(order, order + n, int64_t{0});
  if (!std::is_sorted(place_of, place_of + n)) {
    RETURN_IF_ERROR(compute::StableSort(ctx.work(), order, order + n, [&](int64_t a, int64_t b) {
      return place_of[a] < place_of[b];
    }));
  }
  int64_t* const places = groups.places.mutable_data<int64_t>();
  for (int64_t i = 0; i < n; ++i) places[i] = place_of[order[i]];
  return groups;
}

// Both tensors' sequences side by side, for every place that one of them has.
struct Pairs {
  std::vector<int64_t> places;
  std::vector<int64_t> begin_a;
  std::vector<int64_t> begin_b;
};

Pairs Match(const Groups& a, const Groups& b) {
  Pairs pairs;
  const std::span<const int64_t> x = a.places.flat<int64_t>();
  const std::span<const int64_t> y = b.places.flat<int64_t>();
  size_t i = 0;
  size_t j = 0;
  while (i < x.size() || j < y.size()) {
    const int64_t none = std::numeric_limits<int64_t>::max();
    const int64_t place = std::min(i < x.size() ? x[i] : none, j < y.size() ? y[j] : none);
    pairs.places.push_back(place);
    pairs.begin_a.push_back(static_cast<int64_t>(i));
    pairs.begin_b.push_back(static_cast<int64_t>(j));
    while (i < x.size() && x[i] == place) ++i;
    while (j < y.size() && y[j] == place) ++j;
  }
  pairs.begin_a.push_back(static_cast<int64_t>(i));
  pairs.begin_b.push_back(static_cast<int64_t>(j));
  return pairs;
}

class EditDistanceCpu : public Kernel {
 public:
  explicit EditDistanceCpu(bool normalize) : normalize_(normalize) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const bool normalize, c.Attr<bool>("normalize"));
    return std::unique_ptr<Kernel>(std::make_unique<EditDistanceCpu>(normalize));
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const Shape truth,
                     CheckSparse(ctx.input(3), ctx.input(4), ctx.input(5), "truth"));
    ASSIGN_OR_RETURN(const Shape hypothesis,
                     CheckSparse(ctx.input(0), ctx.input(1), ctx.input(2), "hypothesis"));
    if (truth.rank() != hypothesis.rank()) {
      return InvalidArgument(
          "Expected truth and hypothesis to have matching ranks, but their shapes are: ", truth,
          " and ", hypothesis);
    }
    Dims dims;
    for (int i = 0; i + 1 < truth.rank(); ++i) {
      dims.push_back(std::max(truth.dim(i), hypothesis.dim(i)));
    }
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(const Groups a, GroupsOf(ctx, ctx.input(0), shape));
    ASSIGN_OR_RETURN(const Groups b, GroupsOf(ctx, ctx.input(3), shape));
    const Pairs pairs = Match(a, b);
    const auto count = static_cast<int64_t>(pairs.places.size());
    ASSIGN_OR_RETURN(Tensor distances, ctx.AllocateTemporary(DType::kInt64, Shape{count}));
    int64_t* const distance = distances.mutable_data<int64_t>();
    RETURN_IF_ERROR(compute::EditDistances(
        ctx.work(), ctx.input(1).dtype(),
        {ctx.input(1).raw_data(), a.order.data<int64_t>(), pairs.begin_a.data()},
        {ctx.input(4).raw_data(), b.order.data<int64_t>(), pairs.begin_b.data()}, count, distance));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kFloat, shape));
    float* const to = out->mutable_data<float>();
    std::fill_n(to, out->num_elements(), 0.0f);
    for (int64_t k = 0; k < count; ++k) {
      const auto i = static_cast<size_t>(k);
      to[pairs.places[i]] = Score(distance[k], pairs.begin_b[i + 1] - pairs.begin_b[i]);
    }
    return OkStatus();
  }

 private:
  float Score(int64_t distance, int64_t truth_length) const {
    const auto edits = static_cast<float>(distance);
    if (!normalize_) return edits;
    if (truth_length > 0) return edits / static_cast<float>(truth_length);
    return distance > 0 ? std::numeric_limits<float>::infinity() : 0.0f;
  }

  const bool normalize_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(edit_distance, cpu) {
  ForEachType<PodTypes>([&]<class T>() {
    registry.Add<EditDistanceCpu>("EditDistance", kCpu, {{"T", kDTypeOf<T>}});
  });
  registry.Add<EditDistanceCpu>("EditDistance", kCpu, {{"T", DType::kString}});
}
