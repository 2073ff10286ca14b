// SPDX-License-Identifier: Apache-2.0
// Reductions along some dimensions: Sum, Mean, Prod, EuclideanNorm, Max, Min, All, Any.
#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/reduction_axes.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/axis.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

// Which dimensions are reduced. An axis that is given twice is the step's to refuse: no release
// refuses it before.
Result<std::vector<bool>> ReducedDims(const Tensor& axes, int rank) {
  std::vector<bool> reduced(static_cast<size_t>(rank), false);
  for (int64_t i = 0; i < axes.num_elements(); ++i) {
    const std::optional<int> axis = AxisFromFront(IntAt(axes, i), rank);
    if (!axis.has_value()) {
      return InvalidArgument("Invalid reduction dimension ", IntAt(axes, i), " for input with ",
                             rank, " dimensions.");
    }
    reduced[static_cast<size_t>(*axis)] = true;
  }
  return reduced;
}

// Graphs of producers before this one may give axes as a matrix.
constexpr int kAxesAreAVector = 21;

Status ReduceShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const bool keep, c.Attr<bool>("keep_dims"));
  const PartialShape& x = c.input(0);
  const PartialShape& axes_shape = c.input(1);
  if (c.node().graph().versions().producer >= kAxesAreAVector) {
    RETURN_IF_ERROR(Explained(CheckRankAtMost(axes_shape.rank(), 1), "of input 1, the axes"));
  }
  if (!x.known_rank()) return OkStatus();
  const Tensor axes = c.InputValue(1);
  if (axes.empty()) {
    const int64_t count = axes_shape.num_elements();
    if (keep) c.set_output(0, PartialShape::OfRank(x.rank()));
    const bool each_once = count <= 1 || !TakesAxesTwice(c.node().graph());
    if (!keep && count >= 0 && count <= x.rank() && each_once) {
      c.set_output(0, PartialShape::OfRank(x.rank() - static_cast<int>(count)));
    }
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const std::vector<bool> reduced, ReducedDims(axes, x.rank()));
  Dims dims;
  for (int d = 0; d < x.rank(); ++d) {
    if (!reduced[d]) dims.push_back(x.dim(d));
    if (reduced[d] && keep) dims.push_back(1);
  }
  c.set_output(0, PartialShape(dims));
  return OkStatus();
}

// What Reshape is to be given for the input's shape with reduced dimensions of size 1; empty where
// the graph does not tell. One size may be unknown, which is -1 unless others are zero.
std::vector<int32_t> KnownKeptShape(const PartialShape& x, const std::vector<bool>& reduced) {
  std::vector<int32_t> kept;
  int unknown = 0;
  bool has_zero = false;
  for (int d = 0; d < x.rank(); ++d) {
    kept.push_back(reduced[static_cast<size_t>(d)] ? 1 : static_cast<int32_t>(x.dim(d)));
    unknown += kept.back() < 0;
    has_zero |= kept.back() == 0;
  }
  if (unknown > (has_zero ? 0 : 1)) kept.clear();
  return kept;
}

// The shape of the input with reduced dimensions of size 1, as an int32 vector for Reshape.
Output KeptShape(GradientContext& c, GradientMath& m) {
  const PartialShape& x = c.input(0).shape();
  const Tensor axes = ShapeContext(c.node()).InputValue(1);
  if (x.known_rank() && !axes.empty()) {
    Result<std::vector<bool>> reduced = ReducedDims(axes, x.rank());
    if (!reduced.ok()) {
      c.b().Fail(reduced.status());
      return {};
    }
    const std::vector<int32_t> kept = KnownKeptShape(x, *reduced);
    if (!kept.empty() || x.rank() == 0) return m.Ints(kept);
  }
  const Output shape = m.Shape(c.input(0));
  const Output rank = m.Op("Size", {shape});
  const Output given =
      m.Op("Reshape", {m.Op("Cast", {c.input(1)}, {{"DstT", DType::kInt32}}), m.Ints({-1})});
  const Output from_front = m.Op("FloorMod", {m.Add(given, rank), rank});
  const Output all = m.Op("Range", {m.Number(rank, 0), rank, m.Number(rank, 1)});
  const Output ones = m.Op("Fill", {m.Shape(from_front), m.Number(rank, 1)});
  return m.Op("DynamicStitch", {all, from_front, shape, ones});
}

// The incoming gradient repeated along the reduced dimensions; a scalar is repeated as it is.
Output Spread(GradientContext& c, GradientMath& m) {
  const PartialShape& y = c.output(0).shape();
  const bool is_scalar = y.known_rank() && y.rank() == 0;
  const Output grad = is_scalar ? c.grad(0) : m.Op("Reshape", {c.grad(0), KeptShape(c, m)});
  return m.Op("BroadcastTo", {grad, m.Shape(c.input(0))});
}

