// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/shape_values.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

namespace thalweg {
namespace {

constexpr int kMaxDepth = 32;
constexpr int kMaxVisits = 512;
constexpr int64_t kMaxElements = 1024;

// An integer that may be unknown.
using Number = std::optional<int64_t>;

// An integer scalar or vector of known length, some elements known.
struct Numbers {
  bool is_scalar = false;
  std::vector<Number> values;
};
using MaybeNumbers = std::optional<Numbers>;

MaybeNumbers ScalarOf(Number value) { return Numbers{true, {value}}; }

bool IsIdentity(std::string_view op) {
  return op == "Identity" || op == "StopGradient" || op == "Snapshot" || op == "PreventGradient" ||
         op == "EnsureShape";
}

template <class T>
MaybeNumbers NumbersOfType(const Tensor& tensor) {
  Numbers numbers{tensor.rank() == 0, {}};
  for (T value : tensor.flat<T>()) numbers.values.emplace_back(static_cast<int64_t>(value));
  return numbers;
}

MaybeNumbers NumbersOf(const Tensor& tensor) {
  if (tensor.empty() || tensor.rank() > 1 || tensor.num_elements() > kMaxElements) {
    return std::nullopt;
  }
  if (tensor.dtype() == DType::kInt32) return NumbersOfType<int32_t>(tensor);
  if (tensor.dtype() == DType::kInt64) return NumbersOfType<int64_t>(tensor);
  return std::nullopt;
}

Tensor ConstOf(const Node& node) {
  const AttrValue* value = node.op_name() == "Const" ? node.FindAttr("value") : nullptr;
  if (value == nullptr) return Tensor();
  Result<Tensor> tensor = value->Get<Tensor>();
  return tensor.ok() ? *std::move(tensor) : Tensor();
}

// Evaluates small integer values. The depth is limited, so recursion is.
class Evaluator {
 public:
  MaybeNumbers Evaluate(const Output& output, int depth = 0) {
    if (output.node == nullptr || depth > kMaxDepth || ++visits_ > kMaxVisits) return std::nullopt;
    const Node& node = *output.node;
    const std::string& op = node.op_name();
    if (op == "Const") return NumbersOf(ConstOf(node));
    if (op == "Shape" || op == "ShapeN") return ShapeOf(node.input(output.index).shape());
    if (op == "Rank" || op == "Size") return Measure(node);
    if (output.index != 0 || !IsIndexType(node.output_type(0))) return std::nullopt;
    if (IsIdentity(op)) return Evaluate(node.input(0), depth + 1);
    if (op == "Cast") return Cast(node, depth + 1);
    if (op == "Pack") return Pack(node, depth + 1);
    if (op == "ConcatV2") return Concat(node, 0, node.num_inputs() - 1, depth + 1);
    if (op == "Concat") return Concat(node, 1, node.num_inputs(), depth + 1);
    if (op == "Slice") return Slice(node, depth + 1);
    if (op == "StridedSlice") return StridedSlice(node, depth + 1);
    if (op == "Reshape") return Reshape(node, depth + 1);
    if (op == "ExpandDims" || op == "Squeeze") return ChangeRank(node, depth + 1);
    if (op == "Gather" || op == "GatherV2") return Gather(node, depth + 1);
    if (op == "Range") return Range(node, depth + 1);
    if (op == "Fill") return Fill(node, depth + 1);
    if (op == "Prod") return Product(node, depth + 1);
    return Arithmetic(node, depth + 1);
  }

 private:
  static bool IsIndexType(DType type) { return type == DType::kInt32 || type == DType::kInt64; }

  static MaybeNumbers ShapeOf(const PartialShape& shape) {
    if (!shape.known_rank()) return std::nullopt;
    Numbers numbers;
    for (int64_t dim : shape.dims()) {
      numbers.values.push_back(dim == PartialShape::kUnknownDim ? Number() : Number(dim));
    }
    return numbers;
  }

  static MaybeNumbers Measure(const Node& node) {
    const PartialShape& shape = node.input(0).shape();
    if (node.op_name() == "Rank") {
      return shape.known_rank() ? ScalarOf(shape.rank()) : MaybeNumbers();
    }
    const int64_t elements = shape.num_elements();
    return elements >= 0 ? ScalarOf(elements) : MaybeNumbers();
  }

