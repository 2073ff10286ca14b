// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <map>
#include <type_traits>

#include "thalweg/compute/arithmetic.h"
#include "thalweg/compute/cancel_looks.h"
#include "thalweg/compute/sort.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/ops/sparse/sparse_input.h"

namespace thalweg {
namespace {

using SetTypes = Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, std::string>;

// A set has elements of int64 or of strings: integers of all types are widened where they are read,
// and narrowed where they are written.
template <class F>
Status WithElements(DType dtype, const F& f) {
  RETURN_IF_ERROR(compute::WithType<SetTypes>(dtype, "sets", []<class>() { return OkStatus(); }));
  return dtype == DType::kString ? f.template operator()<std::string>()
                                 : f.template operator()<int64_t>();
}

template <class T>
T ElementAt(const Tensor& tensor, int64_t i) {
  if constexpr (std::is_same_v<T, int64_t>) {
    return IntAt(tensor, i);
  } else {
    return tensor.data<T>()[i];
  }
}

template <class T>
Result<Tensor> VectorOf(const Context& ctx, DType dtype, const std::vector<T>& elements) {
  const auto count = static_cast<int64_t>(elements.size());
  ASSIGN_OR_RETURN(Tensor made, Tensor::Allocate(ctx.allocator(), dtype, Shape{count}));
  RETURN_IF_ERROR(compute::WithType<SetTypes>(dtype, "sets", [&]<class Narrow>() {
    if constexpr (std::is_convertible_v<T, Narrow>) {
      std::ranges::transform(elements, made.mutable_data<Narrow>(),
                             [](const T& x) { return static_cast<Narrow>(x); });
    }
    return OkStatus();
  }));
  return made;
}

constexpr int64_t kElementsPerSet = 16;  // what a set costs beside its elements

enum class SetOperation { kMinus, kMinusReversed, kIntersection, kUnion };

// The sets of a tensor: its elements by row of the last dimension, sorted, each once.
template <class T>
struct Sets {
  Shape groups;  // the dimensions before the last
  std::map<int64_t, std::vector<T>> elements;

  Status Finish(const compute::Work& work) {
    compute::CancelLooks looks(work);
    for (auto& [group, set] : elements) {
      RETURN_IF_ERROR(looks.Did(kElementsPerSet));
      RETURN_IF_ERROR(compute::Sort(work, set.begin(), set.end()));
      set.erase(std::unique(set.begin(), set.end()), set.end());
    }
    return OkStatus();
  }
};

Shape WithoutLast(const Shape& shape) {
  Dims dims;
  for (int d = 0; d + 1 < shape.rank(); ++d) dims.push_back(shape.dim(d));
  return Shape(dims);
}

template <class T>
Result<Sets<T>> DenseSets(const Context& ctx, int which) {
  const Tensor& input = ctx.input(which);
  if (input.rank() < 2) {
    return InvalidArgument("Invalid input rank ", input.rank(), ", must be at least 2");
  }
  Sets<T> sets{WithoutLast(input.shape()), {}};
  const int64_t width = input.dim(input.rank() - 1);
  compute::CancelLooks looks(ctx.work());
  for (int64_t group = 0; width > 0 && group < input.num_elements() / width; ++group) {
    RETURN_IF_ERROR(looks.Did(width + kElementsPerSet));
    std::vector<T>& set = sets.elements[group];
    set.reserve(static_cast<size_t>(width));
    for (int64_t i = 0; i < width; ++i) set.push_back(ElementAt<T>(input, group * width + i));
  }
  RETURN_IF_ERROR(sets.Finish(ctx.work()));
  return sets;
}

template <class T>
Result<Sets<T>> SparseSets(const Context& ctx, int first, bool validate) {
  ASSIGN_OR_RETURN(const SparseInput input, SparseInput::Checked(ctx, first, first + 1, first + 2));
  if (input.rank() < 2) {
    return InvalidArgument("Invalid input rank ", input.rank(), ", must be at least 2");
  }
  Sets<T> sets{WithoutLast(input.shape()), {}};
  compute::CancelLooks looks(ctx.work());
  for (int64_t i = 0; i < input.count(); ++i) {
    RETURN_IF_ERROR(looks.Did());
    if (validate && i > 0 &&
        !std::lexicographical_compare(input.row(i - 1), input.row(i - 1) + input.rank(),
                                      input.row(i), input.row(i) + input.rank())) {
      return InvalidArgument(
          "indices[", i, "] = ", input.RowText(i),
          " is out of order or repeated. Many sparse ops require sorted "
          "indices. Use `tf.sparse.reorder` to create a correctly ordered copy.");
    }
    int64_t group = 0;
    for (int d = 0; d + 1 < input.rank(); ++d) {
      group = group * input.shape().dim(d) + input.row(i)[d];
    }
    sets.elements[group].push_back(ElementAt<T>(input.values(), i));
  }
  RETURN_IF_ERROR(sets.Finish(ctx.work()));
  return sets;
}

template <class T>
std::vector<T> Combined(SetOperation operation, const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<T> out;
  auto to = std::back_inserter(out);
  switch (operation) {
    case SetOperation::kMinus:
      std::set_difference(a.begin(), a.end(), b.begin(), b.end(), to);
      break;
    case SetOperation::kMinusReversed:
      std::set_difference(b.begin(), b.end(), a.begin(), a.end(), to);
      break;
    case SetOperation::kIntersection:
      std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), to);
      break;
    case SetOperation::kUnion:
      std::set_union(a.begin(), a.end(), b.begin(), b.end(), to);
      break;
  }
  return out;
}

