// SPDX-License-Identifier: Apache-2.0
#include <complex>

#include "thalweg/compute/arithmetic.h"
#include "thalweg/compute/blocks_in_order.h"
#include "thalweg/compute/move/element.h"
#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/kernel/kernel_registry.h"
#include "thalweg/kernel/made_texts.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

constexpr int64_t kElementsPerLook = 1 << 16;  // at the cancel flag

class OneHotCpu : public Kernel {
 public:
  explicit OneHotCpu(int64_t axis) : axis_(axis) {}
  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const int64_t axis, c.Attr<int64_t>("axis"));
    return std::unique_ptr<Kernel>(std::make_unique<OneHotCpu>(axis));
  }

  Status Compute(Context& ctx) override {
    const Tensor& indices = ctx.input(0);
    const Tensor& on = ctx.input(2);
    const Tensor& off = ctx.input(3);
    ASSIGN_OR_RETURN(const int64_t depth, IntScalar(ctx.input(1), "depth"));
    if (depth < 0) return InvalidArgument("depth must be non-negative, got: ", depth);
    if (on.rank() != 0 || off.rank() != 0) {
      return InvalidArgument("on_value and off_value must be scalars, got shapes ", on.shape(),
                             " and ", off.shape());
    }
    const Shape from = indices.shape();
    ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axis_, from.rank() + 1, "axis"));
    Dims dims = from.dims();
    dims.insert(axis, depth);
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, on.dtype(), shape));
    RETURN_IF_ERROR(ClaimCopies(ctx, *out, off, out->num_elements()));
    RETURN_IF_ERROR(ClaimCopies(ctx, *out, on, indices.num_elements()));
    RETURN_IF_ERROR(compute::FillElements(ctx.work(), on.dtype(), off.raw_data(),
                                          out->mutable_raw_data(), out->num_elements()));
    int64_t inner = 1;
    for (int i = axis; i < from.rank(); ++i) inner *= from.dim(i);
    return compute::WithElement(on.dtype(), [&]<class E>() {
      const E& value = *static_cast<const E*>(on.raw_data());
      E* const to = static_cast<E*>(out->mutable_raw_data());
      return compute::ForBlocksInOrder(
          ctx.work(), indices.num_elements(), kElementsPerLook, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
              const int64_t index = IntAt(indices, i);
              if (index < 0 || index >= depth) continue;
              to[(i / inner * depth + index) * inner + i % inner] = value;
            }
          });
    });
  }

 private:
  const int64_t axis_;
};

template <class T>
bool IsZero(const T& value) {
  if constexpr (compute::kIsHalf<T>) {
    return compute::ValueOf(value) == 0.0f;
  } else {
    return value == T{};
  }
}

template <class T>
Status Where(Context& ctx) {
  const Tensor& x = ctx.input(0);
  const Shape shape = x.shape();
  if (shape.rank() == 0) return InvalidArgument("the input must not be a scalar");
  const T* values = x.data<T>();
  const int64_t n = x.num_elements();
  int64_t found = 0;
  RETURN_IF_ERROR(
      compute::ForBlocksInOrder(ctx.work(), n, kElementsPerLook, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) found += IsZero(values[i]) ? 0 : 1;
      }));
  const int rank = shape.rank();
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, DType::kInt64, Shape{found, int64_t{rank}}));
  int64_t* row = out->mutable_data<int64_t>();
  Dims at(shape.dims());
  for (int64_t& position : std::span(at.data(), static_cast<size_t>(rank))) position = 0;
  return compute::ForBlocksInOrder(
      ctx.work(), n, kElementsPerLook, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          if (!IsZero(values[i])) row = std::copy_n(at.data(), rank, row);
          for (int d = rank - 1; d >= 0 && ++at[d] == shape.dim(d); --d) at[d] = 0;
        }
      });
}

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(one_hot, cpu) {
  registry.Add<OneHotCpu>("OneHot", kCpu);
  ForEachType<PodTypes>([&]<class T>() {
    registry.AddFunction<Where<T>>("Where", kCpu, {{"T", kDTypeOf<T>}});
  });
}