  Number Scalar(const Output& output, int depth) {
    const MaybeNumbers numbers = Evaluate(output, depth);
    return numbers.has_value() && numbers->values.size() == 1 ? numbers->values[0] : Number();
  }

  MaybeNumbers Cast(const Node& node, int depth) {
    MaybeNumbers numbers = Evaluate(node.input(0), depth);
    if (numbers.has_value() && node.output_type(0) == DType::kInt32) {
      for (Number& value : numbers->values) {
        if (value.has_value() && *value != static_cast<int32_t>(*value)) value = Number();
      }
    }
    return numbers;
  }

  MaybeNumbers Pack(const Node& node, int depth) {
    Numbers packed;
    for (const Output& input : node.inputs()) {
      if (input.shape().known_rank() && input.shape().rank() != 0) return std::nullopt;
      const MaybeNumbers numbers = Evaluate(input, depth);
      if (numbers.has_value() && !numbers->is_scalar) return std::nullopt;
      // Nothing is certain of a shape that is not known to be a scalar's.
      if (!numbers.has_value() && !input.shape().known_rank()) return std::nullopt;
      packed.values.push_back(numbers.has_value() ? numbers->values[0] : Number());
    }
    return packed;
  }

  MaybeNumbers Concat(const Node& node, int begin, int end, int depth) {
    Numbers joined;
    for (int i = begin; i < end; ++i) {
      const MaybeNumbers part = Evaluate(node.input(i), depth);
      if (part.has_value()) {
        if (part->is_scalar) return std::nullopt;
        joined.values.insert(joined.values.end(), part->values.begin(), part->values.end());
        continue;
      }
      const PartialShape& shape = node.input(i).shape();
      if (shape.rank() != 1 || shape.dim(0) == PartialShape::kUnknownDim ||
          shape.dim(0) > kMaxElements) {
        return std::nullopt;
      }
      joined.values.resize(joined.values.size() + static_cast<size_t>(shape.dim(0)));
    }
    return joined;
  }

  MaybeNumbers Slice(const Node& node, int depth) {
    const MaybeNumbers from = Evaluate(node.input(0), depth);
    const Number begin = Scalar(node.input(1), depth);
    const Number size = Scalar(node.input(2), depth);
    if (!from.has_value() || from->is_scalar || !begin.has_value() || !size.has_value()) {
      return std::nullopt;
    }
    const auto length = static_cast<int64_t>(from->values.size());
    if (*begin < 0 || *begin > length || *size < -1 || *size > length - *begin) return std::nullopt;
    const int64_t end = *size == -1 ? length : *begin + *size;
    return Numbers{false, {from->values.begin() + *begin, from->values.begin() + end}};
  }

  MaybeNumbers StridedSlice(const Node& node, int depth) {
    const auto mask = [&](std::string_view name) {
      const Result<int64_t> value = node.Attr<int64_t>(name);
      return value.ok() ? *value : int64_t{0};
    };
    if (mask("ellipsis_mask") != 0 || mask("new_axis_mask") != 0) return std::nullopt;
    const MaybeNumbers from = Evaluate(node.input(0), depth);
    const Number begin = Scalar(node.input(1), depth);
    const Number end = Scalar(node.input(2), depth);
    const Number stride = Scalar(node.input(3), depth);
    if (!from.has_value() || from->is_scalar || !stride.has_value() || *stride == 0) {
      return std::nullopt;
    }
    const auto length = static_cast<int64_t>(from->values.size());
    if ((mask("shrink_axis_mask") & 1) != 0) {
      if (!begin.has_value() || *begin < -length || *begin >= length) return std::nullopt;
      return ScalarOf(from->values[static_cast<size_t>(*begin < 0 ? *begin + length : *begin)]);
    }
    const bool forward = *stride > 0;
    const auto bound = [&](Number given, bool masked, int64_t open) -> Number {
      if (masked) return open;
      if (!given.has_value()) return given;
      const int64_t from_end = *given < 0 ? std::max(*given, -length - 1) + length : *given;
      return forward ? std::clamp(from_end, int64_t{0}, length)
                     : std::clamp(from_end, int64_t{-1}, length - 1);
    };
    const Number first = bound(begin, (mask("begin_mask") & 1) != 0, forward ? 0 : length - 1);
    const Number last = bound(end, (mask("end_mask") & 1) != 0, forward ? length : -1);
    if (!first.has_value() || !last.has_value()) return std::nullopt;
    const int64_t step = std::clamp(*stride, -length - 1, length + 1);
    Numbers taken;
    for (int64_t i = *first; forward ? i < *last : i > *last; i += step) {
      taken.values.push_back(from->values[static_cast<size_t>(i)]);
    }
    return taken;
  }

