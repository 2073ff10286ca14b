// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/function_calls.h"
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// The gradient of an input has its shape, that of a variable the variable's.
Status SymbolicGradientShape(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs() && i < c.num_inputs(); ++i) {
    const bool is_variable = c.node().input_type(i) == DType::kResource;
    if (is_variable && c.input_handle_shape(i) != nullptr) {  // of a list: that of its elements
      c.set_output(i, c.input_handle_shape(i)->shape);
    } else if (c.node().input_type(i) == c.node().output_type(i)) {
      c.set_output(i, c.input(i));
    }
  }
  return OkStatus();
}

// What all branches have in common, or else what the node says.
Status BranchShapes(ShapeContext& c, const std::vector<FunctionRef>& branches) {
  std::vector<PartialShape> common;
  for (size_t b = 0; b < branches.size(); ++b) {
    const std::vector<PartialShape> shapes = FunctionOutputShapes(c, branches[b], 1);
    if (static_cast<int>(shapes.size()) != c.num_outputs()) {
      common.clear();
      break;
    }
    if (b == 0) common = shapes;
    for (size_t i = 0; i < shapes.size(); ++i) common[i] = CommonShape(common[i], shapes[i]);
  }
  const Result<std::vector<PartialShape>> said = c.Attr<std::vector<PartialShape>>("output_shapes");
  for (int i = 0; i < c.num_outputs(); ++i) {
    const auto k = static_cast<size_t>(i);
    PartialShape shape = common.empty() ? PartialShape::Unknown() : common[k];
    if (said.ok() && static_cast<int>(said->size()) == c.num_outputs()) {
      const Result<PartialShape> merged = shape.MergeWith((*said)[k]);
      if (merged.ok()) shape = *merged;
    }
    c.set_output(i, std::move(shape));
  }
  return OkStatus();
}

Status IfShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const FunctionRef then_branch, c.Attr<FunctionRef>("then_branch"));
  ASSIGN_OR_RETURN(const FunctionRef else_branch, c.Attr<FunctionRef>("else_branch"));
  return BranchShapes(c, {then_branch, else_branch});
}

Status CaseShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  ASSIGN_OR_RETURN(const std::vector<FunctionRef> branches,
                   c.Attr<std::vector<FunctionRef>>("branches"));
  return BranchShapes(c, branches);
}

// Variables keep the part of their shape that the body keeps.
Status SetLoopShapes(ShapeContext& c, int first_variable) {
  ASSIGN_OR_RETURN(const FunctionRef body, c.Attr<FunctionRef>("body"));
  std::vector<ArgShape> variables;
  for (int i = first_variable; i < c.num_inputs(); ++i) {
    variables.push_back({c.input(i), c.input_handle_shape(i)});
  }
  const Graph& graph = c.node().graph();
  const std::vector<PartialShape> shapes = StableLoopShapes(
      graph.library(), graph.shared_registry(), body, variables, first_variable > 0);
  for (size_t i = 0; i < shapes.size() && static_cast<int>(i) < c.num_outputs(); ++i) {
    c.set_output(static_cast<int>(i), shapes[i]);
  }
  // What goes round stays a handle of that type, of whatever shape.
  for (size_t i = 0; i < variables.size() && static_cast<int>(i) < c.num_outputs(); ++i) {
    const HandleShape* const handle = variables[i].handle;
    if (handle != nullptr) c.set_output_handle(static_cast<int>(i), {handle->dtype, {}});
  }
  return OkStatus();
}

Status WhileShape(ShapeContext& c) { return SetLoopShapes(c, 0); }

Status ForShape(ShapeContext& c) {
  for (int i = 0; i < 3; ++i) RETURN_IF_ERROR(c.InputWithRank(i, 0).status());
  return SetLoopShapes(c, 3);
}

