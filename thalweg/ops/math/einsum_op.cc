// SPDX-License-Identifier: Apache-2.0
// Einsum of one or two tensors: sums of products over named dimensions.
#include <map>
#include <string>

#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/ops/math/einsum_equation.h"

namespace thalweg {
namespace {

constexpr int64_t kUnknown = PartialShape::kUnknownDim;

// One size from those that a label has in both inputs.
Result<int64_t> MergeSizes(int label, int64_t a, int64_t b) {
  if (label < EinsumLabels::kBroadcast) return MergeDims(a, b);
  ASSIGN_OR_RETURN(const PartialShape both, BroadcastShapes(PartialShape{a}, PartialShape{b}));
  return both.dim(0);
}

bool HasEllipsis(const std::string& labels) {
  return labels.find(EinsumEquation::kEllipsis) != std::string::npos;
}

// The number of dimensions that the ellipsis among the labels of a tensor of this rank stands for.
Result<int> EllipsisRank(const std::string& labels, int rank) {
  const bool dots = HasEllipsis(labels);
  const int named = static_cast<int>(labels.size()) - (dots ? 1 : 0);
  RETURN_IF_ERROR(dots ? CheckRankAtLeast(rank, named) : CheckRank(rank, named));
  return rank - named;
}

Status EinsumShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const std::string text, c.Attr<std::string>("equation"));
  ASSIGN_OR_RETURN(const EinsumEquation equation, EinsumEquation::Parse(text));
  if (equation.inputs.size() != static_cast<size_t>(c.num_inputs())) {
    return InvalidArgument("Expected ", equation.inputs.size(),
                           " inputs but got: ", c.num_inputs());
  }
  const bool keeps_rest = HasEllipsis(equation.output);
  std::vector<int> ranks;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (!c.input(i).known_rank()) {
      if (!keeps_rest) {
        c.set_output(0, PartialShape::OfRank(static_cast<int>(equation.output.size())));
      }
      return OkStatus();
    }
    ranks.push_back(c.input(i).rank());
    const Result<int> rest = EllipsisRank(equation.inputs[static_cast<size_t>(i)], ranks.back());
    RETURN_IF_ERROR(Explained(rest.status(), "of input ", i, " of '", text, "'"));
    if (!keeps_rest) {
      RETURN_IF_ERROR(Explained(CheckRankAtMost(*rest, 0), "of what an ellipsis of '", text,
                                "' stands for, which has none in its output"));
    }
  }
  ASSIGN_OR_RETURN(const EinsumLabels labels, equation.Expand(ranks));
  std::map<int, int64_t> sizes;
  for (int i = 0; i < c.num_inputs(); ++i) {
    for (int d = 0; d < c.input(i).rank(); ++d) {
      const int label = labels.inputs[i][d];
      const int64_t size = c.input(i).dim(d);
      const auto known = sizes.try_emplace(label, size).first;
      Result<int64_t> merged = MergeSizes(label, known->second, size);
      RETURN_IF_ERROR(Explained(merged.status(), "at axis ", d, " of input ", i,
                                ", whose shape is ", c.input(i), ", of '", text, "'"));
      known->second = *merged;
    }
  }
  Dims dims;
  for (const int label : labels.output) dims.push_back(sizes.at(label));
  c.set_output(0, PartialShape(dims));
  return OkStatus();
}

// The gradient functions write labels as strings, kEllipsis in them.
using Labels = std::string;
constexpr char kEllipsis = EinsumEquation::kEllipsis;

bool Has(const Labels& labels, char label) { return labels.find(label) != labels.npos; }

Output Product(GradientMath& m, const Labels& a, Output x, const Labels& b, Output y,
               const Labels& out) {
  const std::string equation =
      EinsumEquation::Text(a) + "," + EinsumEquation::Text(b) + "->" + EinsumEquation::Text(out);
  return m.Op("Einsum", {x, y}, {{"equation", equation}});
}

Output Slice(GradientMath& m, Output vector, int begin, int end, bool to_end) {
  return m.Op("StridedSlice", {vector, m.Ints({begin}), m.Ints({end}), m.Ints({1})},
              {{"end_mask", int64_t{to_end}}});
}

// The sizes of the dimensions that the ellipsis of `labels` stands for.
Output BroadcastShape(GradientMath& m, const Labels& labels, Output x) {
  const size_t at = labels.find(kEllipsis);
  if (at == labels.npos) return m.Ints({});
  const int before = static_cast<int>(at), behind = static_cast<int>(labels.size() - at) - 1;
  return Slice(m, m.Shape(x), before, -behind, behind == 0);
}

