// SPDX-License-Identifier: Apache-2.0
#include "thalweg/kernel/element_wise.h"

#include <array>
#include <cstring>
#include <functional>
#include <new>
#include <type_traits>

namespace thalweg {

Status RunUnaryKernel(Context& ctx, compute::UnaryOp op) {
  const Tensor& x = ctx.input(0);
  const DType dtype = x.dtype();
  const int64_t n = x.num_elements();
  const void* data = x.raw_data();  // stays where it is when the output takes the buffer
  if (x.kind() == Tensor::Kind::kInline) {
    const compute::UnaryFn loop = compute::DirectUnary(ctx.work().isa(), op, dtype);
    if (loop != nullptr) {
      ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, compute::UnaryResult(op, dtype), Shape()));
      loop(y->mutable_raw_data(), data, 1);
      return OkStatus();
    }
  }
  ASSIGN_OR_RETURN(Tensor * y,
                   ctx.TakeOrAllocateOutput({0}, 0, compute::UnaryResult(op, dtype), x.shape()));
  return compute::RunUnary(ctx.work(), op, dtype, n, data, y->mutable_raw_data());
}

namespace {

Status Run(Context& ctx, compute::BinaryOp op, const compute::Broadcast& broadcast,
           const Shape& shape) {
  const DType dtype = ctx.input(0).dtype();
  const void* a = ctx.input(0).raw_data();
  const void* b = ctx.input(1).raw_data();
  ASSIGN_OR_RETURN(Tensor * out,
                   ctx.TakeOrAllocateOutput({0, 1}, 0, compute::BinaryResult(op, dtype), shape));
  return compute::RunBinary(ctx.work(), op, dtype, broadcast, a, b, out->mutable_raw_data());
}

}  // namespace

namespace {

bool SameShape(const Tensor& a, const Tensor& b) {
  if (a.rank() != b.rank()) return false;
  for (int d = 0; d < a.rank(); ++d) {
    if (a.dim(d) != b.dim(d)) return false;
  }
  return true;
}

// Small tensors of one shape: a node costs more than its loop, so nothing stands between them.
// Null: not such a case.
compute::BinaryFn DirectLoop(Context& ctx, compute::BinaryOp op) {
  const Tensor &a = ctx.input(0), &b = ctx.input(1);
  if (a.num_elements() > compute::kDirectElements || !SameShape(a, b)) return nullptr;
  return compute::DirectBinary(ctx.work().isa(), op, a.dtype());
}

Status RunDirect(Context& ctx, compute::BinaryOp op, compute::BinaryFn loop) {
  const Tensor& x = ctx.input(0);
  const void *a = x.raw_data(), *b = ctx.input(1).raw_data();
  const int64_t n = x.num_elements();
  const DType result = compute::BinaryResult(op, x.dtype());
  Tensor* out = nullptr;
  if (x.kind() == Tensor::Kind::kInline) {
    ASSIGN_OR_RETURN(out, ctx.AllocateOutput(0, result, Shape()));
  } else {
    ASSIGN_OR_RETURN(out, ctx.TakeOrAllocateOutput({0, 1}, 0, result, x.shape()));
  }
  uint32_t flags = 0;
  loop(out->mutable_raw_data(), a, b, n, &flags);
  return flags == 0 ? OkStatus() : compute::StatusOfFlags(flags);
}

}  // namespace

namespace {

// Two scalars that lie in their handles, computed in registers with the bits that the loop gives.
// The result is written as two whole words: the next node loads it as such, and would wait for
// narrower stores.
using ScalarFn = void (*)(const Tensor& a, const Tensor& b, Tensor* out);

template <class T>
T ScalarOf(const Tensor& tensor) {
  const uint64_t word = tensor.payload_word();
  T value;
  std::memcpy(&value, &word, sizeof(T));
  return value;
}

template <class T, class F>
void OfScalars(const Tensor& a, const Tensor& b, Tensor* out) {
  Tensor value = Tensor::Scalar(F()(ScalarOf<T>(a), ScalarOf<T>(b)));
  if (out->kind() > Tensor::Kind::kInline) [[unlikely]] {
    *out = std::move(value);
  } else {
    new (out) Tensor(std::move(value));
  }
}

// Integers wrap.
template <class T>
struct Arithmetic {
  template <class F>
  static T Wrap(T a, T b, F f) {
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      return static_cast<T>(f(static_cast<U>(a), static_cast<U>(b)));
    } else {
      return f(a, b);
    }
  }
  struct Add {
    T operator()(T a, T b) const { return Wrap(a, b, std::plus<>()); }
  };
  struct Sub {
    T operator()(T a, T b) const { return Wrap(a, b, std::minus<>()); }
  };
  struct Mul {
    T operator()(T a, T b) const { return Wrap(a, b, std::multiplies<>()); }
  };
};