Status SumGradient(GradientContext& c) {
  GradientMath m(c);
  c.set_input_grad(0, Spread(c, m));
  return m.status();
}

Status MeanGradient(GradientContext& c) {
  GradientMath m(c);
  const Output spread = Spread(c, m), x = c.input(0);
  const int64_t in = x.shape().num_elements(), out = c.output(0).shape().num_elements();
  if (in >= 0 && out > 0) {
    const int64_t averaged = in / out;  // elements of each mean
    c.set_input_grad(0, m.Div(spread, m.Number(x, static_cast<double>(averaged))));
    return m.status();
  }
  const Output in_size = m.Op("Size", {x});
  const Output out_size = m.Op("Maximum", {m.Op("Size", {c.output(0)}), m.Number(in_size, 1)});
  const Output count = m.Op("FloorDiv", {in_size, out_size});
  c.set_input_grad(0, m.Div(spread, m.Op("Cast", {count}, {{"DstT", x.dtype()}})));
  return m.status();
}

// Elements that are equal to the extremum share its gradient.
Status ExtremumGradient(GradientContext& c) {
  GradientMath m(c);
  const Output kept = KeptShape(c, m), x = c.input(0);
  const Output y = m.Op("Reshape", {c.output(0), kept});
  const Output grad = m.Op("Reshape", {c.grad(0), kept});
  const Output chosen = m.Op("Cast", {m.Op("Equal", {y, x})}, {{"DstT", x.dtype()}});
  const Output count = m.Op("Reshape", {m.Op("Sum", {chosen, c.input(1)}), kept});
  c.set_input_grad(0, m.Mul(m.Div(chosen, count), grad));
  return m.status();
}

// x / |x|, which is not defined where the norm is zero.
Status EuclideanNormGradient(GradientContext& c) {
  GradientMath m(c);
  const Output kept = KeptShape(c, m);
  const Output norm = m.Op("Reshape", {c.output(0), kept});
  const Output grad = m.Op("Reshape", {c.grad(0), kept});
  c.set_input_grad(0, m.Div(c.input(0), m.Div(norm, grad)));
  return m.status();
}

// The product of all other elements, without dividing: reduced dimensions first, then the products
// before and behind each element.
Status ProdGradient(GradientContext& c) {
  GradientMath m(c);
  const Output x = c.input(0), rank = m.Op("Rank", {x});
  const Output zero = m.Number(rank, 0), one = m.Number(rank, 1);
  const Output given =
      m.Op("Reshape", {m.Op("Cast", {c.input(1)}, {{"DstT", DType::kInt32}}), m.Ints({-1})});
  const Output reduced = m.Op("FloorMod", {m.Add(given, rank), rank});
  // 1 for a reduced dimension, 0 for others; the order that puts the ones first.
  const Output ones = m.Op("Fill", {m.Shape(reduced), one});
  const Output mask = m.Op("UnsortedSegmentSum", {ones, reduced, rank});
  const Output order{c.b().OpNode("TopKV2", {mask, rank}), 1};
  const Output kept = m.Op("Size", {c.output(0)});
  const Output folded = m.Op("FloorDiv", {m.Op("Size", {x}), m.Op("Maximum", {kept, one})});
  const Output ordered = m.Op("Transpose", {x, order});
  const Output matrix = m.Op("Reshape", {ordered, m.Op("Pack", {folded, kept})});
  const Output before = m.Op("Cumprod", {matrix, zero}, {{"exclusive", true}});
  const Output behind = m.Op("Cumprod", {matrix, zero}, {{"exclusive", true}, {"reverse", true}});
  const Output others = m.Op("Reshape", {m.Conj(m.Mul(before, behind)), m.Shape(ordered)});
  const Output back = m.Op("Transpose", {others, m.Op("InvertPermutation", {order})});
  c.set_input_grad(0, m.Mul(Spread(c, m), back));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(reduce) {
  const auto add = [&](const char* op, GradientFn gradient, const char* doc) {
    registry.Op(op).Shape(ReduceShape).Gradient(gradient).Doc(doc);
  };
  add("Sum", SumGradient, "Sums along the given dimensions.");
  add("Mean", MeanGradient, "Means along the given dimensions.");
  add("EuclideanNorm", EuclideanNormGradient, "Roots of the sums of squares.");
  add("Prod", ProdGradient, "Products along the given dimensions.");
  add("Max", ExtremumGradient, "The largest elements along the given dimensions.");
  add("Min", ExtremumGradient, "The smallest elements along the given dimensions.");
  for (const char* op : {"All", "Any"}) {
    registry.Op(op)
        .Shape(ReduceShape)
        .NotDifferentiable("truth values have no derivatives")
        .Doc("Whether all, or any, elements along the given dimensions are true.");
  }
}
