// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/tensor/diagonal_range.h"
#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

constexpr int64_t kUnknown = PartialShape::kUnknownDim;

// The first operations know the main diagonal only: they have no input k.
struct Range {
  bool known = false;
  DiagonalRange value;
};
Result<Range> RangeOf(ShapeContext& c, int input) {
  if (c.num_inputs() <= input) return Range{true, {}};
  RETURN_IF_ERROR(Explained(CheckRankAtMost(c.input(input).rank(), 1), "of input ", input));
  const Tensor k = c.InputValue(input);
  if (k.empty()) return Range{};
  ASSIGN_OR_RETURN(const DiagonalRange value, DiagonalRangeOf(k));
  return Range{true, value};
}

PartialShape WithoutLast(const PartialShape& shape, int count) {
  Dims dims(shape.dims());
  dims.resize(shape.rank() - count);
  return PartialShape(dims);
}

// The dimension that input i gives, -1 for "as few as possible"; kUnknown - 1 when it is not known.
constexpr int64_t kNotKnown = kUnknown - 1;
Result<int64_t> SizeArgument(ShapeContext& c, int i) {
  if (c.num_inputs() <= i) return -1;
  RETURN_IF_ERROR(c.InputWithRank(i, 0).status());
  const Tensor value = c.InputValue(i);
  return value.empty() ? kNotKnown : IntAt(value, 0);
}

Status MatrixDiagShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape diagonal, c.InputWithRankAtLeast(0, 1));
  ASSIGN_OR_RETURN(const Range range, RangeOf(c, 1));
  ASSIGN_OR_RETURN(const int64_t rows, SizeArgument(c, 2));
  ASSIGN_OR_RETURN(const int64_t columns, SizeArgument(c, 3));
  if (c.num_inputs() > 4) RETURN_IF_ERROR(c.InputWithRank(4, 0).status());
  if (!range.known || !diagonal.known_rank()) return OkStatus();
  const int packed = range.value.count() > 1 ? 2 : 1;
  RETURN_IF_ERROR(c.InputWithRankAtLeast(0, packed).status());
  if (packed == 2) {
    RETURN_IF_ERROR(MergeDims(diagonal.dim(diagonal.rank() - 2), range.value.count()).status());
  }
  PartialShape matrix{kUnknown, kUnknown};
  const int64_t longest = diagonal.dim(diagonal.rank() - 1);
  if (longest >= 0 && rows != kNotKnown && columns != kNotKnown) {
    ASSIGN_OR_RETURN(const MatrixSize size, MatrixSizeFor(range.value, longest, rows, columns));
    matrix = PartialShape{size.rows, size.columns};
  }
  c.set_output(0, WithoutLast(diagonal, packed).Concatenate(matrix));
  return OkStatus();
}

// The packed diagonals of a matrix: batch, their number if more than one, their length.
Result<PartialShape> PackedShape(const PartialShape& matrix, const DiagonalRange& range) {
  const int64_t rows = matrix.dim(matrix.rank() - 2);
  const int64_t columns = matrix.dim(matrix.rank() - 1);
  int64_t longest = kUnknown;
  if (rows >= 0 && columns >= 0) {
    RETURN_IF_ERROR(range.CheckInside(rows, columns));
    longest = range.Longest(rows, columns);
  }
  const PartialShape packed =
      range.count() > 1 ? PartialShape{range.count(), longest} : PartialShape{longest};
  return WithoutLast(matrix, 2).Concatenate(packed);
}

Status MatrixDiagPartShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape matrix, c.InputWithRankAtLeast(0, 2));
  ASSIGN_OR_RETURN(const Range range, RangeOf(c, 1));
  if (c.num_inputs() > 2) RETURN_IF_ERROR(c.InputWithRank(2, 0).status());
  if (!range.known || !matrix.known_rank()) return OkStatus();
  ASSIGN_OR_RETURN(PartialShape packed, PackedShape(matrix, range.value));
  c.set_output(0, std::move(packed));
  return OkStatus();
}