// The size of the first dimension of x that has this label, as a vector.
Output SizeOf(GradientMath& m, const Labels& labels, char label, Output x) {
  const size_t dots = labels.find(kEllipsis), at = labels.find(label);
  const bool from_end = dots != labels.npos && at > dots;
  const int place = static_cast<int>(at) - (from_end ? static_cast<int>(labels.size()) : 0);
  return Slice(m, m.Shape(x), place, place + 1, place == -1);
}

// x, whose labels are `from`, as a tensor with the labels `to` of `like`: missing ones repeat it,
// repeated ones put it on a diagonal.
Output Spread(GradientMath& m, const Labels& from, Output x, const Labels& to, Output like) {
  if (from == to) return x;
  Labels missing;
  std::vector<Output> sizes;
  for (const char label : to) {
    if (label == kEllipsis || Has(from, label) || Has(missing, label)) continue;
    missing += label;
    sizes.push_back(SizeOf(m, to, label, like));
  }
  if (missing.empty()) {
    return m.Op("Einsum", {x},
                {{"equation", EinsumEquation::Text(from) + "->" + EinsumEquation::Text(to)}});
  }
  Output shape = sizes[0];
  if (sizes.size() > 1) {
    sizes.push_back(m.Op("Const", {}, {{"dtype", DType::kInt32}, {"value", Tensor::Scalar(0)}}));
    shape = m.Op("ConcatV2", sizes);
  }
  return Product(m, from, x, missing, m.Op("Fill", {shape, m.Number(x, 1)}), to);
}

struct Operand {
  Labels labels;
  Output value;
};

// The gradient of the first factor: the product of grad and the other, summed along the dimensions
// in which the first was broadcast.
Output FactorGradient(GraphBuilder& b, GradientMath& m, const Operand& grad, const Operand& x,
                      const Operand& y) {
  Labels direct;
  for (const char label : x.labels) {
    if (label != kEllipsis && !Has(direct, label) &&
        (Has(grad.labels, label) || Has(y.labels, label)))
      direct += label;
  }
  const bool dots = Has(grad.labels, kEllipsis);
  Output product = Product(m, grad.labels, grad.value, y.labels, m.Conj(y.value),
                           dots ? kEllipsis + direct : direct);
  if (!dots) {
    Labels wanted = x.labels;
    std::erase(wanted, kEllipsis);  // which stands for nothing here
    return Spread(m, direct, product, wanted, x.value);
  }
  const Output own = BroadcastShape(m, x.labels, x.value);
  if (!m.status().ok()) return {};
  Node* axes = b.OpNode("BroadcastGradientArgs", {own, BroadcastShape(m, y.labels, y.value)});
  const Output shape = m.Shape(product);
  const auto count = static_cast<int>(direct.size());
  const Output tail = count == 0 ? m.Ints({}) : Slice(m, shape, -count, 0, true);
  if (!m.status().ok()) return {};
  const Output summed = m.Op("Sum", {product, {axes, 0}});
  const Output zero = m.Op("Const", {}, {{"dtype", DType::kInt32}, {"value", Tensor::Scalar(0)}});
  product = m.Op("Reshape", {summed, m.Op("ConcatV2", {own, tail, zero})});
  const Labels from = Has(x.labels, kEllipsis) ? kEllipsis + direct : direct;
  return Spread(m, from, product, x.labels, x.value);
}

Status EinsumGradient(GradientContext& c) {
  GradientMath m(c);
  ASSIGN_OR_RETURN(const std::string text, c.node().Attr<std::string>("equation"));
  ASSIGN_OR_RETURN(const EinsumEquation equation, EinsumEquation::Parse(text));
  const Operand grad{equation.output, c.grad(0)}, x{equation.inputs[0], c.input(0)};
  if (c.node().num_inputs() == 1) {
    Labels wanted = x.labels;
    if (!Has(grad.labels, kEllipsis)) std::erase(wanted, kEllipsis);
    Labels from = grad.labels;
    if (!Has(wanted, kEllipsis)) std::erase(from, kEllipsis);
    c.set_input_grad(0, Spread(m, from, grad.value, wanted, x.value));
    return m.status();
  }
  const Operand y{equation.inputs[1], c.input(1)};
  c.set_input_grad(0, FactorGradient(c.b(), m, grad, x, y));
  c.set_input_grad(1, FactorGradient(c.b(), m, grad, y, x));
  return m.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(einsum) {
  registry.Op("Einsum")
      .Shape(EinsumShape)
      .Gradient(EinsumGradient)
      .Doc("Sums of products of one or two tensors over dimensions named in an equation.");
}
