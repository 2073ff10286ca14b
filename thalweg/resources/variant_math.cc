// SPDX-License-Identifier: Apache-2.0
// AddVariants and ZerosLikeVariants. Both go down into what a variant holds by recursion.
#include "thalweg/compute/ew/ew.h"
#include "thalweg/compute/move/strided_copy.h"
#include "thalweg/resources/loop_stack.h"
#include "thalweg/resources/optional_value.h"
#include "thalweg/resources/tensor_list.h"
#include "thalweg/resources/tensor_map.h"
#include "thalweg/resources/variant_arithmetic.h"

namespace thalweg {
namespace {

// Deeper than lists and optionals may be nested; stacks may hold those and be held by them.
constexpr int kMaxDepth = 2 * NestedVariant::kMaxDepth;

Status CheckLevel(int depth) {
  if (depth <= kMaxDepth) return OkStatus();
  return InvalidArgument("variants are nested more than ", kMaxDepth, " deep");
}

Result<Tensor> AddAll(Context& ctx, const Tensor& a, const Tensor& b, int depth);
Result<Tensor> ZerosOf(Context& ctx, const Tensor& x, int depth);

// The sum of two tensors of any type that has one.
Result<Tensor> AddTensors(Context& ctx, const Tensor& a, const Tensor& b, int depth) {
  if (a.dtype() != b.dtype()) {
    return InvalidArgument("Trying to add tensors of different dtypes. One is ", a.dtype(),
                           " and the other is ", b.dtype());
  }
  if (a.shape() != b.shape()) {
    return InvalidArgument("Trying to add tensors of different shapes. One is ", a.shape(),
                           " and the other is ", b.shape());
  }
  if (a.dtype() == DType::kVariant) return AddAll(ctx, a, b, depth + 1);
  if (!compute::HasBinary(compute::BinaryOp::kAdd, a.dtype())) {
    return InvalidArgument("Trying to add unsupported dtype ", a.dtype());
  }
  ASSIGN_OR_RETURN(Tensor sum, Tensor::Allocate(ctx.allocator(), a.dtype(), a.shape()));
  RETURN_IF_ERROR(compute::RunBinary(ctx.work(), compute::BinaryOp::kAdd, a.dtype(),
                                     compute::Broadcast::Dense(a.num_elements(), 2), a.raw_data(),
                                     b.raw_data(), sum.mutable_raw_data()));
  return sum;
}

Result<Variant> AddLists(Context& ctx, const TensorList& a, const TensorList& b, int depth) {
  if (a.element_dtype() != b.element_dtype()) {
    return InvalidArgument("Trying to add two lists of tensors of different dtypes. One is ",
                           a.element_dtype(), " and the other is ", b.element_dtype());
  }
  if (a.size() != b.size()) {
    return InvalidArgument("Trying to add two lists of tensors with different lengths. One is ",
                           a.size(), " and the other is ", b.size());
  }
  if (!a.element_shape().IsCompatibleWith(b.element_shape())) {
    return InvalidArgument("Trying to add two lists of tensors with incompatible element shapes. ",
                           "One is ", a.element_shape(), " and the other is ", b.element_shape());
  }
  ASSIGN_OR_RETURN(PartialShape shape, a.element_shape().MergeWith(b.element_shape()));
  auto sum = std::make_shared<TensorList>(a.element_dtype(), std::move(shape));
  RETURN_IF_ERROR(sum->Resize(ctx.allocator(), a.size()));
  for (int64_t i = 0; i < a.size(); ++i) {
    if (a.at(i).empty() || b.at(i).empty()) {
      RETURN_IF_ERROR(sum->Set(i, a.at(i).empty() ? b.at(i) : a.at(i)));
      continue;
    }
    ASSIGN_OR_RETURN(Tensor element, AddTensors(ctx, a.at(i), b.at(i), depth));
    RETURN_IF_ERROR(sum->Set(i, std::move(element)));
  }
  return Variant(std::move(sum));
}

Result<Variant> AddOptionals(Context& ctx, const OptionalValue& a, const OptionalValue& b,
                             int depth) {
  if (a.has_value() != b.has_value()) {
    return InvalidArgument("Cannot add optionals because one has a value and the other doesn't.");
  }
  if (!a.has_value()) return Variant(std::make_shared<const OptionalValue>());
  if (a.components().size() != b.components().size()) {
    return InvalidArgument("Cannot add optionals because they have different numbers of ",
                           "components (", a.components().size(), " vs. ", b.components().size(),
                           ").");
  }
  std::vector<Tensor> sums;
  for (size_t i = 0; i < a.components().size(); ++i) {
    ASSIGN_OR_RETURN(Tensor sum, AddTensors(ctx, a.components()[i], b.components()[i], depth));
    sums.push_back(std::move(sum));
  }
  return Variant(std::make_shared<const OptionalValue>(std::move(sums)));
}

// A key that only one of them has keeps its value.
Result<Variant> AddMaps(Context& ctx, const TensorMap& a, const TensorMap& b, int depth) {
  auto sum = std::make_shared<TensorMap>(a);
  for (const auto& [turn, entry] : b.entries()) {
    const Tensor* const there = a.Find(entry.key);
    Tensor value = entry.value;
    if (there != nullptr) {
      ASSIGN_OR_RETURN(value, AddTensors(ctx, *there, entry.value, depth));
    }
    RETURN_IF_ERROR(sum->Insert(entry.key, std::move(value)));
  }
  return Variant(std::move(sum));
}

Result<Variant> AddElements(Context& ctx, const Variant& a, const Variant& b, int depth) {
  const auto *list_a = a.As<TensorList>(), *list_b = b.As<TensorList>();
  if (list_a != nullptr && list_b != nullptr) return AddLists(ctx, *list_a, *list_b, depth);
  const auto *optional_a = a.As<OptionalValue>(), *optional_b = b.As<OptionalValue>();
  if (optional_a != nullptr && optional_b != nullptr) {
    return AddOptionals(ctx, *optional_a, *optional_b, depth);
  }
  const auto *map_a = a.As<TensorMap>(), *map_b = b.As<TensorMap>();
  if (map_a != nullptr && map_b != nullptr) return AddMaps(ctx, *map_a, *map_b, depth);
  const auto* own = a.As<ArithmeticVariant>();
  if (own != nullptr && b.get() != nullptr) return own->Plus(ctx, *b.get());
  return Unimplemented("sums of these variants are not known");
}

Result<Tensor> AddAll(Context& ctx, const Tensor& a, const Tensor& b, int depth) {
  RETURN_IF_ERROR(CheckLevel(depth));
  ASSIGN_OR_RETURN(Tensor sum, Tensor::Allocate(ctx.allocator(), DType::kVariant, a.shape()));
  for (int64_t i = 0; i < a.num_elements(); ++i) {
    ASSIGN_OR_RETURN(sum.mutable_data<Variant>()[i],
                     AddElements(ctx, a.data<Variant>()[i], b.data<Variant>()[i], depth));
  }
  return sum;
}

Result<Variant> ZeroList(Context& ctx, const TensorList& list, int depth) {
  auto zeros = std::make_shared<TensorList>(list.element_dtype(), list.element_shape());
  RETURN_IF_ERROR(zeros->Resize(ctx.allocator(), list.size()));
  for (int64_t i = 0; i < list.size(); ++i) {
    if (list.at(i).empty()) continue;
    ASSIGN_OR_RETURN(Tensor zero, ZerosOf(ctx, list.at(i), depth + 1));
    RETURN_IF_ERROR(zeros->Set(i, std::move(zero)));
  }
  return Variant(std::move(zeros));
}

Result<Variant> ZeroOptional(Context& ctx, const OptionalValue& optional, int depth) {
  if (!optional.has_value()) return Variant(std::make_shared<const OptionalValue>());
  std::vector<Tensor> zeros;
  for (const Tensor& component : optional.components()) {
    ASSIGN_OR_RETURN(Tensor zero, ZerosOf(ctx, component, depth + 1));
    zeros.push_back(std::move(zero));
  }
  return Variant(std::make_shared<const OptionalValue>(std::move(zeros)));
}

// As many records, with zeros for those values that can have a gradient.
Result<Variant> ZeroLoopStack(Context& ctx, const LoopStack& stack, int depth) {
  std::vector<const LoopStack*> records;
  for (const LoopStack* h = &stack; h->length() > 0; h = h->earlier().get()) {
    records.push_back(h);
  }
  auto zeros = std::make_shared<const LoopStack>();
  for (auto record = records.rbegin(); record != records.rend(); ++record) {
    std::vector<Tensor> values;
    for (const Tensor& value : (*record)->latest()) {
      const DType type = value.dtype();
      if (!IsFloating(type) && !IsComplex(type) && type != DType::kVariant) continue;
      ASSIGN_OR_RETURN(Tensor zero, ZerosOf(ctx, value, depth + 1));
      values.push_back(std::move(zero));
    }
    zeros = std::make_shared<const LoopStack>(std::move(zeros), std::move(values));
  }
  return Variant(std::move(zeros));
}

Result<Variant> ZeroElement(Context& ctx, const Variant& x, int depth) {
  if (const auto* list = x.As<TensorList>(); list != nullptr) return ZeroList(ctx, *list, depth);
  if (const auto* optional = x.As<OptionalValue>(); optional != nullptr) {
    return ZeroOptional(ctx, *optional, depth);
  }
  if (const auto* stack = x.As<LoopStack>(); stack != nullptr) {
    return ZeroLoopStack(ctx, *stack, depth);
  }
  if (const auto* own = x.As<ArithmeticVariant>(); own != nullptr) return own->Zeros(ctx);
  // A key that is not there counts as zero.
  if (x.As<TensorMap>() != nullptr) return Variant(std::make_shared<const TensorMap>());
  return Unimplemented("zeros like this variant are not known");
}

Result<Tensor> ZerosOf(Context& ctx, const Tensor& x, int depth) {
  RETURN_IF_ERROR(CheckLevel(depth));
  ASSIGN_OR_RETURN(Tensor zeros, Tensor::Allocate(ctx.allocator(), x.dtype(), x.shape()));
  if (x.dtype() != DType::kVariant) {
    RETURN_IF_ERROR(
        compute::FillZeros(ctx.work(), x.dtype(), zeros.mutable_raw_data(), zeros.num_elements()));
    return zeros;
  }
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    ASSIGN_OR_RETURN(zeros.mutable_data<Variant>()[i],
                     ZeroElement(ctx, x.data<Variant>()[i], depth));
  }
  return zeros;
}

}  // namespace

Result<Tensor> AddVariants(Context& ctx, const Tensor& a, const Tensor& b) {
  return AddAll(ctx, a, b, 1);
}

Result<Tensor> ZerosLikeVariants(Context& ctx, const Tensor& x) { return ZerosOf(ctx, x, 1); }

}  // namespace thalweg