  MaybeNumbers Reshape(const Node& node, int depth) {
    MaybeNumbers from = Evaluate(node.input(0), depth);
    const MaybeNumbers shape = Evaluate(node.input(1), depth);
    if (!from.has_value() || !shape.has_value() || shape->is_scalar) return std::nullopt;
    const auto length = static_cast<int64_t>(from->values.size());
    if (shape->values.empty() && length == 1) return ScalarOf(from->values[0]);
    if (shape->values.size() != 1 || !shape->values[0].has_value()) return std::nullopt;
    if (*shape->values[0] != -1 && *shape->values[0] != length) return std::nullopt;
    from->is_scalar = false;
    return from;
  }

  // ExpandDims of a scalar, Squeeze of a vector of one element.
  MaybeNumbers ChangeRank(const Node& node, int depth) {
    MaybeNumbers from = Evaluate(node.input(0), depth);
    const bool expand = node.op_name() == "ExpandDims";
    if (!from.has_value() || from->is_scalar != expand || from->values.size() != 1) {
      return std::nullopt;
    }
    from->is_scalar = !expand;
    return from;
  }

  MaybeNumbers Gather(const Node& node, int depth) {
    const MaybeNumbers from = Evaluate(node.input(0), depth);
    const MaybeNumbers indices = Evaluate(node.input(1), depth);
    if (!from.has_value() || from->is_scalar || !indices.has_value()) return std::nullopt;
    Numbers taken{indices->is_scalar, {}};
    for (const Number& index : indices->values) {
      if (!index.has_value()) {
        taken.values.emplace_back();
        continue;
      }
      if (*index < 0 || *index >= static_cast<int64_t>(from->values.size())) return std::nullopt;
      taken.values.push_back(from->values[static_cast<size_t>(*index)]);
    }
    return taken;
  }

  MaybeNumbers Range(const Node& node, int depth) {
    const Number start = Scalar(node.input(0), depth);
    const Number limit = Scalar(node.input(1), depth);
    const Number delta = Scalar(node.input(2), depth);
    if (!start.has_value() || !limit.has_value() || !delta.has_value() || *delta == 0) {
      return std::nullopt;
    }
    Numbers range;
    for (int64_t value = *start; *delta > 0 ? value < *limit : value > *limit;) {
      if (static_cast<int64_t>(range.values.size()) == kMaxElements) return std::nullopt;
      range.values.emplace_back(value);
      if (__builtin_add_overflow(value, *delta, &value)) break;
    }
    return range;
  }

  MaybeNumbers Fill(const Node& node, int depth) {
    const MaybeNumbers dims = Evaluate(node.input(0), depth);
    if (!dims.has_value() || dims->is_scalar || dims->values.size() != 1) return std::nullopt;
    const Number length = dims->values[0];
    if (!length.has_value() || *length < 0 || *length > kMaxElements) return std::nullopt;
    return Numbers{false,
                   std::vector<Number>(static_cast<size_t>(*length), Scalar(node.input(1), depth))};
  }

  MaybeNumbers Product(const Node& node, int depth) {
    const MaybeNumbers from = Evaluate(node.input(0), depth);
    const Result<bool> keep = node.Attr<bool>("keep_dims");
    // The one axis there is.
    const Number axis = Scalar(node.input(1), depth);
    if (!from.has_value() || from->is_scalar || !keep.ok() || *keep || !axis.has_value() ||
        (*axis != 0 && *axis != -1)) {
      return std::nullopt;
    }
    int64_t product = 1;
    for (const Number& value : from->values) {
      if (!value.has_value() || __builtin_mul_overflow(product, *value, &product)) {
        return ScalarOf(Number());
      }
    }
    return ScalarOf(InRange(node, product));
  }

  static Number InRange(const Node& node, int64_t value) {
    const bool fits = node.output_type(0) == DType::kInt64 || value == static_cast<int32_t>(value);
    return fits ? Number(value) : Number();
  }

