// SPDX-License-Identifier: Apache-2.0
// The updates of optimizers, on reference and resource variables, dense and sparse. Each changes a
// variable and its slots in one pass.
#include <string>

#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// What inference knows of the variable behind input i.
PartialShape VariableShape(const ShapeContext& c, int i) {
  if (c.node().input_type(i) != DType::kResource) return c.input(i);
  const HandleShape* handle = c.input_handle_shape(i);
  return handle != nullptr ? handle->shape : PartialShape::Unknown();
}

// The gradient of a sparse update has a row of the variable for each index.
Status CheckRows(const ShapeContext& c, const PartialShape& var) {
  ASSIGN_OR_RETURN(const auto grad_input, c.node().InputRange("grad"));
  ASSIGN_OR_RETURN(const auto indices_input, c.node().InputRange("indices"));
  const PartialShape grad = c.input(grad_input.first);
  const PartialShape indices = c.input(indices_input.first);
  if (!grad.known_rank()) return OkStatus();
  if (grad.rank() == 0) {
    return InvalidArgument("Argument grad must not be a scalar. Got grad with rank 0");
  }
  if (indices.known_rank()) {
    RETURN_IF_ERROR(Explained(MergeDims(indices.dim(0), grad.dim(0)).status(),
                              "grad must have one row per index"));
  }
  PartialShape rows = grad;
  rows.set_dim(0, PartialShape::kUnknownDim);
  return Explained(var.MergeWith(rows).status(), "grad must have rows of the shape of var's");
}

// Variable, slots and (dense) gradient have one shape; a reference form gives the variable.
Status UpdateShape(ShapeContext& c) {
  const bool sparse = c.node().op_name().find("Sparse") != std::string::npos;
  const auto& args = c.node().op().def.inputs;
  PartialShape shape = VariableShape(c, 0);
  for (int i = 0; i < c.num_inputs(); ++i) {
    const std::string& name = args[i].name;
    const bool is_variable = args[i].is_ref || args[i].type == DType::kResource;
    const bool is_grad = name == "grad" || name == "delta";
    if (is_variable || (is_grad && !sparse)) {
      Result<PartialShape> merged = shape.MergeWith(is_variable ? VariableShape(c, i) : c.input(i));
      RETURN_IF_ERROR(Explained(merged.status(), name, " must have the shape of var"));
      shape = *merged;
    } else if (name == "indices") {
      RETURN_IF_ERROR(c.InputWithRank(i, 1).status());
    } else if (!is_grad) {
      Result<PartialShape> scalar = c.InputWithRank(i, 0);
      if (!scalar.ok()) return InvalidArgument(scalar.status().message(), ", ", name);
    }
  }
  if (sparse) RETURN_IF_ERROR(CheckRows(c, shape));
  if (c.num_outputs() == 1) c.set_output(0, shape);
  return OkStatus();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(apply) {
  constexpr std::string_view kWhy = "an update of a variable has no derivative";
  constexpr std::string_view kDoc =
      "One step of an optimizer, on the variable and its slots in place.";
  constexpr std::string_view kRules[] = {"GradientDescent", "Momentum", "Adagrad",
                                         "AdagradV2",       "Adadelta", "RMSProp",
                                         "CenteredRMSProp", "Adam",     "ProximalGradientDescent",
                                         "ProximalAdagrad", "Ftrl",     "FtrlV2",
                                         "AdagradDA"};
  for (std::string_view rule : kRules) {
    const bool has_sparse = rule != "GradientDescent" && rule != "Adam";
    for (const char* prefix : {"Apply", "ResourceApply", "SparseApply", "ResourceSparseApply"}) {
      if (!has_sparse && std::string_view(prefix).find("Sparse") != std::string_view::npos)
        continue;
      registry.Op(StrCat(prefix, rule)).Shape(UpdateShape).NotDifferentiable(kWhy).Doc(kDoc);
    }
  }
  for (const char* op :
       {"ApplyAdaMax", "ApplyAddSign", "ApplyPowerSign", "ResourceApplyAdaMax",
        "ResourceApplyAdamWithAmsgrad", "ResourceApplyAddSign", "ResourceApplyKerasMomentum",
        "ResourceApplyPowerSign", "ResourceSparseApplyKerasMomentum"}) {
    registry.Op(op).Shape(UpdateShape).NotDifferentiable(kWhy).Doc(kDoc);
  }
}
