// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>
#include <vector>

#include "thalweg/compute/arithmetic.h"
#include "thalweg/compute/sort.h"
#include "thalweg/graph/narrow_attr.h"
#include "thalweg/kernel/element_wise.h"
#include "thalweg/ops/nn/wide_integer.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

using ApproxTypes = Types<float, Half, Bfloat16>;

// What elements of type T are compared in.
template <class T>
using Compared = WideInteger<compute::Value<T>>;

// `order` begins with the places of the k largest of a row, largest first, the earlier of equal
// ones first; or of the k smallest. False once the step is cancelled.
template <bool kSmallest = false, class T>
bool FindLargest(const compute::Work& work, const T* row, int64_t k, std::vector<int64_t>& order) {
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto before = [row](int64_t a, int64_t b) {
    const T x = row[kSmallest ? b : a], y = row[kSmallest ? a : b];
    return x > y || (!(y > x) && a < b);
  };
  const auto begin = order.begin();
  return compute::PartialSort(work, begin, begin + k, order.end(), before).ok();
}

// Elements `at` and following of `to`, which is of the type that the graph asks for.
void WritePlaces(const std::vector<int64_t>& order, int64_t k, Tensor& to, int64_t at) {
  const auto write = [&]<class I>(I* places) {
    for (int64_t i = 0; i < k; ++i) places[at + i] = static_cast<I>(order[i]);
  };
  switch (to.dtype()) {
    case DType::kInt16:
      return write(to.mutable_data<int16_t>());
    case DType::kInt32:
      return write(to.mutable_data<int32_t>());
    default:
      return write(to.mutable_data<int64_t>());
  }
}

// The row itself where its type is the one that is compared in, else a copy.
template <class T>
const Compared<T>* ComparedRow(const T* row, int64_t columns, Compared<T>* copy) {
  if constexpr (std::is_same_v<T, Compared<T>>) {
    return row;
  } else {
    std::transform(row, row + columns, copy,
                   [](T element) { return static_cast<Compared<T>>(element); });
    return copy;
  }
}

template <class T>
Status TopOfRows(compute::Work& work, const Tensor& x, int64_t k, Tensor& values, Tensor& places) {
  const int64_t columns = x.dim(x.rank() - 1), rows = x.num_elements() / columns;
  const T* in = x.data<T>();
  T* out = values.mutable_data<T>();
  const int64_t grain = std::max<int64_t>(1, 16384 / columns);
  return compute::ForShards(work, (rows + grain - 1) / grain, [&](int64_t shard) {
    std::vector<int64_t> order(static_cast<size_t>(columns));
    const compute::Scratch<Compared<T>> copy(work, std::is_same_v<T, Compared<T>> ? 0 : columns);
    if (!copy) return false;
    for (int64_t row = shard * grain; row < std::min(rows, (shard + 1) * grain); ++row) {
      const T* from = in + row * columns;
      if (!FindLargest(work, ComparedRow(from, columns, copy.get()), k, order)) break;
      for (int64_t i = 0; i < k; ++i) out[row * k + i] = from[order[i]];
      WritePlaces(order, k, places, row * k);
    }
    return true;
  });
}

class TopKCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<TopKCpu>();
    kernel->places_ = c.output_type(1);
    if (c.node().num_inputs() == 1) {
      ASSIGN_OR_RETURN(kernel->k_, Int32Attr(c, "k"));
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    const Shape shape = x.shape();
    int64_t k = k_;
    if (ctx.num_inputs() == 2) {
      ASSIGN_OR_RETURN(k, IntScalar(ctx.input(1), "k"));
    }
    if (k < 0) return InvalidArgument("Need k >= 0, got ", k);
    if (shape.rank() < 1) return InvalidArgument("input must be >= 1-D, got shape ", shape);
    if (shape.dim(shape.rank() - 1) < k) {
      return InvalidArgument("input must have at least k columns. Had ",
                             shape.dim(shape.rank() - 1), ", needed ", k);
    }
    Dims dims = shape.dims();
    dims[shape.rank() - 1] = k;
    ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(0, x.dtype(), Shape(dims)));
    ASSIGN_OR_RETURN(Tensor * places, ctx.AllocateOutput(1, places_, Shape(dims)));
    if (values->num_elements() == 0) return OkStatus();
    return compute::WithType<RealTypes>(x.dtype(), "TopK", [&]<class T>() {
      return TopOfRows<T>(ctx.work(), x, k, *values, *places);
    });
  }

 private:
  int64_t k_ = 0;
  DType places_ = DType::kInt32;
};