  static Number Combine(std::string_view op, const Number& a, const Number& b) {
    if (!a.has_value() || !b.has_value()) return Number();
    int64_t result = 0;
    if (op == "Mul") return __builtin_mul_overflow(*a, *b, &result) ? Number() : Number(result);
    if (op == "Sub") return __builtin_sub_overflow(*a, *b, &result) ? Number() : Number(result);
    if (op == "Maximum") return std::max(*a, *b);
    if (op == "Minimum") return std::min(*a, *b);
    if (op == "FloorDiv") {  // of sizes; other signs are left to the kernel
      return *a >= 0 && *b > 0 ? Number(*a / *b) : Number();
    }
    return __builtin_add_overflow(*a, *b, &result) ? Number() : Number(result);
  }

  MaybeNumbers Arithmetic(const Node& node, int depth) {
    static constexpr std::string_view kOps[] = {"Add",     "AddV2",   "Sub",     "Mul",
                                                "Maximum", "Minimum", "FloorDiv"};
    const std::string& op = node.op_name();
    if (std::find(std::begin(kOps), std::end(kOps), op) == std::end(kOps)) return std::nullopt;
    const MaybeNumbers a = Evaluate(node.input(0), depth);
    const MaybeNumbers b = Evaluate(node.input(1), depth);
    if (!a.has_value() || !b.has_value()) return std::nullopt;
    const size_t length = std::max(a->values.size(), b->values.size());
    const bool fits =
        a->values.size() == b->values.size() || a->values.size() == 1 || b->values.size() == 1;
    if (!fits || a->values.empty() || b->values.empty()) return std::nullopt;
    Numbers result{a->is_scalar && b->is_scalar, {}};
    for (size_t i = 0; i < length; ++i) {
      const Number value = Combine(op, a->values[a->values.size() == 1 ? 0 : i],
                                   b->values[b->values.size() == 1 ? 0 : i]);
      result.values.push_back(value.has_value() ? InRange(node, *value) : value);
    }
    return result;
  }

  int visits_ = 0;
};

// Empty when a number is unknown or does not fit (a dimension beyond int32).
template <class T>
Tensor TensorOf(const Numbers& numbers) {
  std::vector<T> values;
  for (const Number& number : numbers.values) {
    if (!number.has_value() || *number != static_cast<T>(*number)) return Tensor();
    values.push_back(static_cast<T>(*number));
  }
  if (numbers.is_scalar) return Tensor::Scalar(values[0]);
  return Tensor::Of<T>(values, Shape{static_cast<int64_t>(values.size())});
}

}  // namespace

Tensor ConstantValue(const Output& output) {
  Output source = output;
  for (int depth = 0; source.node != nullptr && depth < kMaxDepth; ++depth) {
    if (!IsIdentity(source.node->op_name())) break;
    source = source.node->input(0);
  }
  if (source.node == nullptr) return Tensor();
  if (source.node->op_name() == "Const") return ConstOf(*source.node);
  const MaybeNumbers numbers = Evaluator().Evaluate(source);
  if (!numbers.has_value()) return Tensor();
  if (source.dtype() == DType::kInt32) return TensorOf<int32_t>(*numbers);
  if (source.dtype() == DType::kInt64) return TensorOf<int64_t>(*numbers);
  return Tensor();
}

PartialShape ConstantValueAsShape(const Output& output) {
  const MaybeNumbers numbers = Evaluator().Evaluate(output);
  if (!numbers.has_value() || numbers->is_scalar ||
      numbers->values.size() > static_cast<size_t>(kMaxRank)) {
    // The length alone says the rank.
    const PartialShape& shape = output.shape();
    const bool is_vector =
        shape.rank() == 1 && shape.dim(0) != PartialShape::kUnknownDim && shape.dim(0) <= kMaxRank;
    return is_vector ? PartialShape::OfRank(static_cast<int>(shape.dim(0)))
                     : PartialShape::Unknown();
  }
  std::vector<int64_t> dims;
  for (const Number& number : numbers->values) {
    dims.push_back(number.has_value() && *number >= 0 ? *number : PartialShape::kUnknownDim);
  }
  Result<PartialShape> shape = PartialShape::Make(dims);
  return shape.ok() ? *std::move(shape) : PartialShape::Unknown();
}

}  // namespace thalweg