// A row of every argument goes in; one row of every output comes out.
Status MapShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const auto arguments, c.Attr<std::vector<DType>>("Targuments"));
  ASSIGN_OR_RETURN(const auto shapes, c.Attr<std::vector<PartialShape>>("output_shapes"));
  if (static_cast<int>(shapes.size()) != c.num_outputs()) {
    return InvalidArgument("`output_shapes` must be the same length as `output_types` (",
                           shapes.size(), " vs. ", c.num_outputs(), ")");
  }
  int64_t rows = PartialShape::kUnknownDim;
  for (int i = 0; i < static_cast<int>(arguments.size()); ++i) {
    ASSIGN_OR_RETURN(const PartialShape shape, c.InputWithRankAtLeast(i, 1));
    if (!shape.known_rank()) continue;
    const Result<int64_t> merged = MergeDims(rows, shape.dim(0));
    if (!merged.ok()) {
      return InvalidArgument("Arguments must have the same dimension 0, got ", rows, " and ",
                             shape.dim(0));
    }
    rows = *merged;
  }
  for (int i = 0; i < c.num_outputs(); ++i) {
    const PartialShape& row = shapes[static_cast<size_t>(i)];
    if (!row.known_rank()) {
      c.set_output(i, PartialShape::Unknown());
      continue;
    }
    std::vector<int64_t> dims = {rows};
    for (int d = 0; d < row.rank(); ++d) dims.push_back(row.dim(d));
    ASSIGN_OR_RETURN(PartialShape all, PartialShape::Make(dims));
    c.set_output(i, std::move(all));
  }
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(functional) {
  registry.Op("MapDefun")
      .Shape(MapShape)
      .NotDifferentiable("TensorFlow gives none either")
      .Doc("Calls the function f on the rows of its arguments, one row of each a call.");
  registry.Op("PartitionedCall")
      .Shape(FunctionCallShape)
      .Gradient(FunctionCallGradient)
      .Doc("Calls the function f.");
  registry.Op("StatefulPartitionedCall")
      .Shape(FunctionCallShape)
      .Gradient(FunctionCallGradient)
      .Doc("Calls the function f, which may have effects.");
  registry.Op("RemoteCall")
      .Shape(FunctionCallShape)
      .Gradient(FunctionCallGradient)
      .Doc("Calls the function f on a device.");
  registry.Op("SymbolicGradient")
      .Shape(SymbolicGradientShape)
      .Gradient(WrappedCallGradient)
      .Doc("The gradient of the function f: of its inputs, given that of its outputs.");
  registry.Op("If")
      .Shape(IfShape)
      .Gradient(WrappedCallGradient)
      .Doc("Calls then_branch where cond is true, else_branch where it is not.");
  registry.Op("StatelessIf")
      .Shape(IfShape)
      .Gradient(WrappedCallGradient)
      .Doc("If, of functions without effects.");
  registry.Op("Case")
      .Shape(CaseShape)
      .Gradient(WrappedCallGradient)
      .Doc("Calls the branch that branch_index names; the last, where there is no such.");
  registry.Op("StatelessCase")
      .Shape(CaseShape)
      .Gradient(WrappedCallGradient)
      .Doc("Case, of functions without effects.");
  registry.Op("While")
      .Shape(WhileShape)
      .Gradient(WrappedCallGradient)
      .Doc("Calls body on the variables as long as cond of them is true.");
  registry.Op("StatelessWhile")
      .Shape(WhileShape)
      .Gradient(WrappedCallGradient)
      .Doc("While, of functions without effects.");
  registry.Op("For")
      .Shape(ForShape)
      .Gradient(WrappedCallGradient)
      .Doc("Calls body on a counter from start to limit and the variables.");
  registry.Op("PyFunc")
      .Shape(UnknownShape)
      .NotDifferentiable("nothing is known of a function of the host program")
      .Doc("Calls the function of the host program that is known by token.");
  registry.Op("PyFuncStateless")
      .Shape(UnknownShape)
      .NotDifferentiable("nothing is known of a function of the host program")
      .Doc("PyFunc, of a function whose results depend on its inputs alone.");
}