// Packed diagonals have a dimension less than the matrix if there is one of them, else as many.
Status CheckPackedRank(const PartialShape& packed, const PartialShape& matrix, const Range& range,
                       bool may_be_several) {
  if (!matrix.known_rank()) return OkStatus();
  if (may_be_several) {
    RETURN_IF_ERROR(CheckRankAtLeast(packed.rank(), matrix.rank() - 1));
    RETURN_IF_ERROR(CheckRankAtMost(packed.rank(), matrix.rank()));
  }
  if (!range.known) return OkStatus();
  return CheckRank(packed.rank(), matrix.rank() - (range.value.count() == 1 ? 1 : 0));
}

Status MatrixSetDiagShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape matrix, c.InputWithRankAtLeast(0, 2));
  ASSIGN_OR_RETURN(const PartialShape diagonal, c.InputWithRankAtLeast(1, 1));
  ASSIGN_OR_RETURN(const Range range, RangeOf(c, 2));
  RETURN_IF_ERROR(CheckPackedRank(diagonal, matrix, range, c.num_inputs() > 2));
  if (range.known && matrix.known_rank()) {
    ASSIGN_OR_RETURN(const PartialShape packed, PackedShape(matrix, range.value));
    if (c.num_inputs() == 2 && diagonal.known_rank()) {
      const int last = packed.rank() - 1;
      RETURN_IF_ERROR(MergeDims(packed.dim(last), diagonal.dim(last)).status());
    }
    RETURN_IF_ERROR(packed.MergeWith(diagonal).status());
  }
  c.set_output(0, matrix);
  return OkStatus();
}

// "", "V2" or "V3" of the node, and its attribute align.
std::string VersionOf(const Node& node) {
  const std::string& name = node.op_name();
  return name.ends_with("V2") || name.ends_with("V3") ? name.substr(name.size() - 2) : "";
}
AttrMap AlignOf(const Node& node) {
  AttrMap attrs;
  if (node.FindAttr("align") != nullptr) attrs.Set("align", *node.FindAttr("align"));
  return attrs;
}

Output DiagPartOf(GradientContext& c, Output matrix, int k) {
  const std::string version = VersionOf(c.node());
  std::vector<Output> inputs = {matrix};
  if (!version.empty()) {
    inputs.push_back(c.input(k));
    inputs.push_back(c.b().ScalarConst(matrix.dtype(), 0));
  }
  return c.b().Op("MatrixDiagPart" + version, inputs, AlignOf(c.node()));
}

Output SetDiagOf(GradientContext& c, Output matrix, Output diagonal, int k) {
  const std::string version = VersionOf(c.node());
  std::vector<Output> inputs = {matrix, diagonal};
  if (!version.empty()) inputs.push_back(c.input(k));
  return c.b().Op("MatrixSetDiag" + version, inputs, AlignOf(c.node()));
}

// The padding value gets no gradient.
Status MatrixDiagGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  c.set_input_grad(0, DiagPartOf(c, c.grad(0), 1));
  return c.b().status();
}

Status MatrixDiagPartGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  c.set_input_grad(0, SetDiagOf(c, c.b().Op("ZerosLike", {c.input(0)}), c.grad(0), 1));
  return c.b().status();
}

Status MatrixSetDiagGradient(GradientContext& c) {
  if (!c.has_grad(0)) return OkStatus();
  c.set_input_grad(0, SetDiagOf(c, c.grad(0), c.b().Op("ZerosLike", {c.input(1)}), 2));
  c.set_input_grad(1, DiagPartOf(c, c.grad(0), 2));
  return c.b().status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(matrix_diag) {
  for (const char* name : {"MatrixDiag", "MatrixDiagV2", "MatrixDiagV3", "BatchMatrixDiag"}) {
    registry.Op(name)
        .Shape(MatrixDiagShape)
        .Gradient(MatrixDiagGradient)
        .Doc("Matrices with the given diagonals.");
  }
  for (const char* name :
       {"MatrixDiagPart", "MatrixDiagPartV2", "MatrixDiagPartV3", "BatchMatrixDiagPart"}) {
    registry.Op(name)
        .Shape(MatrixDiagPartShape)
        .Gradient(MatrixDiagPartGradient)
        .Doc("Diagonals of matrices, one row for each.");
  }
  for (const char* name :
       {"MatrixSetDiag", "MatrixSetDiagV2", "MatrixSetDiagV3", "BatchMatrixSetDiag"}) {
    registry.Op(name)
        .Shape(MatrixSetDiagShape)
        .Gradient(MatrixSetDiagGradient)
        .Doc("Matrices with some diagonals replaced.");
  }
}