template <class T>
Status SetResult(Context& ctx, DType dtype, SetOperation operation, const Sets<T>& a,
                 const Sets<T>& b) {
  if (!(a.groups == b.groups)) {
    return InvalidArgument("Mismatched shapes of sets: the dimensions before the last are ",
                           a.groups, " and ", b.groups);
  }
  std::map<int64_t, std::vector<T>> results = a.elements;
  for (const auto& [group, set] : b.elements) results.try_emplace(group);
  static const std::vector<T> kNone;
  std::vector<int64_t> places;
  std::vector<T> values;
  int64_t widest = 0;
  const int rank = a.groups.rank();
  compute::CancelLooks looks(ctx.work());
  for (auto& [group, set] : results) {
    RETURN_IF_ERROR(looks.Did(static_cast<int64_t>(set.size()) + kElementsPerSet));
    const auto other = b.elements.find(group);
    set = Combined(operation, set, other == b.elements.end() ? kNone : other->second);
    widest = std::max(widest, static_cast<int64_t>(set.size()));
    for (size_t i = 0; i < set.size(); ++i) {
      const size_t begin = places.size();
      places.resize(begin + static_cast<size_t>(rank) + 1, static_cast<int64_t>(i));
      int64_t rest = group;
      for (int d = rank - 1; d >= 0; --d) {
        places[begin + static_cast<size_t>(d)] = rest % a.groups.dim(d);
        rest /= a.groups.dim(d);
      }
      values.push_back(set[i]);
    }
  }
  Dims dims = a.groups.dims();
  dims.push_back(widest);
  const auto count = static_cast<int64_t>(values.size());
  ASSIGN_OR_RETURN(Tensor elements, VectorOf(ctx, dtype, values));
  SetSparse(ctx, 0, IndexMatrix(places, rank + 1, count), std::move(elements), Shape(dims));
  return OkStatus();
}

class SetOperationCpu : public Kernel {
 public:
  SetOperationCpu(int dense, SetOperation operation, bool validate)
      : dense_(dense), operation_(operation), validate_(validate) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const std::string name, c.Attr<std::string>("set_operation"));
    ASSIGN_OR_RETURN(const bool validate, c.Attr<bool>("validate_indices"));
    SetOperation operation;
    if (name == "a-b") {
      operation = SetOperation::kMinus;
    } else if (name == "b-a") {
      operation = SetOperation::kMinusReversed;
    } else if (name == "intersection") {
      operation = SetOperation::kIntersection;
    } else if (name == "union") {
      operation = SetOperation::kUnion;
    } else {
      return InvalidArgument("Invalid set_operation ", name,
                             ", expected a-b, b-a, intersection or union");
    }
    const std::string& op = c.node().op_name();
    const int dense = op == "DenseToDenseSetOperation" ? 2 : op == "DenseToSparseSetOperation";
    return std::unique_ptr<Kernel>(std::make_unique<SetOperationCpu>(dense, operation, validate));
  }

  Status Compute(Context& ctx) override {
    const DType dtype = ctx.input(dense_ == 0 ? 1 : 0).dtype();
    return WithElements(dtype, [&]<class T>() -> Status {
      ASSIGN_OR_RETURN(const Sets<T> a,
                       dense_ == 0 ? SparseSets<T>(ctx, 0, validate_) : DenseSets<T>(ctx, 0));
      ASSIGN_OR_RETURN(const Sets<T> b, dense_ == 2
                                            ? DenseSets<T>(ctx, 1)
                                            : SparseSets<T>(ctx, dense_ == 0 ? 3 : 1, validate_));
      return SetResult(ctx, dtype, operation_, a, b);
    });
  }

 private:
  const int dense_;  // how many inputs are dense, before the sparse ones
  const SetOperation operation_;
  const bool validate_;
};

class SetSizeCpu : public Kernel {
 public:
  explicit SetSizeCpu(bool validate) : validate_(validate) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const bool validate, c.Attr<bool>("validate_indices"));
    return std::unique_ptr<Kernel>(std::make_unique<SetSizeCpu>(validate));
  }
  Status Compute(Context& ctx) override {
    return WithElements(ctx.input(1).dtype(), [&]<class T>() -> Status {
      ASSIGN_OR_RETURN(const Sets<T> sets, SparseSets<T>(ctx, 0, validate_));
      ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kInt32, sets.groups));
      auto* const sizes = out->mutable_data<int32_t>();
      std::fill_n(sizes, out->num_elements(), 0);
      for (const auto& [group, set] : sets.elements) {
        sizes[group] = static_cast<int32_t>(set.size());
      }
      return OkStatus();
    });
  }

 private:
  const bool validate_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(sets, cpu) {
  registry.Add<SetSizeCpu>("SetSize", kCpu);
  registry.Add<SetOperationCpu>("DenseToDenseSetOperation", kCpu);
  registry.Add<SetOperationCpu>("DenseToSparseSetOperation", kCpu);
  registry.Add<SetOperationCpu>("SparseToSparseSetOperation", kCpu);
}