// Along any dimension. Exact; recall_target and the like are permissions that need not be used.
class ApproxTopKCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<ApproxTopKCpu>();
    ASSIGN_OR_RETURN(kernel->k_, Int32Attr(c, "k"));
    ASSIGN_OR_RETURN(kernel->dimension_, c.Attr<int64_t>("reduction_dimension"));
    ASSIGN_OR_RETURN(kernel->largest_, c.Attr<bool>("is_max_k"));
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const Tensor& x = ctx.input(0);
    const Shape shape = x.shape();
    ASSIGN_OR_RETURN(const int axis,
                     NormalizeAxis(dimension_, shape.rank(), "reduction_dimension"));
    const int64_t n = shape.dim(axis);
    if (k_ < 0 || k_ > n) {
      return InvalidArgument("input must have at least k = ", k_, " elements along dimension ",
                             axis, ", got ", shape.ToString());
    }
    Dims dims = shape.dims();
    dims[axis] = k_;
    ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(0, x.dtype(), Shape(dims)));
    ASSIGN_OR_RETURN(Tensor * places, ctx.AllocateOutput(1, DType::kInt32, Shape(dims)));
    if (values->num_elements() == 0) return OkStatus();
    int64_t inner = 1;
    for (int d = axis + 1; d < shape.rank(); ++d) inner *= shape.dim(d);
    return compute::WithType<ApproxTypes>(x.dtype(), "ApproxTopK", [&]<class T>() {
      return FindInLines<T>(ctx.work(), x, n, inner, *values, *places);
    });
  }

 private:
  // Lines of n elements that lie `inner` apart.
  template <class T>
  Status FindInLines(compute::Work& work, const Tensor& x, int64_t n, int64_t inner, Tensor& values,
                     Tensor& places) const {
    const T* in = x.data<T>();
    T* out = values.mutable_data<T>();
    int32_t* at = places.mutable_data<int32_t>();
    const int64_t grain = std::max<int64_t>(1, 16384 / n);
    return compute::ForBlocks(work, x.num_elements() / n, grain, [&](int64_t number, int64_t end) {
      std::vector<float> line(static_cast<size_t>(n));
      std::vector<int64_t> order(static_cast<size_t>(n));
      for (; number < end; ++number) {
        const int64_t from = number / inner * n * inner + number % inner;
        const int64_t to = number / inner * k_ * inner + number % inner;
        for (int64_t i = 0; i < n; ++i) line[i] = compute::ValueOf(in[from + i * inner]);
        if (!(largest_ ? FindLargest(work, line.data(), k_, order)
                       : FindLargest<true>(work, line.data(), k_, order))) {
          return;
        }
        for (int64_t i = 0; i < k_; ++i) {
          out[to + i * inner] = in[from + order[i] * inner];
          at[to + i * inner] = static_cast<int32_t>(order[i]);
        }
      }
    });
  }

  int64_t k_ = 0, dimension_ = -1;
  bool largest_ = true;
};

// False for a target that is no class, or a row with a prediction that is not finite.
bool IsInTop(const float* row, int64_t classes, int64_t target, int64_t k) {
  if (target < 0 || target >= classes || !std::isfinite(row[target])) return false;
  int64_t better = 0;
  for (int64_t i = 0; i < classes; ++i) {
    if (!std::isfinite(row[i])) return false;
    if (row[i] > row[target]) ++better;
  }
  return better < k;
}

class InTopKCpu : public Kernel {
 public:
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    auto kernel = std::make_unique<InTopKCpu>();
    if (c.node().num_inputs() == 2) {
      ASSIGN_OR_RETURN(kernel->k_, Int32Attr(c, "k"));
    }
    return std::unique_ptr<Kernel>(std::move(kernel));
  }

  Status Compute(Context& ctx) override {
    const Tensor &predictions = ctx.input(0), &targets = ctx.input(1);
    int64_t k = k_;
    if (ctx.num_inputs() == 3) {
      ASSIGN_OR_RETURN(k, IntScalar(ctx.input(2), "k"));
    }
    if (predictions.rank() != 2) {
      return InvalidArgument("predictions must be 2-dimensional, got shape ", predictions.shape());
    }
    if (targets.rank() != 1) {
      return InvalidArgument("targets must be 1-dimensional, got shape ", targets.shape());
    }
    if (predictions.dim(0) != targets.dim(0)) {
      return InvalidArgument("First dimension of predictions ", predictions.dim(0),
                             " must match length of targets ", targets.dim(0));
    }
    const int64_t rows = predictions.dim(0), classes = predictions.dim(1);
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kBool, Shape{rows}));
    const float* data = predictions.data<float>();
    bool* to = out->mutable_data<bool>();
    for (int64_t row = 0; row < rows; ++row) {
      to[row] = IsInTop(data + row * classes, classes, IntAt(targets, row), k);
    }
    return OkStatus();
  }

 private:
  int64_t k_ = 0;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(top_k, cpu) {
  ForEachType<RealTypes>([&]<class T> {
    registry.Add<TopKCpu>("TopK", kCpu, {{"T", kDTypeOf<T>}});
    for (DType places : {DType::kInt32, DType::kInt64, DType::kInt16}) {
      registry.Add<TopKCpu>("TopKV2", kCpu, {{"T", kDTypeOf<T>}, {"index_type", places}});
    }
  });
  ForEachType<ApproxTypes>([&]<class T> {
    registry.Add<ApproxTopKCpu>("ApproxTopK", kCpu, {{"T", kDTypeOf<T>}});
  });
  for (const char* op : {"InTopK", "InTopKV2"}) {
    for (DType dtype : {DType::kInt32, DType::kInt64}) {
      registry.Add<InTopKCpu>(op, kCpu, {{"T", dtype}});
    }
  }
}
