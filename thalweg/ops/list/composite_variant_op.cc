// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/gradient_context.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

Status ComponentsToVariantGradient(GradientContext& c) {
  GraphBuilder& b = c.b();
  std::vector<DType> types;
  for (int i = 0; i < c.node().num_inputs(); ++i) types.push_back(c.input(i).dtype());
  ASSIGN_OR_RETURN(std::string metadata, c.node().Attr<std::string>("metadata"));
  Node* const parts =
      b.OpNode("CompositeTensorVariantToComponents", {c.grad(0)},
               {{"metadata", std::move(metadata)}, {"Tcomponents", std::move(types)}});
  if (parts == nullptr) return b.status();
  for (int i = 0; i < c.node().num_inputs(); ++i) c.set_input_grad(i, Output{parts, i});
  return OkStatus();
}

Status VariantToComponentsGradient(GradientContext& c) {
  GraphBuilder& b = c.b();
  std::vector<Output> grads;
  for (int i = 0; i < c.node().num_outputs(); ++i) grads.push_back(c.grad(i));
  ASSIGN_OR_RETURN(std::string metadata, c.node().Attr<std::string>("metadata"));
  c.set_input_grad(0, b.Op("CompositeTensorVariantFromComponents", std::move(grads),
                           {{"metadata", std::move(metadata)}}));
  return b.status();
}

}  // namespace
}  // namespace thalweg

THALWEG_OP(composite_variant) {
  registry.Op("CompositeTensorVariantFromComponents")
      .Shape(ScalarShape)
      .Gradient(ComponentsToVariantGradient)
      .Doc("Tensors that are the parts of one value, as a scalar.");
  registry.Op("CompositeTensorVariantToComponents")
      .Shape(UnknownShape)
      .Gradient(VariantToComponentsGradient)
      .Doc("The tensors that are the parts of one value.");
}