constexpr size_t kScalarTypes = 16;  // DTypes below this have a column
using ScalarTable = std::array<std::array<ScalarFn, kScalarTypes>, compute::kBinaryOps>;

template <class T>
constexpr void AddScalars(ScalarTable* table) {
  using compute::BinaryOp;
  constexpr auto kColumn = static_cast<size_t>(kDTypeOf<T>);
  static_assert(kColumn < kScalarTypes);
  const auto set = [&](BinaryOp op, ScalarFn function) {
    (*table)[static_cast<size_t>(op)][kColumn] = function;
  };
  set(BinaryOp::kAdd, OfScalars<T, typename Arithmetic<T>::Add>);
  set(BinaryOp::kSub, OfScalars<T, typename Arithmetic<T>::Sub>);
  set(BinaryOp::kMul, OfScalars<T, typename Arithmetic<T>::Mul>);
  set(BinaryOp::kEqual, OfScalars<T, std::equal_to<>>);
  set(BinaryOp::kNotEqual, OfScalars<T, std::not_equal_to<>>);
  set(BinaryOp::kLess, OfScalars<T, std::less<>>);
  set(BinaryOp::kLessEqual, OfScalars<T, std::less_equal<>>);
  set(BinaryOp::kGreater, OfScalars<T, std::greater<>>);
  set(BinaryOp::kGreaterEqual, OfScalars<T, std::greater_equal<>>);
}

constexpr ScalarTable MakeScalarTable() {
  ScalarTable table{};
  AddScalars<float>(&table);
  AddScalars<double>(&table);
  AddScalars<int32_t>(&table);
  AddScalars<int64_t>(&table);
  return table;
}
constexpr ScalarTable kScalars = MakeScalarTable();

// Null: no such case.
ScalarFn ScalarFunction(const Tensor& a, const Tensor& b, compute::BinaryOp op) {
  // One type and both inline: the words beside the values are equal.
  if (a.kind() != Tensor::Kind::kInline || a.meta_word() != b.meta_word()) return nullptr;
  const auto column = static_cast<size_t>(a.dtype());
  return column < kScalarTypes ? kScalars[static_cast<size_t>(op)][column] : nullptr;
}

}  // namespace

Status RunBinaryKernel(Context& ctx, compute::BinaryOp op) {
  const Tensor &x = ctx.input(0), &y = ctx.input(1);
  if (const ScalarFn function = ScalarFunction(x, y, op)) {
    function(x, y, &ctx.output(0));
    return OkStatus();
  }
  if (const compute::BinaryFn loop = DirectLoop(ctx, op)) return RunDirect(ctx, op, loop);
  const Shape a = ctx.input(0).shape(), b = ctx.input(1).shape();
  if (a == b) return Run(ctx, op, compute::Broadcast::Dense(a.num_elements(), 2), a);
  ASSIGN_OR_RETURN(const compute::Broadcast broadcast,
                   compute::Broadcast::Make({a.dims(), b.dims()}));
  return Run(ctx, op, broadcast, Shape(broadcast.output_dims()));
}

Status RunSameShapeKernel(Context& ctx, compute::BinaryOp op) {
  const Shape a = ctx.input(0).shape();
  if (a != ctx.input(1).shape()) {
    return InvalidArgument("both inputs must have one shape, got ", a.ToString(), " and ",
                           ctx.input(1).shape());
  }
  return Run(ctx, op, compute::Broadcast::Dense(a.num_elements(), 2), a);
}

}  // namespace thalweg
