// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// The inputs of a Concat (axis first) or ConcatV2 (axis behind the values). Ranges come last.
struct Layout {
  int axis;
  int begin;
  int end;
};

template <bool kAxisFirst>
Layout LayoutOf(const Node& node) {
  const int n = static_cast<int>(*node.Attr<int64_t>("N"));
  return kAxisFirst ? Layout{0, 1, n + 1} : Layout{n, 0, n};
}

// Joins `next` to what is known of the values before it; the dimension `axis` adds up.
Status Join(PartialShape& joined, const PartialShape& next, int axis, int input) {
  for (int d = 0; d < joined.rank(); ++d) {
    if (d == axis) {
      const bool known = joined.dim(d) >= 0 && next.dim(d) >= 0;
      int64_t sum = PartialShape::kUnknownDim;
      if (known && __builtin_add_overflow(joined.dim(d), next.dim(d), &sum)) {
        return InvalidArgument("the sizes along axis ", axis, " add up beyond 64 bits");
      }
      joined.set_dim(d, sum);
      continue;
    }
    Result<int64_t> merged = MergeDims(joined.dim(d), next.dim(d));
    if (!merged.ok()) {
      // As TensorFlow counts: without the dimension that adds up.
      Dims before = joined.dims(), own = next.dims();
      before.erase(axis);
      own.erase(axis);
      return InvalidArgument(
          "Dimension ", d > axis ? d - 1 : d, " in both shapes must be equal, but are ",
          joined.dim(d), " and ", next.dim(d), ". Shapes are ", PartialShape(before), " and ",
          PartialShape(own), ".; input ", input, " is ", next, ", those before it ", joined);
    }
    joined.set_dim(d, *merged);
  }
  return OkStatus();
}

template <bool kAxisFirst>
Status ConcatShape(ShapeContext& c) {
  const Layout layout = LayoutOf<kAxisFirst>(c.node());
  RETURN_IF_ERROR(c.InputWithRank(layout.axis, 0).status());
  const Tensor axis_value = c.InputValue(layout.axis);
  int rank = -1;
  bool all_known = true;
  for (int i = layout.begin; i < layout.end; ++i) {
    if (c.input(i).known_rank()) {
      RETURN_IF_ERROR(Explained(CheckRank(c.input(i).rank(), rank), "input ", i - layout.begin,
                                " is ", c.input(i), ", of ", rank,
                                " dimensions were those before"));
      rank = c.input(i).rank();
    } else {
      all_known = false;
    }
  }
  if (rank < 0) return OkStatus();
  if (rank == 0) return InvalidArgument("Can't concatenate scalars (use tf.stack instead)");
  if (axis_value.empty()) {
    c.set_output(0, PartialShape::OfRank(rank));
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const int axis, CheckAxis(IntAt(axis_value, 0), rank));
  PartialShape joined;
  for (int i = layout.begin; i < layout.end; ++i) {
    if (!c.input(i).known_rank()) continue;
    if (!joined.known_rank()) {
      joined = c.input(i);
    } else {
      RETURN_IF_ERROR(Join(joined, c.input(i), axis, i - layout.begin));
    }
  }
  if (!all_known) joined.set_dim(axis, PartialShape::kUnknownDim);
  c.set_output(0, std::move(joined));
  return OkStatus();
}

template <bool kAxisFirst>
Status QuantizedConcatShape(ShapeContext& c) {
  const int ranges = LayoutOf<kAxisFirst>(c.node()).end + (kAxisFirst ? 0 : 1);
  for (int i = ranges; i < c.num_inputs(); ++i) {
    if (c.input(i).IsFullyDefined() && c.input(i).num_elements() != 1) {
      return InvalidArgument("the ends of a range must have one element, got shape ", c.input(i));
    }
  }
  c.set_output(1, PartialShape(Shape{}));
  c.set_output(2, PartialShape(Shape{}));
  return ConcatShape<kAxisFirst>(c);
}

Status ConcatOffsetShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  for (int i = 0; i < c.num_outputs(); ++i) {
    ASSIGN_OR_RETURN(PartialShape shape, c.InputWithRank(i + 1, 1));
    c.set_output(i, std::move(shape));
  }
  return OkStatus();
}

// Each value gets back the slice that it became.
template <bool kAxisFirst>
Status ConcatGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  const Layout layout = LayoutOf<kAxisFirst>(c.node());
  GraphBuilder& b = c.b();
  const Output grad = c.grad(0);
  const int n = layout.end - layout.begin;
  if (n == 1) {
    c.set_input_grad(layout.begin, grad);
    return OkStatus();
  }
  Output axis = c.input(layout.axis);
  if (axis.dtype() != DType::kInt32) axis = b.Op("Cast", {axis}, {{"DstT", DType::kInt32}});
  std::vector<Output> values;
  for (int i = layout.begin; i < layout.end; ++i) values.push_back(c.input(i));
  Node* shapes = b.OpNode("ShapeN", values);
  if (shapes == nullptr) return b.status();
  std::vector<Output> offset_inputs = {axis};
  for (int i = 0; i < n; ++i) offset_inputs.push_back({shapes, i});
  Node* offsets = b.OpNode("ConcatOffset", std::move(offset_inputs));
  if (offsets == nullptr) return b.status();
  for (int i = 0; i < n; ++i) {
    c.set_input_grad(layout.begin + i,
                     b.Op("Slice", {grad, Output{offsets, i}, Output{shapes, i}}));
  }
  return b.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(concat) {
  registry.Op("Concat")
      .Shape(ConcatShape<true>)
      .Gradient(ConcatGradient<true>)
      .Doc("Tensors joined along one of their dimensions.");
  registry.Op("ConcatV2")
      .Shape(ConcatShape<false>)
      .Gradient(ConcatGradient<false>)
      .Doc("Tensors joined along one of their dimensions.");
  registry.Op("QuantizedConcat")
      .Shape(QuantizedConcatShape<true>)
      .NotDifferentiable("levels are integers")
      .Doc("Levels joined along a dimension, in a range that holds all of theirs.");
  registry.Op("QuantizedConcatV2")
      .Shape(QuantizedConcatShape<false>)
      .NotDifferentiable("levels are integers")
      .Doc("Levels joined along a dimension, in a range that holds all of theirs.");
  registry.Op("ConcatOffset")
      .Shape(ConcatOffsetShape)
      .NotDifferentiable("it computes with shapes")
      .Doc("Where each input begins in what Concat makes of them.");
}
