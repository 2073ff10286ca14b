// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <string_view>

#include "thalweg/compute/arithmetic.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/sparse/sparse_input.h"

namespace thalweg {
namespace {

using compute::Combine;

// Values that go into one element stand together; `group` numbers the elements in order.
struct Groups {
  Dims kept;                   // dimensions
  Shape shape;                 // of the result
  std::vector<int64_t> order;  // values by the element they go into
  std::vector<int64_t> group;  // of each of them
  std::vector<int64_t> first;  // value of each group
};

Result<Groups> GroupsOf(const Context& ctx, const SparseInput& input, const Tensor& axes,
                        bool keep_dims) {
  if (axes.rank() > 1) {
    return InvalidArgument("reduction_axes must be a scalar or vector, got shape ", axes.shape());
  }
  std::vector<bool> reduced(static_cast<size_t>(input.rank()));
  for (int64_t i = 0; i < axes.num_elements(); ++i) {
    ASSIGN_OR_RETURN(const int axis, NormalizeAxis(IntAt(axes, i), input.rank(), "reduction axis"));
    reduced[static_cast<size_t>(axis)] = true;
  }
  Groups groups;
  Dims dims;
  for (int d = 0; d < input.rank(); ++d) {
    if (!reduced[static_cast<size_t>(d)]) {
      groups.kept.push_back(d);
      dims.push_back(input.shape().dim(d));
    } else if (keep_dims) {
      dims.push_back(1);
    }
  }
  groups.shape = Shape(dims);
  const auto differs = [&](int64_t a, int64_t b) {
    for (const int64_t d : groups.kept) {
      if (input.row(a)[d] != input.row(b)[d]) return input.row(a)[d] < input.row(b)[d] ? -1 : 1;
    }
    return 0;
  };
  groups.order.resize(static_cast<size_t>(input.count()));
  std::iota(groups.order.begin(), groups.order.end(), int64_t{0});
  RETURN_IF_ERROR(compute::StableSort(ctx.work(), groups.order.begin(), groups.order.end(),
                                      [&](int64_t a, int64_t b) { return differs(a, b) < 0; }));
  for (size_t i = 0; i < groups.order.size(); ++i) {
    if (i == 0 || differs(groups.order[i - 1], groups.order[i]) != 0) {
      groups.first.push_back(groups.order[i]);
    }
    groups.group.push_back(static_cast<int64_t>(groups.first.size()) - 1);
  }
  return groups;
}

// The value of each group.
Result<Tensor> Reduced(Context& ctx, Combine combine, const SparseInput& input,
                       const Groups& groups) {
  const DType dtype = input.values().dtype();
  ASSIGN_OR_RETURN(Tensor values, PickRows(ctx, input.values(), groups.order));
  std::vector<int64_t> start, group = groups.group;
  for (size_t i = 0; i < group.size(); ++i) {
    if (i > 0 && groups.group[i - 1] == groups.group[i]) continue;
    start.push_back(static_cast<int64_t>(i));
    group[i] = -1;  // is there already
  }
  ASSIGN_OR_RETURN(Tensor result, PickRows(ctx, values, start));
  RETURN_IF_ERROR(compute::CombineRows(ctx.work(), dtype, combine, {.count = input.count()},
                                       group.data(), values.raw_data(), result.mutable_raw_data()));
  return result;
}

class ReduceCpu : public Kernel {
 public:
  ReduceCpu(Combine combine, bool sparse, bool keep_dims)
      : combine_(combine), sparse_(sparse), keep_dims_(keep_dims) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const bool keep_dims, c.Attr<bool>("keep_dims"));
    const std::string_view op = c.node().op_name();
    const Combine combine = op.starts_with("SparseReduceSum") ? Combine::kAdd : Combine::kMax;
    return std::unique_ptr<Kernel>(
        std::make_unique<ReduceCpu>(combine, op.ends_with("Sparse"), keep_dims));
  }

  Status Compute(Context& ctx) override {
    ASSIGN_OR_RETURN(const SparseInput input,
                     SparseInput::Of(ctx.input(0), ctx.input(1), ctx.input(2)));
    if (const Status bounds = input.CheckBounds(); !bounds.ok()) {
      return sparse_ ? bounds : Internal(bounds.message());  // TensorFlow's codes
    }
    ASSIGN_OR_RETURN(const Groups groups, GroupsOf(ctx, input, ctx.input(3), keep_dims_));
    ASSIGN_OR_RETURN(Tensor values, Reduced(ctx, combine_, input, groups));
    if (sparse_) {
      SetSparse(ctx, 0, Places(input, groups), std::move(values), groups.shape);
      return OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, values.dtype(), groups.shape));
    std::fill_n(static_cast<char*>(out->mutable_raw_data()), out->bytes(), '\0');
    std::vector<int64_t> places;
    for (const int64_t i : groups.first) {
      int64_t flat = 0;
      for (const int64_t d : groups.kept) {
        flat = flat * input.shape().dim(static_cast<int>(d)) + input.row(i)[d];
      }
      places.push_back(flat);
    }
    return compute::CombineRows(ctx.work(), values.dtype(), Combine::kAssign,
                                {.count = static_cast<int64_t>(places.size())}, places.data(),
                                values.raw_data(), out->mutable_raw_data());
  }

 private:
  Tensor Places(const SparseInput& input, const Groups& groups) const {
    std::vector<int64_t> places;
    for (const int64_t i : groups.first) {
      int next = 0;
      for (int d = 0; d < input.rank(); ++d) {
        const bool kept = next < groups.kept.size() && groups.kept[next] == d;
        if (kept) ++next;
        if (kept) places.push_back(input.row(i)[d]);
        if (!kept && keep_dims_) places.push_back(0);
      }
    }
    return IndexMatrix(places, groups.shape.rank(), static_cast<int64_t>(groups.first.size()));
  }

  const Combine combine_;
  const bool sparse_, keep_dims_;  // sparse_: so is the output
};

// Each row of the last dimension by itself.
Status Softmax(Context& ctx) {
  ASSIGN_OR_RETURN(const SparseInput input, SparseInput::Checked(ctx, 0, 1, 2));
  if (input.rank() < 2) {
    return InvalidArgument("Input should have rank >= 2, but got: ", input.rank());
  }
  ASSIGN_OR_RETURN(const Groups groups,
                   GroupsOf(ctx, input, Tensor::Scalar(input.rank() - 1), false));
  ASSIGN_OR_RETURN(Tensor * out,
                   ctx.AllocateOutput(0, input.values().dtype(), input.values().shape()));
  return compute::WithType<FloatTypes>(out->dtype(), "SparseSoftmax", [&]<class T>() {
    using V = compute::Value<T>;
    const T* from = input.values().data<T>();
    T* to = out->mutable_data<T>();
    for (size_t begin = 0, end; begin < groups.order.size(); begin = end) {
      V largest = compute::ValueOf(from[groups.order[begin]]), sum = 0;
      for (end = begin; end < groups.order.size() && groups.group[end] == groups.group[begin];
           ++end) {
        largest = std::max(largest, compute::ValueOf(from[groups.order[end]]));
      }
      for (size_t i = begin; i < end; ++i) {
        sum += std::exp(compute::ValueOf(from[groups.order[i]]) - largest);
      }
      for (size_t i = begin; i < end; ++i) {
        const int64_t at = groups.order[i];
        to[at] = compute::ElementOf<T>(std::exp(compute::ValueOf(from[at]) - largest) / sum);
      }
    }
    return OkStatus();
  });
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(sparse_reduce, cpu) {
  ForEachType<NumberTypes>([&]<class T>() {
    const DType t = kDTypeOf<T>;
    registry.Add<ReduceCpu>("SparseReduceSum", kCpu, {{"T", t}});
    registry.Add<ReduceCpu>("SparseReduceSumSparse", kCpu, {{"T", t}});
  });
  ForEachType<RealTypes>([&]<class T>() {
    const DType t = kDTypeOf<T>;
    registry.Add<ReduceCpu>("SparseReduceMax", kCpu, {{"T", t}});
    registry.Add<ReduceCpu>("SparseReduceMaxSparse", kCpu, {{"T", t}});
  });
  ForEachType<Types<float, double, Half>>([&]<class T>() {
    registry.AddFunction<Softmax>("SparseSoftmax", kCpu, {{"T", kDTypeOf<T>}});
  });
}
